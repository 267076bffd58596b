"""Paths and URLs: what an array's name is in them, and what reads a URL."""

from __future__ import annotations

import re
from pathlib import Path

# Beside fsspec itself, by protocol.
NEEDED = {
    "s3": "s3fs",
    "http": "aiohttp",
    "https": "aiohttp",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "az": "adlfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
}
# What fsspec reads by itself.
ALONE = ("file", "local", "memory", "zip", "tar")
# URLs of fsspec's that take another path after ``::``.
CHAINED = re.compile("(zip|tar|dir|reference|simplecache|filecache|blockcache|cached)://")


def split(path: str) -> tuple[str, str | None]:
    """A path and the array's name after ``::``, if there is one; fsspec's chained URLs (zip://a::s3://b) stay whole."""
    head, mark, name = path.rpartition("::")
    chained = "://" in name or (CHAINED.match(head) and "::" not in head)
    if not mark or chained or ("://" not in path and Path(path).exists()):
        return path, None
    return head, name.strip("/")


def packages_for(url: str) -> str:
    """The packages to install."""
    protocol = url.partition("://")[0]
    if protocol in ALONE:
        return "fsspec"
    more = NEEDED.get(protocol)
    return f"fsspec and {more}" if more else "fsspec, and what it needs for this protocol"
