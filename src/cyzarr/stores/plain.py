"""zarr's own local and memory stores, which are read without asking them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from zarr.core.buffer import cpu
from zarr.storage import LocalStore, MemoryStore, StorePath

from cyzarr import _zarr
from cyzarr.stores.getters import Source

if TYPE_CHECKING:
    from cyzarr.kernels.chunks import ChunkRead

# A store's methods that a direct read goes around. It is made only while these are zarr's own.
WATCHED = ("get", "get_sync", "get_partial_values", "_ensure_open", "_ensure_open_sync", "_open")
PLAIN = {cls: {name: getattr(cls, name, None) for name in WATCHED} for cls in (LocalStore, MemoryStore)}


def is_plain(store: Any) -> bool:
    """Whether a store is exactly zarr's LocalStore or MemoryStore, open, with no method overridden."""
    kept = PLAIN.get(type(store))
    return (
        kept is not None
        and getattr(store, "_is_open", False)
        and not any(name in store.__dict__ for name in WATCHED)
        and all(getattr(type(store), name, None) is method for name, method in kept.items())
    )


def set_at_hand(read: ChunkRead, getter: Any) -> bool:
    """Give a read its object where that is a local file or a buffer in memory; False: it must be fetched.

    A file is read in part: where the user wants whole objects, it is fetched like any other.
    """
    if type(getter) is not StorePath or not is_plain(getter.store):
        return False
    store: Any = getter.store
    if type(store) is LocalStore:
        if not Source.of(getter).partial:
            return False
        path = os.fsencode(store.root / getter.path)
        if b"\0" in path:
            return False
        read.set_file(path)
        return True
    objects = getattr(store, "_store_dict", None)
    if type(objects) is not dict:
        return False
    value = objects.get(getter.path)
    if value is None:
        read.set_missing()
    elif type(value) is cpu.Buffer:
        read.set_object(_zarr.cpu_bytes(value))
    else:
        return False
    return True
