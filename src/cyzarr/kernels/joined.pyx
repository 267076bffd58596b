"""Ranges of bytes that are asked for, joined while they are found.

A selection of an uncompressed chunk may be millions of runs of a few bytes, which become a handful of ranges: the runs
are walked and never listed.
"""

from libc.stdlib cimport free, realloc

from cyzarr.kernels.status cimport E_NOMEM, OK
from cyzarr.kernels.types cimport MAX_NDIM
from cyzarr.kernels.windows cimport Windows, find_windows, window_at

cdef enum:
    # No store is asked for more ranges of one object than about this: a request costs more than a gap.
    MANY = 1 << 14
    LEAST_GAP = 4096

cdef Py_ssize_t WIDEST_GAP = <Py_ssize_t> 1 << 60


cdef void joined_init(Joined* joined, Py_ssize_t max_gap, Py_ssize_t max_nbytes) noexcept nogil:
    joined.ranges = NULL
    joined.n = joined.capacity = 0
    joined.max_gap, joined.max_nbytes = max_gap, max_nbytes
    joined.run = Range(0, 0)
    joined.ascending = True


cdef void joined_free(Joined* joined) noexcept nogil:
    free(joined.ranges)
    joined.ranges = NULL


cdef int joined_add(Joined* joined, Py_ssize_t start, Py_ssize_t stop) noexcept nogil:
    cdef int code
    if joined.run.stop == start and start > 0:
        joined.run.stop = stop
        return OK
    code = joined_end(joined)
    joined.run = Range(start, stop)
    return code


cdef int joined_end(Joined* joined) noexcept nogil:
    cdef Range run = joined.run
    cdef Range* last
    if run.stop == 0:
        return OK
    joined.run.stop = 0
    if joined.n > 0:
        last = &joined.ranges[joined.n - 1]
        if run.start < last.stop:
            joined.ascending = False
        elif run.start - last.stop <= joined.max_gap and run.stop - last.start <= joined.max_nbytes:
            last.stop = run.stop
            return OK
    return append(joined, run)


cdef void widen(Joined* joined) noexcept nogil:
    """Join over wider gaps from now on, and what was found as well."""
    cdef Py_ssize_t i, n = 1
    cdef Range one
    joined.max_gap = min(max(joined.max_gap, LEAST_GAP) * 2, WIDEST_GAP)
    for i in range(1, joined.n):
        one = joined.ranges[i]
        if (one.start - joined.ranges[n - 1].stop <= joined.max_gap
                and one.stop - joined.ranges[n - 1].start <= joined.max_nbytes):
            joined.ranges[n - 1].stop = one.stop
        else:
            joined.ranges[n] = one
            n += 1
    joined.n = n


cdef int append(Joined* joined, Range one) noexcept nogil:
    cdef Py_ssize_t capacity
    cdef void* ranges
    if joined.n >= MANY and joined.n == joined.capacity and joined.ascending:
        widen(joined)
    if joined.n == joined.capacity:
        capacity = max(2 * joined.capacity, 64)
        ranges = realloc(joined.ranges, capacity * sizeof(Range))
        if ranges == NULL:
            return E_NOMEM
        joined.ranges = <Range*> ranges
        joined.capacity = capacity
    joined.ranges[joined.n] = one
    joined.n += 1
    return OK


cdef int joined_row(Joined* joined, Py_ssize_t start, Py_ssize_t length, Py_ssize_t step,
                    Py_ssize_t count) noexcept nogil:
    """`count` runs of `length` bytes, `step` bytes from one to the next: as joined_add for each, without a walk."""
    cdef Py_ssize_t k = 0, fits
    cdef int code = OK
    while k < count and code == OK:
        if 0 < k < count - 1 and step - length <= joined.max_gap:
            code = joined_end(joined)
            if code != OK:
                return code
            # The last of these runs that the range at hand may still hold; one may touch the next row.
            fits = min((joined.ranges[joined.n - 1].start + joined.max_nbytes - length - start) // step, count - 2)
            if fits >= k:
                joined.ranges[joined.n - 1].stop = start + fits * step + length
                k = fits + 1
                continue
        code = joined_add(joined, start + k * step, start + k * step + length)
        k += 1
    return code


cdef int joined_product(Joined* joined, const Node* leaf, const Span* spans, Py_ssize_t itemsize,
                        Py_ssize_t base) noexcept nogil:
    cdef Windows windows
    cdef Span one[MAX_NDIM]
    cdef Py_ssize_t number = 0, count = 1, step = 1, start
    cdef int axis, code = OK
    find_windows(leaf.ndim, spans, leaf.strides, leaf.axes, itemsize, 0, &windows)
    if windows.outer > 0:
        axis = windows.axes[windows.outer - 1]
        if spans[axis].index == NULL and spans[axis].count > 1:
            count, step = spans[axis].count, spans[axis].step * leaf.strides[axis]
    while number < windows.ranges and code == OK:
        start = base + window_at(&windows, leaf.ndim, spans, leaf.strides, number, one)
        code = joined_row(joined, start, windows.length, step, count)
        number += count
    return joined_end(joined) if code == OK else code


cdef int joined_items(Joined* joined, const Py_ssize_t[::1] offsets, const Py_ssize_t[::1] starts,
                      Py_ssize_t itemsize) noexcept nogil:
    cdef Py_ssize_t k, chunk = 0
    cdef int code = OK
    for k in range(offsets.shape[0]):
        if k and offsets[k] == offsets[k - 1]:
            continue
        while chunk < starts.shape[0] and starts[chunk] <= offsets[k]:
            code = joined_end(joined)
            chunk += 1
            if code != OK:
                return code
        code = joined_add(joined, offsets[k], offsets[k] + itemsize)
        if code != OK:
            return code
    return joined_end(joined)


cdef list joined_ranges(Joined* joined):
    cdef Py_ssize_t i
    found = [(joined.ranges[i].start, joined.ranges[i].stop) for i in range(joined.n)]
    if not joined.ascending:
        found = joined_again(found, joined.max_gap, joined.max_nbytes)
    return [(start, stop - start) for start, stop in found]


cdef list joined_again(list found, Py_ssize_t max_gap, Py_ssize_t max_nbytes):
    """Chunks of a shard may lie in each other, or be the same bytes: their ranges, (start, stop), joined in order."""
    whole = []
    low = high = -1
    for start, stop in sorted(found):
        if low >= 0 and (start < high or (start - high <= max_gap and stop - low <= max_nbytes)):
            high = max(high, stop)
            continue
        if low >= 0:
            whole.append((low, high))
        low, high = start, stop
    whole.append((low, high))
    return whole
