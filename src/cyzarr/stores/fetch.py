"""Get the bytes that a read of one chunk needs: from a file or memory at hand, or through a store's own methods.

What is asked for is one generator, `requests_of`, which does no I/O: it yields lists of requests and is sent the
answers. An asynchronous and a synchronous driver serve it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr
from zarr.abc.store import RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import cpu
from zarr.storage import LocalStore, MemoryStore, StorePath

from cyzarr import _zarr, config
from cyzarr.errors import CorruptChunkError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from cyzarr.kernels.chunks import ChunkRead

# A store's methods that a direct read goes around. It is made only while these are zarr's own.
WATCHED = ("get", "get_sync", "get_partial_values", "_ensure_open", "_ensure_open_sync", "_open")
_PLAIN = {cls: {name: getattr(cls, name, None) for name in WATCHED} for cls in (LocalStore, MemoryStore)}


def is_plain(store: Any) -> bool:
    """Whether a store is exactly zarr's LocalStore or MemoryStore, open, with no method overridden."""
    kept = _PLAIN.get(type(store))
    return (
        kept is not None
        and store._is_open
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
        if not may_read_parts(getter):
            return False
        path = os.fsencode(store.root / getter.path)
        if b"\0" in path:
            return False
        config.apply_index_cache()
        read.set_file(path)
        return True
    if type(store._store_dict) is not dict:
        return False
    value = store._store_dict.get(getter.path)
    if value is None:
        read.set_missing()
    elif type(value) is cpu.Buffer:
        read.set_object(_zarr.cpu_bytes(value))
    else:
        return False
    return True


@dataclass(frozen=True)
class Request:
    """What is asked of a stored object: its length, the bytes from start to stop, its last bytes, or all of it."""

    size: bool = False
    start: int = 0
    stop: int | None = None
    last: int | None = None

    def byte_range(self) -> Any:
        """The same as zarr's byte request."""
        if self.last is not None:
            return SuffixByteRequest(self.last)
        return None if self.stop is None else RangeByteRequest(self.start, self.stop)


@dataclass(frozen=True)
class Ranges:
    """Many parts of a stored object: (offset, nbytes), ascending. Neighbours up to a gap are asked for as one.

    The answer is Parts, None where there is no such object.
    """

    ranges: tuple[tuple[int, int], ...]
    max_gap: int
    max_nbytes: int

    def merged(self) -> list[Request]:
        """What is asked for: neighbours together."""
        joined = merge(self.ranges, self.max_gap, self.max_nbytes)
        return [Request(start=start, stop=stop) for start, stop in joined]


# A length that the store could not tell.
UNTOLD = -1


class Parts(list[Any]):
    """The answer to Ranges: (start, stop, buffer) each, and how many requests of the store they took."""

    requests = 0


WHOLE = Request()
SIZE = Request(size=True)


def requests_of(
    read: ChunkRead, partial: bool, spec: Any, size: str = "ask"
) -> Generator[list[Request | Ranges], list[Any], None]:
    """Ask for the bytes that a read needs, and give them to it.

    Parameters
    ----------
    read : ChunkRead
    partial : bool
        Whether parts of the object may be asked for.
    spec : ArraySpec
        Its config holds the limits up to which neighbouring ranges are asked for as one.
    size : {"ask", "probe", "dear"}
        How an object's length can be had: from the store, by asking for bytes around its end, or only by reading it.

    Yields
    ------
    list of Request and Ranges
        To be answered by a list of buffers or lengths, None where there is no such object.
    """
    index = read.index_request
    if partial and not read.whole and index is not None and not read.touches_all:
        yield from _shard_requests(read, index, spec)
    elif partial and not read.whole and index is None and read.stored_nbytes is not None:
        yield from _window_requests(read, size)
    else:
        yield from _whole_request(read)


def _whole_request(read: ChunkRead) -> Generator[list[Request | Ranges], list[Any], None]:
    (found,) = yield [WHOLE]
    if found is None:
        read.set_missing()
    else:
        read.set_object(found)


def _shard_requests(
    read: ChunkRead, index_request: tuple[str, int], spec: Any
) -> Generator[list[Request | Ranges], list[Any], None]:
    """The index, then the touched inner chunks, neighbours together."""
    location, nbytes = index_request
    (index,) = yield [Request(stop=nbytes) if location == "start" else Request(last=nbytes)]
    if index is None:
        read.set_missing()
        return
    ranges = [one for one in read.inner_requests(index) if one[1] > 0]
    parts: Any = []
    if ranges:
        (parts,) = yield [Ranges(tuple(ranges), *_zarr.coalesce_limits(spec.config))]
    if parts is None:
        # Gone between the index and the data: as if it had not been there, which is zarr's rule, too.
        read.set_missing()
        return
    for start, stop, answer in parts:
        check_length(read.key, Request(start=start, stop=stop), answer)
    read.set_parts([(start, answer) for start, _, answer in parts], index=index)


def _window_requests(read: ChunkRead, size: str) -> Generator[list[Request | Ranges], list[Any], None]:
    """The block of an uncompressed chunk that is needed, and at the same time the object's length."""
    ((offset, nbytes),) = read.chunk_requests()
    stored: int = read.stored_nbytes or 0
    check = config.setting("cyzarr.check_remote_size")
    if nbytes == stored or (check and size == "dear"):
        yield from _whole_request(read)
        return
    request = Request(start=offset, stop=offset + nbytes)
    found: int | None = UNTOLD
    if check and size == "ask":
        part, found = yield [request, SIZE]
    else:
        (part,) = yield [request]
    if check and found == UNTOLD and part is not None:
        # Of the last byte and one more there is exactly one.
        (end,) = yield [Request(start=stored - 1, stop=stored + 1)]
        found = None if end is None else stored - 1 + end.size
    if check and found not in (None, UNTOLD, stored):
        raise CorruptChunkError(
            f"chunk {read.key!r}: the stored chunk has a wrong length: expected {stored} bytes,"
            f" found {found} (at offset 0, length {found})",
            read.key,
            offset=0,
            length=found,
        )
    if part is None:
        read.set_missing()
        return
    check_length(read.key, request, part)
    read.set_parts([(offset, part)], size=stored)


def merge(ranges: Iterable[tuple[int, int]], max_gap: int, max_nbytes: int) -> list[tuple[int, int]]:
    """Join ascending (offset, nbytes) ranges to (start, stop).

    Neighbours at most max_gap apart are joined, to at most max_nbytes in all.
    """
    joined: list[tuple[int, int]] = []
    for offset, nbytes in ranges:
        start, stop = joined[-1] if joined else (0, 0)
        if joined and offset - stop <= max_gap and max(stop, offset + nbytes) - start <= max_nbytes:
            joined[-1] = (start, max(stop, offset + nbytes))
        else:
            joined.append((offset, offset + nbytes))
    return joined


def check_length(key: str, request: Request, answer: np.ndarray[Any, Any]) -> None:
    """Refuse an answer with more or fewer bytes than were asked for."""
    expected = (request.stop or 0) - request.start
    if answer.size != expected:
        raise CorruptChunkError(
            f"chunk {key!r}: the store answered a range with a wrong length: expected {expected} bytes,"
            f" found {answer.size} (at offset {request.start}, length {expected})",
            key,
            offset=request.start,
            length=expected,
        )


def count(totals: dict[str, int], answers: list[Any]) -> None:
    """Count requests and the bytes that came."""
    parts = [one for one in answers if isinstance(one, Parts)]
    single = [one for one in answers if not isinstance(one, Parts)]
    held = [*single, *(part for listed in parts for *_, part in listed)]
    nbytes = sum(one.size for one in held if isinstance(one, np.ndarray))
    totals["requests"] = totals.get("requests", 0) + len(single) + sum(one.requests for one in parts)
    totals["bytes_read"] = totals.get("bytes_read", 0) + nbytes


def may_read_parts(getter: Any) -> bool:
    """Whether parts of an object may be asked for: of a store's objects, unless the user says no."""
    return type(getter) is StorePath and bool(config.setting("cyzarr.partial_storage_reads"))


def knows_sizes(getter: Any) -> bool:
    """Whether a store tells an object's length otherwise than by reading it, as zarr's base class does."""
    return type(getter) is StorePath and getattr(type(getter.store), "getsize", Store.getsize) is not Store.getsize


class Limit:
    """Asks a getter's own methods, with at most zarr's `async.concurrency` requests under way."""

    def __init__(self) -> None:
        allowed = zarr.config.get("async.concurrency")
        self.gate: Any = contextlib.nullcontext() if allowed is None else asyncio.Semaphore(allowed)

    async def ask(self, getter: Any, spec: Any, request: Request | Ranges) -> Any:
        """The answer to one request: a uint8 array or a length; None where there is no such object."""
        if isinstance(request, Ranges):
            return await self.ask_ranges(getter, spec, request)
        async with self.gate:
            if request.size:
                try:
                    return await getter.store.getsize(getter.path)
                except FileNotFoundError:
                    return None
                except Exception:
                    # A server that tells no lengths, or not to us; zarr itself never asks.
                    return UNTOLD
            found = await getter.get(spec.prototype, request.byte_range())
        return None if found is None else _zarr.cpu_bytes(found)

    async def ask_ranges(self, getter: Any, spec: Any, request: Ranges) -> Parts | None:
        """The parts of an object: by the store's own `get_ranges` (zarr 3.3 on), else by `get`, range by range."""
        if getattr(getter.store, "get_ranges", None) is not None:
            async with self.gate:
                return await from_get_ranges(getter, spec, request)
        wanted = request.merged()
        found = await asyncio.gather(*(self.ask(getter, spec, one) for one in wanted))
        if any(one is None for one in found):
            return None
        parts = Parts((one.start, one.stop, part) for one, part in zip(wanted, found, strict=True))
        parts.requests = len(wanted)
        return parts


async def from_get_ranges(getter: Any, spec: Any, request: Ranges) -> Parts | None:
    """The parts of an object, through the store's `get_ranges`, which joins neighbours by itself."""
    wanted = [RangeByteRequest(offset, offset + nbytes) for offset, nbytes in request.ranges]
    parts = Parts()
    try:
        async for group in getter.store.get_ranges(
            getter.path,
            wanted,
            prototype=spec.prototype,
            max_gap_bytes=request.max_gap,
            max_coalesced_bytes=request.max_nbytes,
        ):
            parts.requests += 1
            for at, buffer in group:
                if buffer is None:
                    return None
                parts.append((wanted[at].start, wanted[at].end, _zarr.cpu_bytes(buffer)))
    except BaseExceptionGroup as failures:
        # A missing key is said so by an error here.
        _, others = failures.split(FileNotFoundError)
        if others is not None:
            raise others from None
        return None
    return parts


async def fetch_chunk(read: ChunkRead, getter: Any, spec: Any, limit: Limit, totals: dict[str, int]) -> ChunkRead:
    """Fetch the bytes that a read needs, and give them to it."""
    talk = requests_of(read, may_read_parts(getter), spec, "ask" if knows_sizes(getter) else "dear")
    answers: Any = None
    while True:
        try:
            wanted = talk.send(answers)
        except StopIteration:
            return read
        answers = await asyncio.gather(*(limit.ask(getter, spec, one) for one in wanted))
        count(totals, answers)


def fetch_chunk_sync(read: ChunkRead, getter: Any, spec: Any, totals: dict[str, int]) -> None:
    """The synchronous twin, for getters with `get_sync`; nothing tells a length there."""
    talk = requests_of(read, may_read_parts(getter), spec, "probe")
    answers: Any = None
    while True:
        try:
            wanted = talk.send(answers)
        except StopIteration:
            return
        answers = [ask_sync(getter, spec, one) for one in wanted]
        count(totals, answers)


def ask_sync(getter: Any, spec: Any, request: Request | Ranges) -> Any:
    """The answer to one request, through the getter's `get_sync`."""
    if isinstance(request, Ranges):
        found = Parts((one.start, one.stop, ask_sync(getter, spec, one)) for one in request.merged())
        found.requests = len(found)
        return None if any(part is None for *_, part in found) else found
    answer = getter.get_sync(prototype=spec.prototype, byte_range=request.byte_range())
    return None if answer is None else _zarr.cpu_bytes(answer)
