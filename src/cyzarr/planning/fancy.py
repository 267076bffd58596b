"""zarr's selections with index arrays, masks and blocks, as entries that the direct road takes.

Each function gives (entries, shape of the result or None), an entry per axis: an int, a range, or an intp array of
positions within the axis. None where zarr's own code has to say what the selection is: errors are its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cyzarr import _zarr
from cyzarr.planning.grids import Axis

Entries = tuple[tuple[Any, ...], tuple[int, ...] | None] | None


def normalize_orthogonal(selection: Any, shape: tuple[int, ...], _chunks: tuple[Any, ...]) -> Entries:
    """An entry per axis, each taken with every position of the others."""
    items = _expand(selection, len(shape))
    if items is None:
        return None
    entries = tuple(axis_entry(item, extent) for item, extent in zip(items, shape, strict=True))
    return None if any(entry is None for entry in entries) else (entries, None)


def normalize_coordinates(selection: Any, shape: tuple[int, ...], _chunks: tuple[Any, ...]) -> Entries:
    """Index arrays that are taken together, one per axis."""
    items = selection if isinstance(selection, tuple) else (selection,)
    if len(items) != len(shape):
        return None
    found = []
    for item, extent in zip(items, shape, strict=True):
        given = _integers([item] if _is_integer(item) else item)
        positions = None if given is None else _within(given, extent)
        if positions is None:
            return None
        found.append(positions)
    try:
        together = np.broadcast_arrays(*found)
    except ValueError:
        return None
    return tuple(np.ascontiguousarray(one).reshape(-1) for one in together), together[0].shape or (1,)


def normalize_mask(selection: Any, shape: tuple[int, ...], _chunks: tuple[Any, ...]) -> Entries:
    """A mask of the array's shape."""
    mask = selection[0] if isinstance(selection, tuple) and len(selection) == 1 else selection
    if type(mask) is not np.ndarray or mask.dtype != bool or mask.shape != shape:
        return None
    positions = np.nonzero(mask)
    return tuple(np.ascontiguousarray(one, dtype=np.intp) for one in positions), positions[0].shape


def normalize_blocks(selection: Any, shape: tuple[int, ...], chunks: tuple[Any, ...]) -> Entries:
    """Positions in the chunk grid: integers, and slices of step 1."""
    items = _expand(selection, len(shape))
    if items is None:
        return None
    entries = []
    for item, extent, chunk in zip(items, shape, chunks, strict=True):
        axis = chunk if isinstance(chunk, Axis) else Axis(chunk, extent)
        bounds = _block_bounds(item, axis.count)
        if bounds is None or bounds[0] < 0:
            return None
        start, stop = (min(axis.start(max(at, 0)), extent) if at < axis.count else extent for at in bounds)
        entries.append(range(start, stop))
    return tuple(entries), None


def _block_bounds(item: Any, count: int) -> tuple[int, int] | None:
    """The first chunk and the one after the last."""
    if _is_integer(item):
        at = int(item) + (count if item < 0 else 0)
        return (at, at + 1) if 0 <= at < count else None
    if not isinstance(item, slice) or item.step not in (1, None):
        return None
    start = 0 if item.start is None else item.start
    stop = count if item.stop is None else item.stop
    if not (_is_integer(start) and _is_integer(stop)):
        return None
    start, stop = int(start), int(stop)
    start += count if start < 0 else 0
    stop += count if stop < 0 else 0
    return (start, min(stop, count)) if start < count and stop >= 0 else None


def _is_integer(item: Any) -> bool:
    return type(item) is int or (isinstance(item, np.integer) and not isinstance(item, np.timedelta64))


def _is_array(item: Any) -> bool:
    return isinstance(item, np.ndarray)


def _expand(selection: Any, ndim: int) -> tuple[Any, ...] | None:
    """One item per axis: an Ellipsis and missing axes become whole axes."""
    items = selection if isinstance(selection, tuple) else (selection,)
    dots = [at for at, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        return None
    if dots:
        rest = ndim - (len(items) - 1)
        # zarr compares what comes before an Ellipsis with it, and all of it where no axis is left: arrays are refused.
        compared = items if rest == 0 else items[: dots[0]]
        if rest < 0 or any(isinstance(item, list) for item in items) or any(map(_is_array, compared)):
            return None
        items = (*items[: dots[0]], *[slice(None)] * rest, *items[dots[0] + 1 :])
    return None if len(items) > ndim else (*items, *[slice(None)] * (ndim - len(items)))


def axis_entry(item: Any, extent: int) -> Any:
    """One axis of an orthogonal selection."""
    if _is_integer(item):
        at = int(item) + (extent if item < 0 else 0)
        return at if 0 <= at < extent else None
    if isinstance(item, slice):
        try:
            along = range(*item.indices(extent))
        except (TypeError, ValueError):
            return None
        return along if along.step > 0 else None
    if type(item) is np.ndarray and item.dtype == bool and item.shape == (extent,) and extent:
        return np.flatnonzero(item)
    if isinstance(item, list) and item and all(type(one) is bool for one in item) and len(item) == extent:
        return np.flatnonzero(np.array(item))
    given = _integers(item)
    return None if given is None or given.ndim != 1 else _within(given, extent)


def _integers(item: Any) -> np.ndarray[Any, Any] | None:
    """A list or array of integers, not empty."""
    if isinstance(item, list):
        if not item or any(type(one) is bool for one in item):
            return None
        try:
            item = np.asarray(item)
        except ValueError:
            return None
    if type(item) is not np.ndarray or item.dtype.kind not in "iu" or item.ndim == 0 or item.size == 0:
        return None
    # Before zarr 3.2 unsigned arrays don't work; what they give there is zarr's to say.
    return None if item.dtype.kind == "u" and not _zarr.READ_RESULTS else item


def _within(given: np.ndarray[Any, Any], extent: int) -> np.ndarray[Any, Any] | None:
    """A private intp copy with negatives counted from the end; None where one lies outside."""
    if given.dtype.kind == "u" and given.max() >= extent:
        return None
    positions: np.ndarray[Any, Any] = np.array(given, dtype=np.intp, order="C")
    least, most = positions.min(), positions.max()
    if least < -extent or most >= extent:
        return None
    if least < 0:
        positions[positions < 0] += extent
    return positions
