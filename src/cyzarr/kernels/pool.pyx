"""Run tasks over the calling thread and a bounded pool of helpers.

Helpers are Python threads that wait in C on a condition variable, which wakes in a few
microseconds, where an executor's future takes tens. On an idle processor that sleeps deeply it
takes fifty, so while jobs come one upon another a helper stays awake a moment between them; nor
does the caller sleep for what a helper finishes in a moment. A job's tasks are cut into one
contiguous range per participant; who has finished steals half of the fullest range. The caller
never waits for a helper that has not started on its job.
"""

import os
import threading

from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdlib cimport calloc, free

from cyzarr.kernels.pthread cimport (
    pthread_cond_broadcast,
    pthread_cond_destroy,
    pthread_cond_init,
    pthread_cond_signal,
    pthread_cond_t,
    pthread_cond_wait,
    pthread_mutex_destroy,
    pthread_mutex_init,
    pthread_mutex_lock,
    pthread_mutex_t,
    pthread_mutex_unlock,
)
from cyzarr.kernels.status cimport E_NOMEM, OK
from cyzarr.kernels.workers cimport Tasks, Worker, worker_acquire, worker_release

cdef extern from *:
    """
    #include <pthread.h>
    #include <sched.h>
    #include <time.h>
    static double cyzarr_now_ns(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return 1e9 * (double) now.tv_sec + (double) now.tv_nsec;
    }
    static int cyzarr_wait_ns(pthread_cond_t* cond, pthread_mutex_t* lock, long ns) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += ns;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        return pthread_cond_timedwait(cond, lock, &until);
    }
    /* Looks at what other threads write, which order nothing. */
    static int cyzarr_is_null(void** p) { return __atomic_load_n(p, __ATOMIC_RELAXED) == NULL; }
    static int cyzarr_is_zero(int* p) { return __atomic_load_n(p, __ATOMIC_RELAXED) == 0; }
    /* A third of a microsecond or so, in which the processor's other half can work, and other threads may. */
    static void cyzarr_relax(void) {
        int i;
        for (i = 0; i < 8; i++) {
    #if defined(__x86_64__) || defined(__i386__)
            __builtin_ia32_pause();
    #elif defined(__aarch64__)
            __asm__ __volatile__("yield");
    #endif
        }
        sched_yield();
    }
    """
    double now_ns "cyzarr_now_ns"() noexcept nogil
    bint is_null "cyzarr_is_null"(void**) noexcept nogil
    bint is_zero "cyzarr_is_zero"(int*) noexcept nogil
    void relax "cyzarr_relax"() noexcept nogil
    int wait_ns "cyzarr_wait_ns"(pthread_cond_t*, pthread_mutex_t*, long) noexcept nogil

cdef enum:
    MAX_PARTICIPANTS = 64
    SLICE_NS = 40_000_000      # how long tasks run before Python may look at signals
    LONG_NS = 20_000_000       # a task that may take longer never runs in the caller
    AWAKE_NS = 100_000         # how long a helper looks out for the next job, or a caller for the end, before it sleeps
    SOON_NS = 200_000          # it does so if the last job came within this time, waking included

cdef struct Job:
    TaskFunction run
    LeaveFunction leave
    void* context
    int slots                  # how many may take part, the caller included
    int taken                  # how many have
    int active                 # helpers at work on it
    int status                 # the first that is not OK
    bint listed                # in the pool's list
    Tasks ranges[MAX_PARTICIPANTS]
    pthread_mutex_t lock       # guards all of the above but `listed` and `taken`, which are the pool's
    pthread_cond_t left        # a helper has left
    Job* next

cdef Job* jobs = NULL
cdef int helpers = 0
cdef pthread_mutex_t pool_lock
cdef pthread_cond_t work
pthread_mutex_init(&pool_lock, NULL)
pthread_cond_init(&work, NULL)

# Jobs that a KeyboardInterrupt left while helpers were still at work: (address, what they use).
abandoned = []


cdef bint claim(Job* job, int slot, Py_ssize_t* task) noexcept nogil:
    """The next task for a participant, stolen from the fullest range where its own is done."""
    cdef int other, fullest = slot
    cdef Py_ssize_t left, most = 0, half
    cdef bint found = False
    pthread_mutex_lock(&job.lock)
    if job.status == OK:
        if job.ranges[slot].next >= job.ranges[slot].end:
            for other in range(job.slots):
                left = job.ranges[other].end - job.ranges[other].next
                if left > most:
                    most = left
                    fullest = other
            if most > 0:
                half = (most + 1) // 2
                job.ranges[slot].end = job.ranges[fullest].end
                job.ranges[slot].next = job.ranges[slot].end - half
                job.ranges[fullest].end -= half
        if job.ranges[slot].next < job.ranges[slot].end:
            task[0] = job.ranges[slot].next
            job.ranges[slot].next += 1
            found = True
    pthread_mutex_unlock(&job.lock)
    return found


cdef void give_up(Job* job, int status) noexcept nogil:
    """Record a status; no further task starts."""
    pthread_mutex_lock(&job.lock)
    if job.status == OK:
        job.status = status
    pthread_mutex_unlock(&job.lock)


cdef bint run_slice(Job* job, int slot, Worker* worker, double until_ns) noexcept nogil:
    """Run tasks until none is left (True) or the time is up (False)."""
    cdef Py_ssize_t task
    cdef int status
    worker.tasks = &job.ranges[slot]
    worker.tasks_lock = &job.lock if job.slots > 1 else NULL
    worker.status = &job.status
    while claim(job, slot, &task):
        status = job.run(job.context, worker, task)
        if status != OK:
            give_up(job, status)
            return True
        if until_ns and now_ns() > until_ns:
            return False
    return True


cdef void leave_job(Job* job, Worker* worker) noexcept nogil:
    job.leave(job.context, worker)
    worker_release(worker)


cdef void delist(Job* job) noexcept nogil:
    """Take a job from the pool's list: no helper starts on it any more. With the pool's lock held."""
    cdef Job** at = &jobs
    if not job.listed:
        return
    while at[0] != job:
        at = &(at[0].next)
    at[0] = job.next
    job.listed = False


cdef bint await_job(bint awake) noexcept nogil:
    """Wait, with the pool's lock held, for a listed job; whether it came soon. `awake`: without sleeping at first."""
    cdef double since = now_ns()
    if awake and jobs == NULL:
        pthread_mutex_unlock(&pool_lock)
        while is_null(<void**> &jobs) and now_ns() - since < AWAKE_NS:
            relax()
        pthread_mutex_lock(&pool_lock)
    while jobs == NULL:
        pthread_cond_wait(&work, &pool_lock)
    return now_ns() - since < SOON_NS


cdef void serve() noexcept nogil:
    """A helper's life: take a place in a listed job, work, leave; wait when there is none."""
    cdef Job* job
    cdef Worker* worker
    cdef int slot
    cdef bint awake = False
    pthread_mutex_lock(&pool_lock)
    while True:
        awake = await_job(awake)
        job = jobs
        slot = job.taken
        job.taken += 1
        if job.taken >= job.slots:
            delist(job)
        pthread_mutex_lock(&job.lock)
        job.active += 1
        pthread_mutex_unlock(&job.lock)
        pthread_mutex_unlock(&pool_lock)
        worker = worker_acquire()
        if worker != NULL:
            run_slice(job, slot, worker, 0)
            leave_job(job, worker)
        else:
            give_up(job, E_NOMEM)
        pthread_mutex_lock(&job.lock)
        job.active -= 1
        pthread_cond_broadcast(&job.left)
        pthread_mutex_unlock(&job.lock)
        pthread_mutex_lock(&pool_lock)


def _helper():
    with nogil:
        serve()


cdef int start_helpers(int wanted) except -1:
    """Have at least `wanted` helpers, or as many as the system gives."""
    global helpers
    while helpers < wanted:
        # Counted first: another thread may want helpers before start() returns.
        helpers += 1
        try:
            threading.Thread(target=_helper, name=f"cyzarr-{helpers}", daemon=True).start()
        except RuntimeError:
            # No more threads to be had, or the interpreter is going down.
            helpers -= 1
            break
    return 0


cdef int run_inline(TaskFunction run, LeaveFunction leave, void* context, Py_ssize_t n_tasks) noexcept nogil:
    cdef Worker* worker = worker_acquire()
    cdef Tasks tasks = Tasks(0, n_tasks)
    cdef int status = OK
    if worker == NULL:
        return E_NOMEM
    worker.tasks = &tasks
    worker.tasks_lock = NULL
    worker.status = NULL
    while status == OK and tasks.next < tasks.end:
        tasks.next += 1
        status = run(context, worker, tasks.next - 1)
    leave(context, worker)
    worker.tasks = NULL
    worker_release(worker)
    return status


cdef Job* job_new(TaskFunction run, LeaveFunction leave, void* context, Py_ssize_t n_tasks, int slots,
                  int first) noexcept nogil:
    """A job whose tasks are cut over the slots from `first` on."""
    cdef Job* job = <Job*> calloc(1, sizeof(Job))
    cdef int slot, sharing = slots - first
    if job == NULL:
        return NULL
    job.run = run
    job.leave = leave
    job.context = context
    job.slots = slots
    job.taken = 1
    pthread_mutex_init(&job.lock, NULL)
    pthread_cond_init(&job.left, NULL)
    for slot in range(sharing):
        job.ranges[first + slot].next = n_tasks * slot // sharing
        job.ranges[first + slot].end = n_tasks * (slot + 1) // sharing
    return job


cdef void job_free(Job* job) noexcept nogil:
    pthread_mutex_destroy(&job.lock)
    pthread_cond_destroy(&job.left)
    free(job)


cdef void publish(Job* job) noexcept nogil:
    """List a job for the helpers and wake as many as it has places for."""
    cdef Job** at = &jobs
    cdef int _i
    pthread_mutex_lock(&pool_lock)
    while at[0] != NULL:
        at = &(at[0].next)
    at[0] = job
    job.next = NULL
    job.listed = True
    for _i in range(1, job.slots):
        pthread_cond_signal(&work)
    pthread_mutex_unlock(&pool_lock)


cdef bint wait_left(Job* job, bint started_only) noexcept nogil:
    """Wait a slice for the helpers to be done; True when they are.

    started_only: helpers that have not started don't count, and none starts from now on.
    """
    cdef bint done
    cdef double since
    if started_only:
        pthread_mutex_lock(&pool_lock)
        delist(job)
        pthread_mutex_unlock(&pool_lock)
        since = now_ns()
        while not is_zero(&job.active) and now_ns() - since < AWAKE_NS:
            relax()
    pthread_mutex_lock(&job.lock)
    if job.active > 0 or not (started_only or all_claimed(job)):
        wait_ns(&job.left, &job.lock, SLICE_NS)
    done = job.active == 0 and (started_only or all_claimed(job))
    pthread_mutex_unlock(&job.lock)
    return done


cdef bint all_claimed(Job* job) noexcept nogil:
    """Whether no task is left to start. With the job's lock held."""
    cdef int slot
    if job.status != OK:
        return True
    for slot in range(job.slots):
        if job.ranges[slot].next < job.ranges[slot].end:
            return False
    return True


cdef int run_pooled(TaskFunction run, LeaveFunction leave, void* context, Py_ssize_t n_tasks, int threads,
                    double task_ns, object keep) except? -1:
    cdef bint watch = task_ns > LONG_NS
    cdef int slots = min(min(threads, MAX_PARTICIPANTS - 1) + watch, MAX_PARTICIPANTS)
    cdef Job* job
    cdef int status
    sweep_abandoned()
    start_helpers(slots - 1)
    slots = min(slots, helpers + 1)
    watch = watch and helpers > 0
    job = job_new(run, leave, context, n_tasks, slots, 1 if watch else 0)
    if job == NULL:
        raise MemoryError
    with nogil:
        publish(job)
    try:
        if not watch:
            work_along(job)
        if watch:
            watch_helpers(job)
        # Delisted, so that no helper starts on it any more, and those that have are waited for: only then is it freed.
        wait_for_helpers(job, True)
    except BaseException:
        abandon(job, keep)
        raise
    status = job.status
    job_free(job)
    return status


cdef int work_along(Job* job) except -1:
    """The caller's part, in slices, looking at signals between them."""
    cdef Worker* worker = worker_acquire()
    cdef bint done = False
    if worker == NULL:
        give_up(job, E_NOMEM)
        return 0
    try:
        while not done:
            # Left without the GIL, too: helpers that leave may have to be waited for.
            with nogil:
                done = run_slice(job, 0, worker, now_ns() + SLICE_NS)
                if done:
                    leave_job(job, worker)
            PyErr_CheckSignals()
    finally:
        if not done:
            with nogil:
                leave_job(job, worker)
    return 0


cdef int watch_helpers(Job* job) except -1:
    """Leave the tasks to helpers, looking at signals meanwhile.

    Helpers may be at a task that waits for this very job: a Python codec may read another array. So a job that none
    of them is at is worked on here after all, a task at a time.
    """
    cdef Worker* worker
    cdef bint done = False, alone
    while not done:
        with nogil:
            done = wait_left(job, False)
            pthread_mutex_lock(&job.lock)
            alone = job.active == 0 and not all_claimed(job)
            pthread_mutex_unlock(&job.lock)
            worker = worker_acquire() if alone else NULL
            if worker != NULL:
                run_slice(job, 0, worker, 1)
                leave_job(job, worker)
        PyErr_CheckSignals()
    return 0


cdef int wait_for_helpers(Job* job, bint started_only) except -1:
    """Wait for the helpers at work, looking at signals meanwhile."""
    cdef bint done = False
    while not done:
        with nogil:
            done = wait_left(job, started_only)
        PyErr_CheckSignals()
    return 0


cdef int abandon(Job* job, object keep) except -1:
    """Give a job up; where helpers are still at work on it, keep what they use until they are done."""
    cdef bint done
    with nogil:
        pthread_mutex_lock(&pool_lock)
        delist(job)
        pthread_mutex_unlock(&pool_lock)
        give_up(job, E_NOMEM)
        done = wait_left(job, True)
    if done:
        job_free(job)
    else:
        # For good until the helpers are done: the interpreter may clear this module's names before that.
        Py_INCREF(keep)
        abandoned.append((<size_t> job, keep))
    return 0


cdef list left_behind():
    """What abandoned jobs use whose helpers are not known to be done."""
    sweep_abandoned()
    return [entry[1] for entry in abandoned]


cdef int sweep_abandoned() except -1:
    """Let go of abandoned jobs whose helpers are done."""
    cdef Job* job
    cdef bint at_work
    done, left = [], []
    # The GIL is kept until those that are done are off the list: another thread may sweep, or ask what is left. Nobody
    # waits for the GIL with a job's lock held.
    for entry in abandoned:
        job = <Job*> <size_t> entry[0]
        pthread_mutex_lock(&job.lock)
        at_work = job.active > 0
        pthread_mutex_unlock(&job.lock)
        (left if at_work else done).append(entry)
    abandoned[:] = left
    for entry in done:
        job_free(<Job*> <size_t> entry[0])
        Py_DECREF(entry[1])
    return 0


def before_fork():
    """Hold the pool's list while the process forks, so that the child finds it whole."""
    with nogil:
        pthread_mutex_lock(&pool_lock)


def after_fork_in_parent():
    pthread_mutex_unlock(&pool_lock)


def after_fork_in_child():
    """Threads don't survive a fork: start anew. Jobs of other threads stay theirs, in the parent."""
    global jobs, helpers
    jobs = NULL
    helpers = 0
    # Their helpers are not here: what they were at stays as it is.
    abandoned.clear()
    pthread_mutex_init(&pool_lock, NULL)
    pthread_cond_init(&work, NULL)


def available_cpus():
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


from cyzarr.kernels import workers as _workers  # noqa: E402

os.register_at_fork(before=before_fork, after_in_parent=after_fork_in_parent, after_in_child=after_fork_in_child)
os.register_at_fork(before=_workers.before_fork, after_in_parent=_workers.after_fork_in_parent,
                    after_in_child=_workers.after_fork_in_child)
