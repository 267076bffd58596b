"""Lazy views."""
