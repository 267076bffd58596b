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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyzarr.lazy.chunkwrites import Target
    from cyzarr.lazy.grid import Grid

    Array = np.ndarray[Any, Any]

# Cells that are merged before they are written, bytes.
BATCH_NBYTES = 1 << 26
# How long to wait, after an error, for writes that are under way.
SETTLE_SECONDS = 5.0


def write(source: Any, entries: tuple[Any, ...], values: Array) -> None:
    """Write to entries without duplicates: ints, ranges and ascending arrays, or points."""
    # With the kernels, which are loaded when a zarr array is read or written.
    from cyzarr.lazy import chunkwrites

    cells = sources.write_grid(source, "zarr")
    fancy = any(isinstance(entry, np.ndarray) for entry in entries)
    if cells is not None:
        target = chunkwrites.target_of(source)
        whole = fancy and target is None and (_fails(source, entries, values) or fill_cells(entries, values, cells))
        if target is not None or whole:
            _write_cells(source, blocks((entries, values), cells, whole=True), target)
            return
    try:
        if is_points(entries, values):
            source.set_coordinate_selection(entries, values)
        elif fancy:
            source.set_orthogonal_selection(lowering.slices(entries), values)
        else:
            source[lowering.slices(entries)] = values
    except Exception as error:
        error.add_note(_what_is_there(source, entries, values, cells))
        raise


def _fails(source: Any, entries: tuple[Any, ...], values: Array) -> bool:
    """Whether zarr's own write may fail: zarr 3.1's orthogonal ones into shards do, where an axis has one position."""
    return getattr(source, "shards", None) is not None and not is_points(entries, values)


def _what_is_there(source: Any, entries: tuple[Any, ...], values: Array, cells: Grid | None) -> str:
    """Which cells hold what was to be written. zarr writes many at a time, and says not which; so they are read."""
    if cells is None:
        return "some of it may be written"
    ended = _zarr.settle(SETTLE_SECONDS)
    there: list[tuple[int, ...]] = []
    other: list[tuple[int, ...]] = []
    unknown: list[tuple[int, ...]] = []
    for block in blocks((entries, values), cells):
        try:
            found = np.asarray(source[block.hull])[block.at]
            same = (found == block.values) | ((found != found) & (block.values != block.values))
        except Exception:
            unknown.append(block.cells)
        else:
            (there if np.all(same) else other).append(block.cells)
    told = [] if ended else ["some of it is under way still"]
    told += [f"written: {_shown(there)}", f"not written: {_shown(other)}"]
    return "; ".join(told + ([f"can't be read: {_shown(unknown)}"] if unknown else []))


def _shown(cells: list[tuple[int, ...]]) -> str:
    return f"{len(cells)} cells" + (f" {', '.join(map(str, cells[:100]))}" if cells else "")


def _write_cells(source: Any, planned: Iterator[Block], target: Target | None) -> None:
    """Merge and write whole cells, in batches that fit in memory."""
    done: list[tuple[int, ...]] = []
    begun = 0
    for batch in _batches(planned):
        begun += len(batch)
        try:
            failed = _write_batch(source, batch, target, done)
        except Exception as error:
            failed = error
        if failed is not None:
            count = begun + sum(1 for _ in planned)
            failed.add_note(f"written: {_shown(done)}; of {count} cells in all")
            raise failed


def _write_batch(
    source: Any, batch: list[Block], target: Target | None, done: list[tuple[int, ...]]
) -> BaseException | None:
    """Write cells and add those that were to `done`; the first error, or None."""
    errors = None if target is None else target.put(batch)
    if errors is None:
        slabs = [(one.hull, merged(one, None if one.covered else sources.read_box(source, one.hull))) for one in batch]
        errors = _zarr.set_slabs(source, slabs)
    done += [one.cells for one, error in zip(batch, errors, strict=True) if error is None]
    return next((error for error in errors if error is not None), None)


def _batches(planned: Iterator[Block]) -> Iterator[list[Block]]:
    for first in planned:
        nbytes = lowering.size(tuple(one.stop - one.start for one in first.hull)) * first.values.dtype.itemsize
        yield [first, *itertools.islice(planned, BATCH_NBYTES // max(nbytes, 1))]
