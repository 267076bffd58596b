# Run reads over stored objects.
from cyzarr.kernels.readplan cimport Object, Read
from cyzarr.kernels.types cimport Source
from cyzarr.kernels.workers cimport Worker

cdef enum ObjectState:
    NEW = 0
    LOADING = 1
    READY = 2
    MISSING = 3
    FAILED = 4

cdef struct Group:
    Read** reads
    Py_ssize_t n
    Py_ssize_t* first            # tasks before each read

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

# Owns a group's table, for as long as helpers may be at work on it.
cdef class GroupHolder:
    cdef Group group
    cdef object keep

# --- for batch: what a task is made of

# Open an object's file, or look it up in memory. `at`: its position in the tables of touched objects.
cdef int open_source(Read* read, Worker* worker, Py_ssize_t number, const Py_ssize_t* at,
                     Source* source, bint* missing) noexcept nogil
# Have a shard's index at hand: the first task loads it, the others wait for that; then let go of it.
cdef int object_enter(Read* read, Worker* worker, Py_ssize_t number, const Py_ssize_t* at) noexcept nogil
cdef void object_leave(Read* read, Object* object_) noexcept nogil
# Keep a task's failure with its read, if it is the first, and what Python raised.
cdef void note_failure(Read* read, Worker* worker, Py_ssize_t number, int code) noexcept nogil
cdef void add_stats(Read* read, Worker* worker) noexcept nogil
