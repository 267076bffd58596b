# Reads of one stored chunk each, whose bytes the caller fetches.
from cyzarr.kernels.decode cimport Segment, Source
from cyzarr.kernels.program cimport Program
from cyzarr.kernels.readplan cimport Read

cdef class ChunkRead:
    cdef readonly Program program
    cdef readonly object out
    cdef readonly str key
    cdef readonly bint points
    cdef bint running
    cdef Read* read
    cdef Source source
    cdef Segment* segments
    cdef object _uses            # what the read points to: index arrays, buffers, a path
    cdef int _set_source(self) except -1
