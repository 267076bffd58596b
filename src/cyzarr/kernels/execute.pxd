# Run reads over stored objects.
from cyzarr.kernels.readplan cimport Read
from cyzarr.kernels.types cimport Source

# Run one read or several. With hold: in this thread and with the GIL, giving it up only where a file's data is
# not in memory. Returns a status; OK, or the failure is in one of the reads.
cdef int reads_run(Read** reads, Py_ssize_t n, int threads, object keep) except? -1
# Whether helpers may still be at work for a reads_run that was given `keep` and has ended with an exception.
cdef bint left_running(object keep)
# Forget a run, so that the read can run anew.
cdef void read_reset(Read* read) noexcept
cdef int read_run_held(Read* read) noexcept
cdef int read_raise(Read* read, object prefix) except -1
cdef object object_key(const Read* read, Py_ssize_t number)

# Owns a read and what it uses, for as long as helpers may be at work on it.
cdef class ReadHolder:
    cdef Read* read
    cdef Source* sources             # malloc'd, or NULL
    cdef public object uses
