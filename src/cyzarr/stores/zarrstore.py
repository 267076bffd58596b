"""zarr's stores: asked through their own methods, as zarr asks them."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from zarr.abc.store import RangeByteRequest, Store
from zarr.core.buffer.cpu import buffer_prototype
from zarr.core.sync import sync
from zarr.storage import LoggingStore, WrapperStore

from cyzarr import _zarr
from cyzarr.stores import athand, filesystems
from cyzarr.stores.kinds import StoreKind, add_kind
from cyzarr.stores.ranges import Parts, Ranges, telling

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import numpy as np


def as_bytes(buffer: Any) -> np.ndarray[Any, Any] | None:
    """A Buffer's bytes; None stays None."""
    return None if buffer is None else _zarr.cpu_bytes(buffer)


# Those of zarr's wrappers that ask the store that they wrap. In the zarrs so far a plain wrapper has Store's.
FORWARDED_SIZES = {LoggingStore.getsize, WrapperStore.getsize} - {Store.getsize}


class ZarrKind(StoreKind):
    """A zarr Store. They all answer ranges."""

    def supports_partial_reads(self, store: Any) -> bool:
        """Always."""
        return True

    def tells_sizes(self, store: Any) -> bool:
        """Unless it, or the store that one of zarr's wrappers asks, does as zarr's base class does: read the object."""
        while (method := getattr(type(store), "getsize", Store.getsize)) in FORWARDED_SIZES:
            store = _zarr.wrapped(store)
        return method is not Store.getsize and not filesystems.lists_for_a_length(store)

    def size_at_hand(self, store: Any, key: str) -> int | None:
        """In zarr's own memory and zip stores, also behind zarr's own wrappers."""
        return athand.size_of(store, key)

    def is_stream(self, store: Any, key: str) -> bool:
        """Whether it is a member of an archive that is read from its start."""
        return athand.is_stream(store, key) or filesystems.is_archive(store)

    async def read(self, store: Any, key: str, byte_range: Any = None) -> np.ndarray[Any, Any] | None:
        """By `get`."""
        return as_bytes(await store.get(key, prototype=buffer_prototype, byte_range=byte_range))

    def read_sync(self, store: Any, key: str, byte_range: Any = None) -> np.ndarray[Any, Any] | None:
        """By `get_sync` where the store has it, else over zarr's event loop."""
        if _zarr.reads_sync(store):
            return as_bytes(store.get_sync(key, prototype=buffer_prototype, byte_range=byte_range))
        return as_bytes(sync(store.get(key, prototype=buffer_prototype, byte_range=byte_range)))

    async def getsize(self, store: Any, key: str) -> int | None:
        """By `getsize`."""
        try:
            return int(await store.getsize(key))
        except FileNotFoundError:
            return None

    def getsize_sync(self, store: Any, key: str) -> int | None:
        """The same, over zarr's event loop."""
        return sync(self.getsize(store, key))

    async def read_many(self, store: Any, key: str, request: Ranges, limit: int | None = None) -> Parts:
        """By a `get_ranges` of the store's own; zarr's is the same as `get` for each of the merged ranges."""
        asked, own = (store, False) if request.by_get else _zarr.answers_ranges(store)
        if not own:
            return await super().read_many(asked, key, request, limit)
        return await read_by_get_ranges(asked, key, request, limit)

    def read_many_sync(self, store: Any, key: str, request: Ranges) -> Parts:
        """The synchronous twin."""
        if request.by_get or not (_zarr.reads_sync(store) and _zarr.has_own_ranges_sync(store)):
            return super().read_many_sync(store, key, request)
        wanted = byte_ranges(request)
        limits = {"max_gap_bytes": request.max_gap, "max_coalesced_bytes": request.max_nbytes}
        parts = Parts((one.start, one.end, None) for one in wanted)
        parts.requests = len(request.merged())
        with missing_is_none(key, wanted, parts):
            for at, buffer in store.get_ranges_sync(key, wanted, prototype=buffer_prototype, **limits):
                parts[at] = (wanted[at].start, wanted[at].end, as_bytes(buffer))
        return parts


def byte_ranges(request: Ranges) -> list[Any]:
    """The parts that are wanted, each by itself."""
    return [RangeByteRequest(offset, offset + nbytes) for offset, nbytes in request.ranges]


@contextlib.contextmanager
def missing_is_none(key: str, wanted: list[Any], parts: Parts) -> Iterator[None]:
    """What `get_ranges` raises for a missing key says nothing more than that; of other errors the first is raised."""
    with telling(key, RangeByteRequest(wanted[0].start, wanted[-1].end)):
        try:
            yield
        except BaseExceptionGroup as failures:
            _, others = failures.split(FileNotFoundError)
            while isinstance(others, BaseExceptionGroup):
                others = others.exceptions[0]
            if others is not None:
                raise others from None
            parts.gone = all(part is None for *_, part in parts)


@contextlib.asynccontextmanager
async def closing(groups: Any) -> AsyncIterator[None]:
    """Close an asynchronous generator at the end; zarr asks for no more than an iterator, which has no need of it."""
    try:
        yield
    finally:
        if hasattr(groups, "aclose"):
            await groups.aclose()


async def read_by_get_ranges(store: Any, key: str, request: Ranges, limit: int | None) -> Parts:
    """The parts of an object, through a `get_ranges` that joins neighbours, and asks for several at once, by itself.

    It is told how many it may have under way.
    """
    wanted = byte_ranges(request)
    limits = {"max_gap_bytes": request.max_gap, "max_coalesced_bytes": request.max_nbytes}
    if _zarr.takes_concurrency(store.get_ranges):
        expected = len(request.merged())
        limits["max_concurrency"] = expected if limit is None else min(expected, limit)
    parts = Parts((one.start, one.end, None) for one in wanted)
    with missing_is_none(key, wanted, parts):
        groups = store.get_ranges(key, wanted, prototype=buffer_prototype, **limits)
        async with closing(groups):
            async for group in groups:
                parts.requests += 1
                for at, buffer in group:
                    parts[at] = (wanted[at].start, wanted[at].end, as_bytes(buffer))
    return parts


add_kind(Store, ZarrKind())
