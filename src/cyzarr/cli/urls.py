"""Paths and URLs: what an array's name is in them, and what reads a URL, with which options."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cyzarr.cli.ending import UsageError, reason

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
    """A path and the array's name after ``::``, if there is one; fsspec's chained URLs (zip://a::s3://b) stay whole.

    A file:// URL becomes the path that it stands for, which takes no fsspec.
    """
    path = path.removeprefix("file://")
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


def store_reason(error: Exception) -> str:
    """What a store says, in one line, with what often helps."""
    public = "; what is public takes --storage-option anon=true"
    return reason(error) + (public if type(error).__name__ == "NoCredentialsError" else "")


def storage_options(given: Sequence[str], path: str) -> dict[str, Any]:
    """What NAME=VALUE says, for fsspec to open a URL with; a value that is JSON is taken as that."""
    found: dict[str, Any] = {}
    if given and "://" not in path:
        raise UsageError(f"storage options are for URLs, and this is none: {path}")
    for one in given:
        name, mark, value = one.partition("=")
        if not (name and mark):
            raise UsageError(f"a storage option is NAME=VALUE, found {one!r}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found
