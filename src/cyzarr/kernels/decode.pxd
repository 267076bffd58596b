# Decode the part of a chunk that a selection picks, straight into the output.
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.types cimport MAX_NDIM, ItemPlan, Span
from cyzarr.kernels.workers cimport Buffer, Worker

# Bytes of an object that were fetched: `nbytes` of them from `offset` on.
cdef struct Segment:
    Py_ssize_t offset
    Py_ssize_t nbytes
    const char* data

# Where an object's bytes are: an open file (fd >= 0), memory (data), or fetched segments, ascending.
cdef struct Source:
    int fd
    Py_ssize_t size
    const char* data
    const Segment* segments
    Py_ssize_t n_segments

# Where the picked items go.
cdef struct Target:
    const ItemPlan* items
    const char* fill
    int ndim
    bint points                  # spans are points, not a product; out has one axis of strides[0]
    bint nowait                  # say E_AGAIN instead of waiting for a file
    char* out
    Py_ssize_t strides[MAX_NDIM]
    void** error                 # PyObject**: what a Python codec raised

# Decode from the `nbytes` at `offset` of the source what spans pick from the node's chunk.
cdef int decode_region(Worker* worker, const Target* target, const Node* node, const Source* source,
                       Py_ssize_t offset, Py_ssize_t nbytes, const Span* spans, int depth) noexcept nogil

# One inner chunk of a shard whose index is at hand: `raw`, for the `nbytes` at `offset`.
cdef int decode_inner(Worker* worker, const Target* target, const Node* node, const Source* source,
                      Py_ssize_t offset, Py_ssize_t nbytes, const char* raw, Py_ssize_t number,
                      const Span* spans, int depth) noexcept nogil

# Read and verify a shard's index into `buffer`.
cdef int load_index(Worker* worker, const Target* target, const Node* node, const Source* source,
                    Py_ssize_t offset, Py_ssize_t nbytes, Buffer* buffer) noexcept nogil

cdef void fill_target(const Target* target, const Span* spans) noexcept nogil
