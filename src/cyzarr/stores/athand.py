"""What zarr's own stores hold at hand, though none of their methods tells it: how long an object is.

Only of exactly zarr's classes with none of the methods overridden that a read goes through: what else there is may
answer otherwise than it holds.
"""

from __future__ import annotations

import sys
import zipfile
from typing import Any

from zarr.storage import LoggingStore, MemoryStore, WrapperStore, ZipStore

from cyzarr import _zarr
from cyzarr.stores.ranges import UNTOLD

# What a length goes around. It is known only while these are zarr's own.
WATCHED = ("get", "get_sync", "get_ranges", "get_partial_values", "getsize", "_get", "_get_many")
OWN = {
    cls: {name: getattr(cls, name, None) for name in WATCHED}
    for cls in (MemoryStore, ZipStore, WrapperStore, LoggingStore)
}

# Python finds its way in members that are not compressed; before 3.12 it read up to there.
SEEKS = sys.version_info >= (3, 12)


def is_own(store: Any) -> bool:
    """Whether a store is exactly of one of zarr's classes, with no method overridden."""
    kept = OWN.get(type(store))
    return (
        kept is not None
        and not any(name in store.__dict__ for name in WATCHED)
        and all(getattr(type(store), name, None) is method for name, method in kept.items())
    )


def innermost(store: Any) -> Any:
    """The memory or zip store that zarr's own wrappers hold, or that a store is; None where there is another."""
    while is_own(store):
        if type(store) in (MemoryStore, ZipStore):
            return store
        store = _zarr.wrapped(store)
    return None


def size_of(store: Any, key: str) -> int | None:
    """The length of an object in bytes; None where there is none; UNTOLD where only the store's methods tell."""
    held = innermost(store)
    if type(held) is ZipStore:
        member = _member(held, key)
        return member if member is None or member == UNTOLD else member.file_size
    objects = getattr(held, "_store_dict", None)
    if type(objects) is not dict:
        return UNTOLD
    value = objects.get(key)
    return None if value is None else len(value)


def is_stream(store: Any, key: str) -> bool:
    """Whether an object is a member of an archive that is read from its start for any part of it."""
    held = innermost(store)
    member = _member(held, key) if type(held) is ZipStore else None
    return isinstance(member, zipfile.ZipInfo) and not (SEEKS and member.compress_type == zipfile.ZIP_STORED)


def _member(store: ZipStore, key: str) -> Any:
    """What an open archive's directory says of a member; None where there is none; UNTOLD where it isn't open."""
    archive = getattr(store, "_zf", None)
    if not isinstance(archive, zipfile.ZipFile) or archive.fp is None:
        return UNTOLD
    # No lock: it is one look into a dictionary.
    return archive.NameToInfo.get(key)
