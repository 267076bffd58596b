"""CRC32C (RFC 3720, appendix B.4), of which zarr stores the four bytes little-endian."""

from libc.stdint cimport uint32_t

# CRC32C of p[:n]: native where there is one, else by our own tables. Never fails.
cdef uint32_t crc32c(const char* p, Py_ssize_t n) noexcept nogil

# Whether the last four bytes are the little-endian CRC32C of those before: OK, E_DECODE, or E_SIZE
# where there are no four bytes. Needs no native function.
cdef int check_crc32c(const char* src, Py_ssize_t nbytes) noexcept nogil

# Verify the last four bytes and copy the others, which must be dst_nbytes.
cdef int crc32c_exact(
    const char* src, Py_ssize_t src_nbytes, char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found
) noexcept nogil
