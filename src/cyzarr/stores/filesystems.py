"""What fsspec's filesystems cost, which zarr's store of them doesn't tell."""

from __future__ import annotations

import sys
from typing import Any

from cyzarr import _zarr


def _filesystem(store: Any) -> Any:
    """The filesystem of a store, also behind wrappers and fsspec's own wrapper of synchronous ones; else None."""
    while getattr(store, "fs", None) is None:
        store = _zarr.wrapped(store)
        if store is None:
            return None
    return getattr(store.fs, "sync_fs", store.fs)


def is_archive(store: Any) -> bool:
    """Whether objects are members of an archive, which may be decoded from their start for any part."""
    archive = sys.modules.get("fsspec.archive")
    return archive is not None and isinstance(_filesystem(store), archive.AbstractArchiveFileSystem)


def lists_for_a_length(store: Any) -> bool:
    """Whether the filesystem finds one object's length by listing its folder: fsspec's default."""
    spec = sys.modules.get("fsspec.spec")
    if spec is None:
        return False
    found = _filesystem(store)
    return (
        found is not None
        and not getattr(found, "async_impl", False)
        and getattr(type(found), "info", None) is spec.AbstractFileSystem.info
    )
