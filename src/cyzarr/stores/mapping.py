"""Plain mappings from key to bytes: a dict is a store."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import numpy as np

from cyzarr.stores.kinds import StoreKind, add_kind
from cyzarr.stores.ranges import cut
from cyzarr.stores.zarrstore import as_bytes


class MappingKind(StoreKind):
    """A mapping: objects are read whole, and cut. Its values are buffers of bytes, zarr's included."""

    async def read(self, store: Any, key: str, byte_range: Any = None) -> np.ndarray[Any, Any] | None:
        """By its items. Only a dict's are known to be there at once."""
        if type(store) is dict:
            return self.read_sync(store, key, byte_range)
        return await asyncio.to_thread(self.read_sync, store, key, byte_range)

    def read_sync(self, store: Any, key: str, byte_range: Any = None) -> np.ndarray[Any, Any] | None:
        """The synchronous twin."""
        try:
            value = store[key]
        except KeyError:
            return None
        return cut(uint8(value), byte_range)


def uint8(value: Any) -> Any:
    """The bytes of a contiguous buffer, or of zarr's Buffer."""
    return as_bytes(value) if hasattr(value, "as_numpy_array") else np.frombuffer(value, dtype=np.uint8)


add_kind(Mapping, MappingKind())
