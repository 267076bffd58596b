"""The container of c-blosc 1."""

# Whether a blosc container's header and block table lie within its bytes: OK, or a code. A decoder of blosc that
# is given no length, as numcodecs' own, must not be called before.
cdef int check_blosc(const char* src, Py_ssize_t src_nbytes) noexcept nogil

# The same; then *nbytes is the decoded length.
cdef int blosc_nbytes(const char* src, Py_ssize_t src_nbytes, Py_ssize_t* nbytes) noexcept nogil

# Decode where the decoder is native; as decompress.decode_exact.
cdef int blosc_exact(
    const char* src, Py_ssize_t src_nbytes, char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found
) noexcept nogil
