# Plan a read over stored objects: cut a selection into tasks.
from cyzarr.kernels.indexcache cimport CachedIndex
from cyzarr.kernels.program cimport Node, Program
from cyzarr.kernels.pthread cimport pthread_cond_t, pthread_mutex_t
from cyzarr.kernels.status cimport Failure
from cyzarr.kernels.types cimport MAX_NDIM, Source, Span, Target
from cyzarr.kernels.workers cimport Buffer, Stats

cdef enum:
    HOP_NS = 30000               # a second thread pays from about this much work on

# A stored shard whose index the tasks of its inner chunks share, or a container whose head its parts share.
cdef struct Object:
    int state
    Source source
    Buffer index
    CachedIndex* held            # the index in the cache; where NULL, it is in `index`
    const char* raw              # either, or a container's head; NULL: it is decoded whole
    Py_ssize_t* order            # its tasks as their bytes lie in a file; NULL: as they stand
    Py_ssize_t left              # tasks that have not ended
    Py_ssize_t task              # in a batch: its first task there,
    Py_ssize_t count             # and how many it has

# What the first of the reads that share a task of a batch picks there; returns which inner chunk that is.
ctypedef Py_ssize_t (*EntryFunction)(const void* batch, Py_ssize_t task, Span* spans) noexcept nogil

# A selection cut along the grid of stored objects and, where these are shards, of inner chunks. Objects are
# numbered in C order over the touched positions of each axis; tasks are numbered object by object.
cdef struct Read:
    const Node* root
    Target target
    Py_ssize_t n_objects
    Py_ssize_t n_tasks
    Py_ssize_t* first            # tasks before each object; NULL where each has one
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
    const void* batch            # what it is run in with others; NULL: nothing
    EntryFunction batch_entry
    pthread_mutex_t lock
    pthread_cond_t loaded
    Failure failure
    Stats stats
    void* error                  # PyObject*: what a Python codec raised

# A read of what `selection` (one span per axis, in the array's coordinates) picks, into `out`. Where items are objects,
# the caller sets target.objects.
cdef Read* read_new(Program program, const Span* selection, bint points, char* out,
                    const Py_ssize_t* out_strides) except NULL
cdef void read_free(Read* read) noexcept
# Close an object's file and forget its index.
cdef void object_release(Object* object_) noexcept nogil
# An object's position in the tables of touched objects; the object that a task belongs to.
cdef void positions(const Read* read, Py_ssize_t number, Py_ssize_t* at) noexcept nogil
cdef Py_ssize_t object_of(const Read* read, Py_ssize_t task) noexcept nogil
# Narrow a span to one of its parts.
cdef void take_part(Span* span, Py_ssize_t part, Py_ssize_t parts) noexcept nogil
