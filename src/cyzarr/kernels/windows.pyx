"""Which bytes of an uncompressed chunk a selection needs.

An uncompressed chunk is a C-ordered block of items in its own frame (after its transposes).
`block_window` is the single contiguous block that holds a selection; `block_windows` goes on and
gives the separate ranges, merged over small gaps. Both as in the partial-reads specification,
section 3.
"""

import math
import operator

import numpy as np

from cyzarr.kernels.types cimport Span


MAX_ITEMS = 1 << 62


cdef Py_ssize_t span_first(const Span* span) noexcept nogil:
    cdef Py_ssize_t i, least
    if span.index == NULL:
        return min(span.start, span.start + (span.count - 1) * span.step)
    least = span.index[0]
    for i in range(1, span.count):
        least = min(least, span.index[i])
    return least


cdef Py_ssize_t span_last(const Span* span) noexcept nogil:
    cdef Py_ssize_t i, most
    if span.index == NULL:
        return max(span.start, span.start + (span.count - 1) * span.step)
    most = span.index[0]
    for i in range(1, span.count):
        most = max(most, span.index[i])
    return most


cdef Py_ssize_t widest_gap(const Span* span) noexcept nogil:
    """The largest distance between neighbouring touched positions (1: no gap)."""
    cdef Py_ssize_t i, gap, most = 0
    if span.index == NULL:
        return 1 if span.count == 1 else (span.step if span.step > 0 else -span.step)
    for i in range(1, span.count):
        gap = span.index[i] - span.index[i - 1]
        if gap < 0:
            # Out of order: its touched positions are read as one range.
            return 1
        most = max(most, gap)
    return max(most, 1)


cdef void find_windows(int ndim, const Span* spans, const Py_ssize_t* strides, const int* axes_order,
                       Py_ssize_t itemsize, Py_ssize_t max_gap, Windows* out) noexcept nogil:
    cdef int at, axis
    cdef Py_ssize_t first, last, length = itemsize
    out.first = 0
    out.ranges = 1
    out.needed = itemsize
    for axis in range(ndim):
        out.axes[axis] = axes_order[axis]
        out.first += span_first(&spans[axis]) * strides[axis]
        out.needed *= spans[axis].count
    # From the innermost axis outwards, as long as the gaps are worth bridging.
    at = ndim
    while at > 0:
        axis = axes_order[at - 1]
        if widest_gap(&spans[axis]) * strides[axis] - length > max_gap:
            break
        first = span_first(&spans[axis])
        last = span_last(&spans[axis])
        length += (last - first) * strides[axis]
        at -= 1
    out.outer = at
    out.length = length
    out.base = out.first
    for at in range(out.outer):
        axis = axes_order[at]
        out.ranges *= spans[axis].count
        out.base -= span_first(&spans[axis]) * strides[axis]


cdef void pick_one(const Span* span, Py_ssize_t k, Span* one) noexcept nogil:
    """The k-th position of a span, alone."""
    one.chunk = span.chunk
    one.step = 1
    one.count = 1
    one.index = NULL
    one.place = NULL
    if span.index == NULL:
        one.start = span.start + k * span.step
        one.out = span.out + k
    else:
        one.start = span.index[k]
        one.out = span.place[k]


cdef Py_ssize_t window_at(const Windows* windows, int ndim, const Span* spans, const Py_ssize_t* strides,
                          Py_ssize_t number, Span* one) noexcept nogil:
    cdef Py_ssize_t first = windows.base
    cdef int axis
    cdef int at = ndim - 1
    while at >= 0:
        axis = windows.axes[at]
        if at >= windows.outer:
            one[axis] = spans[axis]
        else:
            pick_one(&spans[axis], number % spans[axis].count, &one[axis])
            number //= spans[axis].count
            first += one[axis].start * strides[axis]
        at -= 1
    return first


cdef Py_ssize_t pick_point(int ndim, const Span* spans, const Py_ssize_t* strides, Py_ssize_t k,
                           Span* one) noexcept nogil:
    cdef Py_ssize_t at = 0
    cdef int axis
    for axis in range(ndim):
        one[axis] = spans[axis]
        one[axis].count = 1
        one[axis].index = spans[axis].index + k
        one[axis].place = spans[axis].place + k
        at += spans[axis].index[k] * strides[axis]
    return at


cdef void points_hull(int ndim, const Span* spans, const Py_ssize_t* strides, Py_ssize_t* first,
                      Py_ssize_t* last) noexcept nogil:
    cdef Py_ssize_t k, at
    cdef int axis
    for k in range(spans[0].count):
        at = 0
        for axis in range(ndim):
            at += spans[axis].index[k] * strides[axis]
        first[0] = at if k == 0 else min(first[0], at)
        last[0] = at if k == 0 else max(last[0], at)


# --- wrappers

def touched(axis, key, extent):
    """The first and last position of an axis that a key touches, or None where it touches none."""
    if isinstance(key, slice):
        along = range(*key.indices(extent))
        return (min(along), max(along)) if len(along) else None
    if np.ndim(key) == 0:
        at = operator.index(key)
        if not -extent <= at < extent:
            raise IndexError(f"axis {axis}: index {at} outside an extent of {extent}")
        return (at % extent, at % extent)
    key = wrapped(axis, key, extent)
    return (int(key.min()), int(key.max())) if key.size else None


def wrapped(axis, key, extent):
    """A 1-D index array within the axis, negatives counted from the end."""
    key = np.array(key)
    if key.ndim != 1 or (key.dtype.kind not in "iu" and key.size):
        raise IndexError(
            f"axis {axis}: expected an integer, a slice or a 1-D integer array, found {key.ndim}-D {key.dtype}"
        )
    if key.size and (key.min() < -extent or key.max() >= extent):
        raise IndexError(f"axis {axis}: positions from {key.min()} to {key.max()} on an extent of {extent}")
    key = key.astype(np.int64)
    return np.where(key < 0, key + extent, key)


def shifted_key(axis, key, extent, first):
    """The key that picks from the narrowed axis what `key` picks from the whole one."""
    if isinstance(key, slice):
        along = range(*key.indices(extent))
        if not len(along):
            return slice(0, 0, 1)
        stop = along[len(along) - 1] - first + (1 if along.step > 0 else -1)
        return slice(along.start - first, None if stop < 0 else stop, along.step)
    if np.ndim(key) == 0:
        return operator.index(key) % extent - first
    return wrapped(axis, key, extent) - first


def checked_shape(selection, chunk_shape):
    """The chunk's shape as a tuple of ints, of the selection's rank."""
    chunk_shape = tuple(operator.index(n) for n in chunk_shape)
    if len(selection) != len(chunk_shape):
        raise ValueError(f"the selection has {len(selection)} axes, the chunk {len(chunk_shape)}")
    if any(n < 0 for n in chunk_shape):
        raise ValueError(f"chunk shape {chunk_shape} has a negative extent")
    if math.prod(chunk_shape) > MAX_ITEMS:
        raise ValueError(f"chunk shape {chunk_shape} holds more than 2^62 items")
    return chunk_shape


def block_window(selection, chunk_shape):
    """The one contiguous block of an uncompressed chunk that holds a selection.

    Parameters
    ----------
    selection : tuple, one entry per axis
        An integer, a slice (any step) or a 1-D integer array, within the chunk.
    chunk_shape : tuple of int
        The chunk's shape in items, in the frame in which it is C-ordered.

    Returns
    -------
    offset : int
        Where the block starts, in items.
    shape : tuple of int
        The block's shape, with as many axes as the chunk; narrowed axes stay with length 1. Holds
        a 0 where the selection is empty.
    shifted : tuple
        The selection to apply to the block instead.

    Raises
    ------
    IndexError
        A position lies outside the chunk.
    ValueError
        Ranks differ.

    Notes
    -----
    Axes are narrowed from the first on, until one is wider than a single index; the axes after
    it are taken whole.
    """
    chunk_shape = checked_shape(selection, chunk_shape)
    spans = [touched(axis, key, n) for axis, (key, n) in enumerate(zip(selection, chunk_shape))]
    offset, shape, shifted, narrow = 0, [], [], True
    for axis, (key, extent, span) in enumerate(zip(selection, chunk_shape, spans)):
        if span is None:
            first, last = 0, -1
        elif narrow:
            first, last = span
        else:
            first, last = 0, extent - 1
        narrow = narrow and first == last
        offset += first * math.prod(chunk_shape[axis + 1:])
        shape.append(last - first + 1)
        shifted.append(shifted_key(axis, key, extent, first))
    return (0 if 0 in shape else offset), tuple(shape), tuple(shifted)


def block_windows(selection, chunk_shape, *, itemsize=1, max_gap_nbytes=0):
    """The contiguous ranges of an uncompressed chunk that hold a selection.

    Parameters
    ----------
    selection, chunk_shape
        As for `block_window`.
    itemsize : int
        Bytes of one item.
    max_gap_nbytes : int
        Two ranges are merged where what lies between them is at most this many bytes.

    Returns
    -------
    int64 array of shape (ranges, 2)
        (offset, count) in items, ascending and disjoint.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `block_window`; ValueError too where itemsize is below 1 or max_gap_nbytes negative.
    """
    chunk_shape = checked_shape(selection, chunk_shape)
    if itemsize < 1 or max_gap_nbytes < 0:
        raise ValueError(f"itemsize {itemsize} must be positive, max_gap_nbytes {max_gap_nbytes} not negative")
    ranges = np.array([[0, 1]], dtype=np.int64)
    for axis in reversed(range(len(chunk_shape))):
        inner = math.prod(chunk_shape[axis + 1:])
        positions = touched_positions(axis, selection[axis], chunk_shape[axis])
        starts = (positions[:, None] * inner + ranges[:, 0]).ravel()
        counts = np.broadcast_to(ranges[:, 1], (len(positions), len(ranges))).ravel()
        ranges = merged_ranges(starts, counts, max_gap_nbytes // itemsize)
    return ranges


def touched_positions(axis, key, extent):
    """The positions of an axis that a key touches, ascending, each once."""
    if isinstance(key, slice):
        along = range(*key.indices(extent))
        return np.sort(np.arange(along.start, along.stop, along.step, dtype=np.int64))
    if np.ndim(key) == 0:
        return np.array([touched(axis, key, extent)[0]], dtype=np.int64)
    return np.unique(wrapped(axis, key, extent))


def merged_ranges(starts, counts, max_gap):
    """Ranges in ascending order, merged where at most `max_gap` items lie between two."""
    if not len(starts):
        return np.empty((0, 2), dtype=np.int64)
    breaks = np.flatnonzero(np.diff(starts) - counts[:len(counts) - 1] > max_gap) + 1
    first = np.concatenate([[0], breaks])
    last = np.concatenate([breaks, [len(starts)]]) - 1
    return np.stack([starts[first], starts[last] + counts[last] - starts[first]], axis=1)
