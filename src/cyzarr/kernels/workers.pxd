# What a worker keeps from task to task: contexts of decoders, scratch, counts, its last failure.
from cyzarr.kernels.natives cimport Context
from cyzarr.kernels.pthread cimport pthread_mutex_t
from cyzarr.kernels.status cimport MAX_DEPTH, Failure
from cyzarr.kernels.types cimport Segment

cdef struct Stats:
    Py_ssize_t requests          # reads asked of the file system or the store
    Py_ssize_t bytes_read
    Py_ssize_t bytes_needed      # of those, what the selection needs
    Py_ssize_t chunks_decoded    # innermost chunks, whole or in part
    Py_ssize_t chunks_missing    # stored objects that are not there
    Py_ssize_t inner_missing     # inner chunks that are absent from their shard
    Py_ssize_t index_hits        # shard indexes that were at hand in the cache
    Py_ssize_t index_misses      # that were looked up there and not found

cdef struct Buffer:
    char* data
    Py_ssize_t capacity

# Tasks that a participant has not started.
cdef struct Tasks:
    Py_ssize_t next
    Py_ssize_t end

# What a worker keeps from task to task, so that no task allocates.
cdef struct Worker:
    Context context
    Buffer buffers[3 * (MAX_DEPTH + 1)]    # at each depth: stored bytes, index, decoded bytes
    Buffer spare[2]                        # stages between stored and decoded bytes
    Buffer tables[MAX_DEPTH + 1]           # a nested shard's spans
    Buffer path
    const void* ahead_of                   # the open object of which `ahead` holds bytes; NULL: it holds none
    Segment ahead                          # in the buffer below
    Buffer ahead_bytes
    Tasks* tasks                           # those that it will be given
    pthread_mutex_t* tasks_lock            # guards them; NULL: nobody else takes of them
    const int* status                      # of the job, guarded alike; NULL: nobody else ends it
    Py_ssize_t along                       # how many it has taken with the task at hand, to be run next
    Buffer block                           # what several reads pick from one chunk
    Stats stats
    Failure failure
    void* error                            # PyObject*: what Python raised in the task at hand
    Worker* next

# An idle worker, or a new one; NULL where memory ran out. Neither of the two ever waits.
cdef Worker* worker_acquire() noexcept nogil
cdef void worker_release(Worker* worker) noexcept nogil

# Take up to `most` of the tasks that follow the one at hand; returns how many. Half of them are left to other workers.
cdef Py_ssize_t take_along(Worker* worker, Py_ssize_t most) noexcept nogil

# Whether another worker has ended the job: what was taken along need not be run.
cdef bint given_up(Worker* worker) noexcept nogil

# Room for nbytes; what the buffer held is lost.
cdef int reserve(Buffer* buffer, Py_ssize_t nbytes) noexcept nogil

# Note a failure; returns its code.
cdef int fail(Worker* worker, int code, Py_ssize_t offset, Py_ssize_t length, Py_ssize_t expected,
              Py_ssize_t found) noexcept nogil
