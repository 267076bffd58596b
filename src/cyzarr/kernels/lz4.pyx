"""lz4: numcodecs' container, which is the decoded length, four bytes little-endian and more than 0, then a block."""

from libc.limits cimport INT_MAX
from libc.stdint cimport uint32_t

from cyzarr.kernels.natives cimport table
from cyzarr.kernels.status cimport E_DECODE, E_SIZE, OK
from cyzarr.kernels.types cimport le32

cdef enum:
    LZ4_MOST_NBYTES = 0x7E000000  # numcodecs takes no longer source
    LZ4_MOST_RATIO = 255          # no byte of a block stands for more bytes than this


cdef Py_ssize_t lz4_declared(const char* src, Py_ssize_t src_nbytes) noexcept nogil:
    cdef uint32_t declared
    if src_nbytes < 5 or src_nbytes > LZ4_MOST_NBYTES:
        return -1
    declared = le32(src)
    if declared == 0 or declared > <uint32_t>INT_MAX:
        return -1
    if declared // LZ4_MOST_RATIO > <uint32_t>(src_nbytes - 4):
        return -1
    return <Py_ssize_t>declared


cdef int lz4_exact(
    const char* src, Py_ssize_t src_nbytes, char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found
) noexcept nogil:
    cdef Py_ssize_t declared = lz4_declared(src, src_nbytes)
    if declared < 0:
        return E_DECODE
    found[0] = declared
    if declared != dst_nbytes:
        return E_SIZE
    if table.lz4_decompress(src + 4, dst, <int>(src_nbytes - 4), <int>dst_nbytes) != dst_nbytes:
        return E_DECODE
    return OK
