"""Twins of the window kernels."""

import math

import numpy as np

from .selection import is_int, positions, touched


def _shift(entry, size, first):
    """``entry`` of an axis of ``size`` items, counted from item ``first`` instead of 0."""
    if isinstance(entry, slice):
        start, stop, step = entry.indices(size)
        stop -= first
        return slice(start - first, None if stop < 0 else stop, step)
    if is_int(entry):
        return int(entry) - first
    return np.asarray(entry) - first


def block_window(selection, chunk_shape):
    """The one contiguous block that holds all that ``selection`` picks.

    Returns the block's offset in items, its shape (as many axes as the chunk), and the selection
    counted from the block's first item. Nothing picked: a block of no items at offset 0, of
    length 0 on the axes where nothing is picked and whole on the others.
    """
    picked = [positions(e, size) for e, size in zip(selection, chunk_shape, strict=True)]
    if any(len(p) == 0 for p in picked):
        return _no_items(selection, chunk_shape, picked)
    first = [0] * len(chunk_shape)
    shape = list(chunk_shape)
    for axis, places in enumerate(picked):
        first[axis] = int(min(places))
        shape[axis] = int(max(places)) - first[axis] + 1
        if shape[axis] > 1:
            break
    offset = sum(f * math.prod(chunk_shape[axis + 1 :]) for axis, f in enumerate(first))
    shifted = tuple(_shift(e, size, f) for e, size, f in zip(selection, chunk_shape, first, strict=True))
    return offset, tuple(shape), shifted


def _no_items(selection, chunk_shape, picked):
    empty = [len(p) == 0 for p in picked]
    shape = tuple(0 if e else n for e, n in zip(empty, chunk_shape, strict=True))
    shifted = tuple(slice(0, 0) if e else s for e, s in zip(empty, selection, strict=True))
    return 0, shape, shifted


def block_windows(selection, chunk_shape, *, itemsize=1, max_gap_nbytes=0):
    """Contiguous ranges (offset, count), in items, of all that ``selection`` picks.

    Ascending and disjoint. Two neighbours become one where at most ``max_gap_nbytes`` lie between.
    """
    ranges = []
    for item in np.flatnonzero(touched(selection, chunk_shape).ravel()).tolist():
        if ranges and (item - sum(ranges[-1])) * itemsize <= max_gap_nbytes:
            ranges[-1][1] = item + 1 - ranges[-1][0]
        else:
            ranges.append([item, 1])
    return np.array(ranges, dtype=np.int64).reshape(-1, 2)
