# Which bytes of an uncompressed chunk a selection needs.
from cyzarr.kernels.types cimport MAX_NDIM, Span

# The ranges of a chunk that hold what a product of spans picks. `outer` axes of the chunk's
# frame are walked position by position; for each position one range of `length` bytes is read,
# which holds all the frame's other axes' touched positions, gaps up to the limit included.
cdef struct Windows:
    int outer                        # how many axes of the frame are walked
    int axes[MAX_NDIM]               # the chunk's axes in the order of the frame, widest stride first
    Py_ssize_t first                 # offset in bytes of the first range
    Py_ssize_t base                  # the same without the positions on the outer axes
    Py_ssize_t length                # of each range, bytes
    Py_ssize_t ranges                # how many
    Py_ssize_t needed                # bytes of the picked items, all ranges together

# axes_order: the chunk's axes, widest stride first. Affine and index spans. Steps may fall.
cdef void find_windows(int ndim, const Span* spans, const Py_ssize_t* strides, const int* axes_order,
                       Py_ssize_t itemsize, Py_ssize_t max_gap, Windows* out) noexcept nogil

# Where the number-th range starts, counted in C order over the outer axes' spans; one: the spans within it.
cdef Py_ssize_t window_at(const Windows* windows, int ndim, const Span* spans, const Py_ssize_t* strides,
                          Py_ssize_t number, Span* one) noexcept nogil

# Where the k-th point starts; one: its spans.
cdef Py_ssize_t pick_point(int ndim, const Span* spans, const Py_ssize_t* strides, Py_ssize_t k,
                           Span* one) noexcept nogil

# Where the first and the last of points start.
cdef void points_hull(int ndim, const Span* spans, const Py_ssize_t* strides, Py_ssize_t* first,
                      Py_ssize_t* last) noexcept nogil

# The first and last position that a span touches.
cdef Py_ssize_t span_first(const Span* span) noexcept nogil
cdef Py_ssize_t span_last(const Span* span) noexcept nogil
