"""lz4 in numcodecs' container."""

# The decoded length that a container declares, bytes, or -1 where there can be none.
cdef Py_ssize_t lz4_declared(const char* src, Py_ssize_t src_nbytes) noexcept nogil

# Decode where the decoder is native; as decompress.decode_exact.
cdef int lz4_exact(
    const char* src, Py_ssize_t src_nbytes, char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found
) noexcept nogil
