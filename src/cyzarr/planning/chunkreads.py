"""The pipeline's front end: from zarr's (object, chunk-local selection, placement) to reads of single chunks."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from zarr.core.buffer import cpu

from cyzarr import _zarr, config, observe
from cyzarr.errors import CorruptChunkError
from cyzarr.kernels.chunks import ChunkRead
from cyzarr.kernels.runs import run_reads
from cyzarr.planning.program import NotNativeError, compile_chain
from cyzarr.stores import fetch, indexcache, plain, tasks
from cyzarr.stores.getters import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from cyzarr.kernels.program import Program

__all__ = ["BatchPlan", "NotNativeError", "normalize", "plan_batch", "program_for"]

# Programs that one pipeline keeps: one per chunk specification it was asked for; on a rectilinear grid these are many.
MAX_PROGRAMS = 256
# Decoding that is expected to take less than this is not worth a hop to another thread.
INLINE_NS = 100_000


class ProgramCache(dict[Any, Any]):
    """Programs by chunk specification, kept on a pipeline or codec; pickled as an empty dict."""

    def __reduce__(self) -> Any:
        return dict, ()


def program_for(owner: Any, codecs: Sequence[Any], spec: Any) -> Program:
    """The program for chunks of this specification; kept with `owner` (a pipeline or codec).

    Raises
    ------
    NotNativeError
        The chain has no kernel; that is kept too.
    """
    if spec.prototype.buffer is not cpu.Buffer or spec.prototype.nd_buffer is not cpu.NDBuffer:
        raise NotNativeError("buffers of another kind than host memory")
    cache = owner.__dict__.get("_cyzarr")
    if type(cache) is not ProgramCache:
        cache = ProgramCache()
        owner.__dict__["_cyzarr"] = cache
    key = (spec.shape, spec.dtype, spec.order, _zarr.fill_key(spec.fill_value))
    found = cache.get(key)
    if found is None:
        try:
            found = compile_chain(codecs, spec.shape, spec.dtype, spec.fill_value, spec.order)
        except NotNativeError as error:
            # Its text alone: an exception would keep its traceback's frames.
            found = str(error)
        if len(cache) >= MAX_PROGRAMS:
            cache.clear()
        cache[key] = found
    if isinstance(found, str):
        raise NotNativeError(found)
    return found  # type: ignore[no-any-return]


def normalize(selection: Any, drop_axes: tuple[int, ...] = ()) -> tuple[tuple[Any, ...], bool]:
    """A chunk-local selection of zarr's as one entry per axis, and whether these are points.

    An entry is an int, a slice or a 1-D array.

    zarr hands over integers and slices, open meshes (np.ix_), or coordinate arrays that are taken together.
    `drop_axes` are axes of a mesh that stand for integers.
    """
    entries = selection if isinstance(selection, tuple) else (selection,)
    arrays = [one for one in entries if isinstance(one, np.ndarray | list)]
    if not arrays:
        return entries, False
    given = [np.asarray(one) if isinstance(one, np.ndarray | list) else one for one in entries]
    if any(isinstance(one, np.ndarray) and one.dtype.kind not in "iub" for one in given):
        raise NotNativeError("positions that are no integers")
    if all(isinstance(one, np.ndarray) and one.ndim == len(given) for one in given):
        return tuple(_mesh_axis(one, axis in drop_axes) for axis, one in enumerate(given)), False
    if all(isinstance(one, np.ndarray) and one.ndim == 1 and one.dtype.kind in "iu" for one in given):
        return tuple(given), True
    if len(arrays) == 1 and all(isinstance(one, slice) or np.ndim(one) == 1 for one in given):
        return tuple(one if isinstance(one, slice) else _mesh_axis(one, False) for one in given), False
    raise NotNativeError("a selection of another form")


def _mesh_axis(positions: np.ndarray[Any, Any], is_integer: bool) -> Any:
    """One axis of an open mesh: its positions, or the one integer that it stands for."""
    flat = np.flatnonzero(positions) if positions.dtype.kind == "b" else positions.ravel()
    return int(flat[0]) if is_integer and flat.size == 1 else flat


def picked_shape(selection: tuple[Any, ...], points: bool, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what a normalized selection picks."""
    if points:
        return (len(selection[0]),)
    lengths = []
    for entry, extent in zip(selection, shape, strict=True):
        if isinstance(entry, slice):
            lengths.append(len(range(*entry.indices(extent))))
        elif np.ndim(entry) == 1:
            lengths.append(len(entry))
    return tuple(lengths)


def only_slices(selection: Any) -> bool:
    """Whether a placement is slices alone, so that it is a view of the output."""
    entries = selection if isinstance(selection, tuple) else (selection,)
    return all(isinstance(one, slice) for one in entries)


class BatchPlan:
    """The reads of one batch: each chunk's bytes are got, then decoded into place."""

    def __init__(self, out: np.ndarray[Any, Any]) -> None:
        self.out = out
        self.reads: list[ChunkRead] = []
        self.getters: list[Any] = []
        self.specs: list[Any] = []
        # What does not lie in the output as it is: (read, where it goes).
        self.placed: list[tuple[ChunkRead, Any]] = []

    def add(
        self, program: Program, getter: Any, spec: Any, selection: Any, placement: Any, drop_axes: tuple[int, ...]
    ) -> None:
        """Add one chunk."""
        entries, points = normalize(selection, drop_axes)
        if len(entries) != len(spec.shape):
            raise NotNativeError("a selection of another rank")
        if program.dtype.names is not None and self.out.dtype != program.dtype:
            # zarr assigns items by position, and a missing chunk's fill value otherwise than items.
            raise NotNativeError("fields of a struct")
        shape = picked_shape(entries, points, spec.shape)
        target = None
        if self.out.dtype == program.dtype and self.out.flags.writeable and only_slices(placement):
            # The Ellipsis keeps a view of no axes a view.
            target = self.out[(*placement, ...) if isinstance(placement, tuple) else placement]
            if target.shape != shape:
                target = None
        read = ChunkRead(
            program, entries, _zarr.empty(shape, program.dtype) if target is None else target, key_of(getter), points
        )
        if target is None:
            self.placed.append((read, placement))
        self.reads.append(read)
        self.getters.append(getter)
        self.specs.append(spec)

    async def run(self) -> Any:
        """Get every chunk's bytes, decode, place; returns what a pipeline's read returns."""
        stats = await self._fetch_and_decode()
        for read, placement in self.placed:
            picked = read.out
            wanted = self.out[placement].shape
            if picked.shape != wanted and picked.size == np.prod(wanted, dtype=int):
                picked = picked.reshape(wanted)
            self.out[placement] = picked
        observe.record("pipeline", stats)
        return _zarr.results([read.missing for read in self.reads])

    async def _fetch_and_decode(self) -> dict[str, int]:
        """Decode what is at hand at once; the rest as it arrives."""
        remote = []
        here = []
        for read, getter, spec in zip(self.reads, self.getters, self.specs, strict=True):
            if plain.set_at_hand(read, getter):
                here.append(read)
            else:
                remote.append((read, getter, spec))
        totals: dict[str, int] = {}
        if here:
            await decode(here, totals)
        if remote:
            await self._stream(remote, totals)
        return totals

    async def _stream(self, remote: list[tuple[ChunkRead, Any, Any]], totals: dict[str, int]) -> None:
        """Fetch all chunks, within zarr's concurrency limit, and decode those that have arrived meanwhile.

        What was fetched and is not yet decoded is bounded, too.
        """
        asker = fetch.Asker(totals)
        fetchers = min(len(remote), asker.limit or len(remote))
        arrived: asyncio.Queue[ChunkRead | BaseException] = asyncio.Queue(fetchers)
        left = iter(remote)
        fetching = [asyncio.ensure_future(_fetch_each(left, asker, arrived)) for _ in range(fetchers)]
        try:
            done = 0
            while done < len(remote):
                ready = await _all_of(arrived)
                await decode(ready, totals, fetched=True)
                done += len(ready)
        finally:
            await tasks.give_up(fetching)


async def _fetch_each(left: Iterator[Any], asker: fetch.Asker, arrived: asyncio.Queue[Any]) -> None:
    """Fetch one after another of what is left; an error arrives like a read, and ends it."""
    for one in left:
        try:
            found: Any = await asker.fetch(*one)
        except BaseException as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            found = error
        await arrived.put(found)


async def _all_of(arrived: asyncio.Queue[Any]) -> list[ChunkRead]:
    """Wait for a read, and take all that are there; an error among them is raised."""
    found = [await arrived.get()]
    while not arrived.empty():
        found.append(arrived.get_nowait())
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return found


async def decode(
    reads: list[ChunkRead], totals: dict[str, int], fetched: bool = False, run: Callable[..., Any] = run_reads
) -> None:
    """Decode reads whose bytes are at hand; never blocks the event loop for long.

    `fetched`: they came from a store and were counted then. `run` is run_reads, or does more than that.
    """
    threads = config.threads()
    try:
        if any(read.program.chain["needs_loop"] for read in reads):
            stats = await to_its_end(waiting_threads(), run, reads, threads)
        elif sum(read.cost_ns for read in reads) < INLINE_NS and all(is_brief(read) for read in reads):
            stats = run(reads, 1)
        else:
            stats = await to_its_end(None, run, reads, threads)
    except CorruptChunkError:
        doubt(reads)
        raise
    if fetched:
        release(reads)
    add_counts(totals, without_fetches(stats) if fetched else stats)


def is_brief(read: ChunkRead) -> bool:
    """Whether a read that is estimated to be short is so: nobody knows what a disk takes, or a Python codec."""
    return not read.on_disk and not read.program.chain["runs_python"]


async def to_its_end(executor: Any, run: Callable[..., Any], reads: list[ChunkRead], threads: int) -> dict[str, int]:
    """Decode in another thread. Who is cancelled meanwhile waits for it all the same: it writes into the output."""
    work = functools.partial(contextvars.copy_context().run, run, reads, threads)
    running = asyncio.get_running_loop().run_in_executor(executor, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        running.exception()
        raise


_waiting: list[ThreadPoolExecutor] = []
os.register_at_fork(after_in_child=_waiting.clear)


def waiting_threads() -> ThreadPoolExecutor:
    """Threads for reads that wait for coroutines on zarr's loop.

    Apart from the loop's own, which those coroutines may need; and as many as there are reads, since a coroutine may
    await another read.
    """
    if not _waiting:
        _waiting.append(ThreadPoolExecutor(1 << 20, "cyzarr-wait"))
    return _waiting[0]


def doubt(reads: list[ChunkRead]) -> None:
    """These can't be decoded; it may be their kept indexes that are at fault."""
    for read in reads if indexcache.cache.used else ():
        indexcache.cache.invalidate(read.key)


def release(reads: list[ChunkRead]) -> None:
    """Let go of fetched bytes: a large selection must not hold all of them until its end."""
    for read in reads:
        # What was found is not changed by this.
        read.set_missing()


def without_fetches(stats: dict[str, int]) -> dict[str, int]:
    """Counts without those of getting the bytes."""
    return {name: count for name, count in stats.items() if name not in ("requests", "bytes_read")}


def add_counts(totals: dict[str, int], more: dict[str, int]) -> None:
    """Add counts by name."""
    for name, count in more.items():
        totals[name] = totals.get(name, 0) + count


def plan_batch(pipeline: Any, batch: list[Any], out: Any, drop_axes: tuple[int, ...]) -> BatchPlan:
    """Plan a batch that zarr hands to a pipeline.

    Raises
    ------
    NotNativeError
        The chain, a selection, or a buffer has no kernel: zarr's own code reads the whole batch.
    """
    target = _zarr.cpu_array(out)
    if target is None:
        raise NotNativeError("an output buffer of another kind than host memory")
    plan = BatchPlan(target)
    codecs = tuple(pipeline)
    spec = program = None
    for getter, chunk_spec, selection, placement, *_ in batch:
        if chunk_spec is not spec:
            spec, program = chunk_spec, program_for(pipeline, codecs, chunk_spec)
        assert program is not None
        plan.add(program, getter, spec, selection, placement, drop_axes)
    return plan
