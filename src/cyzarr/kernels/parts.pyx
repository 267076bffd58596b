"""Decode a part of a compressed chunk alone: the blosc blocks that hold what a selection picks, or a zstd frame up to
its end.

A leaf whose one compressor is blosc or zstd, with any checksums around it. The whole container's lengths are
checked, and checksums verified, as for decoding whole; damage within a block that isn't needed goes
unnoticed. A frame of zstd that has a checksum itself is decoded whole.
"""

from cyzarr.kernels.blosc cimport BloscLayout, blosc_layout, blosc_part, check_blosc
from cyzarr.kernels.checksum cimport check_crc32c
from cyzarr.kernels.natives cimport DECODE_BLOSC, DECODE_CRC32C, DECODE_ZSTD, decoder_native
from cyzarr.kernels.placing cimport place
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.status cimport E_CHECKSUM, OK
from cyzarr.kernels.types cimport MAX_NDIM, Span, Target
from cyzarr.kernels.windows cimport Windows, find_windows, pick_point, points_hull, window_at
from cyzarr.kernels.workers cimport reserve
from cyzarr.kernels.zstd cimport zstd_can_stop, zstd_start

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

# A frame of zstd is decoded until the block, of at most 128 KiB, that ends a selection, where that leaves out an eighth
# of it: the decoder's window costs about a twentieth. First planes, the whole frame decoded against so much of it, in
# us, least of many, one thread, float32:
#
#     chunk          1/64        1/8         1/4         1/2         3/4
#     8 MiB     5975   122  5959   759  5943  1516  6121  3075  6224  4742
#     1 MiB      724    87   721    90   723   181   727   373   737   539
#     256 KiB    173    86   173    87   174    88   175    92   176   177: two blocks
cdef enum:
    ZSTD_BLOCK_NBYTES = 128 << 10
    ZSTD_MOST_EIGHTHS = 7

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
    if code == OK:
        place(target, node, spans, scratch.data - start)
    return code


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


cdef bint has_one_decoder(const Node* node) noexcept nogil:
    """Whether nothing but checksums stands around the first filter."""
    cdef int i
    for i in range(1, node.n_filters):
        if node.filters[i].decoder != DECODE_CRC32C:
            return False
    return True


cdef int undo_checksums(Worker* worker, const Node* node, const char* stored, Py_ssize_t* nbytes) noexcept nogil:
    """Verify them, and leave their bytes out."""
    cdef int _i
    for _i in range(1, node.n_filters):
        if check_crc32c(stored, nbytes[0]) != OK:
            worker.failure.decoder = DECODE_CRC32C
            return E_CHECKSUM
        nbytes[0] -= 4
    return OK


cdef int decode_part(Worker* worker, const Target* target, const Node* node, const char* stored, Py_ssize_t nbytes,
                     const Span* spans, Buffer* scratch, bint* done) noexcept nogil:
    done[0] = False
    if node.filters[0].decoder == DECODE_BLOSC and has_one_decoder(node):
        return blosc_blocks(worker, target, node, stored, nbytes, spans, scratch, done)
    if node.filters[0].decoder == DECODE_ZSTD and decoder_native(DECODE_ZSTD) and has_one_decoder(node):
        return zstd_until(worker, target, node, stored, nbytes, spans, scratch, done)
    return OK


cdef int blosc_blocks(Worker* worker, const Target* target, const Node* node, const char* stored, Py_ssize_t nbytes,
                      const Span* spans, Buffer* scratch, bint* done) noexcept nogil:
    cdef BloscLayout layout
    cdef Windows windows
    cdef int way, code
    if not blosc_layout(stored, nbytes - 4 * (node.n_filters - 1), node.nbytes, &layout):
        return OK
    way = choose(target, node, spans, &layout, &windows)
    if way == WHOLE:
        return OK
    code = undo_checksums(worker, node, stored, &nbytes)
    if code != OK:
        return code
    worker.failure.decoder = DECODE_BLOSC
    done[0] = True
    code = check_blosc(stored, nbytes)
    if code != OK:
        return code
    if way == HULL:
        return decode_range(target, node, stored, &layout, windows.first, windows.length, spans, scratch)
    return decode_ranges(target, node, stored, &layout, &windows, spans, scratch)


cdef int zstd_until(Worker* worker, const Target* target, const Node* node, const char* stored, Py_ssize_t nbytes,
                    const Span* spans, Buffer* scratch, bint* done) noexcept nogil:
    """Decode a frame until the last item that is picked."""
    cdef Windows windows
    cdef Py_ssize_t last, stop, blocks
    cdef int code
    if target.points:
        points_hull(node.ndim, spans, node.strides, &windows.first, &last)
        stop = last + target.items.itemsize
    else:
        find_windows(node.ndim, spans, node.strides, node.axes, target.items.itemsize, node.nbytes, &windows)
        stop = windows.first + windows.length
    blocks = (stop + ZSTD_BLOCK_NBYTES - 1) // ZSTD_BLOCK_NBYTES
    if blocks * ZSTD_BLOCK_NBYTES > node.nbytes // 8 * ZSTD_MOST_EIGHTHS:
        return OK
    code = undo_checksums(worker, node, stored, &nbytes)
    if code != OK:
        return code
    if not zstd_can_stop(stored, nbytes, node.nbytes):
        return OK
    code = reserve(scratch, stop)
    if code != OK:
        return code
    done[0] = zstd_start(&worker.context, stored, nbytes, scratch.data, stop)
    if done[0]:
        place(target, node, spans, scratch.data)
    return OK
