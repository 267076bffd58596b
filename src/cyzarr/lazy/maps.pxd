# Index domains and the maps from their coordinates to those of a source. Each is `made` once.
cimport cython


@cython.final
cdef class IndexDomain:
    cdef readonly tuple inclusive_min
    cdef readonly tuple exclusive_max
    cdef readonly tuple labels            # None where no axis has one
    cdef tuple extents
    cdef bint made


@cython.final
cdef class ConstantMap:
    cdef readonly object offset
    cdef bint made


@cython.final
cdef class DimensionMap:
    cdef readonly Py_ssize_t input_dimension
    cdef readonly object offset
    cdef readonly object stride
    cdef bint made


@cython.final
cdef class ArrayMap:
    cdef readonly object index_array      # sealed, an axis per input axis
    cdef readonly object offset
    cdef readonly object stride
    cdef tuple ends                       # least and largest index
    cdef bint made


cdef object exact(object number)
cdef object sealed(object array)
cdef int check_once(bint made, str what) except -1
cdef int refuse_far(Py_ssize_t axis, object least, object beyond) except -1

# These check nothing.
cdef IndexDomain domain_of(tuple least, tuple beyond, tuple labels)
cdef ConstantMap constant(object offset)
cdef DimensionMap affine(Py_ssize_t dimension, object offset, object stride)
cdef ArrayMap indexed(object index_array, object offset, object stride)
