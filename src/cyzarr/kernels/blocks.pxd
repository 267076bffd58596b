# Copy, fill, byte-swap and gather N-d blocks between strided layouts.
from cyzarr.kernels.types cimport ItemPlan, Span

# Copy counts[0] x counts[1] x ... items of `itemsize` bytes. Strides are in bytes, of any sign.
# The blocks must not overlap.
cdef void copy_nd(int ndim, const Py_ssize_t* counts, const char* src, const Py_ssize_t* src_strides,
                  Py_ssize_t itemsize, char* dst, const Py_ssize_t* dst_strides) noexcept nogil

# The same with the bytes of each item reversed.
cdef void swap_nd(int ndim, const Py_ssize_t* counts, const char* src, const Py_ssize_t* src_strides,
                  Py_ssize_t itemsize, char* dst, const Py_ssize_t* dst_strides) noexcept nogil

# Copy one item of `itemsize` bytes to every place of a block.
cdef void fill_nd(int ndim, const Py_ssize_t* counts, const char* item, Py_ssize_t itemsize,
                  char* dst, const Py_ssize_t* dst_strides) noexcept nogil

# Copy the product of spans from a chunk's block to the output, in the output's byte order.
cdef void place_spans(const ItemPlan* plan, int ndim, const Span* spans, const char* src,
                      const Py_ssize_t* src_strides, char* dst, const Py_ssize_t* dst_strides) noexcept nogil

# Fill the places of a product of spans with one item (in the output's byte order).
cdef void fill_spans(Py_ssize_t itemsize, const char* item, int ndim, const Span* spans,
                     char* dst, const Py_ssize_t* dst_strides) noexcept nogil

# The same for points: span a holds, for each of the points, its position along axis a.
# spans[0].place is where the points go along the output's one axis, of `dst_stride` bytes.
cdef void place_points(const ItemPlan* plan, int ndim, const Span* spans, const char* src,
                       const Py_ssize_t* src_strides, char* dst, Py_ssize_t dst_stride) noexcept nogil
cdef void fill_points(Py_ssize_t itemsize, const char* item, const Span* spans,
                      char* dst, Py_ssize_t dst_stride) noexcept nogil

# Owns the ItemPlan that takes items of one dtype to another of another byte order.
cdef class Plan:
    cdef ItemPlan plan
    cdef int n
