"""What the two codecs share: decode a selection of one chunk by the kernels, or say that they don't hold it."""

from __future__ import annotations

from typing import Any

from zarr.core.buffer import cpu

from cyzarr import _zarr, config, observe
from cyzarr.codecs.loading import NOT_NATIVE
from cyzarr.errors import CorruptChunkError
from cyzarr.kernels.chunks import ChunkRead
from cyzarr.kernels.runs import run_reads
from cyzarr.planning.chunkreads import (
    NotNativeError,
    add_counts,
    decode,
    doubt,
    normalize,
    picked_shape,
    program_for,
    without_fetches,
)
from cyzarr.stores import fetch, plain
from cyzarr.stores.getters import key_of


def plan(codec: Any, selection: Any, spec: Any, key: str) -> ChunkRead:
    """A read of one chunk into fresh memory of zarr's order."""
    program = program_for(codec, (codec,), spec)
    entries, points = normalize(selection)
    if len(entries) != len(spec.shape):
        raise NotNativeError("a selection of another rank")
    shape = picked_shape(entries, points, spec.shape)
    out = _zarr.empty(shape, program.dtype, spec.config.order)
    return ChunkRead(program, entries, out, key, points)


def plan_or_note(codec: Any, selection: Any, spec: Any, key: str, may_wait: bool = False) -> ChunkRead | None:
    """The plan; None, and a note for status() and trace(), where the kernels don't hold the chunk."""
    try:
        read = plan(codec, selection, spec, key)
        if not may_wait and read.program.chain["needs_loop"]:
            raise NotNativeError("a codec that is a coroutine, asked for without one")
        return read
    except NotNativeError as error:
        observe.note_fallback(str(error))
        return None


def result(read: ChunkRead, stats: dict[str, int]) -> Any:
    """What a codec gives: the picked items, or None where the chunk is missing."""
    observe.record("codec", stats)
    # zarr 3.1's protocol of arrays doesn't know NumPy's own as one.
    picked: Any = read.out
    return None if read.missing else cpu.NDBuffer(picked)


async def decode_async(codec: Any, getter: Any, selection: Any, spec: Any) -> Any:
    """Decode a selection of a stored chunk."""
    read = plan_or_note(codec, selection, spec, key_of(getter), may_wait=True)
    if read is None:
        return NOT_NATIVE
    totals: dict[str, int] = {}
    here = plain.set_at_hand(read, getter)
    if not here:
        await fetch.Asker(totals).fetch(read, getter, spec)
    await decode([read], totals, fetched=not here)
    return result(read, totals)


def decode_sync(codec: Any, getter: Any, selection: Any, spec: Any) -> Any:
    """The synchronous twin; for getters with `get_sync`."""
    read = plan_or_note(codec, selection, spec, key_of(getter))
    if read is None:
        return NOT_NATIVE
    totals: dict[str, int] = {}
    here = plain.set_at_hand(read, getter)
    if not here:
        fetch.fetch_sync(read, getter, spec, totals)
    try:
        stats = run_reads([read], config.threads())
    except CorruptChunkError:
        doubt([read])
        raise
    add_counts(totals, stats if here else without_fetches(stats))
    return result(read, totals)


def decode_whole(codec: Any, stored: Any, spec: Any) -> Any:
    """Decode a whole chunk from its bytes."""
    read = plan_or_note(codec, (slice(None),) * len(spec.shape), spec, "<chunk>")
    if read is None:
        return NOT_NATIVE
    read.set_object(_zarr.cpu_bytes(stored))
    return result(read, run_reads([read], config.threads()))


async def decode_whole_async(codec: Any, stored: Any, spec: Any) -> Any:
    """The asynchronous twin: a large chunk is decoded off the event loop."""
    read = plan_or_note(codec, (slice(None),) * len(spec.shape), spec, "<chunk>", may_wait=True)
    if read is None:
        return NOT_NATIVE
    read.set_object(_zarr.cpu_bytes(stored))
    totals: dict[str, int] = {}
    await decode([read], totals)
    return result(read, totals)
