"""Workers, and the list of those at rest."""

from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from cyzarr.kernels.natives cimport context_free, context_init
from cyzarr.kernels.pthread cimport (
    pthread_mutex_init,
    pthread_mutex_lock,
    pthread_mutex_t,
    pthread_mutex_trylock,
    pthread_mutex_unlock,
)
from cyzarr.kernels.status cimport E_NOMEM, OK, failure_clear

cdef extern from *:
    """
    /* Memory of up to this size, once freed, is kept for what comes next: so glibc goes by the largest block that was
     * mapped and freed ("dynamic mmap threshold" in mallopt(3)). Else outputs and decoders' temporaries of a MiB can be
     * given back and faulted in anew at each read, which takes longer than to decode them. Of this block no page is
     * touched; volatile, or the compiler leaves it out. */
    static void cyzarr_keep_freed(size_t nbytes) {
        void* volatile block = malloc(nbytes);
        free(block);
    }
    """
    void keep_freed "cyzarr_keep_freed"(size_t) noexcept nogil

cdef enum:
    KEPT_FREED = 1 << 24
    # No buffer of a worker at rest is larger than this.
    KEPT_SCRATCH = 1 << 25

cdef Worker* idle_workers = NULL
cdef pthread_mutex_t idle_lock
pthread_mutex_init(&idle_lock, NULL)
keep_freed(KEPT_FREED)


cdef Worker* worker_acquire() noexcept nogil:
    cdef Worker* worker = NULL
    global idle_workers
    # Never waits: the caller may hold the GIL, and who holds the lock over a fork may wait for the GIL.
    if pthread_mutex_trylock(&idle_lock) == 0:
        worker = idle_workers
        if worker != NULL:
            idle_workers = worker.next
        pthread_mutex_unlock(&idle_lock)
    if worker == NULL:
        worker = <Worker*> calloc(1, sizeof(Worker))
        if worker == NULL:
            return NULL
        context_init(&worker.context)
    memset(&worker.stats, 0, sizeof(Stats))
    failure_clear(&worker.failure)
    worker.ahead_of = NULL
    worker.tasks = NULL
    worker.status = NULL
    worker.along = 0
    return worker


cdef void worker_release(Worker* worker) noexcept nogil:
    cdef int i
    global idle_workers
    for i in range(3 * (MAX_DEPTH + 1)):
        trim(&worker.buffers[i])
    for i in range(MAX_DEPTH + 1):
        trim(&worker.tables[i])
    trim(&worker.spare[0])
    trim(&worker.spare[1])
    trim(&worker.block)
    if pthread_mutex_trylock(&idle_lock) == 0:
        worker.next = idle_workers
        idle_workers = worker
        pthread_mutex_unlock(&idle_lock)
    else:
        worker_free(worker)


cdef void worker_free(Worker* worker) noexcept nogil:
    cdef int i
    for i in range(3 * (MAX_DEPTH + 1)):
        free(worker.buffers[i].data)
    for i in range(MAX_DEPTH + 1):
        free(worker.tables[i].data)
    free(worker.spare[0].data)
    free(worker.spare[1].data)
    free(worker.path.data)
    free(worker.ahead_bytes.data)
    free(worker.block.data)
    context_free(&worker.context)
    free(worker)


cdef void trim(Buffer* buffer) noexcept nogil:
    if buffer.capacity > KEPT_SCRATCH:
        free(buffer.data)
        buffer.data = NULL
        buffer.capacity = 0


cdef Py_ssize_t take_along(Worker* worker, Py_ssize_t most) noexcept nogil:
    cdef Py_ssize_t left
    if worker.tasks == NULL:
        return 0
    if worker.tasks_lock != NULL:
        pthread_mutex_lock(worker.tasks_lock)
    left = worker.tasks.end - worker.tasks.next
    most = min(most, left if worker.tasks_lock == NULL else left // 2)
    worker.tasks.next += most
    worker.along += most
    if worker.tasks_lock != NULL:
        pthread_mutex_unlock(worker.tasks_lock)
    return most


cdef bint given_up(Worker* worker) noexcept nogil:
    cdef bint ended
    if worker.status == NULL or worker.tasks_lock == NULL:
        return False
    pthread_mutex_lock(worker.tasks_lock)
    ended = worker.status[0] != OK
    pthread_mutex_unlock(worker.tasks_lock)
    return ended


cdef int reserve(Buffer* buffer, Py_ssize_t nbytes) noexcept nogil:
    if nbytes <= buffer.capacity and buffer.data != NULL:
        return OK
    free(buffer.data)
    buffer.data = <char*> malloc(max(nbytes, 64))
    buffer.capacity = 0 if buffer.data == NULL else max(nbytes, 64)
    return E_NOMEM if buffer.data == NULL else OK


cdef int fail(Worker* worker, int code, Py_ssize_t offset, Py_ssize_t length, Py_ssize_t expected,
              Py_ssize_t found) noexcept nogil:
    worker.failure.code = code
    worker.failure.offset = offset
    worker.failure.length = length
    worker.failure.expected = expected
    worker.failure.found = found
    return code


def before_fork():
    """Hold the list of idle workers while the process forks, so that the child finds it whole.

    Without the GIL: another thread that forks may hold the lock, and need the GIL to let go of it.
    """
    with nogil:
        pthread_mutex_lock(&idle_lock)


def after_fork_in_parent():
    pthread_mutex_unlock(&idle_lock)


def after_fork_in_child():
    pthread_mutex_init(&idle_lock, NULL)
