"""What is to be written, cut by the grid: a block for each touched cell."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cyzarr.lazy import lowering, parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyzarr.lazy.grid import Grid

    Array = np.ndarray[Any, Any]


class Block(NamedTuple):
    """One assignment.

    Attributes
    ----------
    cells : tuple of int
        The cell of the grid.
    hull : tuple of slice
        Of the source, with steps of 1.
    at : tuple
        What is set within the hull: a key of slices and arrays.
    values : array
    covered : bool
        Whether that is all of the hull.
    """

    cells: tuple[int, ...]
    hull: tuple[slice, ...]
    at: tuple[Any, ...]
    values: Array
    covered: bool


def is_points(entries: tuple[Any, ...], values: Array) -> bool:
    """Whether entries are taken together, which their values' one axis tells."""
    return values.ndim == 1 and len(entries) > 1 and all(isinstance(entry, np.ndarray) for entry in entries)


def blocks(planned: tuple[tuple[Any, ...], Array], cells: Grid) -> Iterator[Block]:
    """The assignments, by cells in row-major order."""
    entries, values = planned
    yield from (_point_blocks if is_points(entries, values) else _product_blocks)(entries, values, cells)


def widened(block: Block, cells: Grid) -> Block:
    """The same with the whole cell as hull, which can be written without being read again."""
    hull, at = [], []
    for axis, cell, along, within in zip(cells, block.cells, block.hull, block.at, strict=True):
        first, end = axis.bounds(cell)
        by = along.start - first
        hull.append(slice(first, end))
        if isinstance(within, slice):
            at.append(slice(within.start + by, within.stop + by, within.step))
        else:
            at.append(within + by)
    return block._replace(hull=tuple(hull), at=tuple(at))


def _point_blocks(entries: tuple[Any, ...], values: Array, cells: Grid) -> Iterator[Block]:
    where = [axis.cell(entry) for axis, entry in zip(cells, entries, strict=True)]
    order, starts = parts.sort_runs(where)
    for start, stop in itertools.pairwise(starts):
        picked = order[start:stop]
        index = [entry[picked] for entry in entries]
        least = [int(one.min()) for one in index]
        hull = tuple(slice(lo, int(one.max()) + 1) for lo, one in zip(least, index, strict=True))
        at = tuple(one - lo for one, lo in zip(index, least, strict=True))
        cell = tuple(int(one[picked[0]]) for one in where)
        yield Block(cell, hull, at, values[picked], len(picked) == _size(hull))


def _size(hull: tuple[slice, ...]) -> int:
    return lowering.size(tuple(one.stop - one.start for one in hull))


def _product_blocks(entries: tuple[Any, ...], values: Array, cells: Grid) -> Iterator[Block]:
    tables = [_cut(entry, axis) for entry, axis in zip(entries, cells, strict=True)]
    for cuts in itertools.product(*tables):
        picked = values[tuple(one.values for one in cuts if one.values is not None)]
        # Axes of ints are there in the hull, with an extent of 1.
        picked = picked[tuple(None if one.values is None else slice(None) for one in cuts)]
        hull = tuple(one.hull for one in cuts)
        covered = all(one.picked == one.hull.stop - one.hull.start for one in cuts)
        yield Block(tuple(one.cell for one in cuts), hull, _open(cuts), picked, covered)


class Along(NamedTuple):
    """What of one entry lies in one cell: the hull, the key within it, how many, and which of the values."""

    cell: int
    hull: slice
    at: Any
    picked: int
    values: slice | None


def _open(cuts: tuple[Along, ...]) -> tuple[Any, ...]:
    """Keys within a hull, taken as a product."""
    if not any(isinstance(one.at, np.ndarray) for one in cuts):
        return tuple(one.at for one in cuts)
    return np.ix_(
        *(
            one.at if isinstance(one.at, np.ndarray) else np.arange(one.at.start, one.at.stop, one.at.step)
            for one in cuts
        )
    )


def _cut(entry: Any, axis: Any) -> list[Along]:
    """One entry by the cells of an axis, ascending."""
    if isinstance(entry, int):
        return [Along(int(axis.cell(entry)), slice(entry, entry + 1), slice(0, 1, 1), 1, None)]
    if isinstance(entry, range):
        return list(_cut_range(entry, axis))
    found = []
    where = axis.cell(entry)
    bounds = [0, *(np.flatnonzero(where[1:] != where[:-1]) + 1).tolist(), len(entry)]
    for start, stop in itertools.pairwise(bounds):
        along = entry[start:stop]
        low, high = int(along[0]), int(along[-1])
        found.append(Along(int(where[start]), slice(low, high + 1), along - low, stop - start, slice(start, stop)))
    return found


def _cut_range(entry: range, axis: Any) -> Iterator[Along]:
    done = 0
    while done < len(entry):
        low = entry[done]
        cell = int(axis.cell(low))
        count = min((axis.bounds(cell)[1] - 1 - low) // entry.step + 1, len(entry) - done)
        high = low + (count - 1) * entry.step
        yield Along(cell, slice(low, high + 1), slice(0, high - low + 1, entry.step), count, slice(done, done + count))
        done += count


def merged(block: Block, there: Any) -> Array:
    """What the hull of a block becomes; `there` is what it holds, None where nothing of it stays."""
    if there is None:
        made: Any = np.empty(tuple(one.stop - one.start for one in block.hull), block.values.dtype)
    else:
        made = np.array(there, copy=True, subok=True)
    made[block.at] = block.values
    return made  # type: ignore[no-any-return]


def fill_cells(entries: tuple[Any, ...], values: Array, cells: Grid) -> bool:
    """Whether a cell may be overwritten whole; for points, whether there are enough of them."""
    if is_points(entries, values):
        return len(values) >= lowering.size(tuple(axis.least for axis in cells))
    for entry, axis in zip(entries, cells, strict=True):
        if not any(one.picked == size_of(axis.bounds(one.cell)) for one in _cut(entry, axis)):
            return False
    return True


def size_of(bounds: tuple[int, int]) -> int:
    return bounds[1] - bounds[0]
