"""Writing through a view.

Everything is settled before the first assignment: values are converted, cells checked, duplicates resolved (the last
in C order stays) and cut by the grid the source is written by. Then each touched cell is written once; what lies
between the touched coordinates is read first, where there is any.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cyzarr.lazy import lowering, parts, reading, sources
from cyzarr.lazy.lowering import Points, Product

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cyzarr.lazy.grid import Grid
    from cyzarr.lazy.view import LazyArray

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


def write(view: LazyArray, given: Any) -> None:
    """Write values, broadcast to the view's shape."""
    source, transform = view._source, view._transform
    if len(transform.output) != len(source.shape):
        raise ValueError(f"a view of {len(transform.output)} axes of a source of {len(source.shape)}")
    values = converted(view, given)
    if 0 in view.shape:
        return
    reading.check_range(transform, tuple(source.shape))
    if not source.shape:
        source[()] = values.reshape(-1)[-1:].reshape(())
        return
    plan = lowering.lower(transform)
    if isinstance(plan, Product) and _is_plain(plan, view.shape):
        source[lowering.slices(plan.entries)] = _in_source_order(plan, values)
    elif view._kind == "numpy":
        _set_numpy(source, unique(plan, values))
    else:
        cells = sources.write_grid(source, view._kind) if hasattr(source, "__getitem__") else None
        if cells is None:
            _set_each(source, plan, values)
        else:
            _set_blocks(source, list(blocks(unique(plan, values), cells, view._kind == "zarr")))


def converted(view: LazyArray, given: Any) -> Array:
    """The values in the source's data type, broadcast to the view's shape; nobody else's."""
    from cyzarr.lazy.view import LazyArray

    if isinstance(given, LazyArray):
        given = given.result()
    masked = isinstance(given, np.ma.MaskedArray) and isinstance(view._source, np.ma.MaskedArray)
    values: Array = (np.ma.array if masked else np.array)(given, dtype=view.dtype, copy=True)
    while values.ndim > view.ndim and values.shape[0] == 1:
        values = values[0] if values.ndim > 1 else values.reshape(())
    return np.broadcast_to(values, view.shape, subok=True)


def _is_plain(plan: Product, shape: tuple[int, ...]) -> bool:
    """Whether each cell of the view is another one of the source, in steps along its axes."""
    repeated = any(extent != 1 and axis not in plan.axes for axis, extent in enumerate(shape))
    return not repeated and not any(isinstance(entry, np.ndarray) for entry in plan.entries)


def _in_source_order(plan: Product, values: Array) -> Array:
    """Values with an axis per entry that is no int; where the view repeats an axis, its last."""
    last: list[Any] = [-1] * values.ndim
    for axis, down in zip(plan.axes, plan.flipped, strict=True):
        last[axis] = slice(None, None, -1) if down else slice(None)
    kept = values[(*last, ...)]
    order = sorted(range(len(plan.axes)), key=plan.axes.__getitem__)
    return kept.transpose(np.argsort(order)) if order != list(range(len(order))) else kept


def unique(plan: Product | Points, values: Array) -> tuple[tuple[Any, ...], Array]:
    """(entries, values) without duplicates: the last in C order stays.

    Entries are ints, ranges and ascending intp arrays, and the values' axes those that are no ints; or, with values
    of one axis, all are intp arrays of its length that are taken together.
    """
    if isinstance(plan, Points):
        return _unique_points(plan, values)
    values = _in_source_order(plan, values)
    entries = []
    axis = 0
    for entry in plan.entries:
        if isinstance(entry, np.ndarray):
            entry, last = _last_of_each(entry)
            values = values.take(last, axis=axis)
        entries.append(entry)
        axis += not isinstance(entry, int)
    return tuple(entries), values


def _last_of_each(entry: Array) -> tuple[Array, Array]:
    """The distinct items, ascending, and where each occurs last."""
    order = np.argsort(entry, kind="stable")
    along = entry[order]
    last = np.flatnonzero(np.append(along[1:] != along[:-1], True))
    return along[last], order[last]


def _unique_points(plan: Points, values: Array) -> tuple[tuple[Any, ...], Array]:
    # What nothing depends on repeats: its last.
    values = values[tuple(slice(-1, None) if extent == 1 else slice(None) for extent in plan.shape)].reshape(-1)
    index = lowering.flat(plan)
    order, starts = parts.sort_runs(list(index))
    last = order[np.array(starts[1:]) - 1]
    return tuple(one[last] for one in index), values[last]


def _is_points(entries: tuple[Any, ...], values: Array) -> bool:
    return values.ndim == 1 and len(entries) > 1 and all(isinstance(entry, np.ndarray) for entry in entries)


def _set_numpy(source: Array, planned: tuple[tuple[Any, ...], Array]) -> None:
    """One assignment."""
    entries, values = planned
    if _is_points(entries, values):
        source[entries] = values
        return
    source[_meshed(entries)] = values


def _meshed(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    """Entries as a key for NumPy: an open mesh of those that are no ints, where one is an array."""
    if not any(isinstance(entry, np.ndarray) for entry in entries):
        return lowering.slices(entries)
    kept = [np.asarray(entry, np.intp) for entry in entries if not isinstance(entry, int)]
    mesh = iter(np.ix_(*kept))
    return tuple(entry if isinstance(entry, int) else next(mesh) for entry in entries)


# --- one element at a time

def _set_each(source: Any, plan: Product | Points, values: Array) -> None:
    """An assignment per element, in C order of the view, without reading."""
    if isinstance(plan, Points):
        index = plan.index
    else:
        index = _expanded(plan, values.ndim)
    along = [np.broadcast_to(one, values.shape).reshape(-1).tolist() for one in index]
    flat = values.reshape(-1)
    _tell_written(
        [(at, _one_setter(source, at, flat, place)) for place, at in enumerate(zip(*along, strict=True))], "element"
    )


def _one_setter(source: Any, at: tuple[int, ...], flat: Array, place: int) -> Callable[[], None]:
    def assign() -> None:
        source[at] = flat[place]

    return assign


def _expanded(plan: Product, rank: int) -> list[Array]:
    """The coordinates of a product, as index arrays over the domain."""
    found = []
    axes = iter(zip(plan.axes, plan.flipped, strict=True))
    for entry in plan.entries:
        if isinstance(entry, int):
            found.append(np.full((1,) * rank, entry, np.intp))
            continue
        axis, down = next(axes)
        along = np.asarray(entry, np.intp)[:: -1 if down else 1]
        found.append(along.reshape([-1 if one == axis else 1 for one in range(rank)]))
    return found


# --- a block for each touched cell

def blocks(planned: tuple[tuple[Any, ...], Array], cells: Grid, whole_cells: bool) -> Iterator[Block]:
    """The assignments, by cells in row-major order.

    `whole_cells`: a hull that has to be read is the whole cell, which the source can then write without reading.
    """
    entries, values = planned
    cut = _point_blocks if _is_points(entries, values) else _product_blocks
    for block in cut(entries, values, cells):
        yield _widened(block, cells) if whole_cells and not block.covered else block


def _widened(block: Block, cells: Grid) -> Block:
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
        picked = values[(*(one.values for one in cuts if one.values is not None), ...)]
        # Axes of ints are there in the hull, with an extent of 1.
        picked = picked[tuple(None if one.values is None else slice(None) for one in cuts)]
        hull = tuple(one.hull for one in cuts)
        covered = all(one.count == one.hull.stop - one.hull.start for one in cuts)
        yield Block(tuple(one.cell for one in cuts), hull, _open(cuts), picked, covered)


class Along(NamedTuple):
    """What of one entry lies in one cell: the hull, the key within it, how many, and which of the values."""

    cell: int
    hull: slice
    at: Any
    count: int
    values: slice | None


def _open(cuts: tuple[Along, ...]) -> tuple[Any, ...]:
    """Keys within a hull, taken as a product."""
    if not any(isinstance(one.at, np.ndarray) for one in cuts):
        return tuple(one.at for one in cuts)
    return np.ix_(
        *(one.at if isinstance(one.at, np.ndarray) else np.arange(one.at.start, one.at.stop, one.at.step) for one in cuts)
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


def _set_blocks(source: Any, planned: list[Block]) -> None:
    _tell_written([(block.cells, _block_setter(source, block)) for block in planned], "cell")


def _block_setter(source: Any, block: Block) -> Callable[[], None]:
    def assign() -> None:
        if block.covered:
            shape = tuple(one.stop - one.start for one in block.hull)
            merged: Any = np.empty(shape, block.values.dtype)
        else:
            merged = np.array(source[block.hull], copy=True, subok=True)
        merged[block.at] = block.values
        source[block.hull] = merged

    return assign


def _tell_written(steps: list[tuple[tuple[int, ...], Callable[[], None]]], what: str) -> None:
    """Take the steps; an error says in a note which were done."""
    for done, (at, assign) in enumerate(steps):
        try:
            assign()
        except BaseException as error:
            before = [steps[one][0] for one in range(done)]
            shown = ", ".join(map(str, before[:100])) + (" ..." if done > 100 else "")
            error.add_note(
                f"written before: {done} of {len(steps)} {what}s{': ' + shown if done else ''}; {what} {at} may be in part"
            )
            raise
