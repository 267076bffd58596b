"""The parts of a view: what of it lies in each cell of the grid.

The outputs of a transform fall into groups that share no axis of the domain; each group is cut by itself, and the
product of their cuts is the view's. Parts tile the view exactly and are disjoint.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cyzarr.errors import BoundsCheckError
from cyzarr.lazy.lowering import size
from cyzarr.lazy.maps import ArrayMap, DimensionMap, IndexDomain
from cyzarr.lazy.transform import IndexTransform, coordinates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def check_reach(transform: IndexTransform, grid: Grid) -> None:
    """Raise where a view that is not empty reaches beyond its source, which may have shrunk since.

    Raises
    ------
    BoundsCheckError
    """
    if len(grid) != transform.output_rank:
        raise BoundsCheckError(f"a view of {transform.output_rank} axes of a source of {len(grid)}")
    for axis, ((low, high), along) in enumerate(zip(transform.output_ranges(), grid, strict=True)):
        if low < 0 or high >= along.extent:
            raise BoundsCheckError(f"axis {axis}: {low} to {high} is not within the source's extent of {along.extent}")


def affine_of(transform: IndexTransform, group: Group) -> DimensionMap | None:
    """The map of a group of one map that follows an axis; its cells are told by arithmetic."""
    one = transform.output[group.outputs[0]]
    return one if len(group.outputs) == 1 and isinstance(one, DimensionMap) else None


def cuts_of(transform: IndexTransform, group: Group, grid: Grid) -> Iterable[Cut]:
    """The cells that a group touches, ascending; an iterator where there may be very many."""
    one = affine_of(transform, group)
    if one is not None:
        return _cut_affine(transform, one, grid[group.outputs[0]])
    if not group.axes:
        return [Cut(tuple(int(cells[0]) for cells in cells_of(transform, group, grid)), None, None)]
    return _cut_indexed(transform, group, grid)


def _cut_affine(transform: IndexTransform, one: DimensionMap, axis: Any) -> Iterator[Cut]:
    at = one.input_dimension
    least, beyond = transform.domain.inclusive_min[at], transform.domain.exclusive_max[at]
    if one.stride == 0:
        yield Cut((int(axis.cell(one.offset)),), (least, beyond), None)
        return
    up = one.stride > 0
    here = least if up else beyond - 1
    while least <= here < beyond:
        where = one.offset + one.stride * here
        cell = int(axis.cell(where))
        # The steps from here that stay within the cell, upward in the source.
        room = (axis.bounds(cell)[1] - 1 - where) // abs(one.stride)
        after = min(here + room + 1, beyond) if up else max(here - room - 1, least - 1)
        yield Cut((cell,), (here, after) if up else (after + 1, here + 1), None)
        here = after


def cells_of(transform: IndexTransform, group: Group, grid: Grid) -> list[Array]:
    """Per output of a group, the cell of each position on the group's axes, flat."""
    shape = [transform.domain.shape[axis] for axis in group.axes]
    cells = []
    for output in group.outputs:
        where = grid[output].cell(coordinates(transform.output[output], transform.domain))
        # Only the group's axes are longer than 1.
        along = where.reshape([where.shape[axis] for axis in group.axes])
        cells.append(np.broadcast_to(along, shape).reshape(-1))
    return cells


def _cut_indexed(transform: IndexTransform, group: Group, grid: Grid) -> list[Cut]:
    shape = [transform.domain.shape[axis] for axis in group.axes]
    cells = cells_of(transform, group, grid)
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


def touched(transform: IndexTransform, grid: Grid) -> tuple[int, int]:
    """How many cells a view touches, and how many items these hold; cells aren't listed for it.

    Raises
    ------
    BoundsCheckError
    """
    if 0 in transform.domain.shape:
        return 0, 0
    check_reach(transform, grid)
    found = [_touched(transform, group, grid) for group in groups_of(transform)]
    return math.prod(count for count, _ in found), math.prod(items for _, items in found)


def _touched(transform: IndexTransform, group: Group, grid: Grid) -> tuple[int, int]:
    one, axis = affine_of(transform, group), grid[group.outputs[0]]
    if one is None:
        cells = cells_of(transform, group, grid)
        order, starts = sort_runs(cells)
        heads = order[starts[:-1]]
        sizes = [grid[output].sizes(along[heads]) for output, along in zip(group.outputs, cells, strict=True)]
        return len(heads), int(math.prod(sizes).sum())  # type: ignore[attr-defined]
    if axis.edges is not None:
        there = held(transform, one, axis.edges) > 0
        return int(there.sum()), int(np.diff(axis.edges)[there].sum())
    low, high = transform.output_ranges()[group.outputs[0]]
    first, last = axis.cell(low), axis.cell(high)
    start, stop = axis.bounds(last)
    if abs(one.stride) <= axis.size:
        return last - first + 1, stop - axis.bounds(first)[0]
    # Steps that long lead to another cell each; only the last cell may be clipped.
    count = 1 if low == high else (high - low) // abs(one.stride) + 1
    return count, (count - 1) * axis.size + stop - start


def held(transform: IndexTransform, one: DimensionMap, edges: Array) -> Array:
    """How many of a map's coordinates lie between one edge and the next, each counted once."""
    at = one.input_dimension
    ends = transform.domain.inclusive_min[at], transform.domain.exclusive_max[at] - 1
    low, high = sorted(one.offset + one.stride * end for end in ends)
    step = abs(one.stride) if low < high else 1
    return np.diff((np.clip(edges, low, high + 1) - 1 - low) // step)


def pieces(transform: IndexTransform, grid: Grid) -> Iterator[Piece]:
    """The parts of a transform, by cells in row-major order.

    Raises
    ------
    BoundsCheckError
        Where it reaches beyond the grid.
    """
    if 0 in transform.domain.shape:
        return
    check_reach(transform, grid)
    groups = groups_of(transform)
    home = {output: (at, by) for at, group in enumerate(groups) for by, output in enumerate(group.outputs)}
    places = [home[output] for output in range(len(home))]
    for cuts in _choices(transform, groups, places, grid):
        yield _piece(transform, tuple(cuts[at].cells[by] for at, by in places), groups, cuts)


def _choices(
    transform: IndexTransform, groups: list[Group], places: list[tuple[int, int]], grid: Grid
) -> Iterator[tuple[Cut, ...]]:
    """Every choice of a cut per group, by cells in row-major order; of what may be very many, none is kept.

    `places` says of each output which group it is in, and where there.
    """

    def walk(output: int, left: list[list[Cut] | None]) -> Iterator[tuple[Cut, ...]]:
        if output == len(places):
            # By now there is one cut left of each group.
            yield tuple(one for (one,) in left)  # type: ignore[misc]
            return
        at, by = places[output]
        cuts = left[at]
        along: Any = cuts_of(transform, groups[at], grid) if cuts is None else cuts
        for _, same in itertools.groupby(along, lambda cut: cut.cells[by]):
            yield from walk(output + 1, [*left[:at], list(same), *left[at + 1 :]])

    found = [None if affine_of(transform, group) else list(cuts_of(transform, group, grid)) for group in groups]
    return walk(0, found)


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
    labels = [_label(domain, axes if axis < 0 else [axis]) for axis in others]
    return Piece(cells, IndexTransform(_from_shape(shape, labels), output), tuple(out), False)


def _from_shape(shape: list[int], labels: list[str]) -> IndexDomain:
    return IndexDomain((0,) * len(shape), shape, labels)


def _label(domain: IndexDomain, axes: list[int]) -> str:
    """What the axis that axes became is called: as the one, and of several, nothing."""
    return domain.labels[axes[0]] if domain.labels is not None and len(axes) == 1 else ""


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
    labels = [_label(domain, axes) for axes, _ in places]
    return Piece(cells, IndexTransform(_from_shape(shape, labels), output), tuple(out), False)


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
