"""The table of C functions: those of zstd, blosc, lz4, zlib and crc32c, looked up by name.

They come from the compiled modules of numcodecs and google_crc32c, which zarr brings along: each
module's own file is opened once more by dlopen. Here they are only found; decompress proves them,
and until then, as while the table is switched off, `decoder_native` is False.
"""

import importlib
import os

from libc.stdlib cimport free
from libc.string cimport memset

cdef extern from "<dlfcn.h>" nogil:
    void* dlopen(const char* path, int flags)
    void* dlsym(void* handle, const char* name)
    int RTLD_NOW
    int RTLD_LOCAL

memset(&table, 0, sizeof(table))

# Switched by table_switch, read by every worker: one int, so no reader sees half of it.
cdef volatile int table_on = 1


cdef bint decoder_native(int decoder) noexcept nogil:
    return table_on != 0 and 0 <= decoder < DECODERS and table.proven[decoder]


cdef bint blosc_parts_native() noexcept nogil:
    return table_on != 0 and table.parts_proven


cdef void table_switch(bint on) noexcept nogil:
    global table_on
    table_on = on


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


# ---------------------------------------------------------------- filling the table

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
    table.blosc_getitem = <blosc_getitem_t>symbol(lib, "blosc_getitem")
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


cdef int load_table(bint* loaded) except -1:
    loaded[<int>DECODE_ZSTD] = load_zstd()
    loaded[<int>DECODE_BLOSC] = load_blosc()
    loaded[<int>DECODE_LZ4] = load_lz4()
    loaded[<int>DECODE_GZIP] = loaded[<int>DECODE_ZLIB] = load_zlib()
    loaded[<int>DECODE_CRC32C] = load_crc32c()
    return 0
