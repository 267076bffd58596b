# Plan a read over stored objects, and run it.
from cyzarr.kernels.decode cimport Buffer, Source, Stats, Target
from cyzarr.kernels.program cimport Node, Program
from cyzarr.kernels.status cimport Failure
from cyzarr.kernels.types cimport MAX_NDIM, Span

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass

# A stored shard whose index the tasks of its inner chunks share.
cdef struct Object:
    int state
    int status
    Source source
    Buffer index
    Py_ssize_t left              # tasks that have not ended

# A selection cut along the grid of stored objects and, where these are shards, of inner chunks. Objects are
# numbered in C order over the touched positions of each axis; tasks are numbered object by object.
cdef struct Read:
    const Node* root
    Target target
    Py_ssize_t n_objects
    Py_ssize_t n_tasks
    Py_ssize_t* first            # tasks before each object; NULL where each has `per`
    Py_ssize_t per
    bint shared                  # a task is an inner chunk of a shard (else a whole object)
    int part_axis                # each of these may be cut into parts along one axis
    Py_ssize_t parts
    double cost_ns               # estimate of all the work
    Span* outer[MAX_NDIM]        # per axis: the touched objects
    Py_ssize_t n_outer[MAX_NDIM]
    Span* inner[MAX_NDIM]        # per axis: the touched inner chunks, object by object,
    Py_ssize_t* begin[MAX_NDIM]  # those of object i from begin[i] to begin[i + 1]
    char* tables                 # holds all of the above
    Py_ssize_t* numbers          # points: their places and positions, ordered
    Py_ssize_t n_points
    Object* objects
    # Where the objects are: memory[i], or the file prefix + chunk key.
    const Source* memory         # size -1: missing
    const char* prefix
    Py_ssize_t prefix_nbytes
    char separator
    bint lead                    # keys start with "c"
    bint missing                 # an object was not there
    bint literal                 # the prefix is the whole path
    pthread_mutex_t lock
    pthread_cond_t loaded
    Failure failure
    Stats stats
    void* error                  # PyObject*: what a Python codec raised

# A read of what `selection` (one span per axis, in the array's coordinates) picks, into `out`.
cdef Read* read_new(Program program, const Span* selection, bint points, char* out,
                    const Py_ssize_t* out_strides) except NULL
cdef void read_free(Read* read) noexcept
# Run one read or several. With hold: in this thread and with the GIL, giving it up only where a file's data is
# not in memory. Returns a status; OK, or the failure is in one of the reads.
cdef int reads_run(Read** reads, Py_ssize_t n, int threads, object keep) except? -1
# Forget a run, so that the read can run anew.
cdef void read_reset(Read* read) noexcept nogil
cdef int read_run_held(Read* read) noexcept
cdef int read_raise(Read* read, object prefix) except -1
cdef bint worth_threads(const Read* read, int threads) noexcept nogil
cdef void read_split(Read* read, int threads) noexcept nogil
cdef object object_key(const Read* read, Py_ssize_t number)

# Owns a read and what it uses, for as long as helpers may be at work on it.
cdef class ReadHolder:
    cdef Read* read
    cdef Source* sources             # malloc'd, or NULL
    cdef public object uses
