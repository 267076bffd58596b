"""What is to be written, cut by the grid: a block for each touched cell."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cyzarr.lazy import lowering, parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyzarr.lazy.grid import Grid, GridAxis

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


def blocks(planned: tuple[tuple[Any, ...], Array], cells: Grid, whole: bool = False) -> Iterator[Block]:
    """The assignments, by cells in row-major order; `whole`: their hulls are the cells, whatever is touched of them."""
    entries, values = planned
    yield from (_point_blocks if is_points(entries, values) else _product_blocks)(entries, values, cells, whole)


def _point_blocks(entries: tuple[Any, ...], values: Array, cells: Grid, whole: bool) -> Iterator[Block]:
    where = [axis.cell(entry) for axis, entry in zip(cells, entries, strict=True)]
    order, starts = parts.sort_runs(where)
    begins = np.array(starts[:-1])
    found = [one[order[begins]].tolist() for one in where]
    index = [entry[order] for entry in entries]
    values = values[order]
    hulls = []
    for axis, along, at in zip(cells, found, index, strict=True):
        if whole:
            bounds = [axis.bounds(cell) for cell in along]
        else:
            high = np.maximum.reduceat(at, begins) + 1
            bounds = list(zip(np.minimum.reduceat(at, begins).tolist(), high.tolist(), strict=True))
        at -= np.repeat([lo for lo, _ in bounds], np.diff(starts))
        hulls.append([slice(lo, hi) for lo, hi in bounds])
    runs = itertools.pairwise(starts)
    for cell, hull, (start, stop) in zip(zip(*found, strict=True), zip(*hulls, strict=True), runs, strict=True):
        run = slice(start, stop)
        yield Block(cell, hull, tuple(at[run] for at in index), values[run], stop - start == _size(hull))


def _size(hull: tuple[slice, ...]) -> int:
    return lowering.size(tuple(one.stop - one.start for one in hull))


def _product_blocks(entries: tuple[Any, ...], values: Array, cells: Grid, whole: bool) -> Iterator[Block]:
    tables = [_cut(entry, axis, whole) for entry, axis in zip(entries, cells, strict=True)]
    if sum(isinstance(entry, np.ndarray) for entry in entries) > 1:
        # NumPy takes several arrays together, unless they are an open mesh.
        tables = [[_meshed(one, axis, len(tables)) for one in table] for axis, table in enumerate(tables)]
    # Axes of ints are there in the hull, with an extent of 1.
    dropped = [isinstance(entry, int) for entry in entries]
    shown = (*(None if one else slice(None) for one in dropped), ...)
    values = values[shown] if True in dropped else values
    for cuts in itertools.product(*tables):
        key: Any = (*(one.values for one in cuts), ...)
        yield Block(
            tuple(one.cell for one in cuts),
            tuple(one.hull for one in cuts),
            tuple(one.at for one in cuts),
            values[key],
            all(one.covered for one in cuts),
        )


class Along(NamedTuple):
    """What of one entry lies in one cell: the hull, the key within it, whether that is all, which of the values."""

    cell: int
    hull: slice
    at: Any
    covered: bool
    values: slice


def _meshed(one: Along, axis: int, rank: int) -> Along:
    """The same with its key as one axis of an open mesh."""
    at = one.at if isinstance(one.at, np.ndarray) else np.arange(one.at.start, one.at.stop, one.at.step)
    return one._replace(at=at.reshape([-1 if each == axis else 1 for each in range(rank)]))


def _cut(entry: Any, axis: GridAxis, whole: bool) -> list[Along]:
    """One entry by the cells of an axis, ascending."""
    if isinstance(entry, int):
        cell = int(axis.cell(entry))
        lo, hi = axis.bounds(cell) if whole else (entry, entry + 1)
        return [Along(cell, slice(lo, hi), slice(entry - lo, entry - lo + 1, 1), hi - lo == 1, slice(None))]
    if isinstance(entry, range):
        return list(_cut_range(entry, axis, whole))
    found = []
    where = axis.cell(entry)
    bounds = [0, *(np.flatnonzero(where[1:] != where[:-1]) + 1).tolist(), len(entry)]
    for start, stop in itertools.pairwise(bounds):
        along = entry[start:stop]
        cell = int(where[start])
        lo, hi = axis.bounds(cell) if whole else (int(along[0]), int(along[-1]) + 1)
        found.append(Along(cell, slice(lo, hi), along - lo, stop - start == hi - lo, slice(start, stop)))
    return found


def _cut_range(entry: range, axis: GridAxis, whole: bool) -> Iterator[Along]:
    done = 0
    while done < len(entry):
        low = entry[done]
        cell = int(axis.cell(low))
        bounds = axis.bounds(cell)
        count = min((bounds[1] - 1 - low) // entry.step + 1, len(entry) - done)
        high = low + (count - 1) * entry.step
        lo, hi = bounds if whole else (low, high + 1)
        at = slice(low - lo, high - lo + 1, entry.step)
        yield Along(cell, slice(lo, hi), at, count == hi - lo, slice(done, done + count))
        done += count


def merged(block: Block, there: Any) -> Array:
    """What the hull of a block becomes; `there` is what it holds, None where nothing of it stays."""
    if there is None:
        made: Any = np.empty(tuple(one.stop - one.start for one in block.hull), block.values.dtype)
    else:
        made = np.array(there, copy=True, subok=True)
    if isinstance(block.values, np.ma.MaskedArray) and not isinstance(made, np.ma.MaskedArray):
        made = np.ma.array(made, copy=False)
    made[block.at] = block.values
    return made  # type: ignore[no-any-return]


def fill_cells(entries: tuple[Any, ...], values: Array, cells: Grid) -> bool:
    """Whether a cell may be overwritten whole; for points, whether there are enough of them."""
    if is_points(entries, values):
        return len(values) >= lowering.size(tuple(axis.least for axis in cells))
    for entry, axis in zip(entries, cells, strict=True):
        if not any(one.covered for one in _cut(entry, axis, whole=True)):
            return False
    return True
