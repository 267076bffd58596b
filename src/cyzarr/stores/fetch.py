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


WHOLE = Request()
SIZE = Request(size=True)


def requests_of(
    read: ChunkRead, partial: bool, spec: Any, size: str = "ask"
) -> Generator[list[Request], list[Any], None]:
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
    list of Request
        To be answered by a list of buffers or lengths, None where there is no such object.
    """
    index = read.index_request
    if partial and not read.whole and index is not None and not read.touches_all:
        yield from _shard_requests(read, index, spec)
    elif partial and not read.whole and index is None and read.stored_nbytes is not None:
        yield from _window_requests(read, size)
    else:
        yield from _whole_request(read)


def _whole_request(read: ChunkRead) -> Generator[list[Request], list[Any], None]:
    (found,) = yield [WHOLE]
    if found is None:
        read.set_missing()
    else:
        read.set_object(found)


def _shard_requests(
    read: ChunkRead, index_request: tuple[str, int], spec: Any
) -> Generator[list[Request], list[Any], None]:
    """The index, then the touched inner chunks, neighbours together."""
    location, nbytes = index_request
    (index,) = yield [Request(stop=nbytes) if location == "start" else Request(last=nbytes)]
    if index is None:
        read.set_missing()
        return
    groups = merge([one for one in read.inner_requests(index) if one[1] > 0], *_zarr.coalesce_limits(spec.config))
    wanted = [Request(start=low, stop=high) for low, high in groups]
    answers = (yield wanted) if wanted else []
    if any(one is None for one in answers):
        # Gone between the index and the data: as if it had not been there.
        read.set_missing()
        return
    for request, answer in zip(wanted, answers, strict=True):
        check_length(read.key, request, answer)
    read.set_parts([(request.start, answer) for request, answer in zip(wanted, answers, strict=True)], index=index)


def _window_requests(read: ChunkRead, size: str) -> Generator[list[Request], list[Any], None]:
    """The block of an uncompressed chunk that is needed, and at the same time the object's length."""
    ((offset, nbytes),) = read.chunk_requests()
    stored = read.stored_nbytes
    check = config.setting("cyzarr.check_remote_size")
    if nbytes == stored or (check and size == "dear"):
        yield from _whole_request(read)
        return
    request = Request(start=offset, stop=offset + nbytes)
    found = None
    if check and size == "ask":
        part, found = yield [request, SIZE]
    else:
        (part,) = yield [request]
    if check and size == "probe" and part is not None:
        # Of the last byte and one more there is exactly one.
        (end,) = yield [Request(start=stored - 1, stop=stored + 1)]
        found = None if end is None else stored - 1 + end.size
    if found is not None and found != stored:
        raise CorruptChunkError(
            f"chunk {read.key!r}: the stored chunk has a wrong length: expected {stored} bytes,"
            f" found {found} (at offset 0, length {found})"
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
            f" found {answer.size} (at offset {request.start}, length {expected})"
        )


def count(totals: dict[str, int], answers: list[Any]) -> None:
    """Count requests and the bytes that came."""
    nbytes = sum(one.size for one in answers if isinstance(one, np.ndarray))
    totals["requests"] = totals.get("requests", 0) + len(answers)
    totals["bytes_read"] = totals.get("bytes_read", 0) + nbytes


def may_read_parts(getter: Any) -> bool:
    """Whether parts of an object may be asked for: of a store's objects, unless the user says no."""
    return type(getter) is StorePath and bool(config.setting("cyzarr.partial_storage_reads"))


def knows_sizes(getter: Any) -> bool:
    """Whether a store tells an object's length otherwise than by reading it, as zarr's base class does."""
    return type(getter) is StorePath and type(getter.store).getsize is not Store.getsize


class Limit:
    """Asks a getter's own methods, with at most zarr's `async.concurrency` requests under way."""

    def __init__(self) -> None:
        allowed = zarr.config.get("async.concurrency")
        self.gate: Any = contextlib.nullcontext() if allowed is None else asyncio.Semaphore(allowed)

    async def ask(self, getter: Any, spec: Any, request: Request) -> Any:
        """The answer to one request: a uint8 array or a length; None where there is no such object."""
        async with self.gate:
            if request.size:
                try:
                    return await getter.store.getsize(getter.path)
                except FileNotFoundError:
                    return None
            found = await getter.get(spec.prototype, request.byte_range())
        return None if found is None else _zarr.cpu_bytes(found)


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
        found = [getter.get_sync(prototype=spec.prototype, byte_range=one.byte_range()) for one in wanted]
        answers = [None if one is None else _zarr.cpu_bytes(one) for one in found]
        count(totals, answers)
