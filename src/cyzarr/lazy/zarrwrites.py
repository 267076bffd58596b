"""Writing to zarr arrays: never a coordinate twice, and no chunk or shard in two steps.

Small chunks of local and memory stores are written here (chunkwrites). Otherwise zarr itself reads, merges and writes
each touched chunk or shard once, several at a time, so it is handed selections without duplicates whole. Where index
arrays overwrite cells whole, which it would read all the same, it is handed the cells.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from cyzarr import _zarr
from cyzarr.lazy import lowering, sources
from cyzarr.lazy.blocks import Block, blocks, fill_cells, is_points, merged
from cyzarr.words import so_many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyzarr.lazy.chunkwrites import Target

    Array = np.ndarray[Any, Any]

# Cells that are merged before they are written, bytes.
BATCH_NBYTES = 1 << 26
# How long to wait, after an error, for chunks of the same write that the store is being handed.
SETTLE_SECONDS = 5.0


def write(source: Any, entries: tuple[Any, ...], values: Array, looks_before: bool) -> None:
    """Write to entries without duplicates: ints, ranges and ascending arrays, or points.

    `looks_before`: what an edge chunk holds beyond the array stays, since zarr reads the chunk where there are arrays
    or steps, though all may be ints and ranges by now.
    """
    # With the kernels, which are loaded when a zarr array is read or written.
    from cyzarr.lazy import chunkwrites

    cells = sources.write_grid(source, "zarr")
    fancy = any(isinstance(entry, np.ndarray) for entry in entries)
    if cells is not None:
        target = chunkwrites.target_of(source)
        by_cells = target is None and (fancy or (looks_before and _edges(source) is not None))
        whole = by_cells and (_fails(source, entries, values) or fill_cells(entries, values, cells))
        if target is not None or whole:
            keep = looks_before or not _ints_cover(source, entries)
            _write_cells(source, blocks((entries, values), cells, whole=True), target, keep)
            return
    _write_noted(source, entries, values, fancy)


def _write_noted(source: Any, entries: tuple[Any, ...], values: Array, fancy: bool) -> None:
    """Have zarr write; an error says in a note which chunks the store took."""
    log = None if _zarr.awaits_repair(source.metadata) else _zarr.WriteLog(source)
    array: Any = None if log is None else log.array
    if array is None:
        log, array = None, source
    try:
        if is_points(entries, values):
            array.set_coordinate_selection(entries, values)
        elif fancy:
            array.set_orthogonal_selection(lowering.slices(entries), values)
        else:
            array[lowering.slices(entries)] = values
    except BaseException as error:
        if log is None:
            error.add_note("some of it may be written")
        else:
            # Who interrupts doesn't wait.
            late = log.end(SETTLE_SECONDS if isinstance(error, Exception) else 0)
            done = [key for key in log.touched if key in log.done]
            error.add_note(_told(done, len(log.touched)) + (f"; under way still: {_shown(late)}" if late else ""))
        raise


def _fails(source: Any, entries: tuple[Any, ...], values: Array) -> bool:
    """Whether zarr's own write may fail: zarr 3.1's orthogonal ones into shards do, where an axis has one position."""
    return _zarr.is_sharded(source.metadata) and not is_points(entries, values)


def _told(done: list[str], count: int) -> str:
    return f"written: {len(done):,} of {so_many(count, 'chunk')}{': ' + _shown(done) if done else ''}"


def _shown(keys: list[str]) -> str:
    return ", ".join(keys[:100]) + (" ..." if len(keys) > 100 else "")


def _edges(source: Any) -> tuple[int, ...] | None:
    """Per axis the length of chunks, which may reach beyond the array; None where none does or zarr keeps that anyway.

    As it does of shards. Of chunks that differ in length: 0.
    """
    metadata, parts = source.metadata, _zarr.parts_of(source)
    lengths = _zarr.chunk_shape(metadata)
    if lengths is None:
        lengths = (0,) * source.ndim
    clipped = any(length == 0 or extent % length for extent, length in zip(source.shape, lengths, strict=True))
    return lengths if clipped and (parts is None or not _zarr.encodes_parts(parts.pipeline)) else None


def _ints_cover(source: Any, entries: tuple[Any, ...]) -> bool:
    """Whether zarr takes an edge chunk of which an int is all that lies in the array for overwritten."""
    lengths = _zarr.chunk_shape(source.metadata) or (0,) * len(entries)
    return _zarr.INTS_COVER_EDGES or all(
        isinstance(entry, range) or length == 1 for entry, length in zip(entries, lengths, strict=True)
    )


def _write_cells(source: Any, planned: Iterator[Block], target: Target | None, keep: bool) -> None:
    """Merge and write whole cells, in batches that fit in memory."""
    done: list[str] = []
    begun = 0
    for batch in _batches(planned):
        begun += len(batch)
        try:
            failed = _write_batch(source, batch, target, keep, done)
        except BaseException as error:
            failed = error
        if failed is not None:
            count = begun + sum(1 for _ in planned)
            failed.add_note(_told(done, count))
            raise failed


def _write_batch(
    source: Any, batch: list[Block], target: Target | None, keep: bool, done: list[str]
) -> BaseException | None:
    """Write cells and add the keys of those that were to `done`; the first error, or None."""
    errors = None if target is None else target.put(batch, keep)
    if errors is None:
        lengths = _edges(source)
        slabs = [(one.hull, merged(one, None if one.covered else sources.read_box(source, one.hull))) for one in batch]
        beyond = [
            lengths is not None and (keep or not one.covered) and _is_edge(one.hull, source.shape, lengths)
            for one in batch
        ]
        plain = iter(_zarr.set_slabs(source, [one for one, edge in zip(slabs, beyond, strict=True) if not edge]))
        errors = [_set_edge(source, *one) if edge else next(plain) for one, edge in zip(slabs, beyond, strict=True)]
    key = source.metadata.encode_chunk_key
    done += [key(one.cells) for one, error in zip(batch, errors, strict=True) if error is None]
    return next((error for error in errors if error is not None), None)


def _is_edge(hull: tuple[slice, ...], shape: tuple[int, ...], lengths: tuple[int, ...]) -> bool:
    """Whether a cell is the part within the array of a chunk that may be longer."""
    return any(
        one.stop == extent and not 0 < length <= one.stop - one.start
        for one, extent, length in zip(hull, shape, lengths, strict=True)
    )


def _set_edge(source: Any, hull: tuple[slice, ...], values: Array) -> BaseException | None:
    """Write an edge cell by an index array, so that zarr keeps what its chunk holds beyond; what it raised, or None."""
    axis = int(np.argmax(values.shape))
    key = (*hull[:axis], np.arange(hull[axis].start, hull[axis].stop), *hull[axis + 1 :])
    try:
        source.set_orthogonal_selection(key, values)
    except Exception as error:
        return error
    return None


def _batches(planned: Iterator[Block]) -> Iterator[list[Block]]:
    for first in planned:
        nbytes = lowering.size(tuple(one.stop - one.start for one in first.hull)) * first.values.dtype.itemsize
        yield [first, *itertools.islice(planned, BATCH_NBYTES // max(nbytes, 1))]
