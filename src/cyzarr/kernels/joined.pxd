# Ranges of bytes that are asked for, joined while they are found.
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.types cimport Span

cdef struct Range:
    Py_ssize_t start
    Py_ssize_t stop

# What lies next to each other in one chunk is one range, whatever its length. Ranges at most max_gap apart are
# joined as long as both together are at most max_nbytes long.
cdef struct Joined:
    Range* ranges
    Py_ssize_t n
    Py_ssize_t capacity
    Py_ssize_t max_gap
    Py_ssize_t max_nbytes
    Range run                    # what the next bytes of the same chunk may still add to; none where its stop is 0
    bint ascending               # each range came after those before it

cdef void joined_init(Joined* joined, Py_ssize_t max_gap, Py_ssize_t max_nbytes) noexcept nogil
cdef void joined_free(Joined* joined) noexcept nogil
# The next bytes of a chunk; the end of a chunk.
cdef int joined_add(Joined* joined, Py_ssize_t start, Py_ssize_t stop) noexcept nogil
cdef int joined_end(Joined* joined) noexcept nogil

# What ascending spans pick from an uncompressed chunk that starts at `base`.
cdef int joined_product(Joined* joined, const Node* leaf, const Span* spans, Py_ssize_t itemsize,
                        Py_ssize_t base) noexcept nogil
# Items at these offsets, ascending, of chunks that begin at these starts, ascending.
cdef int joined_items(Joined* joined, const Py_ssize_t[::1] offsets, const Py_ssize_t[::1] starts,
                      Py_ssize_t itemsize) noexcept nogil

# As (offset, nbytes), ascending and disjoint.
cdef list joined_ranges(Joined* joined)
