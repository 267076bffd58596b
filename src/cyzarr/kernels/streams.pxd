"""Both ends of a decoder that takes and gives piece by piece. Lengths are in bytes."""

from cyzarr.kernels.natives cimport Context

cdef enum:
    FIRST_NBYTES = 65536  # the least that a growing buffer starts with

cdef struct Source:
    const char* data
    Py_ssize_t nbytes
    Py_ssize_t pos

# `capacity` bytes are there, `used` of them written; grows up to `limit` (== capacity: never).
# `over`: the stream had at least one byte more than the limit.
cdef struct Sink:
    char* data
    Py_ssize_t capacity
    Py_ssize_t used
    Py_ssize_t limit
    bint over

# Decodes from the source to its end, or to the stream's, into the sink; a code of `status`.
ctypedef int (*stream_t)(Context*, Source*, Sink*) noexcept nogil

# Give the buffer room for `wanted` bytes (and at least one), keeping what it holds.
cdef int reserve(char** dst, Py_ssize_t* capacity, Py_ssize_t wanted) noexcept nogil

# Make room after the bytes written, where the limit allows any: twice as much each time.
cdef int sink_room(Sink* sink) noexcept nogil

# As decompress.decode_exact and decode_grow, for one kind of stream.
cdef int stream_exact(
    stream_t stream, Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found,
) noexcept nogil

cdef int stream_grow(
    stream_t stream, Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char** dst, Py_ssize_t* capacity, Py_ssize_t* dst_nbytes, Py_ssize_t limit_nbytes,
) noexcept nogil
