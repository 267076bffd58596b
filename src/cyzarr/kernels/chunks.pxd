# Reads of one stored chunk each, whose bytes the caller fetches.
from cyzarr.kernels.program cimport Program
from cyzarr.kernels.readplan cimport Read
from cyzarr.kernels.types cimport Segment, Source

cdef class ChunkRead:
    cdef readonly Program program
    cdef readonly object out
    cdef readonly str key
    cdef readonly bint points
    cdef bint running
    cdef Read* read
    cdef Read* asks              # what plans the requests: `read`, or for a hull a read of the block below it
    cdef Program asked           # and of what program
    cdef object _objects         # the output with all of the chunk's axes, where items are objects
    cdef Source source
    cdef Segment* segments
    cdef object _uses            # the index arrays that the read points to
    cdef object _held            # what the source points to
    cdef int _plan_requests(self) except -1
    cdef int _set_source(self, Py_ssize_t size, const char* data, object held) except -1
    cdef int _refuse_running(self) except -1
    cdef tuple position(self, Py_ssize_t number)
    cdef list touched(self)
