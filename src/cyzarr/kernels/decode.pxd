# Decode the part of a chunk that a selection picks, straight into the output.
from cyzarr.kernels.decompress cimport Context
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.status cimport MAX_DEPTH, Failure
from cyzarr.kernels.types cimport MAX_NDIM, ItemPlan, Span

cdef struct Stats:
    Py_ssize_t requests          # reads asked of the file system or the store
    Py_ssize_t bytes_read
    Py_ssize_t bytes_needed      # of those, what the selection needs
    Py_ssize_t chunks_decoded    # innermost chunks, whole or in part
    Py_ssize_t chunks_missing    # stored objects that are not there
    Py_ssize_t inner_missing     # inner chunks that are absent from their shard

cdef struct Buffer:
    char* data
    Py_ssize_t capacity

# What a worker keeps from task to task, so that no task allocates.
cdef struct Worker:
    Context context
    Buffer buffers[3 * (MAX_DEPTH + 1)]    # at each depth: stored bytes, index, decoded bytes
    Buffer spare[2]                        # stages between stored and decoded bytes
    Buffer tables[MAX_DEPTH + 1]           # a nested shard's spans
    Buffer path
    Stats stats
    Failure failure
    Worker* next

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

cdef Worker* worker_acquire() noexcept nogil
cdef void worker_release(Worker* worker) noexcept nogil
cdef int reserve(Buffer* buffer, Py_ssize_t nbytes) noexcept nogil

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
cdef int fail(Worker* worker, int code, Py_ssize_t offset, Py_ssize_t length, Py_ssize_t expected,
              Py_ssize_t found) noexcept nogil
