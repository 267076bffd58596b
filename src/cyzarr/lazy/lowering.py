"""A transform as what a read is made of: an entry per axis of the source, or points.

This is the form that every read of cyzarr takes: a product of entries (an int, a range, an index array), or index
arrays of one length that are taken together. Here the transform's domain is never empty.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cyzarr.lazy.maps import ArrayMap, ConstantMap, DimensionMap
from cyzarr.lazy.transform import coordinates

if TYPE_CHECKING:
    from cyzarr.lazy.transform import IndexTransform

    Array = np.ndarray[Any, Any]


class Product(NamedTuple):
    """A product of entries.

    Attributes
    ----------
    entries : tuple
        Per axis of the source: an int, an ascending range, or an intp array.
    axes : list of int
        The domain's axis of each entry that is no int.
    flipped : list of bool
        For each of these, whether the view goes down where the range goes up.
    """

    entries: tuple[Any, ...]
    axes: list[int]
    flipped: list[bool]


class Points(NamedTuple):
    """Index arrays that are taken together.

    Attributes
    ----------
    arrays : list of intp arrays
        Per axis of the source; they broadcast to `shape`.
    shape : tuple of int
        The domain's, but 1 where nothing depends on the axis.
    """

    arrays: list[Array]
    shape: tuple[int, ...]


def lower(transform: IndexTransform) -> Product | Points:
    """What reads the cells of a transform."""
    return _product(transform) or _points(transform)


def _product(transform: IndexTransform) -> Product | None:
    """None where two outputs depend on one axis, or one on several."""
    domain = transform.domain
    least, shape = domain.inclusive_min, domain.shape
    entries: list[Any] = []
    axes: list[int] = []
    flipped: list[bool] = []
    for one in transform.output:
        if isinstance(one, ConstantMap):
            entries.append(one.offset)
            continue
        if isinstance(one, DimensionMap):
            axis, step = one.input_dimension, one.stride
            count = shape[axis]
            first = one.offset + step * least[axis]
            if count == 1 or step == 0:
                entries.append(first)
                continue
            last = first + (count - 1) * step
            entry: Any = range(first, last + 1, step) if step > 0 else range(last, first + 1, -step)
            down = step < 0
        elif isinstance(one, ArrayMap):
            depends = one.dependency_axes
            if len(depends) != 1:
                return None
            axis, down = depends[0], False
            entry = one.coordinates().reshape(-1)
        if axis in axes:
            return None
        entries.append(entry)
        axes.append(axis)
        flipped.append(down)
    return Product(tuple(entries), axes, flipped)


def _points(transform: IndexTransform) -> Points:
    index = [coordinates(one, transform.domain) for one in transform.output]
    return Points(index, np.broadcast_shapes(*[one.shape for one in index]))


def flat(points: Points) -> tuple[Array, ...]:
    """The index arrays, each of all points, contiguous."""
    return tuple(np.ascontiguousarray(np.broadcast_to(one, points.shape)).reshape(-1) for one in points.arrays)


def reach(plan: Product | Points) -> list[tuple[int, int]]:
    """Per axis of the source the least and the largest position."""
    if isinstance(plan, Points):
        return [(int(one.min()), int(one.max())) for one in plan.arrays]
    found = []
    for one in plan.entries:
        if isinstance(one, np.ndarray):
            found.append((int(one.min()), int(one.max())))
        else:
            found.append((one[0], one[-1]) if type(one) is range else (one, one))
    return found


def target(product: Product, out: Array) -> Array | None:
    """The view of a domain-shaped `out` that takes what the entries give; None where it must be repeated."""
    rank = out.ndim
    axes = product.axes
    if axes == list(range(rank)) and True not in product.flipped:
        return out
    drop: list[Any] = [0] * rank
    for axis, down in zip(axes, product.flipped, strict=True):
        drop[axis] = slice(None, None, -1) if down else slice(None)
    if any(item == 0 and extent != 1 for item, extent in zip(drop, out.shape, strict=True) if isinstance(item, int)):
        return None
    # With an Ellipsis, a view also where no axis is left.
    kept = out[(*drop, ...)]
    order = sorted(range(len(axes)), key=axes.__getitem__)
    return kept.transpose(np.argsort(order)) if order != list(range(len(axes))) else kept


def arranged(product: Product, picked: Array, shape: tuple[int, ...]) -> Array:
    """What the entries gave, in the domain's shape: turned, flipped, repeated. A view."""
    if True in product.flipped:
        picked = picked[tuple(slice(None, None, -1) if down else slice(None) for down in product.flipped)]
    order = sorted(range(len(product.axes)), key=product.axes.__getitem__)
    if order != list(range(len(order))):
        picked = picked.transpose(order)
    if picked.shape == shape:
        return picked
    there = set(product.axes)
    picked = picked[tuple(slice(None) if axis in there else None for axis in range(len(shape)))]
    return broadcast(picked, shape)


def broadcast(array: Array, shape: tuple[int, ...]) -> Array:
    """An array repeated to a shape, a view of it; with its mask, which NumPy's own broadcasting drops."""
    if array.shape == shape:
        return array
    if not isinstance(array, np.ma.MaskedArray):
        return np.broadcast_to(array, shape)
    mask = np.broadcast_to(np.ma.getmaskarray(array), shape)
    return np.ma.array(np.broadcast_to(array.data, shape), mask=mask, fill_value=array.fill_value, copy=False)


def size(shape: tuple[int, ...]) -> int:
    """The number of cells."""
    return math.prod(shape)


def slices(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    """Entries as zarr and NumPy take them."""
    return tuple(slice(one.start, one.stop, one.step) if type(one) is range else one for one in entries)


def take(array: Array, plan: Product | Points, shape: tuple[int, ...]) -> Array:
    """The cells of an array in memory, in the domain's shape; may be a view of it."""
    if isinstance(plan, Points):
        return broadcast(array[tuple(plan.arrays)], shape)
    picked = array[(*(slice(None) if isinstance(one, np.ndarray) else one for one in slices(plan.entries)), ...)]
    axis = 0
    for entry in plan.entries:
        if isinstance(entry, np.ndarray):
            picked = picked.take(entry, axis=axis)
        axis += not isinstance(entry, int)
    return arranged(plan, picked, shape)


def hull(plan: Product | Points) -> tuple[tuple[slice, ...], Product | Points]:
    """A slice per axis that covers all cells, and the plan that picks them from what it gives."""
    if isinstance(plan, Points):
        least = [int(one.min()) for one in plan.arrays]
        cover = [slice(lo, int(one.max()) + 1) for lo, one in zip(least, plan.arrays, strict=True)]
        return tuple(cover), Points([one - lo for lo, one in zip(least, plan.arrays, strict=True)], plan.shape)
    found: list[slice] = []
    within: list[Any] = []
    for entry in plan.entries:
        if isinstance(entry, np.ndarray):
            lo = int(entry.min())
            found.append(slice(lo, int(entry.max()) + 1))
            within.append(entry - lo)
        elif type(entry) is range:
            found.append(slice(entry.start, entry[-1] + 1, entry.step))
            within.append(range(len(entry)))
        else:
            found.append(slice(entry, entry + 1))
            within.append(0)
    return tuple(found), Product(tuple(within), plan.axes, plan.flipped)
