"""The table of C decoders: zstd, blosc, lz4, gzip, zlib and crc32c, called without the GIL.

The functions come from the compiled modules of numcodecs and google_crc32c, which zarr brings
along: each module's own file is opened once more by dlopen, and its C functions are looked up by
name. A decoder enters the table only after it decoded a small known answer right and refused a
destination that is too short. One RuntimeWarning names those that did not; the codecs in question
then have to go through numcodecs' Python functions.

Results equal numcodecs' own, with the bytes of hostile input kept in bounds besides: c-blosc, which
trusts the lengths in its container, is called only after that container was checked here.

Layers: `load` and `prove` fill the table at import; the leaves (`zstd_exact`, `blosc_check`,
`inflate_stream`, ...) know one format each; `decode_exact` and `decode_grow` choose among them;
`decode` is the wrapper for Python.
"""

import importlib
import os
import warnings

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.limits cimport INT_MAX
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from cyzarr.kernels.status cimport E_DECODE, E_LIMIT, E_NATIVE, E_NOMEM, E_SIZE, OK


cdef extern from *:
    Py_ssize_t PY_SSIZE_T_MAX

cdef extern from "<dlfcn.h>" nogil:
    void* dlopen(const char* path, int flags)
    void* dlsym(void* handle, const char* name)
    int RTLD_NOW
    int RTLD_LOCAL


# ---------------------------------------------------------------- the table

# zstd's own structs for streaming.
cdef struct ZstdIn:
    const void* src
    size_t size
    size_t pos

cdef struct ZstdOut:
    void* dst
    size_t size
    size_t pos

ctypedef void* (*zstd_create_t)() noexcept nogil
ctypedef size_t (*zstd_free_t)(void*) noexcept nogil
ctypedef size_t (*zstd_decompress_t)(void*, void*, size_t, const void*, size_t) noexcept nogil
ctypedef size_t (*zstd_reset_t)(void*, int) noexcept nogil
ctypedef size_t (*zstd_stream_t)(void*, ZstdOut*, ZstdIn*) noexcept nogil
ctypedef unsigned int (*zstd_is_error_t)(size_t) noexcept nogil
ctypedef int (*zstd_error_code_t)(size_t) noexcept nogil
ctypedef size_t (*zstd_frame_nbytes_t)(const void*, size_t) noexcept nogil
ctypedef unsigned long long (*zstd_content_nbytes_t)(const void*, size_t) noexcept nogil
ctypedef int (*lz4_decompress_t)(const char*, char*, int, int) noexcept nogil
ctypedef int (*blosc_decompress_t)(const void*, void*, size_t, int) noexcept nogil
ctypedef int (*inflate_init_t)(z_stream*, int, const char*, int) noexcept nogil
ctypedef int (*inflate_reset_t)(z_stream*, int) noexcept nogil
ctypedef int (*inflate_t)(z_stream*, int) noexcept nogil
ctypedef int (*inflate_end_t)(z_stream*) noexcept nogil
ctypedef const char* (*zlib_version_t)() noexcept nogil
ctypedef unsigned long (*crc32_t)(unsigned long, const unsigned char*, unsigned int) noexcept nogil
ctypedef uint32_t (*crc32c_extend_t)(uint32_t, const unsigned char*, size_t) noexcept nogil

cdef struct Table:
    zstd_create_t zstd_create
    zstd_free_t zstd_free
    zstd_decompress_t zstd_decompress
    zstd_reset_t zstd_reset
    zstd_stream_t zstd_stream
    zstd_is_error_t zstd_is_error
    zstd_error_code_t zstd_error_code
    zstd_frame_nbytes_t zstd_frame_nbytes
    zstd_content_nbytes_t zstd_content_nbytes
    lz4_decompress_t lz4_decompress
    blosc_decompress_t blosc_decompress
    inflate_init_t inflate_init
    inflate_reset_t inflate_reset
    inflate_t inflate
    inflate_end_t inflate_end
    zlib_version_t zlib_version
    crc32_t crc32
    crc32c_extend_t crc32c_extend
    bint proven[<int>DECODERS]

cdef Table table
memset(&table, 0, sizeof(table))

# Switched by set_native, read by every worker: one int, so no reader sees half of it.
cdef volatile int table_on = 1


cdef bint decoder_native(int decoder) noexcept nogil:
    return table_on != 0 and 0 <= decoder < DECODERS and table.proven[decoder]


cdef void context_init(Context* ctx) noexcept nogil:
    """Make `ctx` empty; nothing is allocated before it is needed."""
    ctx.zstd = NULL
    ctx.inflater = NULL


cdef void context_free(Context* ctx) noexcept nogil:
    """Give back what `ctx` holds, with the table switched off too; it can be used again."""
    if ctx.zstd != NULL:
        table.zstd_free(ctx.zstd)
    if ctx.inflater != NULL:
        table.inflate_end(ctx.inflater)
        free(ctx.inflater)
    context_init(ctx)


# ---------------------------------------------------------------- small leaves

cdef inline uint32_t le32(const char* p) noexcept nogil:
    """The little-endian number in the four bytes at `p`, which need no alignment."""
    cdef uint8_t b[4]
    memcpy(b, p, 4)
    return (
        <uint32_t>b[0] | (<uint32_t>b[1] << 8) | (<uint32_t>b[2] << 16) | (<uint32_t>b[3] << 24)
    )


cdef int reserve(char** dst, Py_ssize_t* capacity, Py_ssize_t wanted) noexcept nogil:
    """Give the buffer room for `wanted` bytes (and at least one), keeping what it holds."""
    cdef char* grown
    if dst[0] != NULL and capacity[0] >= wanted:
        return OK
    grown = <char*>realloc(dst[0], max(wanted, 1))
    if grown == NULL:
        return E_NOMEM
    dst[0] = grown
    capacity[0] = wanted
    return OK


# ---------------------------------------------------------------- both ends of a stream

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


cdef int sink_room(Sink* sink) noexcept nogil:
    """Make room after the bytes written, where the limit allows any: twice as much each time."""
    cdef Py_ssize_t wanted
    if sink.used < sink.capacity or sink.capacity >= sink.limit:
        return OK
    wanted = sink.limit if sink.capacity > sink.limit // 2 else 2 * sink.capacity
    return reserve(&sink.data, &sink.capacity, min(sink.limit, max(wanted, FIRST_NBYTES)))


# ---------------------------------------------------------------- crc32c

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


# ---------------------------------------------------------------- zstd
# RFC 8878. A source is any number of frames, skippable ones among them.

cdef enum:
    ZSTD_DST_TOO_SMALL = 70    # of ZSTD_ErrorCode, stable since zstd 1.3.1
    ZSTD_NO_MEMORY = 64
    ZSTD_RESET_SESSION = 1
    ZSTD_UNKNOWN = -1
    ZSTD_LYING = -2


cdef void* zstd_context(Context* ctx) noexcept nogil:
    """The worker's decompression context, made at its first use; NULL where there is no memory."""
    if ctx.zstd == NULL:
        ctx.zstd = table.zstd_create()
    return ctx.zstd


cdef Py_ssize_t zstd_declared(const char* src, Py_ssize_t src_nbytes) noexcept nogil:
    """The decoded length that all frames together declare, ZSTD_UNKNOWN or ZSTD_LYING.

    ZSTD_UNKNOWN as soon as one frame declares none: numcodecs looks no further either.
    """
    cdef unsigned long long content
    cdef unsigned long long most = <unsigned long long>PY_SSIZE_T_MAX
    cdef size_t frame
    cdef Py_ssize_t total = 0
    while src_nbytes > 0:
        frame = table.zstd_frame_nbytes(src, <size_t>src_nbytes)
        if table.zstd_is_error(frame) or frame == 0 or frame > <size_t>src_nbytes:
            return ZSTD_LYING
        content = table.zstd_content_nbytes(src, frame)
        if content == <unsigned long long>-1:  # ZSTD_CONTENTSIZE_UNKNOWN
            return ZSTD_UNKNOWN
        if content > most - <unsigned long long>total:  # ZSTD_CONTENTSIZE_ERROR is -2
            return ZSTD_LYING
        total += <Py_ssize_t>content
        src += frame
        src_nbytes -= <Py_ssize_t>frame
    return total


cdef size_t zstd_step(void* dctx, Source* src, Sink* sink, bint* moved) noexcept nogil:
    """One call of the streaming decoder, with a spare byte of room where the sink is full.

    Returns zstd's code: an error, 0 at the end of a frame, else how much more it would like.
    *moved: whether any byte was read or written.
    """
    cdef char spare
    cdef bint full = sink.used >= sink.capacity
    cdef ZstdIn taken
    cdef ZstdOut made
    cdef size_t code
    taken.src = src.data
    taken.size = <size_t>src.nbytes
    taken.pos = <size_t>src.pos
    made.dst = &spare if full else sink.data
    made.size = 1 if full else <size_t>sink.capacity
    made.pos = 0 if full else <size_t>sink.used
    code = table.zstd_stream(dctx, &made, &taken)
    moved[0] = taken.pos > <size_t>src.pos or made.pos > (0 if full else <size_t>sink.used)
    src.pos = <Py_ssize_t>taken.pos
    if full:
        sink.over = made.pos > 0
    else:
        sink.used = <Py_ssize_t>made.pos
    return code


cdef int zstd_frames(Context* ctx, Source* src, Sink* sink) noexcept nogil:
    """Stream all frames, as numcodecs does where one declares no length.

    One call for all would decode these too, but takes damaged frames that streaming refuses.
    """
    cdef void* dctx = zstd_context(ctx)
    cdef bint moved = True
    cdef size_t code
    if dctx == NULL:
        return E_NOMEM
    table.zstd_reset(dctx, ZSTD_RESET_SESSION)
    while True:
        if sink_room(sink) != OK:
            return E_NOMEM
        code = zstd_step(dctx, src, sink, &moved)
        if table.zstd_is_error(code):
            return E_NOMEM if table.zstd_error_code(code) == ZSTD_NO_MEMORY else E_DECODE
        if sink.over:
            return E_LIMIT
        if code == 0 and src.pos == src.nbytes:
            return OK
        if not moved:  # part of a frame is missing; numcodecs can ask for it for ever
            return E_DECODE


cdef int zstd_exact(
    Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found,
) noexcept nogil:
    """All frames in one call, straight into `dst`, where every frame declares its length."""
    cdef void* dctx = zstd_context(ctx)
    cdef Py_ssize_t declared
    cdef size_t got
    if dctx == NULL:
        return E_NOMEM
    # The usual single frame of the right length needs no look at what comes after.
    if (
        dst_nbytes == 0
        or table.zstd_content_nbytes(src, <size_t>src_nbytes) != <unsigned long long>dst_nbytes
    ):
        declared = zstd_declared(src, src_nbytes)
        if declared == ZSTD_UNKNOWN:
            return stream_exact(DECODE_ZSTD, ctx, src, src_nbytes, dst, dst_nbytes, found)
        if declared == ZSTD_LYING or declared == 0:  # numcodecs refuses a length of 0
            return E_DECODE
        if declared != dst_nbytes:
            found[0] = declared
            return E_SIZE
    got = table.zstd_decompress(dctx, dst, <size_t>dst_nbytes, src, <size_t>src_nbytes)
    if table.zstd_is_error(got):
        if table.zstd_error_code(got) == ZSTD_DST_TOO_SMALL:
            found[0] = zstd_declared(src, src_nbytes)
            if found[0] > dst_nbytes:
                return E_SIZE
            found[0] = -1
        return E_NOMEM if table.zstd_error_code(got) == ZSTD_NO_MEMORY else E_DECODE
    found[0] = <Py_ssize_t>got
    return OK if found[0] == dst_nbytes else E_SIZE


cdef int zstd_grow(
    Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char** dst, Py_ssize_t* capacity, Py_ssize_t* dst_nbytes, Py_ssize_t limit_nbytes,
) noexcept nogil:
    """Decode with ever more room, four times as much at each try.

    zstd writes as it decodes, so a try fails for want of room only after the room was really
    filled: memory follows what was decoded. All tries together cost a third more than the last.
    """
    cdef void* dctx = zstd_context(ctx)
    cdef Py_ssize_t declared = zstd_declared(src, src_nbytes)
    cdef Py_ssize_t room
    cdef size_t got
    if dctx == NULL:
        return E_NOMEM
    if declared == ZSTD_UNKNOWN:
        return stream_grow(
            DECODE_ZSTD, ctx, src, src_nbytes, dst, capacity, dst_nbytes, limit_nbytes
        )
    if declared == ZSTD_LYING or declared == 0:
        return E_DECODE
    if declared > limit_nbytes:
        return E_LIMIT
    room = max(capacity[0], FIRST_NBYTES)
    room = min(declared, room if src_nbytes < room // 4 else 4 * src_nbytes)
    while True:
        if reserve(dst, capacity, room) != OK:
            return E_NOMEM
        got = table.zstd_decompress(dctx, dst[0], <size_t>room, src, <size_t>src_nbytes)
        if not table.zstd_is_error(got):
            dst_nbytes[0] = <Py_ssize_t>got
            return OK if dst_nbytes[0] == declared else E_DECODE
        if table.zstd_error_code(got) != ZSTD_DST_TOO_SMALL or room >= declared:
            return E_DECODE
        room = declared if room > declared // 4 else 4 * room


# ---------------------------------------------------------------- lz4
# numcodecs' container: the decoded length, four bytes little-endian and more than 0, then a block.

cdef enum:
    LZ4_MOST_NBYTES = 0x7E000000  # numcodecs takes no longer source
    LZ4_MOST_RATIO = 255          # no byte of a block stands for more bytes than this


cdef Py_ssize_t lz4_declared(const char* src, Py_ssize_t src_nbytes) noexcept nogil:
    """The decoded length of a container, or -1 where there can be none."""
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


# ---------------------------------------------------------------- blosc
# The container of c-blosc 1: a header of 16 bytes, one start per block, then blocks of one or more
# splits, each with its own length.

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
    PROBE_NBYTES = 16 << 20       # see blosc_decode

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


cdef int blosc_decode(const char* src, const BloscHeader* header, char* dst) noexcept nogil:
    """Decode a container with a good header into the header.nbytes bytes at `dst`."""
    cdef void* probe
    if blosc_check(src, header) != OK:
        return E_DECODE
    if header.blocksize > PROBE_NBYTES:
        # c-blosc does not look whether it got its scratch memory; so see that there is as much.
        probe = malloc(2 * <size_t>header.blocksize + 4096)
        if probe == NULL:
            return E_NOMEM
        free(probe)
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


# ---------------------------------------------------------------- gzip and zlib
# RFC 1952 and 1950, by one inflater.

cdef enum:
    Z_FINISH = 4
    Z_OK = 0
    Z_STREAM_END = 1
    Z_BUF_ERROR = -5
    Z_MEM_ERROR = -4
    WRAPPED = 15         # window bits with zlib's header and trailer
    RAW = -15            # and without
    PIECE_NBYTES = 1 << 30  # zlib counts in unsigned int

    GZIP_HCRC = 2
    GZIP_EXTRA = 4
    GZIP_NAME = 8
    GZIP_COMMENT = 16

cdef int inflater_ready(Context* ctx, int window_bits) noexcept nogil:
    """Set the worker's inflater to the start of a stream; made at its first use."""
    cdef z_stream* stream
    if ctx.inflater != NULL:
        return OK if table.inflate_reset(ctx.inflater, window_bits) == Z_OK else E_DECODE
    stream = <z_stream*>calloc(1, sizeof(z_stream))
    if stream == NULL:
        return E_NOMEM
    if table.inflate_init(stream, window_bits, table.zlib_version(), sizeof(z_stream)) != Z_OK:
        free(stream)
        return E_NOMEM
    ctx.inflater = stream
    return OK


cdef int inflate_step(z_stream* stream, Source* src, Sink* sink, bint* moved) noexcept nogil:
    """One call of inflate, with one spare byte of room where the sink is full.

    The spare byte tells a stream that ends where the sink does from a longer one. Returns zlib's
    code; *moved: whether any byte was read or written.
    """
    cdef unsigned char spare
    cdef bint full = sink.used >= sink.capacity
    cdef Py_ssize_t take = min(src.nbytes - src.pos, PIECE_NBYTES)
    cdef Py_ssize_t room = 1 if full else min(sink.capacity - sink.used, PIECE_NBYTES)
    cdef int code
    stream.next_in = <const unsigned char*>(src.data + src.pos)
    stream.avail_in = <unsigned int>take
    stream.next_out = &spare if full else <unsigned char*>(sink.data + sink.used)
    stream.avail_out = <unsigned int>room
    # Z_FINISH saves the copy of the window where all goes through in one call; it binds nothing.
    code = table.inflate(stream, Z_FINISH)
    take -= stream.avail_in
    room -= stream.avail_out
    moved[0] = take > 0 or room > 0
    src.pos += take
    if full:
        sink.over = room > 0
    else:
        sink.used += room
    return code


cdef int inflate_stream(Context* ctx, int window_bits, Source* src, Sink* sink) noexcept nogil:
    """Inflate one stream from src.pos to its end, and leave src.pos behind it.

    A truncated stream, and one that needs a preset dictionary, is E_DECODE.
    """
    cdef bint moved = True
    cdef int code
    cdef int status = inflater_ready(ctx, window_bits)
    if status != OK:
        return status
    while True:
        if sink_room(sink) != OK:
            return E_NOMEM
        code = inflate_step(ctx.inflater, src, sink, &moved)
        if sink.over:
            return E_LIMIT
        if code == Z_STREAM_END:
            return OK
        if code == Z_MEM_ERROR:
            return E_NOMEM
        if not moved or (code != Z_OK and code != Z_BUF_ERROR):
            return E_DECODE


cdef Py_ssize_t gzip_body(const char* p, Py_ssize_t n, Py_ssize_t pos) noexcept nogil:
    """Where the deflate stream of the member at `pos` starts, or -1.

    Like Python's gzip, does not verify the header's own checksum or the reserved flags.
    """
    cdef int flags, texts
    cdef Py_ssize_t extra
    if n - pos < 10 or <uint8_t>p[pos] != 0x1F or <uint8_t>p[pos + 1] != 0x8B or p[pos + 2] != 8:
        return -1
    flags = <uint8_t>p[pos + 3]
    pos += 10
    if flags & GZIP_EXTRA:
        if n - pos < 2:
            return -1
        extra = <uint8_t>p[pos] | (<int><uint8_t>p[pos + 1] << 8)
        pos += 2
        if n - pos < extra:
            return -1
        pos += extra
    texts = (1 if flags & GZIP_NAME else 0) + (1 if flags & GZIP_COMMENT else 0)
    while texts > 0:
        while pos < n and p[pos] != 0:
            pos += 1
        if pos >= n:
            return -1
        pos += 1
        texts -= 1
    if flags & GZIP_HCRC:
        pos += 2
    return pos if pos <= n else -1


cdef uint32_t crc32_of(const char* p, Py_ssize_t n) noexcept nogil:
    """zlib's CRC32 of p[:n], in pieces that its unsigned int can count."""
    cdef unsigned long crc = 0
    cdef Py_ssize_t piece
    while n > 0:
        piece = min(n, PIECE_NBYTES)
        crc = table.crc32(crc, <const unsigned char*>p, <unsigned int>piece)
        p += piece
        n -= piece
    return <uint32_t>crc


cdef int gzip_member(Context* ctx, Source* src, Sink* sink) noexcept nogil:
    """Decode one member, verify its checksum and length, and skip the zeros behind it."""
    cdef Py_ssize_t first = sink.used
    cdef int status
    src.pos = gzip_body(src.data, src.nbytes, src.pos)
    if src.pos < 0:
        return E_DECODE
    status = inflate_stream(ctx, RAW, src, sink)
    if status != OK:
        return status
    if src.nbytes - src.pos < 8:
        return E_DECODE
    if le32(src.data + src.pos + 4) != <uint32_t><size_t>(sink.used - first):
        return E_DECODE
    if le32(src.data + src.pos) != crc32_of(sink.data + first, sink.used - first):
        return E_DECODE
    src.pos += 8
    while src.pos < src.nbytes and src.data[src.pos] == 0:
        src.pos += 1
    return OK


cdef int gzip_members(Context* ctx, Source* src, Sink* sink) noexcept nogil:
    """Decode members up to the source's end. No members at all are no bytes."""
    cdef int status = OK
    while status == OK and src.pos < src.nbytes:
        status = gzip_member(ctx, src, sink)
    return status


# ---------------------------------------------------------------- streams of either kind

cdef int stream_any(
    int decoder, Context* ctx, const char* data, Py_ssize_t nbytes, Sink* sink
) noexcept nogil:
    """Decode data[:nbytes] into the sink, whose data, capacity and limit are set."""
    cdef Source src
    src.data = data
    src.nbytes = nbytes
    src.pos = 0
    sink.used = 0
    sink.over = False
    if decoder == DECODE_ZSTD:
        return zstd_frames(ctx, &src, sink)
    if decoder == DECODE_GZIP:
        return gzip_members(ctx, &src, sink)
    return inflate_stream(ctx, WRAPPED, &src, sink)  # bytes after the stream are ignored


cdef int stream_exact(
    int decoder, Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found,
) noexcept nogil:
    cdef Sink sink
    cdef int status
    sink.data = dst
    sink.capacity = dst_nbytes
    sink.limit = dst_nbytes
    status = stream_any(decoder, ctx, src, src_nbytes, &sink)
    if status == E_LIMIT:
        return E_SIZE
    if status != OK:
        return status
    found[0] = sink.used
    return OK if sink.used == dst_nbytes else E_SIZE


cdef int stream_grow(
    int decoder, Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char** dst, Py_ssize_t* capacity, Py_ssize_t* dst_nbytes, Py_ssize_t limit_nbytes,
) noexcept nogil:
    cdef Sink sink
    cdef int status
    cdef Py_ssize_t owned
    if reserve(dst, capacity, min(limit_nbytes, FIRST_NBYTES)) != OK:
        return E_NOMEM
    owned = capacity[0]
    sink.data = dst[0]
    sink.capacity = min(owned, limit_nbytes)
    sink.limit = limit_nbytes
    status = stream_any(decoder, ctx, src, src_nbytes, &sink)
    dst[0] = sink.data
    capacity[0] = max(owned, sink.capacity)
    dst_nbytes[0] = sink.used
    return status


# ---------------------------------------------------------------- the two doors

cdef int decode_exact(
    int decoder, Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found,
) noexcept nogil:
    found[0] = -1
    if not decoder_native(decoder):
        return E_NATIVE
    if src_nbytes < 0 or dst_nbytes < 0:
        return E_SIZE
    if decoder == DECODE_ZSTD:
        return zstd_exact(ctx, src, src_nbytes, dst, dst_nbytes, found)
    if decoder == DECODE_BLOSC:
        return blosc_exact(src, src_nbytes, dst, dst_nbytes, found)
    if decoder == DECODE_LZ4:
        return lz4_exact(src, src_nbytes, dst, dst_nbytes, found)
    if decoder == DECODE_CRC32C:
        return crc32c_exact(src, src_nbytes, dst, dst_nbytes, found)
    return stream_exact(decoder, ctx, src, src_nbytes, dst, dst_nbytes, found)


cdef int known_nbytes(
    int decoder, const char* src, Py_ssize_t src_nbytes, Py_ssize_t* nbytes
) noexcept nogil:
    """The decoded length of blosc, lz4 and crc32c, which nothing but a lie makes another."""
    cdef BloscHeader header
    if decoder == DECODE_CRC32C:
        nbytes[0] = src_nbytes - 4
        return OK if src_nbytes >= 4 else E_SIZE
    if decoder == DECODE_LZ4:
        nbytes[0] = lz4_declared(src, src_nbytes)
        return OK if nbytes[0] >= 0 else E_DECODE
    if blosc_header(src, src_nbytes, &header) != OK:
        return E_DECODE
    nbytes[0] = header.nbytes
    return blosc_check(src, &header)


cdef int decode_grow(
    int decoder, Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char** dst, Py_ssize_t* capacity, Py_ssize_t* dst_nbytes, Py_ssize_t limit_nbytes,
) noexcept nogil:
    cdef Py_ssize_t nbytes, found
    cdef int status
    dst_nbytes[0] = 0
    if not decoder_native(decoder):
        return E_NATIVE
    if src_nbytes < 0:
        return E_SIZE
    if limit_nbytes < 0:
        return E_LIMIT
    if decoder == DECODE_ZSTD:
        return zstd_grow(ctx, src, src_nbytes, dst, capacity, dst_nbytes, limit_nbytes)
    if decoder == DECODE_GZIP or decoder == DECODE_ZLIB:
        return stream_grow(decoder, ctx, src, src_nbytes, dst, capacity, dst_nbytes, limit_nbytes)
    # These need all their room at once; what they declare was held against the source's length.
    status = known_nbytes(decoder, src, src_nbytes, &nbytes)
    if status != OK:
        return status
    if nbytes > limit_nbytes:
        return E_LIMIT
    if reserve(dst, capacity, nbytes) != OK:
        return E_NOMEM
    status = decode_exact(decoder, ctx, src, src_nbytes, dst[0], nbytes, &found)
    if status == OK:
        dst_nbytes[0] = nbytes
    return status


# ---------------------------------------------------------------- filling the table

NAMES = ("zstd", "blosc", "lz4", "gzip", "zlib", "crc32c")  # the order of Decoder

# 448 bytes that each answer below decodes to; crc32c's own is short.
KNOWN = b"cyzarr " * 64
ANSWERS = {
    "zstd": "28b52ffd64c0007500003863797a617272200100b6528b11f98e08b1",
    "blosc": (
        "02013104c0010000c00100003d00000014000000250000007f637279727a20610700560f6e005b7f63727a"
        "206163727500580f4a015760637279727a20"
    ),
    "lz4": "c00100007f63797a617272200700ffa2507a61727220",
    "gzip": "1f8b08000000000002ff4baeac4a2c2a52481ea58626050084528af2c0010000",
    "zlib": "78da4baeac4a2c2a52481ea58626050081d7aec1",
    "crc32c": "63797a6172722063796e19de85",
}


cdef void* handle(str module):
    """A handle on the file of an extension module, which reaches its dependencies too, or NULL."""
    try:
        path = os.fsencode(importlib.import_module(module).__file__)
    except Exception:  # whatever keeps a library from loading, we are without it
        return NULL
    return dlopen(path, RTLD_NOW | RTLD_LOCAL)


cdef void* symbol(void* library, const char* name) noexcept:
    return dlsym(library, name) if library != NULL else NULL


cdef bint load_zstd():
    cdef void* lib = handle("numcodecs.zstd")
    table.zstd_create = <zstd_create_t>symbol(lib, "ZSTD_createDCtx")
    table.zstd_free = <zstd_free_t>symbol(lib, "ZSTD_freeDCtx")
    table.zstd_decompress = <zstd_decompress_t>symbol(lib, "ZSTD_decompressDCtx")
    table.zstd_reset = <zstd_reset_t>symbol(lib, "ZSTD_DCtx_reset")
    table.zstd_stream = <zstd_stream_t>symbol(lib, "ZSTD_decompressStream")
    table.zstd_is_error = <zstd_is_error_t>symbol(lib, "ZSTD_isError")
    table.zstd_error_code = <zstd_error_code_t>symbol(lib, "ZSTD_getErrorCode")
    table.zstd_frame_nbytes = <zstd_frame_nbytes_t>symbol(lib, "ZSTD_findFrameCompressedSize")
    table.zstd_content_nbytes = <zstd_content_nbytes_t>symbol(lib, "ZSTD_getFrameContentSize")
    return (
        table.zstd_create != NULL and table.zstd_free != NULL and table.zstd_decompress != NULL
        and table.zstd_reset != NULL and table.zstd_stream != NULL
        and table.zstd_is_error != NULL and table.zstd_error_code != NULL
        and table.zstd_frame_nbytes != NULL and table.zstd_content_nbytes != NULL
    )


cdef bint load_lz4():
    cdef void* lib = handle("numcodecs.lz4")
    table.lz4_decompress = <lz4_decompress_t>symbol(lib, "LZ4_decompress_safe")
    return table.lz4_decompress != NULL


cdef bint load_blosc():
    cdef void* lib = handle("numcodecs.blosc")
    table.blosc_decompress = <blosc_decompress_t>symbol(lib, "blosc_decompress_ctx")
    return table.blosc_decompress != NULL


cdef bint load_zlib():
    """zlib as c-blosc has it; on some builds a dependency of the module."""
    cdef void* lib = handle("numcodecs.blosc")
    table.inflate_init = <inflate_init_t>symbol(lib, "inflateInit2_")
    table.inflate_reset = <inflate_reset_t>symbol(lib, "inflateReset2")
    table.inflate = <inflate_t>symbol(lib, "inflate")
    table.inflate_end = <inflate_end_t>symbol(lib, "inflateEnd")
    table.zlib_version = <zlib_version_t>symbol(lib, "zlibVersion")
    table.crc32 = <crc32_t>symbol(lib, "crc32")
    return (
        table.inflate_init != NULL and table.inflate_reset != NULL and table.inflate != NULL
        and table.inflate_end != NULL and table.zlib_version != NULL and table.crc32 != NULL
    )


cdef bint load_crc32c():
    cdef void* lib = handle("google_crc32c._crc32c")
    table.crc32c_extend = <crc32c_extend_t>symbol(lib, "crc32c_extend")
    return table.crc32c_extend != NULL


cdef bint prove(str name, int decoder):
    """Whether the decoder gives its known answer, and refuses room that is one byte short."""
    expected = KNOWN if name != "crc32c" else KNOWN[:9]
    source = bytes.fromhex(ANSWERS[name])
    out = bytearray(len(expected))  # zeros, so that no earlier answer lies there
    table.proven[decoder] = True
    try:
        decode_into(name, source, out)
        if out == expected:
            decode(name, source, len(expected) - 1)
    except Exception as error:
        return f"expected {len(expected) - 1}" in str(error)
    finally:
        table.proven[decoder] = False
    return False


cdef list fill_table():
    """Load and prove every decoder; returns the names of those that are not native."""
    cdef bint loaded[<int>DECODERS]
    loaded[<int>DECODE_ZSTD] = load_zstd()
    loaded[<int>DECODE_BLOSC] = load_blosc()
    loaded[<int>DECODE_LZ4] = load_lz4()
    loaded[<int>DECODE_GZIP] = loaded[<int>DECODE_ZLIB] = load_zlib()
    loaded[<int>DECODE_CRC32C] = load_crc32c()
    missing = []
    for decoder, name in enumerate(NAMES):
        table.proven[<int>decoder] = loaded[<int>decoder] and prove(name, decoder)
        if not table.proven[<int>decoder]:
            missing.append(name)
    return missing


# ---------------------------------------------------------------- for Python

def native():
    """Which decoders the table serves now: name -> bool. All False while it is switched off."""
    return {name: decoder_native(decoder) for decoder, name in enumerate(NAMES)}


def set_native(bint on):
    """Switch the whole table on or off, for every thread; CRC32C then comes from our own tables."""
    global table_on
    table_on = on


cdef object failure(int status, str name, object nbytes, object limit, Py_ssize_t found):
    """The exception for a status other than OK."""
    if status == E_NATIVE:
        return RuntimeError(f"{name}: there is no native decoder, or the table is switched off")
    if status == E_NOMEM:
        return MemoryError(f"{name}: no memory to decode")
    if status == E_LIMIT:
        return ValueError(f"{name}: decodes to more than the limit of {limit} bytes")
    if status == E_SIZE and nbytes is not None:
        length = f"{found} bytes" if found >= 0 else "another length"
        return ValueError(f"{name}: decodes to {length}, expected {nbytes}")
    return ValueError(f"{name}: the stored bytes are corrupt")


cdef object decode_to(
    int decoder, Context* ctx, const Py_buffer* view, char* dst, Py_ssize_t nbytes
):
    """decode_exact into dst[:nbytes], raising."""
    cdef Py_ssize_t found = -1
    cdef int status
    with nogil:
        status = decode_exact(decoder, ctx, <const char*>view.buf, view.len, dst, nbytes, &found)
    if status != OK:
        raise failure(status, NAMES[decoder], nbytes, None, found)


cdef bytes decode_all(int decoder, Context* ctx, const Py_buffer* view, Py_ssize_t limit):
    """decode_grow into a new bytes object, raising."""
    cdef char* buffer = NULL
    cdef Py_ssize_t capacity = 0
    cdef Py_ssize_t nbytes = 0
    cdef int status
    with nogil:
        status = decode_grow(
            decoder, ctx, <const char*>view.buf, view.len, &buffer, &capacity, &nbytes, limit
        )
    try:
        if status != OK:
            raise failure(status, NAMES[decoder], None, limit, -1)
        return PyBytes_FromStringAndSize(buffer, nbytes)
    finally:
        free(buffer)


cdef bytes decode_bytes(Context* ctx, str name, object data, object nbytes, object limit):
    """What `decode` does, with a given context."""
    cdef Py_buffer view
    cdef int decoder = decoder_of(name)
    cdef bytes out
    if nbytes is not None and nbytes < 0:
        raise ValueError(f"nbytes must not be negative, found {nbytes}")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if nbytes is None:
            return decode_all(decoder, ctx, &view, PY_SSIZE_T_MAX if limit is None else limit)
        out = PyBytes_FromStringAndSize(NULL, nbytes)
        decode_to(decoder, ctx, &view, PyBytes_AS_STRING(out), nbytes)
        return out
    finally:
        PyBuffer_Release(&view)


cdef bint overlap(const Py_buffer* a, const Py_buffer* b) noexcept:
    cdef size_t first = <size_t>a.buf
    cdef size_t second = <size_t>b.buf
    if a.len == 0 or b.len == 0:
        return False
    return second - first < <size_t>a.len or first - second < <size_t>b.len


cdef int decoder_of(str name) except -1:
    if name not in NAMES:
        raise ValueError(f"unknown decoder {name!r}, expected one of {', '.join(NAMES)}")
    return NAMES.index(name)


def decode(str name not None, data, nbytes=None, limit=None):
    """Decode `data` by the native decoder `name`, without the GIL.

    Parameters
    ----------
    name : one of NAMES
    data : contiguous bytes-like, any item type; must not change meanwhile
    nbytes : decoded length that is expected, bytes; any where None
    limit : where nbytes is None, the longest decoded length to accept, bytes; None: no limit

    Raises ValueError where the bytes are corrupt or of another length, MemoryError, and
    RuntimeError where the decoder is not native.
    """
    cdef Context ctx
    context_init(&ctx)
    try:
        return decode_bytes(&ctx, name, data, nbytes, limit)
    finally:
        context_free(&ctx)


def decode_each(jobs):
    """Decode many sources in turn, as one worker does: contexts are made once and kept.

    `jobs` holds (name, data, nbytes or None). Returns a list as long: bytes, or where one failed
    the exception that `decode` would raise for it.
    """
    cdef Context ctx
    results = []
    context_init(&ctx)
    try:
        for name, data, nbytes in jobs:
            try:
                results.append(decode_bytes(&ctx, name, data, nbytes, None))
            except (ValueError, MemoryError, RuntimeError) as error:
                results.append(error)
    finally:
        context_free(&ctx)
    return results


def decode_into(str name not None, data, out):
    """Decode `data` into all of `out`, a contiguous writable buffer that shares no memory with it.

    Raises as `decode`; `out` may then hold anything. Nothing beside it is written.
    """
    cdef Py_buffer view, target
    cdef int decoder = decoder_of(name)
    cdef Context ctx
    context_init(&ctx)
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        PyObject_GetBuffer(out, &target, PyBUF_WRITABLE)
        try:
            if overlap(&view, &target):
                raise ValueError("data and out share memory")
            decode_to(decoder, &ctx, &view, <char*>target.buf, target.len)
        finally:
            context_free(&ctx)
            PyBuffer_Release(&target)
    finally:
        PyBuffer_Release(&view)


def checksum(data):
    """CRC32C of a contiguous bytes-like; by our own tables where the table is switched off."""
    cdef Py_buffer view
    cdef uint32_t crc
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        with nogil:
            crc = crc32c(<const char*>view.buf, view.len)
        return crc
    finally:
        PyBuffer_Release(&view)


cdef list missing = fill_table()
if missing:
    warnings.warn(
        f"cyzarr: no native decoder for {', '.join(missing)}; numcodecs' Python functions are used",
        RuntimeWarning,
        stacklevel=2,
    )
