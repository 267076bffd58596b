# Run tasks over the calling thread and a bounded pool of helpers.

# Run one task with a worker's scratch; returns a status. Not OK: the job's other tasks are given up.
ctypedef int (*TaskFunction)(void* context, void* worker, Py_ssize_t task) noexcept nogil
# Called once per participant when it leaves the job.
ctypedef void (*LeaveFunction)(void* context, void* worker) noexcept nogil

# The `keep` of each job that an exception left while helpers were at work on it, and that may be so still.
cdef list left_behind()

# Run tasks 0 .. n_tasks - 1 in this thread alone. Returns the first status that is not OK.
cdef int run_inline(TaskFunction run, LeaveFunction leave, void* context, Py_ssize_t n_tasks) noexcept nogil

# Run them over this thread and helpers, `threads` in all. Called with the GIL, which is given up while
# tasks run. `task_ns` is what one task may take: tasks over 20 ms are left to helpers, so that Ctrl-C is
# answered; then KeyboardInterrupt is raised, and `keep` (whatever the tasks use) is kept until they are done.
cdef int run_pooled(TaskFunction run, LeaveFunction leave, void* context, Py_ssize_t n_tasks, int threads,
                    double task_ns, object keep) except? -1
