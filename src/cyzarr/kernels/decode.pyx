"""Decode the part of a chunk that a selection picks, straight into the output.

One recursion serves files, memory and fetched segments, plain chunks and shards to any depth:

    decode_region: undo the bytes-to-bytes codecs, if any, then
        a leaf:  read the windows it needs and place them      (place_leaf)
        a shard: read its index, then decode_region for each touched inner chunk  (decode_shard)

Nothing here holds the GIL, but for what only Python can do (`callbacks`).
"""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from cyzarr.kernels.blocks cimport fill_points, fill_spans, place_spans
from cyzarr.kernels.blosc cimport check_blosc
from cyzarr.kernels.callbacks cimport call_filter, call_hull, call_leaf, fill_objects, hull_free, hull_new
from cyzarr.kernels.checksum cimport check_crc32c
from cyzarr.kernels.decompress cimport decode_exact, decode_grow
from cyzarr.kernels.indexcache cimport CachedIndex, index_release
from cyzarr.kernels.intersect cimport cut_affine, cut_indexed, sort_by_key, touched_bound
from cyzarr.kernels.natives cimport DECODE_BLOSC, DECODE_CRC32C, decoder_native
from cyzarr.kernels.parts cimport decode_part
from cyzarr.kernels.placing cimport place, whole_place
from cyzarr.kernels.program cimport DECODE_PYTHON, NODE_BYTES, NODE_HULL, NODE_PYTHON, NODE_SHARD, Filter, Node
from cyzarr.kernels.readplan cimport take_part
from cyzarr.kernels.shardindex cimport check_entry, index_entry
from cyzarr.kernels.sources cimport fetch, find_segment, load_index, look
from cyzarr.kernels.status cimport (
    E_CHECKSUM,
    E_DECODE,
    E_ENTRY,
    E_NATIVE,
    E_NOMEM,
    E_SIZE,
    E_STORED_SIZE,
    OK,
)
from cyzarr.kernels.types cimport MAX_NDIM, Source, Span, Target
from cyzarr.kernels.windows cimport Windows, find_windows, pick_point, points_hull, window_at
from cyzarr.kernels.workers cimport Buffer, fail, reserve

cdef enum:
    STORED = 0
    INDEX = 1
    DECODED = 2
    # On a local file a gap is read over while that costs less than another call (measured: 4 KiB).
    LOCAL_GAP = 4096
    # Points nearer to each other than this, on average, are read as one range.
    POINT_GAP = 16384


# --- bytes-to-bytes codecs

cdef int call_twin(Worker* worker, const Target* target, const Filter* filter, const char* src, Py_ssize_t nbytes,
                   Buffer* buffer, Py_ssize_t* found) noexcept nogil:
    """Decode by the codec's Python function, which for blosc reads on past the end of bytes that lie."""
    cdef int code = check_blosc(src, nbytes) if filter.decoder == DECODE_BLOSC else OK
    if code != OK:
        return E_DECODE
    return call_filter(worker, target, filter.codec, filter.decoder != DECODE_PYTHON, src, nbytes, buffer, found)


cdef int undo_last(Worker* worker, const Target* target, const Node* node, const Filter* filter,
                   const char* src, Py_ssize_t nbytes, char* direct, Buffer* buffer,
                   const char** data) noexcept nogil:
    """Undo the first filter of a leaf: the decoded length is known, and must come out.

    Decodes to `direct` if that is not NULL, else to buffer; data[0] tells where the bytes are.
    """
    cdef Py_ssize_t found = -1
    cdef int code
    cdef char* dst = direct
    worker.failure.decoder = filter.decoder
    worker.failure.expected = node.nbytes
    if decoder_native(filter.decoder):
        if dst == NULL:
            code = reserve(buffer, node.nbytes)
            if code != OK:
                return code
            dst = buffer.data
        data[0] = dst
        code = decode_exact(filter.decoder, &worker.context, src, nbytes, dst, node.nbytes, &found)
        worker.failure.found = found
        # The table may be switched off meanwhile.
        if code != E_NATIVE:
            return code
    code = call_twin(worker, target, filter, src, nbytes, buffer, &found)
    data[0] = buffer.data
    worker.failure.found = found
    return E_SIZE if code == OK and found != node.nbytes else code


cdef int undo_between(Worker* worker, const Target* target, const Node* node, const Filter* filter,
                      const char* src, Py_ssize_t nbytes, Buffer* buffer, Py_ssize_t* found) noexcept nogil:
    """Undo a filter whose decoded length only the data knows."""
    cdef int code
    worker.failure.decoder = filter.decoder
    worker.failure.expected = node.limit
    if decoder_native(filter.decoder):
        code = decode_grow(filter.decoder, &worker.context, src, nbytes, &buffer.data, &buffer.capacity, found,
                           node.limit)
        worker.failure.found = found[0]
        if code != E_NATIVE:
            return code
    return call_twin(worker, target, filter, src, nbytes, buffer, found)


cdef int undo_filters(Worker* worker, const Target* target, const Node* node, const char* stored,
                      Py_ssize_t nbytes, char* direct, Buffer* decoded, const char** data,
                      Py_ssize_t* length) noexcept nogil:
    """Undo all of a node's bytes-to-bytes codecs, last first."""
    cdef int i = node.n_filters - 1
    cdef int turn = 0
    cdef int last = 0
    cdef int code
    cdef Buffer* buffer
    data[0] = stored
    length[0] = nbytes
    while last < i and node.filters[last].decoder == DECODE_CRC32C:
        last += 1
    while i >= 0:
        if node.filters[i].decoder == DECODE_CRC32C:
            if check_crc32c(data[0], length[0]) != OK:
                worker.failure.decoder = DECODE_CRC32C
                return E_CHECKSUM
            length[0] -= 4
        elif i == 0 and node.kind == NODE_BYTES:
            code = undo_last(worker, target, node, &node.filters[i], data[0], length[0], direct, decoded, data)
            length[0] = node.nbytes
            if code != OK:
                return code
        else:
            # What the last decoder gives must outlive the node; the others take turns in scratch.
            buffer = decoded if i == last else &worker.spare[turn]
            turn = 1 - turn
            code = undo_between(worker, target, node, &node.filters[i], data[0], length[0], buffer, length)
            if code != OK:
                return code
            data[0] = buffer.data
        i -= 1
    return OK


# --- leaves

cdef int fill_target(Worker* worker, const Target* target, const Span* spans) noexcept nogil:
    if target.objects != NULL:
        return fill_objects(worker, target, spans)
    if target.points:
        fill_points(target.items.itemsize, target.fill, spans, target.out, target.strides[0])
    else:
        fill_spans(target.items.itemsize, target.fill, target.ndim, spans, target.out, target.strides)
    return OK


cdef char* dense_place(const Target* target, const Node* node, const Span* spans,
                       const Windows* windows) noexcept nogil:
    """Where one window lies in the output byte for byte as in the chunk, or NULL where it doesn't."""
    cdef char* to = target.out
    cdef int at, axis
    if target.items.n_swaps or windows.needed != windows.ranges * windows.length:
        return NULL
    for at in range(node.ndim):
        axis = node.axes[at]
        if spans[axis].index != NULL:
            return NULL
        to += spans[axis].out * target.strides[axis]
        if at >= windows.outer and spans[axis].count > 1 and (
                spans[axis].step != 1 or target.strides[axis] != node.strides[axis]):
            return NULL
    return to


cdef int read_window(Worker* worker, const Target* target, const Node* node, const Source* source,
                     Py_ssize_t offset, const Span* spans, const Windows* windows, char* direct) noexcept nogil:
    """Read one window at windows.first and place it."""
    cdef Buffer* buffer = &worker.buffers[DECODED]
    cdef int code
    if direct != NULL:
        return fetch(worker, target, source, offset + windows.first, windows.length, direct)
    code = reserve(buffer, windows.length)
    if code != OK:
        return fail(worker, code, offset, windows.length, 0, 0)
    code = fetch(worker, target, source, offset + windows.first, windows.length, buffer.data)
    if code == OK:
        place_spans(target.items, node.ndim, spans, buffer.data - windows.first, node.strides,
                    target.out, target.strides)
    return code


cdef int read_windows(Worker* worker, const Target* target, const Node* node, const Source* source,
                      Py_ssize_t offset, const Span* spans) noexcept nogil:
    """Read from a file what spans pick from an uncompressed chunk: one read per window."""
    cdef Windows windows
    cdef Span one[MAX_NDIM]
    cdef Py_ssize_t number
    cdef char* direct
    cdef int code
    find_windows(node.ndim, spans, node.strides, node.axes, target.items.itemsize, LOCAL_GAP, &windows)
    worker.stats.bytes_needed += windows.needed
    if windows.outer == 0:
        return read_window(worker, target, node, source, offset, spans, &windows,
                           dense_place(target, node, spans, &windows))
    for number in range(windows.ranges):
        windows.first = window_at(&windows, node.ndim, spans, node.strides, number, one)
        direct = dense_place(target, node, one, &windows)
        code = read_window(worker, target, node, source, offset, one, &windows, direct)
        if code != OK:
            return code
    return OK


cdef int read_points(Worker* worker, const Target* target, const Node* node, const Source* source,
                     Py_ssize_t offset, const Span* spans) noexcept nogil:
    """Read from a file the points of an uncompressed chunk: as one range where they lie close, else one by one."""
    cdef Py_ssize_t k, at, first, last
    cdef Py_ssize_t itemsize = target.items.itemsize
    cdef Py_ssize_t n = spans[0].count
    cdef Buffer* buffer = &worker.buffers[DECODED]
    cdef Span one[MAX_NDIM]
    cdef int code
    points_hull(node.ndim, spans, node.strides, &first, &last)
    worker.stats.bytes_needed += n * itemsize
    if (last - first) // POINT_GAP <= n:
        code = reserve(buffer, last - first + itemsize)
        if code != OK:
            return fail(worker, code, offset, last - first + itemsize, 0, 0)
        code = fetch(worker, target, source, offset + first, last - first + itemsize, buffer.data)
        if code == OK:
            place(target, node, spans, buffer.data - first)
        return code
    code = reserve(buffer, itemsize)
    for k in range(n):
        at = pick_point(node.ndim, spans, node.strides, k, one)
        if code == OK:
            code = fetch(worker, target, source, offset + at, itemsize, buffer.data)
        if code != OK:
            return code
        place(target, node, one, buffer.data - at)
    return OK


cdef int place_leaf(Worker* worker, const Target* target, const Node* node, const Source* source,
                    Py_ssize_t offset, Py_ssize_t nbytes, const Span* spans) noexcept nogil:
    """Place from an uncompressed chunk."""
    cdef const char* data = NULL
    cdef int code
    if nbytes != node.nbytes:
        return fail(worker, E_STORED_SIZE, offset, nbytes, node.nbytes, nbytes)
    if source.fd >= 0:
        if target.points:
            return read_points(worker, target, node, source, offset, spans)
        return read_windows(worker, target, node, source, offset, spans)
    if source.data == NULL:
        return place_segments(worker, target, node, source, offset, spans)
    code = look(worker, target, source, offset, nbytes, NULL, &data)
    if code == OK:
        worker.stats.bytes_needed += nbytes
        place(target, node, spans, data)
    return code


cdef int place_segments(Worker* worker, const Target* target, const Node* node, const Source* source,
                        Py_ssize_t offset, const Span* spans) noexcept nogil:
    """Place from fetched segments: what one of them holds at once, else one half after the other."""
    cdef Windows windows
    cdef Span half[MAX_NDIM]
    cdef Py_ssize_t last, part
    cdef const char* data = NULL
    cdef int axis, code = OK
    if target.points:
        points_hull(node.ndim, spans, node.strides, &windows.first, &last)
        windows.length = last - windows.first + target.items.itemsize
        windows.needed = spans[0].count * target.items.itemsize
        axis = 0 if spans[0].count > 1 else -1
    else:
        find_windows(node.ndim, spans, node.strides, node.axes, target.items.itemsize, node.nbytes, &windows)
        axis = widest_axis(node, spans)
    if axis < 0 or find_segment(source, offset + windows.first, windows.length) != NULL:
        code = look(worker, target, source, offset + windows.first, windows.length, NULL, &data)
        if code == OK:
            worker.stats.bytes_needed += windows.needed
            place(target, node, spans, data - windows.first)
        return code
    memcpy(half, spans, node.ndim * sizeof(Span))
    for part in range(2):
        if target.points:
            for axis in range(node.ndim):
                half[axis] = spans[axis]
                take_part(&half[axis], part, 2)
        else:
            half[axis] = spans[axis]
            take_part(&half[axis], part, 2)
        code = place_segments(worker, target, node, source, offset, half)
        if code != OK:
            return code
    return OK


cdef int widest_axis(const Node* node, const Span* spans) noexcept nogil:
    """Of the axes along which more than one position is picked that of the widest stride; -1: none."""
    cdef int at
    for at in range(node.ndim):
        if spans[node.axes[at]].count > 1:
            return node.axes[at]
    return -1


# --- the recursion

cdef int decode_region(Worker* worker, const Target* target, const Node* node, const Source* source,
                       Py_ssize_t offset, Py_ssize_t nbytes, const Span* spans, int depth) noexcept nogil:
    cdef Source undone
    cdef const char* data = NULL
    cdef char* direct = NULL
    cdef bint done = False
    cdef Py_ssize_t length = 0
    cdef int code
    cdef Buffer* buffers = &worker.buffers[3 * depth]
    if node.kind == NODE_HULL:
        return decode_hull(worker, target, node, source, offset, nbytes, spans, depth)
    if node.kind != NODE_SHARD:
        worker.stats.chunks_decoded += 1
    if node.stored >= 0 and nbytes != node.stored:
        return fail(worker, E_STORED_SIZE, offset, nbytes, node.stored, nbytes)
    if node.n_filters == 0 and node.kind == NODE_BYTES:
        return place_leaf(worker, target, node, source, offset, nbytes, spans)
    if node.n_filters == 0 and node.kind == NODE_SHARD:
        return decode_shard(worker, target, node, source, offset, nbytes, spans, depth)
    code = look(worker, target, source, offset, nbytes, &buffers[STORED], &data)
    if code != OK:
        return code
    worker.stats.bytes_needed += nbytes
    if source.fd < 0 and holds_container(node):
        # Memory can change under a decoder that reads its header twice.
        code = reserve(&buffers[STORED], nbytes)
        if code != OK:
            return fail(worker, code, offset, nbytes, 0, 0)
        memcpy(buffers[STORED].data, data, nbytes)
        data = buffers[STORED].data
    if node.kind == NODE_BYTES:
        direct = whole_place(target, node, spans)
        if direct == NULL:
            code = decode_part(worker, target, node, data, nbytes, spans, &buffers[DECODED], &done)
            if code != OK:
                return fail(worker, code, offset, nbytes, worker.failure.expected, worker.failure.found)
            if done:
                return OK
    code = undo_filters(worker, target, node, data, nbytes, direct, &buffers[DECODED], &data, &length)
    if code != OK:
        return fail(worker, code, offset, nbytes, worker.failure.expected, worker.failure.found)
    if node.kind == NODE_BYTES:
        if length != node.nbytes:
            return fail(worker, E_STORED_SIZE, offset, nbytes, node.nbytes, length)
        if direct == NULL or data != direct:
            place(target, node, spans, data)
        return OK
    if node.kind == NODE_PYTHON:
        code = call_leaf(worker, target, node, data, length, spans)
        return code if code == OK else fail(worker, code, offset, nbytes, 0, 0)
    undone.fd = -1
    undone.size = length
    undone.data = data
    undone.segments = NULL
    undone.n_segments = 0
    return decode_shard(worker, target, node, &undone, 0, length, spans, depth)


cdef int decode_hull(Worker* worker, const Target* target, const Node* node, const Source* source,
                     Py_ssize_t offset, Py_ssize_t nbytes, const Span* spans, int depth) noexcept nogil:
    """Decode the block around what spans pick, then hand it through the node's codec; all where that needs all."""
    cdef Span inner[MAX_NDIM]
    cdef Py_ssize_t first[MAX_NDIM]
    cdef Py_ssize_t counts[MAX_NDIM]
    cdef Target hull = target[0]
    cdef void* array = NULL
    cdef int i, code
    hull_spans(node, spans, inner)
    for i in range(node.below.ndim):
        first[i], counts[i] = inner[i].start, inner[i].count
    code = hull_new(worker, node, counts, &array, &hull.out)
    if code != OK:
        return fail(worker, code, offset, nbytes, 0, 0)
    hull.items, hull.fill, hull.ndim = node.items, node.fill, node.below.ndim
    hull.points, hull.objects = False, NULL
    hull.dtype = node.dtype
    c_strides(hull.ndim, counts, node.items.itemsize, hull.strides)
    code = decode_region(worker, &hull, node.below, source, offset, nbytes, inner, depth)
    if code != OK:
        hull_free(array)
        return code
    code = call_hull(worker, target, node, array, spans, first)
    return code if code == OK else fail(worker, code, offset, nbytes, 0, 0)


cdef void hull_spans(const Node* node, const Span* spans, Span* inner) noexcept nogil:
    """The block, in the axes below, that a hull decodes for what spans pick."""
    cdef Py_ssize_t first, last, k
    cdef const Span* span
    cdef int i
    for i in range(node.below.ndim):
        if not node.elementwise:
            inner[i] = Span(0, 0, 1, node.below.shape[i], 0, NULL, NULL)
            continue
        span = &spans[node.axes[i]]
        first = last = span.start if span.index == NULL else span.index[0]
        if span.index == NULL:
            last += (span.count - 1) * span.step
        for k in range(span.count if span.index != NULL else 0):
            first = min(first, span.index[k])
            last = max(last, span.index[k])
        inner[i] = Span(0, min(first, last), 1, max(first, last) - min(first, last) + 1, 0, NULL, NULL)


cdef void c_strides(int ndim, const Py_ssize_t* counts, Py_ssize_t itemsize, Py_ssize_t* strides) noexcept nogil:
    cdef int i = ndim - 1
    while i >= 0:
        strides[i] = itemsize
        itemsize *= counts[i]
        i -= 1


cdef bint holds_container(const Node* node) noexcept nogil:
    cdef int i
    for i in range(node.n_filters):
        if node.filters[i].decoder == DECODE_BLOSC:
            return True
    return False


cdef int decode_inner(Worker* worker, const Target* target, const Node* node, const Source* source,
                      Py_ssize_t offset, Py_ssize_t nbytes, const char* raw, Py_ssize_t number,
                      const Span* spans, int depth) noexcept nogil:
    cdef uint64_t at = 0, length = 0
    cdef bint absent = False
    cdef int code
    index_entry(&node.index, raw, number, &at, &length)
    code = check_entry(at, length, nbytes, node.child.stored, &absent)
    if absent:
        worker.stats.inner_missing += 1
        return fill_target(worker, target, spans)
    if code != OK:
        code = fail(worker, code, <Py_ssize_t> at, <Py_ssize_t> length,
                    nbytes if code == E_ENTRY else node.child.stored, <Py_ssize_t> length)
    else:
        code = decode_region(worker, target, node.child, source, offset + <Py_ssize_t> at,
                             <Py_ssize_t> length, spans, depth + 1)
    if code != OK:
        worker.failure.depth = max(worker.failure.depth, depth + 1)
        worker.failure.inner[depth] = number
    return code


cdef int decode_shard(Worker* worker, const Target* target, const Node* node, const Source* source,
                      Py_ssize_t offset, Py_ssize_t nbytes, const Span* spans, int depth) noexcept nogil:
    """Decode every inner chunk that spans touch."""
    cdef CachedIndex* held = NULL
    cdef const char* raw = NULL
    cdef int code = load_index(worker, target, node, source, offset, nbytes,
                               &worker.buffers[3 * depth + INDEX], &raw, &held)
    if code != OK:
        return code
    if target.points:
        code = decode_points(worker, target, node, source, offset, nbytes, raw, spans, depth)
    else:
        code = decode_product(worker, target, node, source, offset, nbytes, raw, spans, depth)
    index_release(held)
    return code


cdef int decode_product(Worker* worker, const Target* target, const Node* node, const Source* source,
                        Py_ssize_t offset, Py_ssize_t nbytes, const char* raw, const Span* spans,
                        int depth) noexcept nogil:
    """Walk the product of the axes' tables."""
    cdef Span* tables[MAX_NDIM]
    cdef Py_ssize_t counts[MAX_NDIM]
    cdef Py_ssize_t at[MAX_NDIM]
    cdef Span inner[MAX_NDIM]
    cdef Py_ssize_t number
    cdef int axis
    cdef int code = cut_axes(&worker.tables[depth], node, spans, tables, counts)
    if code != OK:
        return fail(worker, code, offset, nbytes, 0, 0)
    for axis in range(node.ndim):
        at[axis] = 0
        if counts[axis] == 0:
            return OK
    while True:
        number = 0
        for axis in range(node.ndim):
            inner[axis] = tables[axis][at[axis]]
            number += inner[axis].chunk * node.index.strides[axis]
        code = decode_inner(worker, target, node, source, offset, nbytes, raw, number, inner, depth)
        if code != OK:
            return code
        axis = node.ndim - 1
        while axis >= 0:
            at[axis] += 1
            if at[axis] < counts[axis]:
                break
            at[axis] = 0
            axis -= 1
        if axis < 0:
            return OK


cdef int cut_axes(Buffer* buffer, const Node* node, const Span* spans, Span** tables,
                  Py_ssize_t* counts) noexcept nogil:
    """Cut every axis into its table of touched inner chunks, all in one buffer."""
    cdef Py_ssize_t room = 0, n
    cdef int axis
    cdef char* free_
    cdef Py_ssize_t* numbers
    for axis in range(node.ndim):
        n = touched_bound(&spans[axis], node.inner[axis])
        room += n * sizeof(Span)
        if spans[axis].index != NULL:
            room += 3 * n * sizeof(Py_ssize_t)
    if reserve(buffer, room) != OK:
        return E_NOMEM
    free_ = buffer.data
    for axis in range(node.ndim):
        n = touched_bound(&spans[axis], node.inner[axis])
        tables[axis] = <Span*> free_
        free_ += n * sizeof(Span)
        if spans[axis].index == NULL:
            counts[axis] = cut_affine(&spans[axis], node.inner[axis], tables[axis])
            continue
        numbers = <Py_ssize_t*> free_
        free_ += 3 * n * sizeof(Py_ssize_t)
        counts[axis] = cut_indexed(&spans[axis], node.inner[axis], tables[axis], numbers, numbers + n, numbers + 2 * n)
        if counts[axis] < 0:
            return E_NOMEM
    return OK


cdef int decode_points(Worker* worker, const Target* target, const Node* node, const Source* source,
                       Py_ssize_t offset, Py_ssize_t nbytes, const char* raw, const Span* spans,
                       int depth) noexcept nogil:
    """Bucket points by inner chunk, then decode each touched inner chunk once."""
    cdef Py_ssize_t n = spans[0].count
    cdef Py_ssize_t k, stop
    cdef int axis, code
    cdef Span inner[MAX_NDIM]
    cdef Py_ssize_t* keys
    cdef Py_ssize_t* order
    cdef Py_ssize_t* place_
    cdef Py_ssize_t* local
    if reserve(&worker.tables[depth], (3 + node.ndim) * n * sizeof(Py_ssize_t)) != OK:
        return fail(worker, E_NOMEM, offset, nbytes, 0, 0)
    keys = <Py_ssize_t*> worker.tables[depth].data
    order = keys + n
    place_ = order + n
    local = place_ + n
    for k in range(n):
        keys[k] = 0
        for axis in range(node.ndim):
            keys[k] += (spans[axis].index[k] // node.inner[axis]) * node.index.strides[axis]
    if sort_by_key(keys, n, order) != 0:
        return fail(worker, E_NOMEM, offset, nbytes, 0, 0)
    for k in range(n):
        place_[k] = spans[0].place[order[k]]
        for axis in range(node.ndim):
            local[axis * n + k] = spans[axis].index[order[k]] % node.inner[axis]
    k = 0
    while k < n:
        stop = k + 1
        while stop < n and keys[order[stop]] == keys[order[k]]:
            stop += 1
        for axis in range(node.ndim):
            inner[axis] = Span(0, 0, 0, stop - k, 0, local + axis * n + k, place_ + k)
        code = decode_inner(worker, target, node, source, offset, nbytes, raw, keys[order[k]], inner, depth)
        if code != OK:
            return code
        k = stop
    return OK
