"""The table of C decoders, for other kernels.

Lengths are in bytes. Every function that runs without the GIL returns a code of `status` unless
said otherwise, and writes nothing outside the destination it was given, whatever the source holds.
The source must not change during a call: c-blosc reads its header again after it was checked here.
"""

from libc.stdint cimport uint32_t

cdef enum Decoder:
    DECODE_ZSTD = 0
    DECODE_BLOSC = 1
    DECODE_LZ4 = 2
    DECODE_GZIP = 3
    DECODE_ZLIB = 4
    DECODE_CRC32C = 5
    DECODERS = 6

# zlib's own struct, written out because zlib.h need not be installed; inflateInit2_ refuses it
# where its length is another.
cdef struct z_stream:
    const unsigned char* next_in
    unsigned int avail_in
    unsigned long total_in
    unsigned char* next_out
    unsigned int avail_out
    unsigned long total_out
    const char* msg
    void* state
    void* zalloc
    void* zfree
    void* opaque
    int data_type
    unsigned long adler
    unsigned long reserved

# What decoders keep between calls. One belongs to one worker at a time; both parts are made when
# first needed and are NULL until then.
cdef struct Context:
    void* zstd
    z_stream* inflater

cdef void context_init(Context* ctx) noexcept nogil
cdef void context_free(Context* ctx) noexcept nogil

# Whether the table holds a proven function for `decoder` and is switched on.
cdef bint decoder_native(int decoder) noexcept nogil

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

# Whether a blosc container's header and block table lie within its bytes: OK, or a code. A decoder of blosc that
# is given no length, as numcodecs' own, must not be called before.
cdef int check_blosc(const char* src, Py_ssize_t src_nbytes) noexcept nogil

# CRC32C of p[:n]: native where there is one, else by our own tables. Never fails.
cdef uint32_t crc32c(const char* p, Py_ssize_t n) noexcept nogil

# Whether the last four bytes are the little-endian CRC32C of those before: OK, E_DECODE, or E_SIZE
# where there are no four bytes. Needs no native function.
cdef int check_crc32c(const char* src, Py_ssize_t nbytes) noexcept nogil
