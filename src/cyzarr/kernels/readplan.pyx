"""Plan a read over stored objects.

A selection is cut along the grid of stored objects, and where these are shards along the grid of
inner chunks, into one table per axis. A task is one inner chunk (of a shard whose index its tasks
share), or one whole object, or a part of either where one alone would keep a processor idle (`split`).
"""

import contextvars

from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdlib cimport calloc, free, malloc

from cyzarr.kernels.files cimport object_close
from cyzarr.kernels.indexcache cimport index_release
from cyzarr.kernels.intersect cimport cut_affine, cut_indexed, sort_by_key, touched_bound
from cyzarr.kernels.program cimport NODE_SHARD, Node, Program
from cyzarr.kernels.pthread cimport pthread_cond_destroy, pthread_cond_init, pthread_mutex_destroy, pthread_mutex_init
from cyzarr.kernels.status cimport E_NOMEM, OK, failure_clear
from cyzarr.kernels.types cimport MAX_NDIM, Span

# Estimates of a task's cost, measured: a call and its system calls; a byte copied; a byte decoded.
cdef double TASK_NS = 2000
cdef double COPY_NS = 0.2
cdef double DECODE_NS = 0.8
# From so many index-array positions on, planning gives up the GIL.
cdef Py_ssize_t GIL_COUNT = 20000
# More touched chunks on one axis than memory could hold.
cdef Py_ssize_t MAX_TABLE = <Py_ssize_t> 1 << 48


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
    read.target.dtype = <void*> program.dtype
    read.target.fill_object = <void*> program.fill_object
    if program.runs_python:
        context = contextvars.copy_context()
        Py_INCREF(context)
        read.target.context = <void*> context
    for axis in range(1 if points else root.ndim):
        read.target.strides[axis] = out_strides[axis]
    pthread_mutex_init(&read.lock, NULL)
    pthread_cond_init(&read.loaded, NULL)
    failure_clear(&read.failure)
    if plan_read(read, selection) != OK:
        read_free(read)
        raise MemoryError
    read.cost_ns = estimate(read, program.compressed)
    return read


cdef int plan_read(Read* read, const Span* selection) noexcept:
    """The tables and the tasks; without the GIL where that takes long."""
    cdef Py_ssize_t indexed = 0
    cdef int axis, code
    for axis in range(read.root.ndim):
        if selection[axis].index != NULL:
            indexed += selection[axis].count
    if indexed < GIL_COUNT:
        code = plan_tables(read, selection)
        return plan_tasks(read) if code == OK else code
    with nogil:
        code = plan_tables(read, selection)
        if code == OK:
            code = plan_tasks(read)
    return code


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
    if read.target.context != NULL:
        Py_DECREF(<object> read.target.context)
    pthread_mutex_destroy(&read.lock)
    pthread_cond_destroy(&read.loaded)
    free(read)


cdef void object_release(Object* object_) noexcept nogil:
    object_close(object_.source.fd)
    object_.source.fd = -1
    free(object_.index.data)
    object_.index.data = NULL
    object_.index.capacity = 0
    index_release(object_.held)
    object_.held = NULL
    free(object_.order)
    object_.order = NULL


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
    read.n_tasks = read.n_objects
    if not read.shared or read.n_objects == 0:
        return OK
    read.first = <Py_ssize_t*> malloc((read.n_objects + 1) * sizeof(Py_ssize_t))
    if read.first == NULL:
        return E_NOMEM
    read.objects = <Object*> calloc(read.n_objects, sizeof(Object))
    if read.objects == NULL:
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


cdef void positions(const Read* read, Py_ssize_t number, Py_ssize_t* at) noexcept nogil:
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


cdef Py_ssize_t object_of(const Read* read, Py_ssize_t task) noexcept nogil:
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
    cdef Py_ssize_t low = span.count * part // parts
    cdef Py_ssize_t high = span.count * (part + 1) // parts
    span.count = high - low
    if span.index == NULL:
        span.start += low * span.step
        span.out += low
    else:
        span.index += low
        span.place += low
