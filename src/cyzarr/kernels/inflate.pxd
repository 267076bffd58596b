"""gzip and zlib: streams (see streams.stream_t), where the decoders are native."""

from cyzarr.kernels.natives cimport Context
from cyzarr.kernels.streams cimport Sink, Source

# Members up to the source's end. No members at all are no bytes.
cdef int gzip_members(Context* ctx, Source* src, Sink* sink) noexcept nogil

# One stream; bytes after it are ignored.
cdef int zlib_stream(Context* ctx, Source* src, Sink* sink) noexcept nogil
