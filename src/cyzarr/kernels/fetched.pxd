# What was fetched of a stored object.
from cyzarr.kernels.program cimport Program
from cyzarr.kernels.types cimport Segment

# Owns a table of parts, and holds their buffers; any number of reads may use it.
cdef class Fetched:
    cdef Segment* segments
    cdef Py_ssize_t n
    cdef object held

# A shard's index that was verified for reads of a program.
cdef class CheckedIndex:
    cdef bytes raw
    cdef Program program             # None: it was not verified
