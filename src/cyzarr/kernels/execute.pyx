"""Run reads over stored objects: their tasks, in the calling thread or over the pool.

The first task of a shard reads its index, which the others wait for and share.
"""

from cpython.ref cimport Py_DECREF
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from cyzarr.kernels.ahead cimport inner_spans, read_ahead, row_of, stored_order
from cyzarr.kernels.callbacks cimport drop_error
from cyzarr.kernels.decode cimport decode_inner, decode_region, fill_target
from cyzarr.kernels.files cimport object_close, object_open
from cyzarr.kernels.pool cimport left_behind, run_inline, run_pooled
from cyzarr.kernels.program cimport NODE_HULL, NODE_SHARD, Node, axes_below, grid_position
from cyzarr.kernels.pthread cimport pthread_cond_broadcast, pthread_cond_wait, pthread_mutex_lock, pthread_mutex_unlock
from cyzarr.kernels.readplan cimport (
    HOP_NS,
    Object,
    Read,
    object_of,
    object_release,
    positions,
    read_free,
    take_part,
)
from cyzarr.kernels.sources cimport load_index
from cyzarr.kernels.split cimport decode_cut, load_head
from cyzarr.kernels.status cimport E_AGAIN, E_CANCELLED, E_PYTHON, OK, failure_clear, raise_failure
from cyzarr.kernels.types cimport MAX_NDIM, Source, Span
from cyzarr.kernels.workers cimport Stats, Worker, fail, given_up, reserve


# --- tasks

cdef char* put_number(char* to, Py_ssize_t number) noexcept nogil:
    """Write a number in decimals; returns what follows it."""
    cdef char digits[24]
    cdef int n = 0
    while True:
        digits[n] = <char> (48 + number % 10)
        number //= 10
        n += 1
        if number == 0:
            break
    while n > 0:
        n -= 1
        to[0] = digits[n]
        to += 1
    return to


cdef char* put_key(const Read* read, const Py_ssize_t* at, char* to) noexcept nogil:
    """Write an object's chunk key; returns what follows it."""
    cdef int axis
    if read.literal:
        return to
    if read.lead:
        to[0] = 99
        to += 1
    for axis in range(read.root.ndim):
        if axis or read.lead:
            to[0] = read.separator
            to += 1
        to = put_number(to, read.outer[axis][at[axis]].chunk)
    if read.root.ndim == 0 and not read.lead:
        to = put_number(to, 0)
    return to


cdef int open_source(Read* read, Worker* worker, Py_ssize_t number, const Py_ssize_t* at,
                     Source* source, bint* missing) noexcept nogil:
    """Find an object: open its file, or look it up in memory."""
    cdef char* end
    cdef int code
    memset(source, 0, sizeof(Source))
    source.fd = -1
    if read.memory != NULL:
        source[0] = read.memory[number]
        missing[0] = source.size < 0
        if not missing[0] and source.segments == NULL:
            worker.stats.requests += 1
        return OK
    code = reserve(&worker.path, read.prefix_nbytes + 24 * (read.root.ndim + 1))
    if code != OK:
        return fail(worker, code, 0, 0, 0, 0)
    memcpy(worker.path.data, read.prefix, read.prefix_nbytes)
    end = put_key(read, at, worker.path.data + read.prefix_nbytes)
    end[0] = 0
    code = object_open(worker.path.data, &source.fd, &source.size, &source.identity, &worker.failure.os_errno)
    missing[0] = source.fd < 0
    return OK if code == OK else fail(worker, code, 0, 0, 0, 0)


cdef int load_object(Read* read, Worker* worker, Py_ssize_t number, const Py_ssize_t* at,
                     Object* object_) noexcept nogil:
    """Open an object and read a shard's index, or a container's head; returns a status and sets the object's state."""
    cdef bint missing = False
    cdef int code = open_source(read, worker, number, at, &object_.source, &missing)
    if code == OK and missing:
        worker.stats.chunks_missing += 1
        read.missing = True
        object_.state = MISSING
        return OK
    if code == OK and not read.shared:
        code = load_head(worker, &read.target, read.root, &object_.source, &object_.index, &object_.raw)
    elif code == OK:
        code = load_index(worker, &read.target, read.root, &object_.source, 0, object_.source.size, &object_.index,
                          &object_.raw, &object_.held)
    if code == OK and read.shared:
        object_.order = stored_order(row_of(read, object_, number, at))
    object_.state = READY if code == OK else FAILED
    return code


cdef int object_enter(Read* read, Worker* worker, Py_ssize_t number, const Py_ssize_t* at) noexcept nogil:
    """Have the index or head at hand: the first task loads it, the others wait for that."""
    cdef Object* object_ = &read.objects[number]
    cdef int code = OK
    cdef bint first
    pthread_mutex_lock(&read.lock)
    while object_.state == LOADING:
        pthread_cond_wait(&read.loaded, &read.lock)
    first = object_.state == NEW
    if first:
        object_.state = LOADING
    elif object_.state == FAILED:
        code = E_CANCELLED
    pthread_mutex_unlock(&read.lock)
    if not first:
        return code
    return load_object_locked(read, worker, number, at, object_)


cdef int load_object_locked(Read* read, Worker* worker, Py_ssize_t number, const Py_ssize_t* at,
                            Object* object_) noexcept nogil:
    """Load aside, then show it to the other threads under the lock."""
    cdef Object loaded = object_[0]
    cdef int code = load_object(read, worker, number, at, &loaded)
    pthread_mutex_lock(&read.lock)
    loaded.left = object_.left
    object_[0] = loaded
    pthread_cond_broadcast(&read.loaded)
    pthread_mutex_unlock(&read.lock)
    return code


cdef void object_leave(Read* read, Object* object_) noexcept nogil:
    """A task of the object has ended; the last one lets go of it."""
    cdef bint last
    pthread_mutex_lock(&read.lock)
    object_.left -= 1
    last = object_.left == 0
    pthread_mutex_unlock(&read.lock)
    if last:
        object_release(object_)


cdef int run_inner(Read* read, Worker* worker, Py_ssize_t number, const Py_ssize_t* at, Py_ssize_t within,
                   Py_ssize_t part) noexcept nogil:
    """A task that is one inner chunk, or a part of one."""
    cdef Object* object_ = &read.objects[number]
    cdef Source source
    cdef Span spans[MAX_NDIM]
    cdef Py_ssize_t entry
    cdef int code = object_enter(read, worker, number, at)
    if code != OK:
        return code
    entry = inner_spans(read, at, within if object_.order == NULL else object_.order[within], spans)
    if read.parts > 1:
        take_part(&spans[read.part_axis], part, read.parts)
    if object_.state == MISSING:
        code = fill_target(worker, &read.target, spans)
    else:
        source = object_.source
        if source.fd >= 0 and read.parts == 1:
            code = read_ahead(row_of(read, object_, number, at), worker, within, &source)
        if code == OK:
            code = decode_inner(worker, &read.target, read.root, &source, 0, source.size, object_.raw, entry, spans, 0)
    object_leave(read, object_)
    return code


cdef int run_cut(Read* read, Worker* worker, Py_ssize_t number, const Py_ssize_t* at, Py_ssize_t part) noexcept nogil:
    """A task that is some blocks of a whole object, or, of one that can't be cut, all or nothing."""
    cdef Object* object_ = &read.objects[number]
    cdef Span spans[MAX_NDIM]
    cdef int axis
    cdef int code = object_enter(read, worker, number, at)
    if code != OK:
        return code
    for axis in range(read.root.ndim):
        spans[axis] = read.outer[axis][at[axis]]
    if object_.state == READY and object_.raw != NULL:
        code = decode_cut(worker, &read.target, read.root, &object_.source, object_.raw, spans, part, read.parts)
    elif part > 0:
        code = OK
    elif object_.state == MISSING:
        code = fill_target(worker, &read.target, spans)
    else:
        code = decode_region(worker, &read.target, read.root, &object_.source, 0, object_.source.size, spans, 0)
    object_leave(read, object_)
    return code


cdef int run_object(Read* read, Worker* worker, Py_ssize_t number, const Py_ssize_t* at,
                    Py_ssize_t part) noexcept nogil:
    """A task that is one whole object, or a part of one."""
    cdef Source source
    cdef Span spans[MAX_NDIM]
    cdef bint missing = False
    cdef int axis
    cdef int code = open_source(read, worker, number, at, &source, &missing)
    if code != OK:
        return code
    for axis in range(read.root.ndim):
        spans[axis] = read.outer[axis][at[axis]]
    if read.parts > 1 and read.target.points:
        for axis in range(read.root.ndim):
            take_part(&spans[axis], part, read.parts)
    elif read.parts > 1:
        take_part(&spans[read.part_axis], part, read.parts)
    if read.target.points and spans[0].count == 0:
        # An object with fewer points than parts.
        if read.memory == NULL:
            object_close(source.fd)
        return OK
    if missing:
        # An object counts once, with its first part.
        worker.stats.chunks_missing += (
            spans[0].index == read.outer[0][at[0]].index if read.target.points else part == 0)
        read.missing = True
        return fill_target(worker, &read.target, spans)
    code = decode_region(worker, &read.target, read.root, &source, 0, source.size, spans, 0)
    if read.memory == NULL:
        object_close(source.fd)
    return code


cdef int run_task(Read* read, Worker* worker, Py_ssize_t task) noexcept nogil:
    cdef Py_ssize_t at[MAX_NDIM]
    cdef Py_ssize_t part = 0, number
    cdef Stats before = worker.stats
    cdef int code
    if read.parts > 1:
        part = task % read.parts
        task //= read.parts
    number = object_of(read, task)
    positions(read, number, at)
    if read.shared:
        code = run_inner(read, worker, number, at, task - read.first[number], part)
    elif read.objects != NULL:
        code = run_cut(read, worker, number, at, part)
    else:
        code = run_object(read, worker, number, at, part)
    if part and not read.target.points:
        # A chunk counts once, with its first part.
        worker.stats.chunks_decoded = before.chunks_decoded
        worker.stats.inner_missing = before.inner_missing
    note_failure(read, worker, number, code)
    return code


cdef void note_failure(Read* read, Worker* worker, Py_ssize_t number, int code) noexcept nogil:
    if code != OK and code != E_AGAIN and code != E_CANCELLED:
        pthread_mutex_lock(&read.lock)
        if read.failure.code == OK:
            read.failure = worker.failure
            read.failure.code = code
            read.failure.object = number
            # What Python raised goes with the failure that it belongs to.
            read.error = worker.error
            worker.error = NULL
        pthread_mutex_unlock(&read.lock)
    if worker.error != NULL:
        drop_error(worker)


cdef int run_along(Read* read, Worker* worker, Py_ssize_t task) noexcept nogil:
    """A task, and those that it takes along."""
    cdef int code
    worker.along = 0
    code = run_task(read, worker, task)
    while code == OK and worker.along > 0 and not given_up(worker):
        worker.along -= 1
        task += 1
        code = run_task(read, worker, task)
    return code


cdef void add_stats(Read* read, Worker* worker) noexcept nogil:
    pthread_mutex_lock(&read.lock)
    read.stats.requests += worker.stats.requests
    read.stats.bytes_read += worker.stats.bytes_read
    read.stats.bytes_needed += worker.stats.bytes_needed
    read.stats.chunks_decoded += worker.stats.chunks_decoded
    read.stats.chunks_missing += worker.stats.chunks_missing
    read.stats.inner_missing += worker.stats.inner_missing
    read.stats.index_hits += worker.stats.index_hits
    read.stats.index_misses += worker.stats.index_misses
    pthread_mutex_unlock(&read.lock)


# --- running

cdef int run_group_task(void* context, void* worker, Py_ssize_t task) noexcept nogil:
    cdef Group* group = <Group*> context
    cdef Py_ssize_t low = 0, high = group.n - 1, middle
    while low < high:
        middle = (low + high + 1) // 2
        if group.first[middle] <= task:
            low = middle
        else:
            high = middle - 1
    return run_along(group.reads[low], <Worker*> worker, task - group.first[low])


cdef void leave_group(void* context, void* worker) noexcept nogil:
    # Counts are kept by the first read of a group.
    add_stats((<Group*> context).reads[0], <Worker*> worker)


cdef int run_held_task(void* context, void* worker, Py_ssize_t task) noexcept nogil:
    return run_along(<Read*> context, <Worker*> worker, task)


cdef void leave_held(void* context, void* worker) noexcept nogil:
    add_stats(<Read*> context, <Worker*> worker)


cdef void read_reset(Read* read) noexcept:
    """Forget a run, so that the read can run anew."""
    cdef Py_ssize_t i
    if read.error != NULL:
        Py_DECREF(<object> read.error)
        read.error = NULL
    memset(&read.stats, 0, sizeof(Stats))
    failure_clear(&read.failure)
    read.missing = False
    read.batch = NULL
    if read.objects == NULL:
        return
    for i in range(read.n_objects):
        object_release(&read.objects[i])
        read.objects[i].state = NEW
        read.objects[i].left = read.parts * (read.first[i + 1] - read.first[i] if read.shared else 1)


cdef int read_run_held(Read* read) noexcept:
    """Run in this thread with the GIL held; E_AGAIN where that would mean to wait for a disk."""
    cdef int status
    read.target.nowait = read.memory == NULL
    status = run_inline(run_held_task, leave_held, read, read.n_tasks * read.parts)
    read.target.nowait = False
    if status != E_AGAIN:
        return status
    # Start anew: what was read stays in memory, what was opened is opened again.
    read_reset(read)
    return E_AGAIN


cdef class ReadHolder:
    def __dealloc__(self):
        read_free(self.read)
        free(self.sources)


cdef class GroupHolder:
    """Owns a group's table, for as long as helpers may be at work on it."""

    def __dealloc__(self):
        free(self.group.first)
        free(self.group.reads)


cdef int reads_run(Read** reads, Py_ssize_t n, int threads, object keep) except? -1:
    cdef GroupHolder holder = GroupHolder()
    cdef Py_ssize_t i, n_tasks = 0
    cdef double cost_ns = 0
    cdef int status
    holder.keep = keep
    holder.group.n = n
    holder.group.first = <Py_ssize_t*> malloc(max(n, 1) * sizeof(Py_ssize_t))
    holder.group.reads = <Read**> malloc(max(n, 1) * sizeof(void*))
    if holder.group.first == NULL or holder.group.reads == NULL:
        raise MemoryError
    for i in range(n):
        holder.group.reads[i] = reads[i]
        holder.group.first[i] = n_tasks
        n_tasks += reads[i].n_tasks * reads[i].parts
        cost_ns += reads[i].cost_ns
    if n_tasks == 0:
        return OK
    if cost_ns < HOP_NS or (n_tasks == 1 and cost_ns < 20e6):
        with nogil:
            status = run_inline(run_group_task, leave_group, &holder.group, n_tasks)
        return status
    threads = <int> min(<Py_ssize_t> max(threads, 1), n_tasks)
    return run_pooled(run_group_task, leave_group, &holder.group, n_tasks, threads, cost_ns / n_tasks, holder)


cdef bint left_running(object keep):
    """Whether an exception left helpers at work on a run that was given `keep`."""
    return any([isinstance(one, GroupHolder) and (<GroupHolder> one).keep is keep for one in left_behind()])


# --- failures

cdef object object_key(const Read* read, Py_ssize_t number):
    """An object's chunk key."""
    cdef Py_ssize_t at[MAX_NDIM]
    cdef char text[24 * (MAX_NDIM + 1)]
    cdef char* end
    positions(read, number, at)
    end = put_key(read, at, text)
    return text[:end - text].decode("ascii")


cdef inner_position(const Read* read):
    """The grid position of the inner chunk at fault, as a text; None where there is none.

    Positions are in the array's axes; within a nested shard one follows another, outermost first.
    """
    cdef const Node* node = read.root
    cdef int depth
    axes = list(range(node.ndim))
    found = []
    for depth in range(read.failure.depth):
        while node != NULL and node.kind == NODE_HULL:
            axes = axes_below(node, axes)
            node = node.below
        if read.failure.inner[depth] < 0 or node == NULL or node.kind != NODE_SHARD:
            break
        found.append(str(grid_position(node, read.failure.inner[depth], axes)))
        node = node.child
    return " > ".join(found) or None


cdef int read_raise(Read* read, object prefix) except -1:
    """Raise the exception of a read's failure; nothing where it has none.

    `prefix` names the array: what stands before the chunk's key.
    """
    cdef object error
    if read.failure.code == OK:
        return 0
    key = prefix + object_key(read, read.failure.object)
    inner = inner_position(read)
    if read.error == NULL:
        raise_failure(&read.failure, key, inner)
    error = <object> read.error
    Py_DECREF(error)
    read.error = NULL
    if read.failure.code == E_PYTHON:
        note = f"while reading chunk {key!r}" + ("" if inner is None else f", inner chunk {inner}")
        # A codec may raise the same exception over and over.
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)
        raise error
    try:
        raise_failure(&read.failure, key, inner)
    except Exception as raised:
        raise raised from error
