"""Tests that read through other libraries, cyzarr switched on. They need the extra `clients`, and skip without."""

from __future__ import annotations

from support import doors

# A run of zarr alone has nothing to compare.
collect_ignore_glob = ["*"] if doors.PLAIN else []
