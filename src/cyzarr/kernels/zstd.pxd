"""zstd: decode_exact and decode_grow of decompress, where the decoder is native."""

from cyzarr.kernels.natives cimport Context

cdef int zstd_exact(
    Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found,
) noexcept nogil

cdef int zstd_grow(
    Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char** dst, Py_ssize_t* capacity, Py_ssize_t* dst_nbytes, Py_ssize_t limit_nbytes,
) noexcept nogil

# Whether a source is one frame of nbytes decoded bytes and nothing else, by the lengths of all its blocks, and has no
# checksum, which is of all of it: then decoding may stop early.
cdef bint zstd_can_stop(const char* src, Py_ssize_t src_nbytes, Py_ssize_t nbytes) noexcept nogil

# Decode the first dst_nbytes of such a frame. False: they don't come; decoding all of it tells why.
cdef bint zstd_start(
    Context* ctx, const char* src, Py_ssize_t src_nbytes, char* dst, Py_ssize_t dst_nbytes
) noexcept nogil
