"""CRC32C: native where there is a function, else eight bytes a step by tables of our own."""

from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from cyzarr.kernels.natives cimport DECODE_CRC32C, decoder_native, table
from cyzarr.kernels.status cimport E_DECODE, E_SIZE, OK
from cyzarr.kernels.types cimport le32

# CRC_TABLES[k][b]: what byte b does to the checksum with k more bytes behind it.
cdef uint32_t CRC_TABLES[8][256]


cdef void fill_crc_tables() noexcept nogil:
    """Tables of the Castagnoli polynomial, bits reflected."""
    cdef uint32_t crc
    cdef int byte, _bit, k
    for byte in range(256):
        crc = byte
        for _bit in range(8):
            crc = (crc >> 1) ^ (<uint32_t>0x82F63B78 if crc & 1 else <uint32_t>0)
        CRC_TABLES[0][byte] = crc
    for byte in range(256):
        for k in range(1, 8):
            crc = CRC_TABLES[k - 1][byte]
            CRC_TABLES[k][byte] = (crc >> 8) ^ CRC_TABLES[0][crc & 255]

fill_crc_tables()


cdef uint32_t crc32c_tables(const char* p, Py_ssize_t n) noexcept nogil:
    """CRC32C of p[:n], eight bytes a step; about 1 to 2 GB/s."""
    cdef uint32_t crc = 0xFFFFFFFF
    cdef uint32_t high
    while n >= 8:
        crc ^= le32(p)
        high = le32(p + 4)
        crc = (
            CRC_TABLES[7][crc & 255] ^ CRC_TABLES[6][(crc >> 8) & 255]
            ^ CRC_TABLES[5][(crc >> 16) & 255] ^ CRC_TABLES[4][crc >> 24]
            ^ CRC_TABLES[3][high & 255] ^ CRC_TABLES[2][(high >> 8) & 255]
            ^ CRC_TABLES[1][(high >> 16) & 255] ^ CRC_TABLES[0][high >> 24]
        )
        p += 8
        n -= 8
    while n > 0:
        crc = (crc >> 8) ^ CRC_TABLES[0][(crc ^ <uint8_t>p[0]) & 255]
        p += 1
        n -= 1
    return crc ^ <uint32_t>0xFFFFFFFF


cdef uint32_t crc32c(const char* p, Py_ssize_t n) noexcept nogil:
    if n <= 0:
        return 0
    if decoder_native(DECODE_CRC32C):
        return table.crc32c_extend(0, <const unsigned char*>p, <size_t>n)
    return crc32c_tables(p, n)


cdef int check_crc32c(const char* src, Py_ssize_t nbytes) noexcept nogil:
    if nbytes < 4:
        return E_SIZE
    return OK if crc32c(src, nbytes - 4) == le32(src + nbytes - 4) else E_DECODE


cdef int crc32c_exact(
    const char* src, Py_ssize_t src_nbytes, char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found
) noexcept nogil:
    """Verify the last four bytes and copy the others."""
    cdef int status = check_crc32c(src, src_nbytes)
    if status != OK:
        return status
    found[0] = src_nbytes - 4
    if found[0] != dst_nbytes:
        return E_SIZE
    if dst_nbytes > 0:
        memcpy(dst, src, dst_nbytes)
    return OK
