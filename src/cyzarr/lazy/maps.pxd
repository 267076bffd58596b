# Index domains and the maps from their coordinates to those of a source.

cdef class IndexDomain:
    cdef readonly tuple inclusive_min
    cdef readonly tuple exclusive_max
    cdef readonly tuple labels            # None where no axis has one
    cdef tuple extents

cdef class ConstantMap:
    cdef readonly object offset

cdef class DimensionMap:
    cdef readonly Py_ssize_t input_dimension
    cdef readonly object offset
    cdef readonly object stride

cdef class ArrayMap:
    cdef readonly object index_array      # frozen, intp, an axis per input axis
    cdef readonly object offset
    cdef readonly object stride
    cdef tuple ends                       # least and largest index

# These check nothing.
cdef IndexDomain domain_of(tuple least, tuple beyond, tuple labels)
cdef ConstantMap constant(object offset)
cdef DimensionMap affine(Py_ssize_t dimension, object offset, object stride)
cdef ArrayMap indexed(object index_array, object offset, object stride)
