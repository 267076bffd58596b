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
