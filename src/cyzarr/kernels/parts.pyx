"""Decode a part of a compressed chunk alone: the blosc blocks that hold what a selection picks.

A leaf whose one compressor is blosc, with any checksums around it. The whole container's lengths are
checked, and checksums verified, as for decoding whole; damage within a block that isn't needed goes
unnoticed.
"""

from cyzarr.kernels.blocks cimport place_points, place_spans
from cyzarr.kernels.blosc cimport BloscLayout, blosc_layout, blosc_part, check_blosc
from cyzarr.kernels.checksum cimport check_crc32c
from cyzarr.kernels.natives cimport DECODE_BLOSC, DECODE_CRC32C
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.status cimport E_CHECKSUM, OK
from cyzarr.kernels.types cimport MAX_NDIM, Span, Target
from cyzarr.kernels.windows cimport Windows, find_windows, pick_point, points_hull, window_at
from cyzarr.kernels.workers cimport reserve

# Parts are decoded where they touch at most so much of a chunk's blocks. Planes along the first axis, the whole chunk
# decoded against its blocks alone, in us, least of many, one thread, float32:
#
#     chunk, blocks             1 plane      1/8         1/4         1/2         3/4
#     8 MiB lz4, 16 of 512 KiB  2040   138  2040  248  2040  482  2040  990  2061 1547
#     8 MiB zstd, 32 of 256 KiB 6430   229  6430  795  6430 1570  6430 3200  6405 5300
#     1 MiB zstd, 4 of 256 KiB   710   183   710  188   710  195   710  370   726  554
#     128 KiB zstd, 1 block       99    99: one block is decoded whole either way; lz4 24 and 24
#
# Beyond that little is left to gain, and a far-axis plane touches all blocks: it is decoded whole.
cdef enum:
    MOST_QUARTERS = 3

# How a selection is decoded: range by range, as one range, or not in parts.
cdef enum Way:
    WHOLE = 0
    RANGES = 1
    HULL = 2


cdef Py_ssize_t touched_blocks(const BloscLayout* layout, Py_ssize_t first, Py_ssize_t nbytes) noexcept nogil:
    return (first + nbytes - 1) // layout.blocksize - first // layout.blocksize + 1


cdef int choose(const Target* target, const Node* node, const Span* spans, const BloscLayout* layout,
                Windows* windows) noexcept nogil:
    """The way that pays; windows: its ranges (of points: their hull)."""
    cdef Py_ssize_t blocks = (layout.nbytes + layout.blocksize - 1) // layout.blocksize
    cdef Py_ssize_t most = blocks * MOST_QUARTERS // 4
    cdef Py_ssize_t last
    if most == 0:
        return WHOLE
    if target.points:
        points_hull(node.ndim, spans, node.strides, &windows.first, &last)
        windows.length = last - windows.first + target.items.itemsize
        if touched_blocks(layout, windows.first, windows.length) <= most:
            return HULL
        return RANGES if spans[0].count <= most else WHOLE
    find_windows(node.ndim, spans, node.strides, node.axes, target.items.itemsize, layout.blocksize, windows)
    if windows.outer and windows.ranges + windows.ranges * (windows.length - 1) // layout.blocksize <= most:
        return RANGES
    if windows.outer:
        find_windows(node.ndim, spans, node.strides, node.axes, target.items.itemsize, node.nbytes, windows)
    return HULL if touched_blocks(layout, windows.first, windows.length) <= most else WHOLE


cdef int decode_range(const Target* target, const Node* node, const char* src, const BloscLayout* layout,
                      Py_ssize_t first, Py_ssize_t nbytes, const Span* spans, Buffer* scratch) noexcept nogil:
    """Decode one range, rounded outward to what blosc counts in, and place what spans pick from it."""
    cdef Py_ssize_t start = first // layout.typesize * layout.typesize
    cdef Py_ssize_t stop = (first + nbytes + layout.typesize - 1) // layout.typesize * layout.typesize
    cdef int code = reserve(scratch, stop - start)
    if code == OK:
        code = blosc_part(src, layout, start, stop - start, scratch.data)
    if code != OK:
        return code
    if target.points:
        place_points(target.items, node.ndim, spans, scratch.data - start, node.strides, target.out,
                     target.strides[0])
    else:
        place_spans(target.items, node.ndim, spans, scratch.data - start, node.strides, target.out, target.strides)
    return OK


cdef int decode_ranges(const Target* target, const Node* node, const char* src, const BloscLayout* layout,
                       const Windows* windows, const Span* spans, Buffer* scratch) noexcept nogil:
    """Decode window by window, or point by point."""
    cdef Py_ssize_t ranges = spans[0].count if target.points else windows.ranges
    cdef Py_ssize_t length = target.items.itemsize if target.points else windows.length
    cdef Py_ssize_t number, first
    cdef Span one[MAX_NDIM]
    cdef int code
    for number in range(ranges):
        if target.points:
            first = pick_point(node.ndim, spans, node.strides, number, one)
        else:
            first = window_at(windows, node.ndim, spans, node.strides, number, one)
        code = decode_range(target, node, src, layout, first, length, one, scratch)
        if code != OK:
            return code
    return OK


cdef int decode_part(Worker* worker, const Target* target, const Node* node, const char* stored, Py_ssize_t nbytes,
                     const Span* spans, Buffer* scratch, bint* done) noexcept nogil:
    cdef BloscLayout layout
    cdef Windows windows
    cdef int i, _i, way, code
    done[0] = False
    if node.filters[0].decoder != DECODE_BLOSC:
        return OK
    for i in range(1, node.n_filters):
        if node.filters[i].decoder != DECODE_CRC32C:
            return OK
    if not blosc_layout(stored, nbytes - 4 * (node.n_filters - 1), node.nbytes, &layout):
        return OK
    way = choose(target, node, spans, &layout, &windows)
    if way == WHOLE:
        return OK
    for _i in range(1, node.n_filters):
        if check_crc32c(stored, nbytes) != OK:
            worker.failure.decoder = DECODE_CRC32C
            return E_CHECKSUM
        nbytes -= 4
    worker.failure.decoder = DECODE_BLOSC
    done[0] = True
    code = check_blosc(stored, nbytes)
    if code != OK:
        return code
    if way == HULL:
        return decode_range(target, node, stored, &layout, windows.first, windows.length, spans, scratch)
    return decode_ranges(target, node, stored, &layout, &windows, spans, scratch)
