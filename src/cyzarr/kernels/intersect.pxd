# Cut one axis of a selection along a regular chunk grid.
from cyzarr.kernels.types cimport Span

# How many chunks of `chunk` items an affine span touches at most.
cdef Py_ssize_t touched_bound(const Span* span, Py_ssize_t chunk) noexcept nogil

# Cut an affine span into one span per touched chunk, ascending; returns how many.
# `out` holds at least touched_bound() of them.
cdef Py_ssize_t cut_affine(const Span* span, Py_ssize_t chunk, Span* out) noexcept nogil

# Cut an indexed span: bucket its positions by chunk. `out`, `index` and `place` hold at least
# span.count entries and `order` too (scratch); returns how many spans.
cdef Py_ssize_t cut_indexed(const Span* span, Py_ssize_t chunk, Span* out, Py_ssize_t* index,
                            Py_ssize_t* place, Py_ssize_t* order) noexcept nogil

# Sort the numbers 0 .. n-1 by key[], keeping the order of equal keys. `order` gives the result.
# Returns 0, or -1 where memory ran out.
cdef int sort_by_key(const Py_ssize_t* key, Py_ssize_t n, Py_ssize_t* order) noexcept nogil
