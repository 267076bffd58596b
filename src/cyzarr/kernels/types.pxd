# The structures that the kernels share, and how they read a number.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    MAX_NDIM = 32

# The part of one axis that a selection picks from one chunk. Affine: the positions start,
# start + step, ... (count of them) go to out, out + 1, ... . With `index`: the positions
# index[0 .. count) go to place[0 .. count). Positions are local to the chunk, places are
# absolute in the output.
cdef struct Span:
    Py_ssize_t chunk
    Py_ssize_t start
    Py_ssize_t step
    Py_ssize_t count
    Py_ssize_t out
    const Py_ssize_t* index
    const Py_ssize_t* place

# A run of bytes in an item that is copied as units of `width` bytes, `repeat` of them.
cdef struct Component:
    Py_ssize_t offset
    Py_ssize_t width
    Py_ssize_t repeat

# How one item goes from its stored to its output form: copied, then the listed components
# byte-swapped. No components: stored and output form are the same bytes.
cdef struct ItemPlan:
    Py_ssize_t itemsize
    int n_swaps
    Component* swaps

# Which file, and in which state: as long as these and its size are the same, so is what it holds.
cdef struct Identity:
    uint64_t dev
    uint64_t ino
    int64_t ctime_ns             # of its last change, nanoseconds since 1970

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
    Identity identity            # of an open file

# Where the picked items go.
cdef struct Target:
    const ItemPlan* items
    const char* fill
    int ndim
    bint points                  # spans are points, not a product; out has one axis of strides[0]
    bint nowait                  # say E_AGAIN instead of waiting for a file
    char* out
    Py_ssize_t strides[MAX_NDIM]
    void* dtype                  # PyObject*: of the output
    void* context                # PyObject*: the contextvars in which Python codecs are called; NULL without any
    void* objects                # PyObject*: items are objects; the output with all of the array's axes. Else NULL
    void* fill_object            # PyObject*: then, what absent chunks hold


cdef inline uint32_t le32(const char* p) noexcept nogil:
    """The little-endian number in the four bytes at `p`, which need no alignment."""
    cdef uint8_t b[4]
    memcpy(b, p, 4)
    return <uint32_t>b[0] | (<uint32_t>b[1] << 8) | (<uint32_t>b[2] << 16) | (<uint32_t>b[3] << 24)
