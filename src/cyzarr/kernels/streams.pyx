"""Both ends of a decoder that takes and gives piece by piece."""

from libc.stdlib cimport realloc

from cyzarr.kernels.status cimport E_LIMIT, E_NOMEM, E_SIZE, OK


cdef int reserve(char** dst, Py_ssize_t* capacity, Py_ssize_t wanted) noexcept nogil:
    cdef char* grown
    if dst[0] != NULL and capacity[0] >= wanted:
        return OK
    grown = <char*>realloc(dst[0], max(wanted, 1))
    if grown == NULL:
        return E_NOMEM
    dst[0] = grown
    capacity[0] = wanted
    return OK


cdef int sink_room(Sink* sink) noexcept nogil:
    cdef Py_ssize_t wanted
    if sink.used < sink.capacity or sink.capacity >= sink.limit:
        return OK
    wanted = sink.limit if sink.capacity > sink.limit // 2 else 2 * sink.capacity
    return reserve(&sink.data, &sink.capacity, min(sink.limit, max(wanted, FIRST_NBYTES)))


cdef void open_ends(Source* source, Sink* sink, const char* data, Py_ssize_t nbytes) noexcept nogil:
    """Before data[:nbytes] and an empty sink, whose data, capacity and limit are the caller's to set."""
    source.data = data
    source.nbytes = nbytes
    source.pos = 0
    sink.used = 0
    sink.over = False


cdef int stream_exact(
    stream_t stream, Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found,
) noexcept nogil:
    cdef Source source
    cdef Sink sink
    cdef int status
    open_ends(&source, &sink, src, src_nbytes)
    sink.data = dst
    sink.capacity = dst_nbytes
    sink.limit = dst_nbytes
    status = stream(ctx, &source, &sink)
    if status == E_LIMIT:
        return E_SIZE
    if status != OK:
        return status
    found[0] = sink.used
    return OK if sink.used == dst_nbytes else E_SIZE


cdef int stream_grow(
    stream_t stream, Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char** dst, Py_ssize_t* capacity, Py_ssize_t* dst_nbytes, Py_ssize_t limit_nbytes,
) noexcept nogil:
    cdef Source source
    cdef Sink sink
    cdef int status
    cdef Py_ssize_t owned
    if reserve(dst, capacity, min(limit_nbytes, FIRST_NBYTES)) != OK:
        return E_NOMEM
    owned = capacity[0]
    open_ends(&source, &sink, src, src_nbytes)
    sink.data = dst[0]
    sink.capacity = min(owned, limit_nbytes)
    sink.limit = limit_nbytes
    status = stream(ctx, &source, &sink)
    dst[0] = sink.data
    capacity[0] = max(owned, sink.capacity)
    dst_nbytes[0] = sink.used
    return status
