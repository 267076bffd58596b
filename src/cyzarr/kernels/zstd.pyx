"""zstd (RFC 8878). A source is any number of frames, skippable ones among them."""

from cyzarr.kernels.natives cimport Context, ZstdIn, ZstdOut, table
from cyzarr.kernels.status cimport E_DECODE, E_LIMIT, E_NOMEM, E_SIZE, OK
from cyzarr.kernels.streams cimport FIRST_NBYTES, Sink, Source, reserve, sink_room, stream_exact, stream_grow
from cyzarr.kernels.types cimport le32

cdef extern from *:
    Py_ssize_t PY_SSIZE_T_MAX

cdef enum:
    ZSTD_MAGIC = 0xFD2FB528
    ZSTD_CHECKSUM = 0x04       # in the byte that follows it
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
            return stream_exact(zstd_frames, ctx, src, src_nbytes, dst, dst_nbytes, found)
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
            zstd_frames, ctx, src, src_nbytes, dst, capacity, dst_nbytes, limit_nbytes
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


# ---------------------------------------------------------------- parts

cdef bint zstd_can_stop(const char* src, Py_ssize_t src_nbytes, Py_ssize_t nbytes) noexcept nogil:
    if src_nbytes < 5 or le32(src) != <unsigned int>ZSTD_MAGIC or src[4] & ZSTD_CHECKSUM:
        return False
    if table.zstd_content_nbytes(src, <size_t>src_nbytes) != <unsigned long long>nbytes:
        return False
    # Goes from block to block by their lengths.
    return table.zstd_frame_nbytes(src, <size_t>src_nbytes) == <size_t>src_nbytes


cdef bint zstd_start(
    Context* ctx, const char* src, Py_ssize_t src_nbytes, char* dst, Py_ssize_t dst_nbytes
) noexcept nogil:
    cdef void* dctx = zstd_context(ctx)
    cdef ZstdIn taken
    cdef ZstdOut made
    cdef size_t before, code
    cdef bint moved = True
    if dctx == NULL:
        return False
    taken.src = src
    taken.size = <size_t>src_nbytes
    taken.pos = 0
    made.dst = dst
    # Having given all that it has decoded, zstd goes on to the next block. So the last byte is left with it, and taken
    # when there is nothing to go on with.
    made.size = <size_t>dst_nbytes - 1
    made.pos = 0
    table.zstd_reset(dctx, ZSTD_RESET_SESSION)
    while moved:
        before = made.pos + taken.pos
        code = table.zstd_stream(dctx, &made, &taken)
        moved = not table.zstd_is_error(code) and made.pos + taken.pos > before and made.pos < made.size
    made.size = <size_t>dst_nbytes
    taken.size = taken.pos
    if not table.zstd_is_error(code):
        table.zstd_stream(dctx, &made, &taken)
    table.zstd_reset(dctx, ZSTD_RESET_SESSION)
    return made.pos == made.size
