# Put a decoded chunk's items where they go in the output.
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.types cimport Span, Target

# Where the whole chunk lies in the output as it is laid out decoded, or NULL where it doesn't.
cdef char* whole_place(const Target* target, const Node* node, const Span* spans) noexcept nogil

# Copy what spans pick from `data`, the bytes of a decoded chunk.
cdef void place(const Target* target, const Node* node, const Span* spans, const char* data) noexcept nogil
