"""Read small inner chunks of a local file together.

A read of some bytes costs half a microsecond, whatever they are. So the inner chunks of a shard are taken in the order
in which they lie in the file (zarr writes them along a Morton curve), and one read brings a run of neighbours.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc

from cyzarr.kernels.intersect cimport sort_by_key
from cyzarr.kernels.program cimport NODE_BYTES, Node
from cyzarr.kernels.shardindex cimport check_entry, index_entry
from cyzarr.kernels.sources cimport fetch
from cyzarr.kernels.status cimport E_AGAIN, OK
from cyzarr.kernels.types cimport MAX_NDIM, Segment
from cyzarr.kernels.workers cimport reserve, take_along

cdef enum:
    # The largest that are read together, so many bytes at once. Measured on uncompressed ones in the page cache: of 128
    # bytes they take a quarter of the time, of 8 KiB two thirds, of 16 KiB four fifths.
    SMALL = 16384
    AHEAD = 1 << 16
    AHEAD_DECODED = 1 << 20
    # So many where Python decodes, which takes the longer the more codecs it runs, whatever their size.
    AHEAD_PYTHON = 32
    # Of what isn't needed no more than this is read at once.
    AHEAD_GAP = 4096


cdef Py_ssize_t inner_spans(const Read* read, const Py_ssize_t* at, Py_ssize_t within, Span* spans) noexcept nogil:
    cdef const Span* span
    cdef Py_ssize_t n, entry = 0
    cdef int axis = read.root.ndim - 1
    while axis >= 0:
        n = read.begin[axis][at[axis] + 1] - read.begin[axis][at[axis]]
        span = &read.inner[axis][read.begin[axis][at[axis]] + within % n]
        within //= n
        entry += span.chunk * read.root.index.strides[axis]
        spans[axis] = span[0]
        axis -= 1
    return entry


cdef Row row_of(const Read* read, const Object* object_, Py_ssize_t number, const Py_ssize_t* at) noexcept nogil:
    return Row(read, object_, at,
               read.first[number + 1] - read.first[number] if read.batch == NULL else object_.count)


cdef Py_ssize_t entry_at(const Row* row, Py_ssize_t within, Span* spans) noexcept nogil:
    """As inner_spans, for a task of a row."""
    if row.read.batch != NULL:
        return row.read.batch_entry(row.read.batch, row.object_.task + within, spans)
    return inner_spans(row.read, row.at, within, spans)


cdef bint small_inner(const Row* row, Py_ssize_t within, Py_ssize_t* start, Py_ssize_t* stop) noexcept nogil:
    """Whether the inner chunk of a task may be read with its neighbours, and where it lies (-1: it is absent)."""
    cdef const Node* root = row.read.root
    cdef const Node* child = root.child
    cdef Span spans[MAX_NDIM]
    cdef uint64_t offset = 0, nbytes = 0
    cdef Py_ssize_t most = SMALL
    cdef bint absent = False
    cdef int axis
    index_entry(&root.index, row.object_.raw, entry_at(row, within, spans), &offset, &nbytes)
    if check_entry(offset, nbytes, row.object_.source.size, child.stored, &absent) != OK:
        return False
    if child.kind == NODE_BYTES and child.n_filters == 0:
        for axis in range(child.ndim):
            if spans[axis].count < child.shape[axis]:
                most = AHEAD_GAP
    start[0] = stop[0] = -1
    if absent:
        return True
    start[0], stop[0] = <Py_ssize_t> offset, <Py_ssize_t> (offset + nbytes)
    return nbytes <= <uint64_t> most


cdef Py_ssize_t* stored_order(Row row) noexcept nogil:
    cdef Py_ssize_t count = row.count
    cdef const Node* root = row.read.root
    cdef const Source* source = &row.object_.source
    cdef Py_ssize_t k, start = -1, stop = -1
    cdef Py_ssize_t* order
    cdef Py_ssize_t* keys
    cdef bint ascending = True
    if source.fd < 0 or row.read.parts > 1 or count < 3:
        return NULL
    if (source.size - root.index.nbytes) // root.index.entries > SMALL:
        return NULL
    keys = <Py_ssize_t*> malloc(count * sizeof(Py_ssize_t))
    order = <Py_ssize_t*> malloc(count * sizeof(Py_ssize_t))
    if keys != NULL and order != NULL:
        for k in range(count):
            # What isn't there or isn't small stands first; it costs a read of its own anywhere.
            keys[k] = start if small_inner(&row, k, &start, &stop) else -1
            ascending = ascending and (k == 0 or keys[k] >= keys[k - 1])
    if keys == NULL or order == NULL or ascending or sort_by_key(keys, count, order) != 0:
        # Without an order each is read as well, if with fewer of its neighbours.
        free(order)
        order = NULL
    free(keys)
    return order


cdef int read_ahead(Row row, Worker* worker, Py_ssize_t within, Source* source) noexcept nogil:
    cdef const Object* object_ = row.object_
    cdef const Read* read = row.read
    cdef Py_ssize_t first = -1, end = -1, stop, count
    cdef int code
    if not small_inner(&row, task_at(object_, within), &first, &end) or first < 0:
        return OK
    if worker.ahead_of != object_ or first < worker.ahead.offset or end > worker.ahead.offset + worker.ahead.nbytes:
        count = row.count - within
        # No more at once than a millisecond or so may decode.
        count = min(count, max(AHEAD_DECODED // max(read.root.child.nbytes, 1), 1))
        if read.target.context != NULL:
            count = min(count, AHEAD_PYTHON)
        if worker.along > 0 or run_end(&row, within, &count, first, end) == end:
            return OK
        # Whoever reads them has to decode them, or others would read them again.
        count = take_along(worker, count - 1) + 1
        stop = run_end(&row, within, &count, first, end)
        if stop == end:
            return OK
        worker.ahead_of = NULL
        code = reserve(&worker.ahead_bytes, stop - first)
        if code == OK:
            code = fetch(worker, &read.target, &object_.source, first, stop - first, worker.ahead_bytes.data)
        if code != OK:
            # An error shows again, with its place, where the inner chunk is read by itself.
            return code if code == E_AGAIN else OK
        worker.ahead_of = object_
        worker.ahead = Segment(first, stop - first, worker.ahead_bytes.data)
    source.fd = -1
    source.segments = &worker.ahead
    source.n_segments = 1
    return OK


cdef Py_ssize_t run_end(const Row* row, Py_ssize_t within, Py_ssize_t* count, Py_ssize_t first,
                        Py_ssize_t end) noexcept nogil:
    """Where those end that follow closely the inner chunk from `first` to `end` and are the next tasks'.

    Looks at `count` tasks at most, the one at hand included; count[0] becomes how many are in the run.
    """
    cdef Py_ssize_t start = -1, stop = -1
    cdef Py_ssize_t k = 1
    while k < count[0] and small_inner(row, task_at(row.object_, within + k), &start, &stop):
        if start >= 0:
            if start < end or start - end > AHEAD_GAP or stop - first > AHEAD:
                break
            end = stop
        k += 1
    count[0] = k
    return end


cdef Py_ssize_t task_at(const Object* object_, Py_ssize_t within) noexcept nogil:
    return within if object_.order == NULL else object_.order[within]
