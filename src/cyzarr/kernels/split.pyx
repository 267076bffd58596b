"""Cut the tasks of a read into parts where there are too few of them for the threads.

Of an uncompressed leaf a part is what a shorter selection picks. What a decoder gives is one piece, but for
blosc: its blocks are decoded one by one, so a part of a large container is a container of some of its blocks.
The first part reads the head (header and table of blocks) and settles for all of them whether it can be cut.
"""

from libc.stdlib cimport calloc
from libc.string cimport memcpy

from cyzarr.kernels.blosc cimport (
    BloscCut,
    blosc_cut,
    blosc_exact,
    blosc_head,
    blosc_write_head,
)
from cyzarr.kernels.natives cimport DECODE_BLOSC, decoder_native
from cyzarr.kernels.placing cimport whole_place
from cyzarr.kernels.program cimport NODE_BYTES, NODE_SHARD
from cyzarr.kernels.readplan cimport HOP_NS, Object, positions
from cyzarr.kernels.sources cimport look
from cyzarr.kernels.status cimport E_DECODE, OK
from cyzarr.kernels.types cimport MAX_NDIM
from cyzarr.kernels.workers cimport Buffer, fail, reserve

cdef enum:
    # A container is cut from so many decoded bytes on. c-blosc's blocks are as long as 512 KiB; a container of one that
    # is tried loses the 12 us of a hop. Whole against cut, on two threads, us, least of many, random float32:
    #
    #     decoded           512 KiB    1 MiB      2 MiB      8 MiB
    #     lz4, level 5      58    70   108   89   207  148   1092  539
    #     zstd, level 5    211   135   332  247   772  451   3284 1705
    #
    # Of 1 MiB of lz4 the least is less, but where the helper sleeps deeply most reads take 110 to 125 instead of 100.
    CUT_NBYTES = 2 << 20
    # Of a container so much is read to know its blocks, which is the table of about 500.
    HEAD_NBYTES = 2048
    # Scratch of a worker: the bytes of a part, as decode has them.
    STORED = 0


cdef void read_split(Read* read, int threads) noexcept nogil:
    cdef const Node* leaf = read.root.child if read.shared else read.root
    if threads < 2 or read.n_tasks >= 2 * threads or read.cost_ns <= HOP_NS:
        return
    if read.target.points:
        # Points stand by inner chunk: a part decodes few of them that another part decodes too.
        if read.n_tasks < threads and read.root.n_filters == 0 and read.root.kind in (NODE_BYTES, NODE_SHARD):
            read.parts = min(2 * threads, read.n_points)
    elif leaf.kind == NODE_BYTES and leaf.n_filters == 0:
        split_selection(read, leaf, threads)
    elif can_cut(read, threads):
        read.objects = <Object*> calloc(read.n_objects, sizeof(Object))
        if read.objects != NULL:
            split_containers(read, threads)


# --- by the selection

cdef void split_selection(Read* read, const Node* leaf, int threads) noexcept nogil:
    """Along the first axis that gives enough parts in each task."""
    cdef const Span* table
    cdef Py_ssize_t i, n, least, most = 1
    cdef int at, axis
    for at in range(leaf.ndim):
        axis = leaf.axes[at]
        table = read.inner[axis] if read.shared else read.outer[axis]
        n = read.begin[axis][read.n_outer[axis]] if read.shared else read.n_outer[axis]
        least = table[0].count
        for i in range(1, n):
            least = min(least, table[i].count)
        if least > most:
            read.part_axis = axis
            most = least
            if least >= 2 * threads:
                break
    read.parts = min(most, 2 * threads)
    if read.shared:
        for i in range(read.n_objects):
            read.objects[i].left *= read.parts


# --- by the blocks of a container

cdef bint can_cut(const Read* read, int threads) noexcept nogil:
    """Whether tasks are large blosc containers, each decoded whole into its place, that threads share unevenly."""
    cdef const Node* node = read.root
    cdef Py_ssize_t at[MAX_NDIM]
    cdef Span spans[MAX_NDIM]
    cdef Py_ssize_t i
    cdef int axis
    if node.kind != NODE_BYTES or node.nbytes < CUT_NBYTES or read.n_tasks % threads == 0:
        return False
    if node.n_filters != 1 or node.filters[0].decoder != DECODE_BLOSC or not decoder_native(DECODE_BLOSC):
        return False
    for i in range(read.n_objects):
        positions(read, i, at)
        for axis in range(node.ndim):
            spans[axis] = read.outer[axis][at[axis]]
        if whole_place(&read.target, node, spans) == NULL:
            return False
    return True


cdef void split_containers(Read* read, int threads) noexcept nogil:
    cdef Py_ssize_t i
    read.parts = threads
    for i in range(read.n_objects):
        read.objects[i].source.fd = -1
        read.objects[i].left = threads


cdef int look_copied(Worker* worker, const Target* target, const Source* source, Py_ssize_t offset, Py_ssize_t nbytes,
                     char* dst) noexcept nogil:
    """Bytes of the source, as they are now: memory can change under a reader that reads twice."""
    cdef Buffer into = Buffer(dst, nbytes)
    cdef const char* data = NULL
    cdef int code = look(worker, target, source, offset, nbytes, &into, &data)
    if code == OK and data != dst:
        memcpy(dst, data, nbytes)
    return code


cdef int load_head(Worker* worker, const Target* target, const Node* node, const Source* source, Buffer* buffer,
                   const char** head) noexcept nogil:
    cdef Py_ssize_t nbytes = min(source.size, <Py_ssize_t> HEAD_NBYTES)
    cdef int code = reserve(buffer, HEAD_NBYTES)
    head[0] = NULL
    if code != OK:
        return fail(worker, code, 0, source.size, 0, 0)
    code = look_copied(worker, target, source, 0, nbytes, buffer.data)
    if code == OK and blosc_head(buffer.data, nbytes, source.size, node.nbytes):
        head[0] = buffer.data
    return code


cdef int decode_cut(Worker* worker, const Target* target, const Node* node, const Source* source, const char* head,
                    const Span* spans, Py_ssize_t part, Py_ssize_t parts) noexcept nogil:
    cdef BloscCut cut
    cdef Buffer* stored = &worker.buffers[STORED]
    cdef char* place = whole_place(target, node, spans)
    cdef Py_ssize_t found = 0
    cdef int code = OK
    blosc_cut(head, part, parts, &cut)
    # A part has no blocks, where there are more parts than blocks.
    while cut.blocks > 0:
        code = reserve(stored, cut.head_nbytes + cut.nbytes)
        if code != OK:
            return fail(worker, code, 0, source.size, 0, 0)
        code = look_copied(worker, target, source, cut.offset, cut.nbytes, stored.data + cut.head_nbytes)
        if code != OK:
            return code
        blosc_write_head(head, &cut, stored.data)
        code = blosc_exact(stored.data, cut.head_nbytes + cut.nbytes, place + cut.first, cut.decoded, &found)
        if code != E_DECODE or cut.offset + cut.nbytes == cut.end:
            break
        # Blocks may reach beyond where the next begin: c-blosc doesn't mind, if they end within the container.
        cut.nbytes = cut.end - cut.offset
    worker.stats.bytes_needed += cut.nbytes
    worker.stats.chunks_decoded += 1
    if code != OK:
        worker.failure.decoder = DECODE_BLOSC
        return fail(worker, code, 0, source.size, node.nbytes, found)
    return OK
