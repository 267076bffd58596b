"""Run reads that share stored objects, such as many windows of one array.

A task is one inner chunk, or one object that is no shard, with all that the reads pick from it. Where several do, the
block around what they pick is decoded into scratch, and each takes its part from there.
"""

from libc.stdlib cimport free, malloc

from cyzarr.kernels.ahead cimport inner_spans, read_ahead, row_of
from cyzarr.kernels.blocks cimport place_spans
from cyzarr.kernels.decode cimport decode_inner, decode_region, fill_target
from cyzarr.kernels.execute cimport (
    MISSING,
    GroupHolder,
    add_stats,
    note_failure,
    object_enter,
    object_leave,
    open_source,
    read_reset,
)
from cyzarr.kernels.files cimport object_close
from cyzarr.kernels.intersect cimport sort_by_key
from cyzarr.kernels.pool cimport run_inline, run_pooled
from cyzarr.kernels.program cimport NODE_BYTES, NODE_SHARD, Node
from cyzarr.kernels.readplan cimport HOP_NS, Object, Read, object_of, positions
from cyzarr.kernels.status cimport E_AGAIN, E_NOMEM, OK
from cyzarr.kernels.types cimport MAX_NDIM, ItemPlan, Source, Span, Target
from cyzarr.kernels.workers cimport Worker, fail, given_up, reserve

# From so many tasks of the reads on, planning gives up the GIL: it takes a tenth of a microsecond for each.
cdef Py_ssize_t GIL_UNITS = 500
cdef enum:
    # Scratch for what several reads pick from one uncompressed chunk of a file is no larger than this, and than this
    # where each picks so much that a read of its own costs nothing.
    BLOCK_NBYTES = 1 << 26
    SMALL_BLOCK = 1 << 22
    LARGE_PICK = 1 << 20

# What one read picks from one chunk.
cdef struct Unit:
    Py_ssize_t read
    Py_ssize_t number            # of the object, in the read's own tables
    Py_ssize_t within            # which of the object's tasks in these
    Py_ssize_t entry             # which inner chunk of the shard; 0 in what is no shard

# The units in the order of the chunks that they touch.
cdef struct Batch:
    Read** reads
    Py_ssize_t* labels
    Py_ssize_t n
    Unit* units
    Py_ssize_t n_units
    Py_ssize_t* first            # units before each task; one more than there are tasks
    Py_ssize_t* owner            # for each task the unit whose read holds the object open
    Py_ssize_t n_tasks


cdef class BatchHolder(GroupHolder):
    """Owns a batch's tables, for as long as helpers may be at work on it."""
    cdef Batch batch

    def __dealloc__(self):
        free(self.batch.units)
        free(self.batch.first)
        free(self.batch.owner)
        free(self.batch.labels)


# --- which chunks the reads touch

cdef void chunks_of(const Read* read, Py_ssize_t number, Py_ssize_t* chunks) noexcept nogil:
    """Where an object of a read stands in the grid."""
    cdef int axis
    positions(read, number, chunks)
    for axis in range(read.root.ndim):
        chunks[axis] = read.outer[axis][chunks[axis]].chunk


cdef bint same_object(const Batch* batch, const Unit* a, const Unit* b) noexcept nogil:
    cdef Py_ssize_t one[MAX_NDIM]
    cdef Py_ssize_t other[MAX_NDIM]
    cdef int axis
    if batch.labels[a.read] != batch.labels[b.read]:
        return False
    chunks_of(batch.reads[a.read], a.number, one)
    chunks_of(batch.reads[b.read], b.number, other)
    for axis in range(batch.reads[a.read].root.ndim):
        if one[axis] != other[axis]:
            return False
    return True


cdef void list_units(Batch* batch) noexcept nogil:
    """Every task of every read."""
    cdef Py_ssize_t i, task
    cdef Py_ssize_t at[MAX_NDIM]
    cdef Span spans[MAX_NDIM]
    cdef Unit* unit = batch.units
    cdef Read* read
    for i in range(batch.n):
        read = batch.reads[i]
        for task in range(read.n_tasks):
            unit.read = i
            unit.number = object_of(read, task)
            unit.within = unit.entry = 0
            if read.shared:
                unit.within = task - read.first[unit.number]
                positions(read, unit.number, at)
                unit.entry = inner_spans(read, at, unit.within, spans)
            unit += 1


cdef void unit_keys(const Batch* batch, Py_ssize_t* keys) noexcept nogil:
    """For each unit a number that orders by label, object and inner chunk.

    It wraps beyond 2^64 chunks: then a chunk may come up twice, and is decoded twice.
    """
    cdef size_t extents[MAX_NDIM]
    cdef Py_ssize_t chunks[MAX_NDIM]
    cdef size_t entries = 1
    cdef Py_ssize_t k
    cdef const Read* read
    cdef int axis
    for axis in range(MAX_NDIM):
        extents[axis] = 1
    for k in range(batch.n_units):
        read = batch.reads[batch.units[k].read]
        entries = max(entries, <size_t> batch.units[k].entry + 1)
        chunks_of(read, batch.units[k].number, chunks)
        for axis in range(read.root.ndim):
            extents[axis] = max(extents[axis], <size_t> chunks[axis] + 1)
    for k in range(batch.n_units):
        read = batch.reads[batch.units[k].read]
        keys[k] = batch.labels[batch.units[k].read]
        chunks_of(read, batch.units[k].number, chunks)
        for axis in range(read.root.ndim):
            keys[k] = <Py_ssize_t> (<size_t> keys[k] * extents[axis] + <size_t> chunks[axis])
        keys[k] = <Py_ssize_t> (<size_t> keys[k] * entries + <size_t> batch.units[k].entry)


cdef int sort_units(Batch* batch) noexcept nogil:
    """Bring units of one chunk together; returns a status."""
    cdef Py_ssize_t n = batch.n_units, k
    cdef Py_ssize_t* keys = <Py_ssize_t*> malloc(2 * n * sizeof(Py_ssize_t))
    cdef Unit* sorted_ = <Unit*> malloc(n * sizeof(Unit))
    cdef int code = E_NOMEM
    if keys != NULL and sorted_ != NULL:
        unit_keys(batch, keys)
        if sort_by_key(keys, n, keys + n) == 0:
            for k in range(n):
                sorted_[k] = batch.units[keys[n + k]]
            batch.units, sorted_ = sorted_, batch.units
            code = OK
    free(keys)
    free(sorted_)
    return code


cdef int plan_batch(Batch* batch) noexcept nogil:
    """Make a task of the units of each chunk; returns a status."""
    cdef Py_ssize_t i, k, owner = 0
    cdef Unit* unit
    cdef Unit* before
    cdef Read* read
    cdef Object* object_
    batch.units = <Unit*> malloc(batch.n_units * sizeof(Unit))
    batch.first = <Py_ssize_t*> malloc((batch.n_units + 1) * sizeof(Py_ssize_t))
    batch.owner = <Py_ssize_t*> malloc(batch.n_units * sizeof(Py_ssize_t))
    if batch.units == NULL or batch.first == NULL or batch.owner == NULL:
        return E_NOMEM
    list_units(batch)
    if sort_units(batch) != OK:
        return E_NOMEM
    for i in range(batch.n):
        if batch.reads[i].shared:
            for k in range(batch.reads[i].n_objects):
                batch.reads[i].objects[k].count = 0
    for k in range(batch.n_units):
        unit = &batch.units[k]
        before = unit - 1
        if k and same_object(batch, before, unit):
            if before.entry == unit.entry:
                continue
        else:
            owner = k
        read = batch.reads[batch.units[owner].read]
        if read.shared:
            object_ = &read.objects[batch.units[owner].number]
            if object_.count == 0:
                object_.task = batch.n_tasks
            object_.count += 1
        batch.first[batch.n_tasks] = k
        batch.owner[batch.n_tasks] = owner
        batch.n_tasks += 1
    batch.first[batch.n_tasks] = batch.n_units
    enrol(batch)
    return OK


cdef void enrol(Batch* batch) noexcept nogil:
    """Have the reads' objects shared by the batch's tasks instead of their own."""
    cdef Py_ssize_t i, k
    cdef Read* read
    for i in range(batch.n):
        read = batch.reads[i]
        read.batch, read.batch_entry = batch, entry_of
        if read.shared:
            for k in range(read.n_objects):
                read.objects[k].left = read.objects[k].count


# --- tasks

cdef void unit_spans(const Batch* batch, const Unit* unit, Span* spans) noexcept nogil:
    """What a unit picks from its chunk."""
    cdef const Read* read = batch.reads[unit.read]
    cdef Py_ssize_t at[MAX_NDIM]
    cdef int axis
    positions(read, unit.number, at)
    if read.shared:
        inner_spans(read, at, unit.within, spans)
        return
    for axis in range(read.root.ndim):
        spans[axis] = read.outer[axis][at[axis]]


cdef void bounds(const Span* span, Py_ssize_t* low, Py_ssize_t* high) noexcept nogil:
    """The first and the last position of a span that is not empty."""
    cdef Py_ssize_t k
    if span.index == NULL:
        k = span.start + (span.count - 1) * span.step
        low[0], high[0] = min(span.start, k), max(span.start, k)
        return
    low[0] = high[0] = span.index[0]
    for k in range(span.count):
        low[0] = min(low[0], span.index[k])
        high[0] = max(high[0], span.index[k])


cdef double find_block(const Batch* batch, Py_ssize_t first, Py_ssize_t stop, Span* block) noexcept nogil:
    """The block around what units pick from one chunk; returns how many items they pick."""
    cdef Span spans[MAX_NDIM]
    cdef int ndim = batch.reads[batch.units[first].read].root.ndim, axis
    cdef Py_ssize_t k, low, high
    cdef double picked = 0, one
    for k in range(first, stop):
        unit_spans(batch, &batch.units[k], spans)
        one = 1
        for axis in range(ndim):
            one *= spans[axis].count
            bounds(&spans[axis], &low, &high)
            if k > first:
                low = min(low, block[axis].start)
                high = max(high, block[axis].start + block[axis].count - 1)
            block[axis] = Span(spans[axis].chunk, low, 1, high - low + 1, 0, NULL, NULL)
        picked += one
    return picked


cdef int decode_unit(const Read* read, Worker* worker, const Target* target, const Source* source, const char* raw,
                     Py_ssize_t entry, const Span* spans) noexcept nogil:
    if read.shared:
        return decode_inner(worker, target, read.root, source, 0, source.size, raw, entry, spans, 0)
    return decode_region(worker, target, read.root, source, 0, source.size, spans, 0)


cdef int decode_each(const Batch* batch, Worker* worker, const Source* source, const char* raw, Py_ssize_t first,
                     Py_ssize_t stop) noexcept nogil:
    """Decode for every unit what it picks."""
    cdef Span spans[MAX_NDIM]
    cdef Py_ssize_t k, decoded = worker.stats.chunks_decoded, absent = worker.stats.inner_missing
    cdef const Unit* unit
    cdef int code
    for k in range(first, stop):
        unit = &batch.units[k]
        unit_spans(batch, unit, spans)
        code = decode_unit(batch.reads[unit.read], worker, &batch.reads[unit.read].target, source, raw, unit.entry,
                           spans)
        if code != OK:
            return code
        if k == first:
            # A chunk counts once.
            decoded, absent = worker.stats.chunks_decoded, worker.stats.inner_missing
    worker.stats.chunks_decoded, worker.stats.inner_missing = decoded, absent
    return OK


cdef int decode_block(const Batch* batch, Worker* worker, const Source* source, const char* raw, Py_ssize_t first,
                      Py_ssize_t stop, const Span* block) noexcept nogil:
    """Decode a block into scratch, and place from there what every unit picks."""
    cdef const Read* read = batch.reads[batch.units[first].read]
    cdef Target scratch = read.target
    cdef ItemPlan items = ItemPlan(read.target.items.itemsize, 0, NULL)
    cdef Span spans[MAX_NDIM]
    cdef Py_ssize_t nbytes = items.itemsize, k
    cdef const char* origin
    cdef const Target* target
    cdef int axis = read.root.ndim - 1
    cdef int code
    while axis >= 0:
        scratch.strides[axis] = nbytes
        nbytes *= block[axis].count
        axis -= 1
    code = reserve(&worker.block, nbytes)
    if code != OK:
        return fail(worker, code, 0, 0, 0, 0)
    scratch.out = worker.block.data
    code = decode_unit(read, worker, &scratch, source, raw, batch.units[first].entry, block)
    if code != OK:
        return code
    # Where the chunk's first item would be.
    origin = worker.block.data
    for axis in range(read.root.ndim):
        origin -= block[axis].start * scratch.strides[axis]
    for k in range(first, stop):
        target = &batch.reads[batch.units[k].read].target
        unit_spans(batch, &batch.units[k], spans)
        place_spans(&items, read.root.ndim, spans, origin, scratch.strides, target.out, target.strides)
    return OK


cdef bint each_apart(const Read* read, const Source* source, double items, double picked, Py_ssize_t n) noexcept nogil:
    """Whether n units decode better one by one than by the block around them, of `items` where they pick `picked`.

    Only what can be read in part can be: of anything else a part costs as much as all of it.
    """
    cdef const Node* node = read.root.child if read.shared else read.root
    if node.n_filters > 0 or (node.kind != NODE_BYTES and node.kind != NODE_SHARD):
        return False
    # Far windows would have all that lies between them read; from memory nothing is gained by a block.
    if items > picked or (node.kind == NODE_BYTES and source.fd < 0):
        return True
    items, picked = items * read.target.items.itemsize, picked * read.target.items.itemsize
    return node.kind == NODE_BYTES and (items > BLOCK_NBYTES or (items > SMALL_BLOCK and picked >= n * LARGE_PICK))


cdef int decode_task(const Batch* batch, Worker* worker, const Source* source, const char* raw, Py_ssize_t first,
                     Py_ssize_t stop) noexcept nogil:
    cdef Span block[MAX_NDIM]
    cdef const Read* read = batch.reads[batch.units[first].read]
    cdef double items = 1, picked
    cdef int axis
    if stop - first == 1:
        return decode_each(batch, worker, source, raw, first, stop)
    picked = find_block(batch, first, stop, block)
    for axis in range(read.root.ndim):
        items *= block[axis].count
    if each_apart(read, source, items, picked, stop - first):
        return decode_each(batch, worker, source, raw, first, stop)
    return decode_block(batch, worker, source, raw, first, stop, block)


cdef int fill_all(const Batch* batch, Worker* worker, Py_ssize_t first, Py_ssize_t stop) noexcept nogil:
    """The object is not there."""
    cdef Span spans[MAX_NDIM]
    cdef Py_ssize_t k
    cdef int code
    for k in range(first, stop):
        unit_spans(batch, &batch.units[k], spans)
        batch.reads[batch.units[k].read].missing = True
        code = fill_target(worker, &batch.reads[batch.units[k].read].target, spans)
        if code != OK:
            return code
    return OK


cdef Py_ssize_t entry_of(const void* context, Py_ssize_t task, Span* spans) noexcept nogil:
    """What a task's first unit picks, for those who read ahead."""
    cdef const Batch* batch = <const Batch*> context
    cdef const Unit* unit = &batch.units[batch.first[task]]
    unit_spans(batch, unit, spans)
    return unit.entry


cdef int open_task(const Batch* batch, Worker* worker, Py_ssize_t* task, const Unit* owner, Source* source,
                   const char** raw, bint* missing) noexcept nogil:
    """Have a task's bytes at hand. Of a shard, `task` becomes the one whose turn it is as they lie in the file."""
    cdef Read* read = batch.reads[owner.read]
    cdef Object* object_
    cdef Py_ssize_t at[MAX_NDIM]
    cdef Py_ssize_t within
    cdef int code
    positions(read, owner.number, at)
    if not read.shared:
        code = open_source(read, worker, owner.number, at, source, missing)
        worker.stats.chunks_missing += missing[0]
        return code
    code = object_enter(read, worker, owner.number, at)
    if code != OK:
        return code
    object_ = &read.objects[owner.number]
    source[0], raw[0], missing[0] = object_.source, object_.raw, object_.state == MISSING
    within = task[0] - object_.task
    if object_.order != NULL:
        task[0] = object_.task + object_.order[within]
    if source.fd < 0:
        return OK
    code = read_ahead(row_of(read, object_, owner.number, at), worker, within, source)
    if code != OK:
        object_leave(read, object_)
    return code


cdef int run_unit_task(const Batch* batch, Worker* worker, const Unit* owner, Py_ssize_t task) noexcept nogil:
    """A task that is one inner chunk, or one whole object."""
    cdef Read* read = batch.reads[owner.read]
    cdef Source source
    cdef const char* raw = NULL
    cdef bint missing = False
    cdef int code = open_task(batch, worker, &task, owner, &source, &raw, &missing)
    if code != OK:
        return code
    if missing:
        code = fill_all(batch, worker, batch.first[task], batch.first[task + 1])
    else:
        code = decode_task(batch, worker, &source, raw, batch.first[task], batch.first[task + 1])
    if read.shared:
        object_leave(read, &read.objects[owner.number])
    elif read.memory == NULL:
        object_close(source.fd)
    return code


cdef int run_batch_task(void* context, void* worker, Py_ssize_t task) noexcept nogil:
    """A task, and those that it takes along."""
    cdef const Batch* batch = <const Batch*> context
    cdef Worker* own = <Worker*> worker
    cdef const Unit* owner
    cdef int code
    own.along = 0
    while True:
        owner = &batch.units[batch.owner[task]]
        code = run_unit_task(batch, own, owner, task)
        note_failure(batch.reads[owner.read], own, owner.number, code)
        if code != OK or own.along == 0 or given_up(own):
            return code
        own.along -= 1
        task += 1


cdef void leave_batch(void* context, void* worker) noexcept nogil:
    # Counts are kept by the first read, as of a group.
    add_stats((<const Batch*> context).reads[0], <Worker*> worker)


cdef int run_held(Batch* batch) noexcept:
    """Run in this thread with the GIL held; E_AGAIN where that would mean to wait for a disk."""
    cdef Py_ssize_t i
    cdef int status
    for i in range(batch.n):
        batch.reads[i].target.nowait = batch.reads[i].memory == NULL
    status = run_inline(run_batch_task, leave_batch, batch, batch.n_tasks)
    for i in range(batch.n):
        batch.reads[i].target.nowait = False
        if status == E_AGAIN:
            read_reset(batch.reads[i])
    if status == E_AGAIN:
        enrol(batch)
    return status


cdef int reads_run_batch(Read** reads, const Py_ssize_t* labels, Py_ssize_t n, int threads, object keep,
                         double hold_ns) except? -1:
    cdef BatchHolder holder = BatchHolder()
    cdef Batch* batch = &holder.batch
    cdef Py_ssize_t i
    cdef double cost_ns = 0
    cdef int status
    holder.keep = keep
    # Copies, since helpers may outlive the caller's.
    holder.group.reads = <Read**> malloc(max(n, 1) * sizeof(void*))
    batch.labels = <Py_ssize_t*> malloc(max(n, 1) * sizeof(Py_ssize_t))
    if holder.group.reads == NULL or batch.labels == NULL:
        raise MemoryError
    batch.reads, batch.n = holder.group.reads, n
    for i in range(n):
        batch.reads[i], batch.labels[i] = reads[i], labels[i]
        batch.n_units += reads[i].n_tasks
        cost_ns += reads[i].cost_ns
    if batch.n_units == 0:
        return OK
    if batch.n_units < GIL_UNITS:
        status = plan_batch(batch)
    else:
        with nogil:
            status = plan_batch(batch)
    if status != OK:
        raise MemoryError
    if cost_ns < hold_ns and batch.n_tasks < 64:
        status = run_held(batch)
        if status != E_AGAIN:
            return status
    if cost_ns < HOP_NS or (batch.n_tasks == 1 and cost_ns < 20e6):
        with nogil:
            status = run_inline(run_batch_task, leave_batch, batch, batch.n_tasks)
        return status
    threads = <int> min(<Py_ssize_t> max(threads, 1), batch.n_tasks)
    return run_pooled(run_batch_task, leave_batch, batch, batch.n_tasks, threads, cost_ns / batch.n_tasks, holder)
