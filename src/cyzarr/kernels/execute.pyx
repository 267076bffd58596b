"""Plan a read over stored objects, and run it.

A selection is cut along the grid of stored objects, and where these are shards along the grid of
inner chunks, into one table per axis. A task is one inner chunk (of a shard whose index its tasks
share), or one whole object, or a part of either where one alone would keep a processor idle.
"""

from cpython.ref cimport Py_DECREF
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from cyzarr.kernels.decode cimport (
    Source,
    Stats,
    Worker,
    decode_inner,
    decode_region,
    fail,
    fill_target,
    load_index,
    reserve,
)
from cyzarr.kernels.files cimport object_close, object_open
from cyzarr.kernels.intersect cimport cut_affine, cut_indexed, sort_by_key, touched_bound
from cyzarr.kernels.pool cimport run_inline, run_pooled
from cyzarr.kernels.program cimport NODE_BYTES, NODE_SHARD, Node, Program
from cyzarr.kernels.status cimport (
    E_AGAIN,
    E_CANCELLED,
    E_NOMEM,
    E_PYTHON,
    OK,
    failure_clear,
    raise_failure,
)
from cyzarr.kernels.types cimport MAX_NDIM, Span

cdef extern from "<pthread.h>" nogil:
    int pthread_mutex_init(pthread_mutex_t*, void*)
    int pthread_mutex_destroy(pthread_mutex_t*)
    int pthread_mutex_lock(pthread_mutex_t*)
    int pthread_mutex_unlock(pthread_mutex_t*)
    int pthread_cond_init(pthread_cond_t*, void*)
    int pthread_cond_destroy(pthread_cond_t*)
    int pthread_cond_wait(pthread_cond_t*, pthread_mutex_t*)
    int pthread_cond_broadcast(pthread_cond_t*)

cdef enum ObjectState:
    NEW = 0
    LOADING = 1
    READY = 2
    MISSING = 3
    FAILED = 4

# Estimates of a task's cost, measured: a call and its system calls; a byte copied; a byte decoded.
cdef double TASK_NS = 2000
cdef double COPY_NS = 0.2
cdef double DECODE_NS = 0.8
# More touched chunks on one axis than memory could hold.
cdef Py_ssize_t MAX_TABLE = <Py_ssize_t> 1 << 48
# A second thread pays from about this much work on.
cdef double HOP_NS = 30000


# --- planning

cdef Read* read_new(Program program, const Span* selection, bint points, char* out,
                    const Py_ssize_t* out_strides) except NULL:
    cdef const Node* root = program.root
    cdef Read* read = <Read*> calloc(1, sizeof(Read))
    cdef int axis
    if read == NULL:
        raise MemoryError
    read.root = root
    read.shared = root.kind == NODE_SHARD and root.n_filters == 0 and not points
    read.parts = 1
    read.target.items = &program.items
    read.target.fill = program.fill
    read.target.ndim = root.ndim
    read.target.points = points
    read.target.out = out
    read.target.error = &read.error
    for axis in range(1 if points else root.ndim):
        read.target.strides[axis] = out_strides[axis]
    pthread_mutex_init(&read.lock, NULL)
    pthread_cond_init(&read.loaded, NULL)
    failure_clear(&read.failure)
    if plan_tables(read, selection) != OK or plan_tasks(read) != OK:
        read_free(read)
        raise MemoryError
    read.cost_ns = estimate(read, program.compressed)
    return read


cdef void read_free(Read* read) noexcept:
    cdef Py_ssize_t i
    if read == NULL:
        return
    if read.objects != NULL:
        for i in range(read.n_objects):
            object_release(&read.objects[i])
        free(read.objects)
    free(read.first)
    free(read.tables)
    free(read.numbers)
    if read.error != NULL:
        Py_DECREF(<object> read.error)
    pthread_mutex_destroy(&read.lock)
    pthread_cond_destroy(&read.loaded)
    free(read)


cdef void object_release(Object* object_) noexcept nogil:
    object_close(object_.source.fd)
    object_.source.fd = -1
    free(object_.index.data)
    object_.index.data = NULL
    object_.index.capacity = 0


cdef Py_ssize_t table_room(const Node* root, const Span* span, int axis, bint shared) noexcept nogil:
    """Bytes that one axis's tables take at most."""
    cdef Py_ssize_t outer = touched_bound(span, root.shape[axis])
    cdef Py_ssize_t inner = touched_bound(span, root.inner[axis]) if shared else 0
    cdef Py_ssize_t numbers = 5 * span.count if span.index != NULL else 0
    # An inner table may list a chunk that two objects' ends share: one more per object is room enough.
    return (outer + inner + outer) * sizeof(Span) + (outer + 1 + numbers) * sizeof(Py_ssize_t)


cdef int plan_tables(Read* read, const Span* selection) noexcept nogil:
    """Cut every axis into its tables."""
    cdef const Node* root = read.root
    cdef Py_ssize_t room = 0
    cdef int axis
    cdef char* free_
    if read.target.points:
        return plan_points(read, selection)
    for axis in range(root.ndim):
        if touched_bound(&selection[axis], root.inner[axis] if read.shared else root.shape[axis]) > MAX_TABLE:
            return E_NOMEM
        room += table_room(root, &selection[axis], axis, read.shared)
    read.tables = <char*> malloc(max(room, 64))
    if read.tables == NULL:
        return E_NOMEM
    free_ = read.tables
    for axis in range(root.ndim):
        if plan_axis(read, &selection[axis], axis, free_) != OK:
            return E_NOMEM
        free_ += table_room(root, &selection[axis], axis, read.shared)
    return OK


cdef int plan_points(Read* read, const Span* selection) noexcept nogil:
    """Bucket points by object, and within an object by inner chunk; an object's spans list its points."""
    cdef const Node* root = read.root
    cdef Py_ssize_t n = selection[0].count
    cdef Py_ssize_t i, k, objects = 0
    cdef int axis
    cdef Py_ssize_t* keys
    cdef Py_ssize_t* order
    cdef Py_ssize_t* local
    read.n_points = n
    read.numbers = <Py_ssize_t*> malloc((3 + root.ndim) * max(n, 1) * sizeof(Py_ssize_t))
    if read.numbers == NULL:
        return E_NOMEM
    keys = read.numbers
    order = keys + n
    local = order + n
    point_keys(root, selection, keys)
    if sort_by_key(keys, n, order) != 0:
        return E_NOMEM
    for k in range(n):
        local[k] = selection[0].place[order[k]]
        for axis in range(root.ndim):
            local[(axis + 1) * n + k] = selection[axis].index[order[k]] % root.shape[axis]
        objects += k == 0 or not same_object(root, selection, order[k - 1], order[k])
    read.tables = <char*> malloc(max(objects, 1) * root.ndim * sizeof(Span))
    if read.tables == NULL:
        return E_NOMEM
    for axis in range(root.ndim):
        read.outer[axis] = <Span*> read.tables + axis * objects
        read.n_outer[axis] = objects
        i = -1
        for k in range(n):
            if k == 0 or not same_object(root, selection, order[k - 1], order[k]):
                i += 1
                read.outer[axis][i] = Span(selection[axis].index[order[k]] // root.shape[axis], 0, 0, 0, 0,
                                           local + (axis + 1) * n + k, local + k)
            read.outer[axis][i].count += 1
    return OK


cdef void point_keys(const Node* root, const Span* selection, Py_ssize_t* keys) noexcept nogil:
    """For each point a number that orders by object, then by inner chunk.

    It wraps beyond 2^64 inner chunks: then an object may come up twice, and is read twice.
    """
    cdef size_t extents[MAX_NDIM]
    cdef size_t inner
    cdef Py_ssize_t k, at
    cdef int axis
    for axis in range(root.ndim):
        extents[axis] = 1
        for k in range(selection[0].count):
            extents[axis] = max(extents[axis], <size_t> (selection[axis].index[k] // root.shape[axis]) + 1)
    for k in range(selection[0].count):
        keys[k] = 0
        inner = 0
        for axis in range(root.ndim):
            at = selection[axis].index[k]
            keys[k] = <Py_ssize_t> (<size_t> keys[k] * extents[axis] + <size_t> (at // root.shape[axis]))
            if root.kind == NODE_SHARD:
                inner += <size_t> (at % root.shape[axis] // root.inner[axis] * root.index.strides[axis])
        if root.kind == NODE_SHARD:
            keys[k] = <Py_ssize_t> (<size_t> keys[k] * <size_t> (2 * root.index.entries) + inner)


cdef bint same_object(const Node* root, const Span* selection, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    cdef int axis
    for axis in range(root.ndim):
        if selection[axis].index[a] // root.shape[axis] != selection[axis].index[b] // root.shape[axis]:
            return False
    return True


cdef int plan_axis(Read* read, const Span* span, int axis, char* free_) noexcept nogil:
    """One axis's table of objects and, object by object, of inner chunks."""
    cdef Py_ssize_t bound = touched_bound(span, read.root.shape[axis])
    cdef Py_ssize_t n, i, k = 0, more
    cdef Py_ssize_t* numbers
    read.outer[axis] = <Span*> free_
    read.inner[axis] = read.outer[axis] + bound
    free_ += table_room(read.root, span, axis, read.shared)
    # From the end backwards: the numbers of an index array, then `begin`.
    numbers = <Py_ssize_t*> free_
    if span.index != NULL:
        numbers -= 5 * span.count
        n = cut_indexed(span, read.root.shape[axis], read.outer[axis], numbers, numbers + span.count,
                        numbers + 2 * span.count)
        if n < 0:
            return E_NOMEM
    else:
        n = cut_affine(span, read.root.shape[axis], read.outer[axis])
    read.n_outer[axis] = n
    read.begin[axis] = numbers - (bound + 1)
    if not read.shared:
        return OK
    for i in range(n):
        read.begin[axis][i] = k
        if span.index == NULL:
            k += cut_affine(&read.outer[axis][i], read.root.inner[axis], read.inner[axis] + k)
            continue
        more = read.outer[axis][i].index - numbers
        more = cut_indexed(&read.outer[axis][i], read.root.inner[axis], read.inner[axis] + k,
                           numbers + 2 * span.count + more, numbers + 3 * span.count + more,
                           numbers + 4 * span.count + more)
        if more < 0:
            return E_NOMEM
        k += more
    read.begin[axis][n] = k
    return OK


cdef int plan_tasks(Read* read) noexcept nogil:
    """Number the objects and the tasks."""
    cdef Py_ssize_t i, tasks
    cdef Py_ssize_t at[MAX_NDIM]
    cdef int axis
    read.n_objects = 1
    for axis in range(read.root.ndim):
        read.n_objects = read.n_outer[axis] if read.target.points else read.n_objects * read.n_outer[axis]
    read.per = 1
    read.n_tasks = read.n_objects
    if not read.shared or read.n_objects == 0:
        return OK
    read.objects = <Object*> calloc(read.n_objects, sizeof(Object))
    read.first = <Py_ssize_t*> malloc((read.n_objects + 1) * sizeof(Py_ssize_t))
    if read.objects == NULL or read.first == NULL:
        return E_NOMEM
    read.n_tasks = 0
    for i in range(read.n_objects):
        positions(read, i, at)
        tasks = 1
        for axis in range(read.root.ndim):
            tasks *= read.begin[axis][at[axis] + 1] - read.begin[axis][at[axis]]
        read.first[i] = read.n_tasks
        read.n_tasks += tasks
        read.objects[i].left = tasks
        read.objects[i].source.fd = -1
    read.first[read.n_objects] = read.n_tasks
    return OK


cdef inline void positions(const Read* read, Py_ssize_t number, Py_ssize_t* at) noexcept nogil:
    """An object's position in the tables of touched objects."""
    cdef int axis = read.root.ndim - 1
    if read.target.points:
        while axis >= 0:
            at[axis] = number
            axis -= 1
        return
    while axis >= 0:
        if read.n_outer[axis] == 1:
            at[axis] = 0
        else:
            at[axis] = number % read.n_outer[axis]
            number //= read.n_outer[axis]
        axis -= 1


cdef const Node* leaf_of(const Read* read) noexcept nogil:
    cdef const Node* node = read.root
    while node.kind == NODE_SHARD:
        node = node.child
    return node


cdef double picked_nbytes(const Read* read) noexcept nogil:
    """Bytes of all the picked items."""
    cdef double picked = read.target.items.itemsize
    cdef Py_ssize_t i, along
    cdef int axis
    if read.target.points:
        return picked * read.n_points
    for axis in range(read.root.ndim):
        along = 0
        for i in range(read.n_outer[axis]):
            along += read.outer[axis][i].count
        picked *= along
    return picked


cdef double estimate(const Read* read, bint compressed) noexcept nogil:
    """Nanoseconds that the read may take, from the bytes that it reads and decodes."""
    cdef double picked = picked_nbytes(read)
    cdef double decoded = 0
    if read.n_tasks == 0:
        return 0
    if compressed:
        # A compressed chunk is decoded whole, whatever is picked from it.
        decoded = <double> leaf_of(read).nbytes
        if read.shared:
            decoded = <double> read.root.child.nbytes
        elif read.root.n_filters:
            decoded = <double> read.root.nbytes
        decoded *= read.n_tasks
        if read.target.points and read.root.kind == NODE_SHARD and read.root.n_filters == 0:
            # At most an inner chunk for each point, and at most all inner chunks of all touched shards.
            decoded = min(<double> read.root.nbytes * read.n_tasks, <double> read.root.child.nbytes * read.n_points)
    return read.n_tasks * TASK_NS + picked * COPY_NS + decoded * DECODE_NS


cdef bint worth_threads(const Read* read, int threads) noexcept nogil:
    return threads > 1 and read.cost_ns > HOP_NS and (read.n_tasks > 1 or read.parts > 1)


cdef void read_split(Read* read, int threads) noexcept nogil:
    """Cut tasks into parts where there are too few for the threads, and a part is no more work than the share.

    Only an uncompressed leaf can be cut: what a decoder gives is one piece.
    """
    cdef const Node* leaf = read.root.child if read.shared else read.root
    cdef const Span* table
    cdef Py_ssize_t i, n, least, most = 1
    cdef int at, axis
    if threads < 2 or read.n_tasks >= 2 * threads or read.cost_ns <= HOP_NS:
        return
    if read.target.points:
        # Points stand by inner chunk: a part decodes few of them that another part decodes too.
        if read.n_tasks < threads and read.root.n_filters == 0:
            read.parts = min(2 * threads, read.n_points)
        return
    if leaf.kind != NODE_BYTES or leaf.n_filters:
        return
    for at in range(leaf.ndim):
        axis = leaf.axes[at]
        table = read.inner[axis] if read.shared else read.outer[axis]
        n = read.begin[axis][read.n_outer[axis]] if read.shared else read.n_outer[axis]
        least = table[0].count
        for i in range(1, n):
            least = min(least, table[i].count)
        if least > most:
            read.part_axis = axis
            most = least
            if least >= 2 * threads:
                break
    read.parts = min(most, 2 * threads)
    if read.shared:
        for i in range(read.n_objects):
            read.objects[i].left *= read.parts


# --- tasks

cdef Py_ssize_t object_of(const Read* read, Py_ssize_t task) noexcept nogil:
    """The object that a task belongs to."""
    cdef Py_ssize_t low = 0, high, middle
    if read.first == NULL:
        return task
    high = read.n_objects - 1
    while low < high:
        middle = (low + high + 1) // 2
        if read.first[middle] <= task:
            low = middle
        else:
            high = middle - 1
    return low


cdef void take_part(Span* span, Py_ssize_t part, Py_ssize_t parts) noexcept nogil:
    """Narrow a span to one of its parts."""
    cdef Py_ssize_t low = span.count * part // parts
    cdef Py_ssize_t high = span.count * (part + 1) // parts
    span.count = high - low
    if span.index == NULL:
        span.start += low * span.step
        span.out += low
    else:
        span.index += low
        span.place += low


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
    code = object_open(worker.path.data, &source.fd, &source.size, &worker.failure.os_errno)
    missing[0] = source.fd < 0
    return OK if code == OK else fail(worker, code, 0, 0, 0, 0)


cdef int load_object(Read* read, Worker* worker, Py_ssize_t number, const Py_ssize_t* at,
                     Object* object_) noexcept nogil:
    """Open a shard and read its index; returns a status and sets the object's state."""
    cdef bint missing = False
    cdef int code = open_source(read, worker, number, at, &object_.source, &missing)
    if code == OK and missing:
        worker.stats.chunks_missing += 1
        read.missing = True
        object_.state = MISSING
        return OK
    if code == OK:
        code = load_index(worker, &read.target, read.root, &object_.source, 0, object_.source.size, &object_.index)
    object_.state = READY if code == OK else FAILED
    return code


cdef int object_enter(Read* read, Worker* worker, Py_ssize_t number, const Py_ssize_t* at) noexcept nogil:
    """Have the shard's index at hand: the first task loads it, the others wait for that."""
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
    cdef const Node* root = read.root
    cdef Span spans[MAX_NDIM]
    cdef Py_ssize_t n, entry = 0
    cdef int axis = root.ndim - 1
    cdef int code = object_enter(read, worker, number, at)
    if code != OK:
        return code
    while axis >= 0:
        n = read.begin[axis][at[axis] + 1] - read.begin[axis][at[axis]]
        spans[axis] = read.inner[axis][read.begin[axis][at[axis]] + within % n]
        within //= n
        entry += spans[axis].chunk * root.index.strides[axis]
        axis -= 1
    if read.parts > 1:
        take_part(&spans[read.part_axis], part, read.parts)
    if object_.state == MISSING:
        fill_target(&read.target, spans)
    else:
        code = decode_inner(worker, &read.target, root, &object_.source, 0, object_.source.size,
                            object_.index.data, entry, spans, 0)
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
    if spans[0].count == 0 and read.parts > 1:
        # A part of nothing; not reached but for objects with fewer points than parts.
        if read.memory == NULL:
            object_close(source.fd)
        return OK
    if missing:
        worker.stats.chunks_missing += part == 0
        read.missing = True
        fill_target(&read.target, spans)
        return OK
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
    else:
        code = run_object(read, worker, number, at, part)
    if part:
        # A chunk counts once, with its first part.
        worker.stats.chunks_decoded = before.chunks_decoded
        worker.stats.inner_missing = before.inner_missing
    if code != OK and code != E_AGAIN and code != E_CANCELLED:
        pthread_mutex_lock(&read.lock)
        if read.failure.code == OK:
            read.failure = worker.failure
            read.failure.code = code
            read.failure.object = number
        pthread_mutex_unlock(&read.lock)
    return code


cdef void add_stats(Read* read, Worker* worker) noexcept nogil:
    pthread_mutex_lock(&read.lock)
    read.stats.requests += worker.stats.requests
    read.stats.bytes_read += worker.stats.bytes_read
    read.stats.bytes_needed += worker.stats.bytes_needed
    read.stats.chunks_decoded += worker.stats.chunks_decoded
    read.stats.chunks_missing += worker.stats.chunks_missing
    read.stats.inner_missing += worker.stats.inner_missing
    pthread_mutex_unlock(&read.lock)


# --- running

cdef struct Group:
    Read** reads
    Py_ssize_t n
    Py_ssize_t* first            # tasks before each read


cdef int run_group_task(void* context, void* worker, Py_ssize_t task) noexcept nogil:
    cdef Group* group = <Group*> context
    cdef Py_ssize_t low = 0, high = group.n - 1, middle
    while low < high:
        middle = (low + high + 1) // 2
        if group.first[middle] <= task:
            low = middle
        else:
            high = middle - 1
    return run_task(group.reads[low], <Worker*> worker, task - group.first[low])


cdef void leave_group(void* context, void* worker) noexcept nogil:
    # Counts are kept by the first read of a group.
    add_stats((<Group*> context).reads[0], <Worker*> worker)


cdef int run_held_task(void* context, void* worker, Py_ssize_t task) noexcept nogil:
    return run_task(<Read*> context, <Worker*> worker, task)


cdef void leave_held(void* context, void* worker) noexcept nogil:
    add_stats(<Read*> context, <Worker*> worker)


cdef void read_reset(Read* read) noexcept nogil:
    """Forget a run, so that the read can run anew."""
    cdef Py_ssize_t i
    memset(&read.stats, 0, sizeof(Stats))
    failure_clear(&read.failure)
    read.missing = False
    if read.objects == NULL:
        return
    for i in range(read.n_objects):
        object_release(&read.objects[i])
        read.objects[i].state = NEW
        read.objects[i].left = (read.first[i + 1] - read.first[i]) * read.parts


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
    cdef Group group
    cdef object keep

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
    cdef Py_ssize_t number
    cdef int axis, depth
    found = []
    for depth in range(read.failure.depth):
        number = read.failure.inner[depth]
        if number < 0 or node == NULL or node.kind != NODE_SHARD:
            break
        found.append(str(tuple(
            (number // node.index.strides[axis]) % (node.shape[axis] // node.inner[axis]) for axis in range(node.ndim)
        )))
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
        error.add_note(f"while reading chunk {key!r}" + ("" if inner is None else f", inner chunk {inner}"))
        raise error
    try:
        raise_failure(&read.failure, key, inner)
    except Exception as raised:
        raise raised from error
