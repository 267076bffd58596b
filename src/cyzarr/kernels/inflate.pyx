"""gzip (RFC 1952) and zlib (RFC 1950), by one inflater."""

from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free

from cyzarr.kernels.natives cimport Context, table, z_stream
from cyzarr.kernels.status cimport E_DECODE, E_LIMIT, E_NOMEM, OK
from cyzarr.kernels.streams cimport Sink, Source, sink_room
from cyzarr.kernels.types cimport le32

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
    cdef int status = OK
    while status == OK and src.pos < src.nbytes:
        status = gzip_member(ctx, src, sink)
    return status


cdef int zlib_stream(Context* ctx, Source* src, Sink* sink) noexcept nogil:
    return inflate_stream(ctx, WRAPPED, src, sink)
