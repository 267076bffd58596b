# Reads of one stored chunk each, whose bytes the caller fetches.
from cyzarr.kernels.joined cimport Joined
from cyzarr.kernels.program cimport Program
from cyzarr.kernels.readplan cimport Read
from cyzarr.kernels.types cimport Source

cdef class ChunkRead:
    cdef readonly Program program
    cdef readonly object out
    cdef readonly str key
    cdef readonly bint points
    cdef bint running
    cdef object _left            # the reads that were run together, where helpers may still be at work on them
    cdef Read* read
    cdef Read* asks              # what plans the requests: `read`, or for a hull a read of the block below it
    cdef Read* ascending         # `asks` with its positions in order, once it is needed
    cdef Program asked           # and of what program
    cdef object _objects         # the output with all of the chunk's axes, where items are objects
    cdef Source source
    cdef object _uses            # the index arrays that the read points to
    cdef object _held            # what the source points to
    cdef int _plan_requests(self) except -1
    cdef int _set_source(self, Py_ssize_t size, const char* data, object held) except -1
    cdef bint _is_running(self) except -1
    cdef int _refuse_running(self) except -1
    cdef tuple position(self, Py_ssize_t number)
    cdef list touched(self, const Read* read)
    cdef dict entries(self, index, size)
    cdef bint _takes_all(self)
    cdef _inner_numbers(self)
    cdef list needed(self, dict places, Py_ssize_t max_gap, Py_ssize_t max_nbytes)
    cdef int need_product(self, Joined* joined, dict places) except -1
    cdef int need_points(self, Joined* joined, dict places) except -1
    cdef Read* _in_order(self) except NULL
