"""The table of C functions that installed libraries export, and what decoders keep between calls.

Its functions may be called where `decoder_native` says so, and need no GIL.
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
ctypedef int (*blosc_getitem_t)(const void*, int, int, void*) noexcept nogil
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
    blosc_getitem_t blosc_getitem      # NULL where the library lacks it: then chunks are decoded whole
    inflate_init_t inflate_init
    inflate_reset_t inflate_reset
    inflate_t inflate
    inflate_end_t inflate_end
    zlib_version_t zlib_version
    crc32_t crc32
    crc32c_extend_t crc32c_extend
    bint proven[<int>DECODERS]
    bint parts_proven                  # of blosc_getitem

# Filled and proven by decompress, at import; after that nobody writes to it.
cdef Table table

# Look every decoder's functions up; loaded[d]: whether all of decoder d's are there.
cdef int load_table(bint* loaded) except -1

# Switch the whole table on or off, for every thread.
cdef void table_switch(bint on) noexcept nogil

# Whether the table holds a proven function for `decoder` and is switched on.
cdef bint decoder_native(int decoder) noexcept nogil

# Whether blosc_getitem is there, proven, and switched on with the rest.
cdef bint blosc_parts_native() noexcept nogil

# What decoders keep between calls. One belongs to one worker at a time; both parts are made when
# first needed and are NULL until then.
cdef struct Context:
    void* zstd
    z_stream* inflater

cdef void context_init(Context* ctx) noexcept nogil
cdef void context_free(Context* ctx) noexcept nogil
