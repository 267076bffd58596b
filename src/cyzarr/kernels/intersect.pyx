"""Cut a selection along a regular chunk grid, one axis at a time.

On a regular grid an affine map cuts into one small table per axis; the product of the tables
is walked by the caller and never built. An index array is bucketed by chunk once.
"""

from typing import NamedTuple

import numpy as np

cimport numpy as cnp
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from cyzarr.kernels.types cimport Span

cnp.import_array()

# More touched chunks on one axis than memory could hold.
cdef Py_ssize_t MAX_TABLE = <Py_ssize_t> 1 << 48


class AxisTable(NamedTuple):
    """Which positions of which chunks one axis of a selection touches.

    Attributes
    ----------
    entries : int64 array
        Of shape (touched chunks, 5), with columns chunk, start, step, count, out, ascending by chunk. For an integer
        or a slice: the positions start, start + step, ... in the chunk go to out, out + 1, ... . For an index
        array: step is 0, start and out are both the offset k into `index` and `place`.
    index, place : intp array, or None
        index[k:k + count] are positions in the chunk, place[k:k + count] where they go.
    """

    entries: np.ndarray
    index: np.ndarray | None
    place: np.ndarray | None


cdef Py_ssize_t touched_bound(const Span* span, Py_ssize_t chunk) noexcept nogil:
    cdef Py_ssize_t chunks
    if span.count <= 0:
        return 0
    if span.index != NULL:
        return span.count
    chunks = (span.start + (span.count - 1) * span.step) // chunk - span.start // chunk
    if chunks < 0:
        chunks = -chunks
    return min(span.count, chunks + 1)


cdef Py_ssize_t cut_affine(const Span* span, Py_ssize_t chunk, Span* out) noexcept nogil:
    cdef Py_ssize_t at = span.start, left = span.count, place = span.out
    cdef Py_ssize_t number, inside, fit, n = 0
    while left > 0:
        number = at // chunk
        inside = at - number * chunk
        if span.step > 0:
            fit = (chunk - 1 - inside) // span.step + 1
        elif span.step < 0:
            fit = inside // (-span.step) + 1
        else:
            fit = left
        fit = min(fit, left)
        out[n].chunk = number
        out[n].start = inside
        out[n].step = span.step
        out[n].count = fit
        out[n].out = place
        out[n].index = NULL
        out[n].place = NULL
        place += fit
        left -= fit
        if left > 0:
            # Only as far as there are positions: beyond them the sum may overflow.
            at += fit * span.step
        n += 1
    return n


cdef int sort_by_key(const Py_ssize_t* key, Py_ssize_t n, Py_ssize_t* order) noexcept nogil:
    """A merge sort from the bottom up; input that is sorted already costs one pass."""
    cdef Py_ssize_t i, width, left, middle, right, a, b
    cdef Py_ssize_t* spare
    cdef Py_ssize_t* from_ = order
    cdef Py_ssize_t* to
    cdef bint is_sorted = True
    for i in range(n):
        order[i] = i
        if i and key[i] < key[i - 1]:
            is_sorted = False
    if is_sorted:
        return 0
    spare = <Py_ssize_t*> malloc(n * sizeof(Py_ssize_t))
    if spare == NULL:
        return -1
    to = spare
    width = 1
    while width < n:
        left = 0
        while left < n:
            middle = min(left + width, n)
            right = min(left + 2 * width, n)
            a = left
            b = middle
            for i in range(left, right):
                if a < middle and (b >= right or key[from_[a]] <= key[from_[b]]):
                    to[i] = from_[a]
                    a += 1
                else:
                    to[i] = from_[b]
                    b += 1
            left = right
        from_, to = to, from_
        width *= 2
    if from_ != order:
        memcpy(order, from_, n * sizeof(Py_ssize_t))
    free(spare)
    return 0


cdef Py_ssize_t cut_indexed(const Span* span, Py_ssize_t chunk, Span* out, Py_ssize_t* index,
                            Py_ssize_t* place, Py_ssize_t* order) noexcept nogil:
    cdef Py_ssize_t i, number, n = 0
    for i in range(span.count):
        index[i] = span.index[i] // chunk
    if sort_by_key(index, span.count, order) != 0:
        return -1
    for i in range(span.count):
        place[i] = span.place[order[i]]
        number = span.index[order[i]] // chunk
        index[i] = span.index[order[i]] - number * chunk
        if n == 0 or out[n - 1].chunk != number:
            out[n].chunk = number
            out[n].start = out[n].step = out[n].out = 0
            out[n].count = 0
            out[n].index = index + i
            out[n].place = place + i
            n += 1
        out[n - 1].count += 1
    return n


# --- wrappers

def intersections(selection, shape, chunk_shape):
    """Cut a selection along a regular grid.

    Parameters
    ----------
    selection : tuple, one entry per axis
        An integer, a slice (any step), or a 1-D integer array of positions in any order. Negative
        integers and slice bounds count from the end, as in NumPy; array entries do so too.
    shape : tuple of int
        The array's shape, in items.
    chunk_shape : tuple of int
        One chunk's shape, in items, each at least 1.

    Returns
    -------
    tuple of AxisTable
        One per axis. An integer has one entry of count 1 that goes to 0.

    Raises
    ------
    IndexError
        A position lies outside its axis.
    ValueError
        Ranks differ, or a chunk's extent is not positive.
    """
    if not len(selection) == len(shape) == len(chunk_shape):
        raise ValueError(f"ranks differ: selection {len(selection)}, shape {len(shape)}, chunks {len(chunk_shape)}")
    return tuple(axis_table(axis, *of_axis) for axis, of_axis in enumerate(zip(selection, shape, chunk_shape)))


def axis_table(axis, key, extent, chunk):
    """The AxisTable of one axis."""
    if chunk < 1 or extent < 0:
        raise ValueError(f"axis {axis}: chunk of {chunk} items on an extent of {extent}")
    if isinstance(key, slice):
        along = range(*key.indices(extent))
        return affine_table(along.start, along.step if len(along) > 1 else 1, len(along), chunk)
    positions = checked_positions(axis, key, extent)
    if positions.ndim == 0:
        return affine_table(int(positions), 1, 1, chunk)
    return indexed_table(positions, chunk)


def checked_positions(axis, key, extent):
    """An integer or integer array as an intp array within the axis, negatives wrapped."""
    key = np.array(key)
    if key.ndim > 1 or (key.dtype.kind not in "iu" and (key.size or key.ndim == 0)):
        raise IndexError(
            f"axis {axis}: expected an integer, a slice or a 1-D integer array, found {key.ndim}-D {key.dtype}"
        )
    if key.size and (key.min() < -extent or key.max() >= extent):
        raise IndexError(f"axis {axis}: positions from {key.min()} to {key.max()} on an extent of {extent}")
    key = key.astype(np.intp)
    return np.where(key < 0, key + extent, key)


cdef affine_table(Py_ssize_t start, Py_ssize_t step, Py_ssize_t count, Py_ssize_t chunk):
    cdef Span span = Span(0, start, step, count, 0, NULL, NULL)
    cdef Py_ssize_t n, bound = touched_bound(&span, chunk)
    cdef Span* out = NULL
    if bound <= MAX_TABLE:
        out = <Span*> malloc(max(bound, 1) * sizeof(Span))
    if out == NULL:
        raise MemoryError(f"a table of {bound} touched chunks")
    try:
        with nogil:
            n = cut_affine(&span, chunk, out)
        # A falling slice touches its chunks from the last on: list them ascending.
        rows = [(out[i].chunk, out[i].start, out[i].step, out[i].count, out[i].out) for i in range(n)]
    finally:
        free(out)
    return AxisTable(np.array(sorted(rows), dtype=np.int64).reshape(-1, 5), None, None)


cdef indexed_table(positions, Py_ssize_t chunk):
    cdef cnp.ndarray given = np.ascontiguousarray(positions, dtype=np.intp)
    cdef cnp.ndarray where = np.arange(len(given), dtype=np.intp)
    cdef cnp.ndarray index = np.empty(len(given), dtype=np.intp)
    cdef cnp.ndarray place = np.empty(len(given), dtype=np.intp)
    cdef cnp.ndarray order = np.empty(len(given), dtype=np.intp)
    cdef Span span = Span(0, 0, 0, given.size, 0, <const Py_ssize_t*> cnp.PyArray_DATA(given),
                          <const Py_ssize_t*> cnp.PyArray_DATA(where))
    cdef Py_ssize_t* index_data = <Py_ssize_t*> cnp.PyArray_DATA(index)
    cdef Py_ssize_t* place_data = <Py_ssize_t*> cnp.PyArray_DATA(place)
    cdef Py_ssize_t* order_data = <Py_ssize_t*> cnp.PyArray_DATA(order)
    cdef Py_ssize_t n
    cdef Span* out = <Span*> malloc(max(span.count, 1) * sizeof(Span))
    if out == NULL:
        raise MemoryError
    try:
        with nogil:
            n = cut_indexed(&span, chunk, out, index_data, place_data, order_data)
        if n < 0:
            raise MemoryError
        rows = [(out[i].chunk, out[i].index - index_data, 0, out[i].count, out[i].index - index_data) for i in range(n)]
    finally:
        free(out)
    return AxisTable(np.array(rows, dtype=np.int64).reshape(-1, 5), index, place)
