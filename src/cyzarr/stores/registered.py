"""Classes that hold bytes by key and say themselves how they are asked."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zarr.storage import LocalStore, MemoryStore

from cyzarr.stores.kinds import StoreKind, add_kind
from cyzarr.stores.mapping import uint8

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import numpy as np

MISSING = (KeyError, FileNotFoundError)


@dataclass(frozen=True)
class RegisteredKind(StoreKind):
    """Asked by functions that were registered for its class."""

    partial: Callable[[Any], bool]
    range_read: Callable[[Any, str, Any], Any]
    size: Callable[[Any, str], int] | None
    range_read_async: Callable[[Any, str, Any], Awaitable[Any]] | None
    size_async: Callable[[Any, str], Awaitable[int]] | None

    def supports_partial_reads(self, store: Any) -> bool:
        """As registered."""
        return bool(self.partial(store))

    def tells_sizes(self, store: Any) -> bool:
        """Where a function was registered for it."""
        return self.size is not None or self.size_async is not None

    async def read(self, store: Any, key: str, byte_range: Any = None) -> np.ndarray[Any, Any] | None:
        """By the asynchronous function, else by the other in a thread."""
        if self.range_read_async is None:
            return await asyncio.to_thread(self.read_sync, store, key, byte_range)
        found = await self.range_read_async(store, key, byte_range)
        return None if found is None else uint8(found)

    def read_sync(self, store: Any, key: str, byte_range: Any = None) -> np.ndarray[Any, Any] | None:
        """By the synchronous function."""
        found = self.range_read(store, key, byte_range)
        return None if found is None else uint8(found)

    async def getsize(self, store: Any, key: str) -> int | None:
        """By the asynchronous function, else by the other in a thread."""
        if self.size_async is None:
            if self.size is None:
                return await super().getsize(store, key)
            return await asyncio.to_thread(self.getsize_sync, store, key)
        try:
            return await self.size_async(store, key)
        except MISSING:
            return None

    def getsize_sync(self, store: Any, key: str) -> int | None:
        """By the synchronous function."""
        if self.size is None:
            return super().getsize_sync(store, key)
        try:
            return self.size(store, key)
        except MISSING:
            return None


def register(
    cls: type,
    supports_partial_reads: Callable[[Any], bool],
    read_range: Callable[[Any, str, Any], Any],
    getsize: Callable[[Any, str], int] | None = None,
    *,
    read_range_async: Callable[[Any, str, Any], Awaitable[Any]] | None = None,
    getsize_async: Callable[[Any, str], Awaitable[int]] | None = None,
) -> None:
    """Make stores of a class, and of the classes derived from it.

    Parameters
    ----------
    cls : type
        What holds bytes by key. It needs no base class; for one of zarr's stores this takes the place of its methods
        where cyzarr reads. LocalStore and MemoryStore themselves are read without being asked, also where a base class
        of theirs is registered; subclasses of theirs are asked.
    supports_partial_reads : function of (store)
        Whether a range is cheaper than the object.
    read_range : function of (store, key, byte_range)
        The bytes, as any contiguous buffer, or None where the key is missing. The range is one of zarr's byte
        requests, or None for the whole object.
    getsize : function of (store, key), optional
        The object's length in bytes; KeyError where it is missing. Without it the object is read.
    read_range_async, getsize_async : coroutine functions, optional
        The same. Without them the others are called in a thread.

    Raises
    ------
    ValueError
        The class is LocalStore or MemoryStore.
    """
    if cls in (LocalStore, MemoryStore):
        raise ValueError(f"{cls.__name__} is read directly, by its files or its dict; register a subclass of it")
    kind = RegisteredKind(supports_partial_reads, read_range, getsize, read_range_async, getsize_async)
    add_kind(cls, kind)
