"""Writing through a view.

Everything is settled before the first assignment: values are converted, cells checked, duplicates resolved (the last
in C order stays) and cut by the grid the source is written by. Then each touched cell is written once; what lies
between the touched coordinates is read first, where there is any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cyzarr.lazy import lowering, parts, sources, zarrwrites
from cyzarr.lazy.blocks import Block, blocks, is_points, merged
from cyzarr.lazy.lowering import Points, Product
from cyzarr.lazy.maps import DimensionMap

if TYPE_CHECKING:
    from collections.abc import Callable

    from cyzarr.lazy.transform import IndexTransform
    from cyzarr.lazy.view import LazyArray

    Array = np.ndarray[Any, Any]


def write(view: LazyArray, given: Any) -> None:
    """Write values, broadcast to the view's shape."""
    put(view, converted(view, given))


def put(view: LazyArray, values: Array) -> None:
    """Write values of the view's shape and the source's data type."""
    source, transform = view._source, view._transform
    if len(transform.output) != len(source.shape):
        raise ValueError(f"a view of {len(transform.output)} axes of a source of {len(source.shape)}")
    if 0 in view.shape:
        return
    plan = lowering.lower(transform)
    sources.check_range(plan, source)
    if not source.shape:
        _set_plain(view, (), values.reshape(-1)[-1:].reshape(()))
    elif isinstance(plan, Product) and _is_plain(plan, view.shape):
        _set_plain(view, plan.entries, _in_source_order(plan, values))
    elif view._kind == "numpy":
        _set_numpy(source, unique(plan, values))
    elif sources.is_plain_zarr(source):
        entries, values = unique(plan, values)
        zarrwrites.write(source, entries, values, _looks_before(transform, plan))
    else:
        cells = sources.write_grid(source, view._kind) if hasattr(source, "__getitem__") else None
        if cells is None:
            _set_each(source, plan, values)
        else:
            _set_blocks(source, list(blocks(unique(plan, values), cells)))


def converted(view: LazyArray, given: Any, own: bool = False) -> Array:
    """The values in the source's data type, broadcast to the view's shape.

    They are nobody else's; where the source keeps its own copy anyway, only if that is asked for.
    """
    from cyzarr.lazy.view import LazyArray

    if isinstance(given, LazyArray):
        given = given.result()
    masked = isinstance(given, np.ma.MaskedArray) and sources.takes_masks(view._source, view._kind)
    dtype = view.dtype
    if not own and view._kind == "zarr" and type(given) is np.ndarray and given.dtype == dtype:
        # What is stored is never the caller's array.
        values: Array = given
    elif isinstance(given, np.generic):
        # Assigned, not made into an array: then NumPy raises where it doesn't fit.
        values = sources.empty((), dtype, None)
        values[...] = given
    else:
        values = (np.ma.array if masked else np.array)(given, dtype=dtype, copy=True)
    while values.ndim > view.ndim and values.shape[0] == 1:
        values = values[0] if values.ndim > 1 else values.reshape(())
    return lowering.broadcast(values, view.shape)


def _looks_before(transform: IndexTransform, plan: Product | Points | tuple[Any, ...]) -> bool:
    """Whether zarr, handed what made the view, would read each chunk before it writes it, as for arrays and for steps.

    An array of one position is a constant by now: it leaves an axis on which nothing depends.
    """
    entries = plan if isinstance(plan, tuple) else plan.arrays if isinstance(plan, Points) else plan.entries
    if any(isinstance(entry, np.ndarray) or (isinstance(entry, range) and entry.step != 1) for entry in entries):
        return True
    maps = [one for one in transform.output if isinstance(one, DimensionMap)]
    return len(maps) < transform.input_rank or any(abs(one.stride) != 1 for one in maps)


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


def _set_plain(view: LazyArray, entries: tuple[Any, ...], values: Array) -> None:
    """One assignment, of ints and ranges."""
    source = view._source
    if sources.is_plain_zarr(source):
        zarrwrites.write(source, entries, values, _looks_before(view._transform, entries))
        return
    try:
        source[lowering.slices(entries)] = values
    except BaseException as error:
        if view._kind != "numpy":
            error.add_note("it was one assignment to the source; some of it may be written")
        raise


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
            if entry[-1] - entry[0] == len(entry) - 1:
                entry = range(int(entry[0]), int(entry[-1]) + 1)
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
    try:
        keys = [np.ravel_multi_index(index, [int(one.max()) + 1 for one in index])]
    except ValueError:
        # More places than an integer can number.
        keys = list(index)
    order, starts = parts.sort_runs(keys)
    last = order[np.array(starts[1:]) - 1]
    return tuple(one[last] for one in index), values[last]


def _set_numpy(source: Array, planned: tuple[tuple[Any, ...], Array]) -> None:
    """One assignment."""
    entries, values = planned
    if is_points(entries, values):
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
        index = plan.arrays
    else:
        index = _expanded(plan, values.ndim)
    along = [np.broadcast_to(one, values.shape).reshape(-1).tolist() for one in index]
    # Of a masked array, one item is an array too: NumPy's constant for masked ones has lost the data type.
    flat: Any = values.reshape(-1)
    if isinstance(flat, np.ma.MaskedArray):
        flat = [flat[place : place + 1].reshape(()) for place in range(flat.size)]
    _tell_written(
        [(at, _one_setter(source, at, flat, place)) for place, at in enumerate(zip(*along, strict=True))], "element"
    )


def _one_setter(source: Any, at: tuple[int, ...], flat: Any, place: int) -> Callable[[], None]:
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


def _set_blocks(source: Any, planned: list[Block]) -> None:
    _tell_written([(block.cells, _block_setter(source, block)) for block in planned], "cell")


def _block_setter(source: Any, block: Block) -> Callable[[], None]:
    def assign() -> None:
        source[block.hull] = merged(block, None if block.covered else sources.read_slices(source, block.hull))

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
                f"written before: {done} of {len(steps)} {what}s{': ' + shown if done else ''}; "
                f"{what} {at} may be in part"
            )
            raise
