# Decode the part of a chunk that a selection picks, straight into the output.
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.types cimport Source, Span, Target
from cyzarr.kernels.workers cimport Worker

# Decode from the `nbytes` at `offset` of the source what spans pick from the node's chunk.
cdef int decode_region(Worker* worker, const Target* target, const Node* node, const Source* source,
                       Py_ssize_t offset, Py_ssize_t nbytes, const Span* spans, int depth) noexcept nogil

# One inner chunk of a shard whose index is at hand: `raw`, for the `nbytes` at `offset`.
cdef int decode_inner(Worker* worker, const Target* target, const Node* node, const Source* source,
                      Py_ssize_t offset, Py_ssize_t nbytes, const char* raw, Py_ssize_t number,
                      const Span* spans, int depth) noexcept nogil

cdef int fill_target(Worker* worker, const Target* target, const Span* spans) noexcept nogil

# The block, in the axes below, that a hull decodes for what spans pick.
cdef void hull_spans(const Node* node, const Span* spans, Span* inner) noexcept nogil
