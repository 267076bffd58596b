"""The parts of a view: what of it lies in each cell of the grid.

The outputs of a transform fall into groups that share no axis of the domain; each group is cut by itself, and the
product of their cuts is the view's. Parts tile the view exactly and are disjoint.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cyzarr.lazy.lowering import size
from cyzarr.lazy.maps import ArrayMap, DimensionMap, IndexDomain
from cyzarr.lazy.transform import IndexTransform, coordinates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyzarr.lazy.grid import Grid

    Array = np.ndarray[Any, Any]


class Group(NamedTuple):
    """Outputs (axes of the source) and the axes of the domain that they depend on."""

    outputs: list[int]
    axes: list[int]


class Cut(NamedTuple):
    """What of a group lies in one cell.

    Attributes
    ----------
    cells : tuple of int
        Per output of the group.
    interval : tuple of int, or None
        The coordinates of its axis that lie there, where these are an interval.
    picked : list of intp arrays, or None
        Else, per axis of the group, the positions (from 0) that lie there, taken together.
    """

    cells: tuple[int, ...]
    interval: tuple[int, int] | None
    picked: list[Array] | None


class Projection(NamedTuple):
    """How a part lies in its cell and in the view.

    Attributes
    ----------
    chunk_coords : tuple of int
    chunk_domain : IndexDomain
        The whole cell, in coordinates of the source.
    chunk_transform : IndexTransform
        From the part, whose domain starts at 0, to positions within the cell.
    cell_transform : IndexTransform
        From the part to positions in the view's result.
    coverage : str
        "full", "partial", or "unknown" where index arrays are involved.
    """

    chunk_coords: tuple[int, ...]
    chunk_domain: IndexDomain
    chunk_transform: IndexTransform
    cell_transform: IndexTransform
    coverage: str


class Piece(NamedTuple):
    """A part before it is a view: what it addresses, and where it goes.

    Attributes
    ----------
    cells : tuple of int
    key : IndexTransform
        From the part's domain to the view's.
    out_selection : tuple
        Positions in the view's result: slices, or index arrays.
    is_box : bool
    """

    cells: tuple[int, ...]
    key: IndexTransform
    out_selection: tuple[Any, ...]
    is_box: bool


def groups_of(transform: IndexTransform) -> list[Group]:
    """In the order of their first outputs; axes that nothing depends on are in none."""
    found: list[Group] = []
    for output, one in enumerate(transform.output):
        axes = _depends(one)
        shared = [group for group in found if set(group.axes) & axes]
        outputs = sorted([output, *(at for group in shared for at in group.outputs)])
        joined = sorted(axes.union(*(group.axes for group in shared)))
        found = [group for group in found if group not in shared]
        found.append(Group(outputs, joined))
    return sorted(found, key=lambda group: group.outputs)


def _depends(one: Any) -> set[int]:
    if isinstance(one, DimensionMap):
        return {one.input_dimension}
    return set(one.dependency_axes) if isinstance(one, ArrayMap) else set()


def cuts_of(transform: IndexTransform, group: Group, grid: Grid) -> list[Cut]:
    """The cells that a group touches, ascending."""
    maps = [transform.output[at] for at in group.outputs]
    if not group.axes:
        (one,) = maps
        return [Cut((int(grid[group.outputs[0]].cell(one.offset)),), None, None)]
    if len(maps) == 1 and isinstance(maps[0], DimensionMap):
        return _cut_affine(transform, maps[0], grid[group.outputs[0]])
    return _cut_indexed(transform, group, grid)


def _cut_affine(transform: IndexTransform, one: DimensionMap, axis: Any) -> list[Cut]:
    at = one.input_dimension
    least, beyond = transform.domain.inclusive_min[at], transform.domain.exclusive_max[at]
    if one.stride == 0:
        return [Cut((int(axis.cell(one.offset)),), (least, beyond), None)]
    found = []
    here = least
    while here < beyond:
        where = one.offset + one.stride * here
        cell = int(axis.cell(where))
        first, end = axis.bounds(cell)
        # The steps from here that stay within the cell.
        room = (end - 1 - where) // one.stride if one.stride > 0 else (where - first) // -one.stride
        after = min(here + room + 1, beyond)
        found.append(Cut((cell,), (here, after), None))
        here = after
    return found if one.stride > 0 else found[::-1]


def _cut_indexed(transform: IndexTransform, group: Group, grid: Grid) -> list[Cut]:
    shape = [transform.domain.shape[axis] for axis in group.axes]
    cells = []
    for output in group.outputs:
        where = grid[output].cell(coordinates(transform.output[output], transform.domain))
        # Only the group's axes are longer than 1.
        along = where.reshape([where.shape[axis] for axis in group.axes])
        cells.append(np.broadcast_to(along, shape).reshape(-1))
    order, starts = sort_runs(cells)
    found = []
    for start, stop in itertools.pairwise(starts):
        picked = order[start:stop]
        index = [np.ascontiguousarray(one) for one in np.unravel_index(picked, shape)]
        found.append(Cut(tuple(int(one[picked[0]]) for one in cells), None, index))
    return found


def sort_runs(keys: list[Array]) -> tuple[Array, list[int]]:
    """The order that sorts by several keys, the first one first, stable; and where runs of equal ones start and end."""
    order = np.lexsort(keys[::-1]) if len(keys) > 1 else np.argsort(keys[0], kind="stable")
    changes = np.zeros(max(len(order) - 1, 0), bool)
    for one in keys:
        along = one[order]
        changes |= along[1:] != along[:-1]
    return order, [0, *(np.flatnonzero(changes) + 1).tolist(), len(order)]


def count_cells(transform: IndexTransform, grid: Grid) -> int:
    """How many cells a view touches."""
    if 0 in transform.domain.shape:
        return 0
    return math.prod(_count(transform, group, grid) for group in groups_of(transform))


def _count(transform: IndexTransform, group: Group, grid: Grid) -> int:
    (one, *more) = (transform.output[at] for at in group.outputs)
    if not more and isinstance(one, DimensionMap):
        axis, at = grid[group.outputs[0]], one.input_dimension
        ends = transform.domain.inclusive_min[at], transform.domain.exclusive_max[at] - 1
        low, high = sorted(one.offset + one.stride * end for end in ends)
        if axis.edges is None and 0 < abs(one.stride) <= axis.size:
            return int(axis.cell(high)) - int(axis.cell(low)) + 1
    return len(cuts_of(transform, group, grid))


def pieces(transform: IndexTransform, grid: Grid) -> Iterator[Piece]:
    """The parts of a transform, by cells in row-major order."""
    if 0 in transform.domain.shape:
        return
    groups = groups_of(transform)
    tables = [cuts_of(transform, group, grid) for group in groups]
    where = [at for group in groups for at in group.outputs]
    back = sorted(range(len(where)), key=where.__getitem__)

    def cells(cuts: tuple[Cut, ...]) -> tuple[int, ...]:
        flat = [cell for cut in cuts for cell in cut.cells]
        return tuple(flat[at] for at in back)

    product: Any = itertools.product(*tables)
    if where != sorted(where):
        product = sorted(product, key=cells)
    for cuts in product:
        yield _piece(transform, cells(cuts), groups, cuts)


def _piece(transform: IndexTransform, cells: tuple[int, ...], groups: list[Group], cuts: tuple[Cut, ...]) -> Piece:
    domain = transform.domain
    least, beyond = list(domain.inclusive_min), list(domain.exclusive_max)
    gathered = []
    for group, cut in zip(groups, cuts, strict=True):
        if cut.interval is not None:
            least[group.axes[0]], beyond[group.axes[0]] = cut.interval
        elif cut.picked is not None:
            gathered.append((group.axes, cut.picked))
    selection = [slice(lo - o, hi - o) for lo, hi, o in zip(least, beyond, domain.inclusive_min, strict=True)]
    if not gathered:
        box = IndexDomain(least, beyond, domain.labels)
        return Piece(
            cells, IndexTransform.identity(box), tuple(slice(one.start, one.stop, 1) for one in selection), True
        )
    if len(gathered) == 1 and len(gathered[0][1][0]) > 1:
        return _among_slices(cells, domain, selection, *gathered[0])
    return _mesh(cells, domain, selection, gathered)


def _among_slices(
    cells: tuple[int, ...], domain: IndexDomain, selection: list[slice], axes: list[int], index: list[Array]
) -> Piece:
    """One group's positions as arrays, other axes as slices: their common axis is where NumPy puts it."""
    rank = domain.ndim
    others = [axis for axis in range(rank) if axis not in axes]
    adjacent = axes[-1] - axes[0] + 1 == len(axes)
    at = len([axis for axis in others if axis < axes[0]]) if adjacent else 0
    others.insert(at, -1)
    shape = [len(index[0]) if axis < 0 else selection[axis].stop - selection[axis].start for axis in others]
    output: list[Any] = []
    out: list[Any] = []
    for axis in range(rank):
        if axis in axes:
            picked = index[axes.index(axis)]
            along = picked.reshape([-1 if place == at else 1 for place in range(len(others))])
            output.append(ArrayMap(along, domain.inclusive_min[axis]))
            out.append(picked)
        else:
            start = selection[axis].start
            output.append(DimensionMap(others.index(axis), domain.inclusive_min[axis] + start))
            out.append(slice(start, selection[axis].stop, 1))
    return Piece(cells, IndexTransform(IndexDomain.from_shape(shape), output), tuple(out), False)


def _mesh(
    cells: tuple[int, ...], domain: IndexDomain, selection: list[slice], gathered: list[tuple[list[int], list[Array]]]
) -> Piece:
    """Every axis as an array: each group's positions along one axis of an open mesh."""
    places: list[tuple[list[int], list[Array]]] = list(gathered)
    taken = {axis for axes, _ in gathered for axis in axes}
    for axis, along in enumerate(selection):
        if axis not in taken:
            places.append(([axis], [np.arange(along.start, along.stop)]))
    places.sort(key=lambda place: place[0])
    out: list[Any] = [None] * domain.ndim
    output: list[Any] = [None] * domain.ndim
    for at, (axes, index) in enumerate(places):
        for axis, picked in zip(axes, index, strict=True):
            out[axis] = picked.reshape([-1 if place == at else 1 for place in range(len(places))])
            lo = domain.inclusive_min[axis]
            output[axis] = ArrayMap(out[axis], lo) if axis in taken else DimensionMap(at, lo + selection[axis].start)
    shape = [len(index[0]) for _, index in places]
    return Piece(cells, IndexTransform(IndexDomain.from_shape(shape), output), tuple(out), False)


def project(view: IndexTransform, part: IndexTransform, piece: Piece, grid: Grid) -> Projection:
    """How a piece of a view lies; `part` is what it addresses of the source."""
    bounds = [axis.bounds(cell) for axis, cell in zip(grid, piece.cells, strict=True)]
    zero = (0,) * part.input_rank
    local = part.translate_domain_to(zero).translate([-lo for lo, _ in bounds])
    placed = piece.key.translate_domain_to(zero).translate([-lo for lo in view.domain.inclusive_min])
    if not piece.is_box or not view.is_box:
        coverage = "unknown"
    else:
        coverage = "full" if _is_full(part, bounds) else "partial"
    box = IndexDomain([lo for lo, _ in bounds], [hi for _, hi in bounds])
    return Projection(piece.cells, box, local, placed, coverage)


def _is_full(part: IndexTransform, bounds: list[tuple[int, int]]) -> bool:
    """Whether a box addresses each coordinate of its cell exactly once."""
    seen = set()
    for one, (lo, hi) in zip(part.output, bounds, strict=True):
        if not isinstance(one, DimensionMap):
            if hi - lo != 1:
                return False
            continue
        count = part.domain.shape[one.input_dimension]
        if count != hi - lo or (count > 1 and (abs(one.stride) != 1 or one.input_dimension in seen)):
            return False
        seen.add(one.input_dimension)
    return size(part.domain.shape) == math.prod(hi - lo for lo, hi in bounds)
