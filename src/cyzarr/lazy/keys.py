"""Keys with index arrays: what their entries are, and the transform that they stand for.

A key is either relative (positions, negative ones from the end) or literal (coordinates of the domain). A mask is the
same as the numbers of its True cells either way: these are coordinates in a literal key, as in TensorStore's.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from cyzarr.errors import BoundsCheckError, VindexInvalidSelectionError
from cyzarr.lazy.maps import ArrayMap, ConstantMap, DimensionMap, IndexDomain, adopted

if TYPE_CHECKING:
    Indices = np.ndarray[Any, Any]
    Map = ConstantMap | DimensionMap | ArrayMap

_SCALARS = (bool, np.bool_)


def entries_of(key: Any, rank: int, together: bool) -> list[Any]:
    """An int, a slice, an integer array or a mask per entry; all axes are covered, masks cover as many as they have.

    Raises
    ------
    IndexError
        Where one is none of these.
    """
    found: list[Any] = []
    dots = -1
    axes = 0
    for item in key if isinstance(key, tuple) else (key,):
        if item is Ellipsis:
            if dots >= 0:
                raise IndexError("an index can have only one ellipsis")
            dots = len(found)
            continue
        entry = _entry(item, together)
        found.append(entry)
        axes += _n_axes(entry, together)
    # Too many are counted where the integers and slices are taken.
    at = dots if dots >= 0 else len(found)
    found[at:at] = [slice(None)] * (rank - axes)
    return found


def _n_axes(entry: Any, together: bool) -> int:
    return entry.ndim if together and isinstance(entry, np.ndarray) and entry.dtype == bool else 1


def _entry(item: Any, together: bool) -> Any:
    if isinstance(item, slice):
        if together:
            raise VindexInvalidSelectionError("vindex takes integers, index arrays, masks and an ellipsis, no slices")
        return item
    if isinstance(item, _SCALARS) or item is None or isinstance(item, str | bytes | range):
        raise IndexError(f"{item!r} is no entry of an index with arrays")
    if not isinstance(item, list | tuple) and not getattr(item, "ndim", 0):
        # Of those with axes, some arrays of one item pass for integers, too.
        try:
            return operator.index(item)
        except TypeError:
            pass
    if not isinstance(item, list | tuple) and not hasattr(item, "__array__"):
        raise IndexError(f"a {type(item).__name__} is no index")
    return _array(item, together)


def _array(item: Any, together: bool) -> Indices:
    try:
        given = np.asarray(item)
    except ValueError:
        raise IndexError("index arrays must not be ragged") from None
    if given.size == 0 and isinstance(item, list | tuple):
        given = given.astype(np.intp)
    if given.dtype.kind not in "iub" or (given.ndim == 0 and given.dtype.kind == "b"):
        raise IndexError(f"index arrays hold integers or booleans, found {given.dtype}")
    if given.ndim > 1 and not together:
        raise IndexError(f"an orthogonal index takes arrays of one axis, found {given.ndim}")
    return given


def basic_part(entries: list[Any], together: bool) -> tuple[tuple[Any, ...], list[Any]]:
    """The integers and slices as a basic key, and what is left for the axes that they leave: None or an array."""
    basic: list[Any] = []
    rest: list[Any] = []
    for entry in entries:
        if isinstance(entry, np.ndarray):
            basic += [slice(None)] * _n_axes(entry, together)
            rest.append(entry)
        else:
            basic.append(entry)
            if isinstance(entry, slice):
                rest.append(None)
    return tuple(basic), rest


def outer(domain: IndexDomain, arrays: list[Any], literal: bool) -> tuple[IndexDomain, tuple[Map, ...]]:
    """The transform of arrays that are taken each with every position of the others; a whole axis for None."""
    least, beyond, labels = list(domain.inclusive_min), list(domain.exclusive_max), _labels(domain)
    output: list[Map] = []
    for axis, array in enumerate(arrays):
        if array is None:
            output.append(DimensionMap(axis))
            continue
        at = _positions(array, domain, axis, literal)
        least[axis], beyond[axis], labels[axis] = 0, len(at), ""
        output.append(map_of(at.reshape([-1 if one == axis else 1 for one in range(len(arrays))])))
    return IndexDomain(least, beyond, labels), tuple(output)


def joint(domain: IndexDomain, arrays: list[Any], literal: bool) -> tuple[IndexDomain, tuple[Map, ...]]:
    """The transform of arrays that are taken together; they broadcast to a block of axes."""
    per_axis = _per_axis(domain, arrays, literal)
    given = [array for array in per_axis if array is not None]
    try:
        block = np.broadcast_shapes(*[array.shape for array in given])
    except ValueError:
        raise IndexError(f"index arrays of shapes {[array.shape for array in given]} don't broadcast") from None
    kept = [axis for axis, array in enumerate(per_axis) if array is None]
    picked = [axis for axis, array in enumerate(per_axis) if array is not None]
    adjacent = not picked or picked[-1] - picked[0] + 1 == len(picked)
    before = [axis for axis in kept if picked and axis < picked[0]] if adjacent else []
    after = [axis for axis in kept if axis not in before]
    names = _labels(domain)
    least = [*(domain.inclusive_min[axis] for axis in before), *[0] * len(block)]
    beyond = [*(domain.exclusive_max[axis] for axis in before), *block]
    labels = [*(names[axis] for axis in before), *[""] * len(block)]
    least += [domain.inclusive_min[axis] for axis in after]
    beyond += [domain.exclusive_max[axis] for axis in after]
    labels += [names[axis] for axis in after]
    output: list[Map] = []
    for axis, array in enumerate(per_axis):
        if array is None:
            place = before.index(axis) if axis in before else len(before) + len(block) + after.index(axis)
            output.append(DimensionMap(place))
        else:
            ones = (1,) * (len(block) - array.ndim)
            output.append(map_of(array.reshape((1,) * len(before) + ones + array.shape + (1,) * len(after))))
    return IndexDomain(least, beyond, labels), tuple(output)


def _per_axis(domain: IndexDomain, arrays: list[Any], literal: bool) -> list[Indices | None]:
    """Positions per axis of the domain: masks become an array for each of their axes."""
    found: list[Indices | None] = []
    for array in arrays:
        if array is not None and array.dtype == bool:
            axis = len(found)
            shape = domain.shape[axis : axis + array.ndim]
            if array.shape != shape:
                raise IndexError(f"a mask of shape {array.shape} for axes of shape {shape} from axis {axis} on")
            found += [_positions(at, domain, axis + by, literal) for by, at in enumerate(np.nonzero(array))]
        else:
            found.append(None if array is None else _positions(array, domain, len(found), literal))
    return found


def _positions(array: Indices, domain: IndexDomain, axis: int, literal: bool) -> Indices:
    """An own intp array of coordinates of one axis of the domain, from positions or a mask."""
    least, extent = domain.inclusive_min[axis], domain.shape[axis]
    if array.dtype == bool:
        if array.shape != (extent,):
            raise IndexError(f"a mask of shape {array.shape} for axis {axis} of extent {extent}")
        array = np.flatnonzero(array)
    low = 0
    if array.size:
        low, high = int(array.min()), int(array.max())
        if literal and (low < least or high >= least + extent):
            wrong = low if low < least else high
            raise BoundsCheckError(f"coordinate {wrong} of axis {axis} is not in [{least}, {least + extent})")
        if not literal and (low < -extent or high >= extent):
            wrong = low if low < -extent else high
            raise IndexError(f"index {wrong} is out of bounds for axis {axis} with size {extent}")
    at = array.astype(np.intp, order="C")
    if not literal:
        if low < 0:
            at[at < 0] += extent
        if least:
            at += least
    return at


def map_of(array: Indices) -> Map:
    """The map of an intp array; a constant where it holds one coordinate, or none."""
    if array.size <= 1:
        return ConstantMap(int(array.item()) if array.size else 0)
    return adopted(array)


def _labels(domain: IndexDomain) -> list[str]:
    return list(domain.labels or ("",) * domain.ndim)
