"""The C decoders: zstd, blosc, lz4, gzip, zlib and crc32c, called without the GIL.

A decoder of natives is used only after it decoded a small known answer right and refused a
destination that is too short. One RuntimeWarning names those that did not; the codecs in question
then have to go through numcodecs' Python functions.

Results equal numcodecs' own, with the bytes of hostile input kept in bounds besides.

Layers: one module for each format (`zstd`, `blosc`, `lz4`, `inflate`, `checksum`); `decode_exact`
and `decode_grow` choose among them; `fill_table` proves them at import; `decode` is the wrapper
for Python.
"""

import warnings

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint32_t
from libc.stdlib cimport free

from cyzarr.kernels.blosc cimport BloscLayout, blosc_exact, blosc_layout, blosc_nbytes, blosc_part, check_blosc
from cyzarr.kernels.checksum cimport crc32c, crc32c_exact
from cyzarr.kernels.inflate cimport gzip_members, zlib_stream
from cyzarr.kernels.lz4 cimport lz4_declared, lz4_exact
from cyzarr.kernels.natives cimport (
    DECODE_BLOSC,
    DECODE_CRC32C,
    DECODE_GZIP,
    DECODE_LZ4,
    DECODE_ZLIB,
    DECODE_ZSTD,
    DECODERS,
    Context,
    context_free,
    context_init,
    decoder_native,
    load_table,
    table,
    table_switch,
)
from cyzarr.kernels.status cimport E_DECODE, E_LIMIT, E_NATIVE, E_NOMEM, E_SIZE, OK
from cyzarr.kernels.streams cimport reserve, stream_exact, stream_grow
from cyzarr.kernels.zstd cimport zstd_exact, zstd_grow

cdef extern from *:
    Py_ssize_t PY_SSIZE_T_MAX


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
    if decoder == DECODE_GZIP:
        return stream_exact(gzip_members, ctx, src, src_nbytes, dst, dst_nbytes, found)
    return stream_exact(zlib_stream, ctx, src, src_nbytes, dst, dst_nbytes, found)


cdef int known_nbytes(
    int decoder, const char* src, Py_ssize_t src_nbytes, Py_ssize_t* nbytes
) noexcept nogil:
    """The decoded length of blosc, lz4 and crc32c, which nothing but a lie makes another."""
    if decoder == DECODE_CRC32C:
        nbytes[0] = src_nbytes - 4
        return OK if src_nbytes >= 4 else E_SIZE
    if decoder == DECODE_LZ4:
        nbytes[0] = lz4_declared(src, src_nbytes)
        return OK if nbytes[0] >= 0 else E_DECODE
    return blosc_nbytes(src, src_nbytes, nbytes)


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
    if decoder == DECODE_GZIP:
        return stream_grow(gzip_members, ctx, src, src_nbytes, dst, capacity, dst_nbytes, limit_nbytes)
    if decoder == DECODE_ZLIB:
        return stream_grow(zlib_stream, ctx, src, src_nbytes, dst, capacity, dst_nbytes, limit_nbytes)
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


# ---------------------------------------------------------------- proving the table

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
# KNOWN in four blocks of 128 bytes, the last of them short.
PARTS_ANSWER = (
    "02013104c001000080000000b3000000200000004a000000740000009e000000260000007f637279727a2061070006"
    "0f1e000b257a2009000f4300040f170004907279727a2061637279260000007f7a2061637279720700060f1e000b26"
    "727909000f4300030f170004902061637279727a2061260000007f7279727a2061630700060f1e000b25206109000f"
    "4300040f1700049079727a206163727972110000007f2061637279727a070021507279727a20"
)


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


cdef bint prove_parts():
    """Whether parts of the known answer come out right: within a block, over several, to the end, and all."""
    source = bytes.fromhex(PARTS_ANSWER)
    table.proven[<int>DECODE_BLOSC] = table.parts_proven = True
    try:
        return all(
            decode_blosc_part(source, 448, first, nbytes) == KNOWN[first:first + nbytes]
            for first, nbytes in [(132, 4), (124, 264), (380, 68), (0, 448)]
        )
    except Exception:  # then chunks are decoded whole
        return False
    finally:
        table.proven[<int>DECODE_BLOSC] = table.parts_proven = False


cdef list fill_table():
    """Load and prove every decoder; returns the names of those that are not native."""
    cdef bint loaded[<int>DECODERS]
    load_table(loaded)
    parts = loaded[<int>DECODE_BLOSC] and table.blosc_getitem != NULL and prove_parts()
    missing = []
    for decoder, name in enumerate(NAMES):
        table.proven[<int>decoder] = loaded[<int>decoder] and prove(name, decoder)
        if not table.proven[<int>decoder]:
            missing.append(name)
    table.parts_proven = parts and table.proven[<int>DECODE_BLOSC]
    return missing


# ---------------------------------------------------------------- for Python

def native():
    """Which decoders the table serves now: name -> bool. All False while it is switched off."""
    return {name: decoder_native(decoder) for decoder, name in enumerate(NAMES)}


def set_native(bint on):
    """Switch the whole table on or off, for every thread; CRC32C then comes from our own tables."""
    table_switch(on)


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


def decode_blosc_part(data, Py_ssize_t nbytes, Py_ssize_t first, Py_ssize_t count):
    """Decode the bytes [first, first + count) of a blosc container alone, rounded outward to its items within.

    `nbytes` is the decoded length that is expected, bytes. Raises as `decode`; RuntimeError too where the
    library has no function for it, or the chunk is no whole number of items: then decode all.
    """
    cdef Py_buffer view
    cdef BloscLayout layout
    cdef bytes out
    cdef Py_ssize_t start, stop
    cdef char* dst
    cdef int status
    if first < 0 or count < 0 or first > nbytes or count > nbytes - first:
        raise ValueError(f"bytes {first} to {first + count} of {nbytes}")
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        if not blosc_layout(<const char*>view.buf, view.len, nbytes, &layout):
            raise RuntimeError("blosc: can't be decoded in parts")
        if check_blosc(<const char*>view.buf, view.len) != OK:
            raise failure(E_DECODE, "blosc", nbytes, None, -1)
        start = first // layout.typesize * layout.typesize
        stop = (first + count + layout.typesize - 1) // layout.typesize * layout.typesize
        out = PyBytes_FromStringAndSize(NULL, stop - start)
        dst = PyBytes_AS_STRING(out)
        with nogil:
            status = blosc_part(<const char*>view.buf, &layout, start, stop - start, dst)
        if status != OK:
            raise failure(status, "blosc", nbytes, None, -1)
        return out[first - start:first - start + count]
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
