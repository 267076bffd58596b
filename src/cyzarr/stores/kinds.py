"""The partial-read interface from within: what a store is asked, whatever it is.

    kind_of(store) ──► StoreKind: read, getsize, read_many ──► uint8 arrays

zarr's stores (`zarrstore.py`), mappings (`mapping.py`) and classes that were registered (`registered.py`) are kinds.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cyzarr.stores.ranges import UNTOLD, Parts, telling
from cyzarr.stores.tasks import together

if TYPE_CHECKING:
    import numpy as np

    from cyzarr.stores.ranges import Ranges


class StoreKind(ABC):
    """How the stores of one kind are asked. A kind says what it can, and overrides what it can do better.

    A store comes with a key. Bytes are answered as uint8 arrays, which nobody changes, and None where there is no such
    object. A byte range is one of zarr's byte requests; None is the whole object.
    """

    def supports_partial_reads(self, store: Any) -> bool:
        """Whether a range is cheaper than the object."""
        return False

    def tells_sizes(self, store: Any) -> bool:
        """Whether a length is had for less than the object."""
        return False

    def size_at_hand(self, store: Any, key: str) -> int | None:
        """The length of an object in bytes where the store need not be asked; None where there is none; else UNTOLD."""
        return UNTOLD

    def is_stream(self, store: Any, key: str) -> bool:
        """Whether this one object can be read from its start alone, so that a part costs all that is before it."""
        return False

    @abstractmethod
    async def read(self, store: Any, key: str, byte_range: Any = None) -> np.ndarray[Any, Any] | None:
        """A part of an object, or all of it."""

    @abstractmethod
    def read_sync(self, store: Any, key: str, byte_range: Any = None) -> np.ndarray[Any, Any] | None:
        """The synchronous twin."""

    async def getsize(self, store: Any, key: str) -> int | None:
        """The length of an object in bytes; None where there is none."""
        found = await self.read(store, key)
        return None if found is None else found.size

    def getsize_sync(self, store: Any, key: str) -> int | None:
        """The synchronous twin."""
        found = self.read_sync(store, key)
        return None if found is None else found.size

    async def read_many(self, store: Any, key: str, request: Ranges, limit: int | None = None) -> Parts:
        """Many parts of an object, neighbours together, at most `limit` at once."""
        wanted = [one.byte_range() for one in request.merged()]

        async def ask(byte_range: Any) -> Any:
            with telling(key, byte_range):
                return await self.read(store, key, byte_range)

        return parts_of(wanted, await together(ask, wanted, limit))

    def read_many_sync(self, store: Any, key: str, request: Ranges) -> Parts:
        """The synchronous twin, one after another."""
        wanted = [one.byte_range() for one in request.merged()]
        found = []
        for one in wanted:
            with telling(key, one):
                found.append(self.read_sync(store, key, one))
        return parts_of(wanted, found)


def parts_of(wanted: list[Any], found: list[Any]) -> Parts:
    """Answers with the ranges that they answer; one request each."""
    parts = Parts((one.start, one.end, part) for one, part in zip(wanted, found, strict=True))
    parts.requests = len(wanted)
    return parts


_kinds: dict[type, StoreKind] = {}


def add_kind(cls: type, kind: StoreKind) -> None:
    """Say how stores of a class, and of its subclasses, are asked."""
    _kinds[cls] = kind
    _kind_of_class.cache_clear()


@functools.lru_cache(maxsize=256)
def _kind_of_class(cls: Any) -> StoreKind | None:
    for base in cls.__mro__:
        if base in _kinds:
            return _kinds[base]
    return _kinds[Mapping] if issubclass(cls, Mapping) else None


def kind_of(store: Any) -> StoreKind:
    """How a store is asked.

    Raises
    ------
    TypeError
        It is no zarr store, no mapping, and of no registered class.
    """
    cls: Any = type(store)
    # A proxy or a test's mock may only say what it is.
    kind = _kind_of_class(cls) or _kind_of_class(store.__class__)
    if kind is None:
        raise TypeError(
            f"a {type(store).__name__} is neither a zarr store nor a mapping; cyzarr.stores.register makes it a store"
        )
    return kind
