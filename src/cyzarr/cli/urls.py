"""What reads a URL."""

from __future__ import annotations

# Beside fsspec itself, by protocol.
NEEDED = {"s3": "s3fs", "http": "aiohttp", "https": "aiohttp", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs"}


def packages_for(url: str) -> str:
    """The packages to install."""
    more = NEEDED.get(url.partition("://")[0])
    return f"fsspec and {more}" if more else "fsspec, and what it needs for this protocol"
