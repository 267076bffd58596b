"""The C decoders, for other kernels.

Lengths are in bytes. Every function that runs without the GIL returns a code of `status` unless
said otherwise, and writes nothing outside the destination it was given, whatever the source holds.
The source must not change during a call: c-blosc reads its header again after it was checked here.
"""

# Offered from here, too.
from cyzarr.kernels.blosc cimport check_blosc
from cyzarr.kernels.checksum cimport check_crc32c, crc32c
from cyzarr.kernels.natives cimport (
    DECODE_BLOSC,
    DECODE_CRC32C,
    DECODE_GZIP,
    DECODE_LZ4,
    DECODE_ZLIB,
    DECODE_ZSTD,
    DECODERS,
    Context,
    Decoder,
    context_free,
    context_init,
    decoder_native,
)

# Decode src into exactly dst_nbytes of dst. *found becomes the decoded length where it is known,
# else -1. E_SIZE: another length; then, and on E_DECODE, dst may hold anything.
cdef int decode_exact(
    int decoder, Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found,
) noexcept nogil

# Decode src, whose decoded length nobody knows, into *dst: NULL or a malloc'd buffer of *capacity,
# which may be realloc'd and stays the caller's to free, after an error too. *dst_nbytes becomes the
# decoded length, never more than limit_nbytes.
cdef int decode_grow(
    int decoder, Context* ctx, const char* src, Py_ssize_t src_nbytes,
    char** dst, Py_ssize_t* capacity, Py_ssize_t* dst_nbytes, Py_ssize_t limit_nbytes,
) noexcept nogil
