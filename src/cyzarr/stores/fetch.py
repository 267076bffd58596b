"""Get the bytes that a read of one chunk needs, through a store's own methods.

What is asked for is one generator, `requests_of`, which does no I/O: it yields lists of requests and is sent the
answers. An asynchronous and a synchronous driver serve it; both take their answers through `kinds.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr

from cyzarr import _zarr, config
from cyzarr.errors import CorruptChunkError
from cyzarr.loops import in_a_loop
from cyzarr.stores import indexcache
from cyzarr.stores.getters import Source
from cyzarr.stores.ranges import (
    HELD,
    SIZE,
    UNTOLD,
    WHOLE,
    Parts,
    Ranges,
    Request,
    check_length,
    in_words,
    merge,
    telling,
)
from cyzarr.stores.tasks import together

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from cyzarr.kernels.chunks import ChunkRead

# So long a read waits for an index that another one asks for, in seconds; then it asks for itself.
PATIENCE = 10.0


@dataclass(frozen=True)
class Index:
    """A shard's index is asked for; one that is kept will do, unless it is asked for anew."""

    request: Request
    check: Callable[[Any], Any]
    anew: bool = False


if TYPE_CHECKING:
    Talk = Generator[list[Request | Ranges | Index], list[Any], None]


def requests_of(read: ChunkRead, partial: bool, spec: Any, size: str = "ask") -> Talk:
    """Ask for the bytes that a read needs, and give them to it.

    Parameters
    ----------
    read : ChunkRead
    partial : bool
        Whether parts of the object may be asked for.
    spec : ArraySpec
        Its config holds the limits up to which neighbouring ranges are asked for as one.
    size : {"held", "ask", "untold", "probe", "dear"}
        How an object's length can be had: at once, from the store, by asking for bytes around its end (at the same time
        as for others, or after them), or only by reading it.

    Yields
    ------
    list of Request, Ranges and Index
        To be answered by a list of buffers or lengths, None where there is no such object.
    """
    index = read.index_request
    if not partial or read.whole:
        yield from _whole_request(read)
    elif index is not None:
        limits = _zarr.coalesce_limits(spec.config)
        narrow = read.windowed and may_narrow(size)
        # An index costs a round. It pays where it spares more than a gap that would be read over.
        if read.touches_all and not (narrow and read.spared(*limits) > limits[0]):
            yield from _whole_request(read)
        else:
            yield from _shard_requests(read, index, limits, size, narrow)
    elif read.stored_nbytes is not None and may_narrow(size):
        yield from _window_requests(read, _zarr.coalesce_limits(spec.config), size)
    else:
        yield from _whole_request(read)


def may_narrow(size: str) -> bool:
    """Whether parts of uncompressed chunks may be asked for: the object's length is checked then, if it isn't dear."""
    return size != "dear" or not config.setting("cyzarr.check_remote_size")


def _whole_request(read: ChunkRead) -> Talk:
    (found,) = yield [WHOLE]
    if found is None:
        read.set_missing()
    else:
        read.set_object(found)


def _shard_requests(
    read: ChunkRead, index_request: tuple[str, int], limits: tuple[int, int], size: str, narrow: bool
) -> Talk:
    """The index, then what is needed of the touched inner chunks, neighbours together."""
    location, nbytes = index_request
    request = Request(stop=nbytes) if location == "start" else Request(last=nbytes)

    def check(index: Any) -> None:
        check_length(read.key, request, index)
        read.inner_requests(index)

    found: int | None = UNTOLD
    for anew in (False, True):
        (index,) = yield [Index(request, check, anew)]
        if index is None:
            read.set_missing()
            return
        check_length(read.key, request, index)
        ranges, end = inner_ranges(read, index, limits, narrow)
        parts: Any = Parts()
        if ranges and end > sum(ranges[-1]):
            (parts,), found = yield from _with_length([Ranges(tuple(ranges), *limits)], end, size)
        elif ranges:
            (parts,) = yield [Ranges(tuple(ranges), *limits)]
        if reaches(found, end) and all(part is not None and part.size == stop - start for start, stop, part in parts):
            break
        # The shard may have gone since, or be another one than that of an index that was kept: look once more.
    else:
        # The index was there both times: the shard hasn't gone between it and the data. But a store that says so by an
        # exception, and not by no answer, is believed, as zarr does.
        if parts and parts.gone:
            read.set_missing()
            return
        raise_first(read.key, parts)
        # The length contradicts the index, which the whole object shows to be so, or not.
        yield from _whole_request(read)
        return
    read.set_parts([(start, part) for start, _, part in parts], index=index, end=end)


def inner_ranges(
    read: ChunkRead, index: Any, limits: tuple[int, int], narrow: bool
) -> tuple[list[tuple[int, int]], int]:
    """What is needed of the touched inner chunks, and how far the object must reach beyond that, else 0.

    Parts of inner chunks cost a request for the object's length: they are asked for where they spare more than a gap.
    """
    whole = [one for one in read.inner_requests(index) if one[1] > 0]
    nbytes = sum(stop - start for start, stop in merge(whole, *limits))
    if narrow and nbytes > limits[0]:
        ranges, end = read.window_requests(index, *limits)
        if nbytes - sum(length for _, length in ranges) > limits[0]:
            return ranges, end
    return whole, 0


def reaches(found: int | None, end: int) -> bool:
    """Whether an object's length, as far as it is known, is at least `end` bytes."""
    return found == UNTOLD or (found is not None and found >= end)


def _with_length(wanted: list[Any], end: int, size: str) -> Generator[Any, list[Any], tuple[Any, Any]]:
    """The answers, and with them the object's length, unless the user doesn't want it: then it is UNTOLD.

    Where the store doesn't tell it, the last byte before `end` and the one after it are asked for: a length of more
    than that is told as end + 1.
    """
    found: Any = UNTOLD
    if not config.setting("cyzarr.check_remote_size"):
        return (yield wanted), found
    probe = Request(start=end - 1, stop=end + 1, probe=True)
    tail = None
    if size == "ask":
        *answers, found = yield [*wanted, SIZE]
    elif size == "untold":
        *answers, tail = yield [*wanted, probe]
    else:
        answers = yield wanted
    if size == "held":
        # Looked at last: who writes meanwhile writes what is read.
        (found,) = yield [HELD]
    elif found in (None, UNTOLD) and not all(map(is_missing, answers)):
        if size != "untold":
            (tail,) = yield [probe]
        found = None if tail is None else end - 1 + tail.size
    return answers, found


def is_missing(answer: Any) -> bool:
    """Whether an answer is that there is no such object."""
    return answer is None or (isinstance(answer, Parts) and all(part is None for *_, part in answer))


def raise_first(key: str, parts: Parts) -> None:
    """Refuse the first range that a store did not answer as it was asked."""
    for start, stop, part in parts:
        request = Request(start=start, stop=stop)
        if part is not None:
            check_length(key, request, part)
            continue
        raise CorruptChunkError(
            f"chunk {key!r}: the store has the object, but not this range ({in_words(request.byte_range())})",
            key,
            offset=start,
            length=stop - start,
        )


def _window_requests(read: ChunkRead, limits: tuple[int, int], size: str) -> Talk:
    """The ranges of an uncompressed chunk that are needed, and at the same time the object's length."""
    stored: int = read.stored_nbytes or 0
    check = config.setting("cyzarr.check_remote_size")
    ranges = tuple(read.chunk_requests(*limits))
    if ranges == ((0, stored),):
        yield from _whole_request(read)
        return
    parts: list[Any]
    (held,) = (yield [HELD]) if size == "held" else (UNTOLD,)
    if held is None or size == "probe":
        # What isn't there is asked for once. Without an event loop that costs no time.
        (parts,), found = yield from _with_length([Ranges(ranges[:1], *limits, by_get=True)], stored, size)
        if ranges[1:] and not is_missing(parts):
            (more,) = yield [Ranges(ranges[1:], *limits, by_get=True)]
            parts = [*parts, *more]
    else:
        (parts,), found = yield from _with_length([Ranges(ranges, *limits, by_get=True)], stored, size)
    if all(part is None for *_, part in parts) and found in (None, UNTOLD, 0):
        # Some stores say 0 of what is not there.
        read.set_missing()
        return
    if any(part is None for *_, part in parts) or (check and found != stored):
        # Gone or replaced meanwhile, wrong, or the store tells another length than it gives (an archive's, a filter's):
        # the whole object says what is true.
        yield from _whole_request(read)
        return
    for start, stop, part in parts:
        check_length(read.key, Request(start=start, stop=stop), part)
    read.set_parts([(start, part) for start, _, part in parts], size=stored)


class Asker:
    """Asks for what a selection needs, all requests counted.

    zarr's `async.concurrency` is what it is in zarr: how many chunks or shards are asked for at once (by who calls
    `fetch`), and of each how many of its ranges. A length is asked for beside a range and counts as none.
    """

    def __init__(self, totals: dict[str, int]) -> None:
        self.limit: int | None = zarr.config.get("async.concurrency")
        self.totals = totals

    async def fetch(self, read: ChunkRead, getter: Any, spec: Any) -> ChunkRead:
        """Fetch the bytes that a read needs, and give them to it."""
        source = Source.of(getter, read.key)
        talk = requests_of(read, source.partial, spec, source.size_how("ask"))
        answers: Any = None
        while True:
            try:
                wanted = talk.send(answers)
            except StopIteration:
                return read
            answers = await together(functools.partial(self.ask, source), wanted)

    async def ask(self, source: Source, request: Request | Ranges | Index) -> Any:
        """The answer to one request: a uint8 array, a length, or Parts; None where there is no such object."""
        if isinstance(request, Index):
            return await self.ask_index(source, request)
        if isinstance(request, Ranges):
            parts = await source.kind.read_many(source.store, source.key, request, self.limit)
            return counted(self.totals, parts)
        if request is HELD:
            return source.size_at_hand()
        if request.size:
            return counted(self.totals, await size_or_untold(source))
        byte_range = request.byte_range()
        with telling(source.key, byte_range, request.probe):
            return counted(self.totals, await source.kind.read(source.store, source.key, byte_range))
        return None

    async def ask_index(self, source: Source, index: Index) -> Any:
        """A shard's index: kept, brought by another read that is under way, or asked for."""
        claimed = claim(source, index)
        while claimed is not None:
            kept, flight, leads = claimed
            if flight is None:
                return hit(self.totals, kept)
            if leads:
                with landing(flight) as land:
                    miss(self.totals)
                    return land(index, await self.ask(source, index.request))
            try:
                return hit(self.totals, await asyncio.wait_for(asyncio.wrap_future(flight.landed), PATIENCE))
            except indexcache.FailedError:
                claimed = claim(source, index)
            except TimeoutError:
                break
        return await self.ask(source, index.request)


async def size_or_untold(source: Source) -> int | None:
    """An object's length; UNTOLD by a server that tells no lengths, or not to us: zarr itself never asks."""
    try:
        return await source.kind.getsize(source.store, source.key)
    except Exception:
        source.note_untold()
        return UNTOLD


def fetch_sync(read: ChunkRead, getter: Any, spec: Any, totals: dict[str, int]) -> None:
    """The synchronous twin of Asker.fetch, for getters with `get_sync`; a length that isn't at hand is probed there."""
    source = Source.of(getter, read.key)
    talk = requests_of(read, source.partial, spec, source.size_how("probe"))
    answers: Any = None
    while True:
        try:
            wanted = talk.send(answers)
        except StopIteration:
            return
        answers = [ask_sync(source, one, totals) for one in wanted]


def ask_sync(source: Source, request: Request | Ranges | Index, totals: dict[str, int]) -> Any:
    """The answer to one request."""
    if isinstance(request, Index):
        return ask_index_sync(source, request, totals)
    if isinstance(request, Ranges):
        return counted(totals, source.kind.read_many_sync(source.store, source.key, request))
    if request is HELD:
        return source.size_at_hand()
    byte_range = request.byte_range()
    with telling(source.key, byte_range, request.probe):
        return counted(totals, source.kind.read_sync(source.store, source.key, byte_range))
    return None


def ask_index_sync(source: Source, index: Index, totals: dict[str, int]) -> Any:
    """A shard's index. A thread that runs an event loop doesn't wait for others: they may need that loop."""
    claimed = claim(source, index)
    while claimed is not None:
        kept, flight, leads = claimed
        if flight is None:
            return hit(totals, kept)
        if leads:
            with landing(flight) as land:
                miss(totals)
                return land(index, ask_sync(source, index.request, totals))
        if in_a_loop():
            break
        try:
            return hit(totals, flight.landed.result(PATIENCE))
        except indexcache.FailedError:
            claimed = claim(source, index)
        except TimeoutError:
            break
    return ask_sync(source, index.request, totals)


def claim(source: Source, index: Index) -> Any:
    """An index that is kept, or its flight; None where none are to be kept."""
    settings = config.current()
    if not settings.remote_index_cache or settings.index_cache_nbytes == 0:
        return None
    try:
        return indexcache.cache.claim(source.store, source.key, index.request, index.anew)
    except TypeError:
        return None


@contextlib.contextmanager
def landing(flight: indexcache.Flight) -> Iterator[Callable[[Index, Any], Any]]:
    """The leader's part: hand over what was found, once it is checked, or say that there is nothing."""

    def land(index: Index, found: Any) -> bytes | None:
        held = None if found is None else found.tobytes()
        if held is not None:
            index.check(held)
        indexcache.cache.land(flight, held, config.current().index_cache_nbytes)
        return held

    try:
        yield land
    except BaseException:
        indexcache.cache.fail(flight)
        raise


def counted(totals: dict[str, int], answer: Any) -> Any:
    """Count what an answer cost; returns it."""
    held = [part for *_, part in answer] if isinstance(answer, Parts) else [answer]
    nbytes = sum(one.size for one in held if isinstance(one, np.ndarray))
    totals["requests"] = totals.get("requests", 0) + (answer.requests if isinstance(answer, Parts) else 1)
    totals["bytes_read"] = totals.get("bytes_read", 0) + nbytes
    return answer


def hit(totals: dict[str, int], index: bytes | None) -> bytes | None:
    """Count an index that was not asked for."""
    totals["index_hits"] = totals.get("index_hits", 0) + 1
    return index


def miss(totals: dict[str, int]) -> None:
    """Count an index that had to be asked for."""
    totals["index_misses"] = totals.get("index_misses", 0) + 1
