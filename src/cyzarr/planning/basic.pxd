# Basic selections to spans.
cimport numpy as cnp

from cyzarr.kernels.types cimport MAX_NDIM, Span

cdef struct Key:
    int ndim                       # of the result
    bint numpy_ints                # holds a NumPy integer: zarr's basic road, which gives scalars
    bint ellipsis
    bint empty
    bint field                     # one field is taken: what zarr makes of a missing chunk is its own to say
    bint drops[MAX_NDIM]           # per axis of the array: an integer
    cnp.npy_intp shape[MAX_NDIM]   # of the result

# Basic selections of an array of this shape to one span per axis; False: zarr's own code says what it is.
cdef bint parse(object selection, int ndim, const Py_ssize_t* shape, Span* spans, Key* key)
# Count an axis among those of the result.
cdef void keep_axis(Span* spans, Key* key, int axis) noexcept
