"""blosc: the container of c-blosc 1, checked before c-blosc, which trusts its lengths, gets to see it.

A header of 16 bytes, one start per block, then blocks of one or more splits, each with its own length.
"""

from libc.limits cimport INT_MAX
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy

from cyzarr.kernels.natives cimport blosc_parts_native, table
from cyzarr.kernels.status cimport E_DECODE, E_NOMEM, E_SIZE, OK
from cyzarr.kernels.types cimport le32

cdef extern from *:
    """
    #include <stdlib.h>
    /* Volatile: a compiler may leave out an allocation that nothing is done with. */
    static int cyzarr_can_allocate(size_t nbytes) {
        void* volatile probe = malloc(nbytes);
        int there = probe != NULL;
        free(probe);
        return there;
    }
    """
    bint can_allocate "cyzarr_can_allocate"(size_t nbytes) noexcept nogil

cdef enum:
    BLOSC_HEADER_NBYTES = 16
    BLOSC_VERSION = 2
    BLOSC_MEMCPYED = 0x02
    BLOSC_RESERVED = 0x08
    BLOSC_DONT_SPLIT = 0x10
    BLOSC_MOST_SPLITS = 16
    BLOSC_LEAST_SPLIT_NBYTES = 128
    BLOSC_MOST_BLOCK_NBYTES = 715827542  # (INT_MAX - 4 * 255) / 3
    BLOSC_MOST_RATIO = 32768      # zstd's, the highest of its compressors: 128 KiB for 4 bytes
    BLOSCLZ_MOST_RUN = 4 << 20    # see blosclz_run
    PROBE_NBYTES = 16 << 20       # see scratch_there

cdef struct BloscHeader:
    int version
    int flags
    int typesize
    int32_t nbytes
    int32_t blocksize  # bytes
    int32_t cbytes


cdef int blosc_header(const char* src, Py_ssize_t src_nbytes, BloscHeader* header) noexcept nogil:
    """Copy the header out of `src`, then judge the copy."""
    cdef char copy[16]
    if src_nbytes < BLOSC_HEADER_NBYTES or src_nbytes > INT_MAX:
        return E_DECODE
    memcpy(copy, src, BLOSC_HEADER_NBYTES)
    header.version = <uint8_t>copy[0]
    header.flags = <uint8_t>copy[2]
    header.typesize = <uint8_t>copy[3]
    header.nbytes = <int32_t>le32(copy + 4)
    header.blocksize = <int32_t>le32(copy + 8)
    header.cbytes = <int32_t>le32(copy + 12)
    if header.version != BLOSC_VERSION or header.flags & BLOSC_RESERVED or header.typesize == 0:
        return E_DECODE
    if header.cbytes < BLOSC_HEADER_NBYTES or header.cbytes > src_nbytes:
        return E_DECODE
    if header.nbytes <= 0 or header.nbytes // BLOSC_MOST_RATIO > header.cbytes:
        return E_DECODE
    if header.blocksize <= 0 or header.blocksize > min(header.nbytes, BLOSC_MOST_BLOCK_NBYTES):
        return E_DECODE
    return OK


cdef bint blosclz_run(const char* p, Py_ssize_t n) noexcept nogil:
    """Whether p[:n] holds 4 Mi bytes of 255 in a row.

    blosclz adds up a match's length byte by byte in an int, which runs over after 8 MiB of 255 and
    then slips past its check of the destination's end. A row of 4 Mi already stands for a longer
    match than the longest block, so none is in good data. Looks at one byte in 4 Mi mostly.
    """
    cdef Py_ssize_t at, first, last
    at = 0
    while at < n:
        if <uint8_t>p[at] == 255:
            first = at
            last = at + 1
            while first > 0 and <uint8_t>p[first - 1] == 255:
                first -= 1
            while last < n and <uint8_t>p[last] == 255:
                last += 1
            if last - first >= BLOSCLZ_MOST_RUN:
                return True
            at = max(at, last - 1)
        at += BLOSCLZ_MOST_RUN
    return False


cdef int blosc_check_block(
    const char* src, Py_ssize_t start, const BloscHeader* header, Py_ssize_t splits,
    Py_ssize_t split_nbytes,
) noexcept nogil:
    """Walk the splits of the block at `start`, each to decode to split_nbytes."""
    cdef Py_ssize_t stored
    while splits > 0:
        if header.cbytes - start < 4:
            return E_DECODE
        stored = <int32_t>le32(src + start)
        start += 4
        if stored < 0 or stored > header.cbytes - start:
            return E_DECODE
        if header.flags >> 5 == 0 and stored >= BLOSCLZ_MOST_RUN and stored != split_nbytes:
            if stored // 2 > split_nbytes or blosclz_run(src + start, stored):
                return E_DECODE
        start += stored
        splits -= 1
    return OK


cdef int blosc_check(const char* src, const BloscHeader* header) noexcept nogil:
    """Whether each block and split that the container names lies inside its cbytes.

    `header` was found good by blosc_header. Cost: one step per split.
    """
    cdef Py_ssize_t blocks = header.nbytes // header.blocksize
    cdef Py_ssize_t leftover = header.nbytes % header.blocksize
    cdef Py_ssize_t splits = 1
    cdef Py_ssize_t block, start, table_end
    if header.flags & BLOSC_MEMCPYED:
        return OK if header.cbytes - BLOSC_HEADER_NBYTES == header.nbytes else E_DECODE
    if leftover > 0:
        blocks += 1
    if blocks > (header.cbytes - BLOSC_HEADER_NBYTES) // 4:
        return E_DECODE
    if not header.flags & BLOSC_DONT_SPLIT and header.typesize <= BLOSC_MOST_SPLITS:
        if header.blocksize // header.typesize >= BLOSC_LEAST_SPLIT_NBYTES:
            splits = header.typesize
    if splits > 1 and header.blocksize % splits != 0:
        return E_DECODE  # c-blosc would leave the end of each block unwritten
    table_end = BLOSC_HEADER_NBYTES + 4 * blocks
    for block in range(blocks):
        start = <int32_t>le32(src + BLOSC_HEADER_NBYTES + 4 * block)
        if start < table_end or start > header.cbytes:
            return E_DECODE
        if block == blocks - 1 and leftover > 0:
            return blosc_check_block(src, start, header, 1, leftover)
        if blosc_check_block(src, start, header, splits, header.blocksize // splits) != OK:
            return E_DECODE
    return OK


cdef int check_blosc(const char* src, Py_ssize_t src_nbytes) noexcept nogil:
    cdef BloscHeader header
    cdef int code = blosc_header(src, src_nbytes, &header)
    return blosc_check(src, &header) if code == OK else code


cdef int blosc_nbytes(const char* src, Py_ssize_t src_nbytes, Py_ssize_t* nbytes) noexcept nogil:
    cdef BloscHeader header
    cdef int code = blosc_header(src, src_nbytes, &header)
    if code != OK:
        return code
    nbytes[0] = header.nbytes
    return blosc_check(src, &header)


cdef bint scratch_there(size_t nbytes) noexcept nogil:
    """c-blosc does not look whether it got its scratch memory; so see that there is as much."""
    return nbytes <= PROBE_NBYTES or can_allocate(nbytes + 4096)


cdef int blosc_decode(const char* src, const BloscHeader* header, char* dst) noexcept nogil:
    """Decode a container with a good header into the header.nbytes bytes at `dst`."""
    if blosc_check(src, header) != OK:
        return E_DECODE
    if not scratch_there(2 * <size_t>header.blocksize):
        return E_NOMEM
    if table.blosc_decompress(src, dst, <size_t>header.nbytes, 1) != header.nbytes:
        return E_DECODE
    return OK


cdef int blosc_exact(
    const char* src, Py_ssize_t src_nbytes, char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found
) noexcept nogil:
    cdef BloscHeader header
    if blosc_header(src, src_nbytes, &header) != OK:
        return E_DECODE
    found[0] = header.nbytes
    if header.nbytes != dst_nbytes:
        return E_SIZE
    return blosc_decode(src, &header, dst)


# ---------------------------------------------------------------- parts

cdef bint blosc_layout(const char* src, Py_ssize_t src_nbytes, Py_ssize_t nbytes, BloscLayout* layout) noexcept nogil:
    cdef BloscHeader header
    if not blosc_parts_native() or blosc_header(src, src_nbytes, &header) != OK:
        return False
    layout.nbytes = header.nbytes
    layout.blocksize = header.blocksize
    layout.typesize = header.typesize
    layout.memcpyed = header.flags & BLOSC_MEMCPYED
    # c-blosc counts in items: it would not give the end of a chunk that is no whole number of them.
    return header.nbytes == nbytes and header.nbytes % header.typesize == 0


cdef int blosc_part(const char* src, const BloscLayout* layout, Py_ssize_t first, Py_ssize_t nbytes,
                    char* dst) noexcept nogil:
    """blosc_getitem, which trusts the starts of blocks, as blosc_check has checked them, and its scratch memory."""
    cdef int start, count
    if layout.memcpyed:
        memcpy(dst, src + BLOSC_HEADER_NBYTES + first, nbytes)
        return OK
    if not scratch_there(3 * <size_t>layout.blocksize):
        return E_NOMEM
    start = <int>(first // layout.typesize)
    count = <int>(nbytes // layout.typesize)
    return OK if table.blosc_getitem(src, start, count, dst) == nbytes else E_DECODE


# ---------------------------------------------------------------- cuts

cdef Py_ssize_t block_start(const char* head, Py_ssize_t block) noexcept nogil:
    return <int32_t>le32(head + BLOSC_HEADER_NBYTES + 4 * block)


cdef bint blosc_head(const char* src, Py_ssize_t nbytes, Py_ssize_t stored, Py_ssize_t decoded) noexcept nogil:
    cdef BloscHeader header
    cdef Py_ssize_t block, blocks, start, least
    if nbytes < BLOSC_HEADER_NBYTES or blosc_header(src, stored, &header) != OK:
        return False
    blocks = header.nbytes // header.blocksize + (header.nbytes % header.blocksize > 0)
    if header.nbytes != decoded or header.nbytes // header.blocksize < 2:
        return False
    if header.flags & BLOSC_MEMCPYED:
        return header.cbytes - BLOSC_HEADER_NBYTES == header.nbytes
    if blocks > (nbytes - BLOSC_HEADER_NBYTES) // 4:
        return False
    least = BLOSC_HEADER_NBYTES + 4 * blocks
    for block in range(blocks):
        start = block_start(src, block)
        if start < least or start >= header.cbytes:
            return False
        least = start + 1
    return True


cdef void blosc_cut(const char* head, Py_ssize_t part, Py_ssize_t parts, BloscCut* cut) noexcept nogil:
    cdef Py_ssize_t blocksize = <int32_t>le32(head + 8)
    cdef Py_ssize_t decoded = <int32_t>le32(head + 4)
    # A shorter last block goes with the one before: alone it would be taken for a full one, and be decoded as that.
    cdef Py_ssize_t shares = decoded // blocksize
    cdef Py_ssize_t blocks = shares + (decoded % blocksize > 0)
    cdef Py_ssize_t last = blocks if part == parts - 1 else shares * (part + 1) // parts
    cut.block = shares * part // parts
    cut.blocks = last - cut.block
    if cut.blocks == 0:
        return
    cut.end = <int32_t>le32(head + 12)
    cut.first = cut.block * blocksize
    cut.decoded = min(last * blocksize, decoded) - cut.first
    if head[2] & BLOSC_MEMCPYED:
        cut.offset = BLOSC_HEADER_NBYTES + cut.first
        cut.nbytes = cut.decoded
        cut.head_nbytes = BLOSC_HEADER_NBYTES
        return
    cut.offset = block_start(head, cut.block)
    cut.nbytes = (cut.end if last == blocks else block_start(head, last)) - cut.offset
    cut.head_nbytes = BLOSC_HEADER_NBYTES + 4 * cut.blocks


cdef void put_le32(char* dst, Py_ssize_t value) noexcept nogil:
    cdef int i
    for i in range(4):
        dst[i] = <char>(value >> 8 * i & 0xFF)


cdef void blosc_write_head(const char* head, const BloscCut* cut, char* dst) noexcept nogil:
    cdef Py_ssize_t i
    memcpy(dst, head, BLOSC_HEADER_NBYTES)
    put_le32(dst + 4, cut.decoded)
    put_le32(dst + 12, cut.head_nbytes + cut.nbytes)
    for i in range((cut.head_nbytes - BLOSC_HEADER_NBYTES) // 4):
        put_le32(dst + BLOSC_HEADER_NBYTES + 4 * i,
                 block_start(head, cut.block + i) - cut.offset + cut.head_nbytes)
