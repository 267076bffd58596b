"""Reads of one stored chunk each, whose bytes the caller fetches.

The plan without I/O: a ChunkRead says which index bytes it needs, then which data bytes, then
takes buffers; `runs.run_reads` decodes any number of them over the pool. A stored object at hand (bytes,
a file) is the short way through the same.
"""

import operator

import numpy as np

cimport numpy as cnp
from libc.stdint cimport uint64_t
from libc.string cimport memset

from cyzarr.kernels.decode cimport hull_spans
from cyzarr.kernels.execute cimport left_running
from cyzarr.kernels.fetched cimport CheckedIndex, Fetched
from cyzarr.kernels.joined cimport (
    Joined,
    joined_free,
    joined_init,
    joined_items,
    joined_product,
    joined_ranges,
)
from cyzarr.kernels.program cimport NODE_BYTES, NODE_HULL, NODE_SHARD, Node, axes_below, grid_position
from cyzarr.kernels.readplan cimport Read, read_free, read_new
from cyzarr.kernels.shardindex cimport check_entry, index_entry, index_verify
from cyzarr.kernels.status cimport (
    E_ENTRY,
    E_INDEX_CHECKSUM,
    E_INDEX_SHORT,
    E_STORED_SIZE,
    OK,
    Failure,
    failure_clear,
    raise_failure,
)
from cyzarr.kernels.types cimport MAX_NDIM, Span

from cyzarr.kernels.fetched import checked_offset, merged_parts

cnp.import_array()

cdef Py_ssize_t FAR = <Py_ssize_t> 1 << 62


cdef int join_chunks(Joined* joined, const Read* read, Py_ssize_t itemsize,
                     const Py_ssize_t[:, ::1] chunks) noexcept nogil:
    """What a read in order picks from each of these: (where it starts, which of the read's tasks it is)."""
    cdef Span spans[MAX_NDIM]
    cdef bint shard = read.root.kind == NODE_SHARD
    cdef const Node* leaf = read.root.child if shard else read.root
    cdef Py_ssize_t i, k
    cdef int axis, code
    for i in range(chunks.shape[0]):
        k = chunks[i, 1]
        axis = read.root.ndim - 1
        while axis >= 0:
            if shard:
                spans[axis] = read.inner[axis][k % read.begin[axis][1]]
                k //= read.begin[axis][1]
            else:
                spans[axis] = read.outer[axis][0]
            axis -= 1
        code = joined_product(joined, leaf, spans, itemsize, chunks[i, 0])
        if code != OK:
            return code
    return OK


def span_numbers(axis, key, extent):
    """(start, step, count) of an integer or slice within a chunk."""
    if isinstance(key, slice):
        along = range(*key.indices(extent))
        return along.start, along.step if len(along) > 1 else 1, len(along)
    at = operator.index(key)
    if not -extent <= at < extent:
        raise IndexError(f"axis {axis}: index {at} outside a chunk of {extent}")
    return at % extent, 1, 1


def index_array(axis, key, extent):
    """A private contiguous intp copy of a 1-D index array within a chunk."""
    # Copied first: the caller's array may change while it is checked.
    key = np.array(key)
    if key.ndim != 1 or (key.dtype.kind not in "iu" and key.size):
        raise IndexError(
            f"axis {axis}: expected an integer, a slice or a 1-D integer array, found {key.ndim}-D {key.dtype}"
        )
    if key.size and (key.min() < -extent or key.max() >= extent):
        raise IndexError(f"axis {axis}: positions from {key.min()} to {key.max()} in a chunk of {extent}")
    key = np.ascontiguousarray(key, dtype=np.intp)
    key[key < 0] += extent
    return key


cdef ascending(values):
    """The values in order, each once; np.unique takes ten times as long where most of a million are different."""
    ordered = np.sort(values)
    first = np.ones(ordered.size, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


cdef class ChunkRead:
    """What a selection picks from one stored chunk, into `out`.

    Parameters
    ----------
    program : Program
    selection : tuple, one entry per axis of the chunk
        An integer, a slice (any step) or a 1-D integer array within the chunk. With `points`: arrays only,
        all of one length, taken together.
    out : writable ndarray of program.dtype
        Its shape is the selection's, with the axes of integers dropped. Any strides. Written by run_reads;
        after an error its content is unspecified.
    key : str
        Names the stored object in errors.
    points : bool

    Raises
    ------
    IndexError
        A position lies outside the chunk.
    ValueError, TypeError
        `out` is read-only, or of another shape or dtype.
    """

    def __cinit__(self, Program program not None, selection, out, key="<chunk>", points=False):
        cdef Span spans[MAX_NDIM]
        cdef Py_ssize_t strides[MAX_NDIM]
        cdef cnp.ndarray target
        self.program, self.key, self.points = program, key, points
        if not isinstance(out, np.ndarray):
            raise TypeError(f"out must be an ndarray, found {type(out).__name__}")
        if out.dtype != program.dtype:
            raise TypeError(f"out must be of dtype {program.dtype}, found {out.dtype}")
        if not out.flags.writeable:
            raise ValueError("out is read-only")
        if len(selection) != len(program.shape):
            raise IndexError(f"the selection has {len(selection)} axes, the chunk {len(program.shape)}")
        target = self.out = out
        self._uses = []
        shape = fill_spans_of(spans, selection, program.shape, points, self._uses)
        if out.shape != shape:
            raise ValueError(f"out must be of shape {shape}, found {out.shape}")
        at = 0
        memset(strides, 0, sizeof(strides))
        for axis, entry in enumerate(selection):
            if isinstance(entry, slice) or np.ndim(entry) == 1:
                strides[axis] = target.strides[at]
                at += 0 if points else 1
        self.read = read_new(program, spans, points, <char*> cnp.PyArray_DATA(target), strides)
        if program.objects:
            self._objects = with_all_axes(out, selection, points)
            self.read.target.objects = <void*> self._objects
        self._plan_requests()
        memset(&self.source, 0, sizeof(Source))
        self.source.fd = -1
        self.source.size = -1

    def __dealloc__(self):
        if self.ascending != self.asks:
            read_free(self.ascending)
        if self.asks != self.read:
            read_free(self.asks)
        read_free(self.read)

    cdef int _plan_requests(self) except -1:
        """Plan what is asked for: of a hull, the block that its program decodes."""
        cdef Span spans[MAX_NDIM]
        cdef Span inner[MAX_NDIM]
        cdef Py_ssize_t strides[MAX_NDIM]
        cdef Program below
        cdef Read* asks
        cdef int axis
        self.asks, self.asked = self.read, self.program
        memset(strides, 0, sizeof(strides))
        while self.asked.root.kind == NODE_HULL and self.asks.n_tasks > 0:
            for axis in range(self.asked.root.ndim):
                spans[axis] = self.asks.outer[axis][0]
            hull_spans(self.asked.root, spans, inner)
            below = self.asked.below
            asks = read_new(below, inner, False, NULL, strides)
            if self.asks != self.read:
                read_free(self.asks)
            self.asks, self.asked = asks, below
        return 0

    @property
    def whole(self):
        """Whether the object must be fetched whole, because a bytes-to-bytes codec stands around it."""
        return self.asked.root.n_filters > 0

    @property
    def index_request(self):
        """Where a shard's index lies, "start" or "end", and its length in bytes; None for anything else."""
        cdef const Node* root = self.asked.root
        if root.kind != NODE_SHARD or root.n_filters:
            return None
        return ("start" if root.index.at_start else "end", root.index.nbytes)

    @property
    def touches_all(self):
        """Whether the selection touches every inner chunk of a shard."""
        cdef const Node* root = self.asked.root
        if root.kind != NODE_SHARD:
            return False
        if self.asks.target.points:
            return self.asks.n_points >= root.index.entries == len(self.touched(self.asks))
        return self.asks.n_tasks == root.index.entries

    @property
    def missing(self):
        """Whether the stored object was not there; known after run_reads."""
        return bool(self.read.missing)

    @property
    def on_disk(self):
        """Whether the object is a file that run_reads opens."""
        return self.read.memory == NULL

    @property
    def cost_ns(self):
        """An estimate of what decoding takes, in nanoseconds."""
        return self.read.cost_ns

    @property
    def stored_nbytes(self):
        """The object's length where it is fixed, else None."""
        return None if self.asked.root.stored < 0 else self.asked.root.stored

    @property
    def windowed(self):
        """Whether the inner chunks of a shard are uncompressed, so that parts of them can be asked for."""
        cdef const Node* root = self.asked.root
        return (root.kind == NODE_SHARD and root.n_filters == 0
                and root.child.kind == NODE_BYTES and root.child.n_filters == 0)

    def chunk_requests(self, max_gap=0, max_nbytes=FAR):
        """The bytes of an uncompressed chunk that the selection needs.

        Parameters
        ----------
        max_gap, max_nbytes : int
            Two ranges at most max_gap bytes apart are joined, as long as both together are at most max_nbytes. What is
            needed without a gap is one range.

        Returns
        -------
        list of (offset, nbytes)
            Ascending and disjoint; the whole chunk where nothing is picked. Of very many, more are joined.
        """
        cdef const Node* root = self.asked.root
        if root.kind != NODE_BYTES or root.n_filters:
            raise ValueError("only an uncompressed chunk can be read in part without an index")
        if self.asks.n_tasks == 0:
            return [(0, root.nbytes)]
        return self.needed({0: 0}, max_gap, max_nbytes)

    def window_requests(self, index, max_gap=0, max_nbytes=FAR):
        """The bytes of the touched uncompressed inner chunks that the selection needs.

        Parameters
        ----------
        index : bytes or CheckedIndex
            The encoded index, as index_request asks for it.
        max_gap, max_nbytes : int
            As for chunk_requests; what lies without a gap in one inner chunk is one range.

        Returns
        -------
        ranges : list of (offset, nbytes)
            Ascending and disjoint.
        end : int
            Where the last touched inner chunk ends: so long the object must be.

        Raises
        ------
        CorruptChunkError
            As inner_requests.
        """
        if not self.windowed:
            raise ValueError("only uncompressed inner chunks can be read in part")
        starts = self.entries(index, None)
        end = max([offset + nbytes for offset, nbytes in starts.values()], default=0)
        places = {number: offset for number, (offset, nbytes) in starts.items() if nbytes}
        return self.needed(places, max_gap, max_nbytes), end

    def spared(self, max_gap=0, max_nbytes=FAR):
        """How many bytes window_requests would leave out of a shard whose inner chunks lie in the index's order.

        For selections that touch all of them.
        """
        cdef const Node* root = self.asked.root
        if not self.windowed or self.asks.n_tasks == 0 or self._takes_all():
            return 0
        places = {number: k * root.child.nbytes for k, number in enumerate(sorted(self.touched(self.asks)))}
        return root.nbytes - sum([nbytes for _, nbytes in self.needed(places, max_gap, max_nbytes)])

    cdef bint _takes_all(self):
        """Whether the selection is slices that take every item, which needn't be walked."""
        cdef const Span* span
        cdef int axis
        if self.asks.target.points:
            return False
        for axis in range(self.asked.root.ndim):
            span = &self.asks.outer[axis][0]
            if span.index != NULL or span.count != self.asked.root.shape[axis]:
                return False
        return True

    cdef list needed(self, dict places, Py_ssize_t max_gap, Py_ssize_t max_nbytes):
        """The ranges that are needed of uncompressed chunks; places: where each touched one starts, by its number."""
        cdef Joined joined
        if max_gap < 0 or max_nbytes < 0:
            raise ValueError(f"max_gap {max_gap} and max_nbytes {max_nbytes} must not be negative")
        if self.asks.n_tasks == 0:
            return []
        joined_init(&joined, max_gap, min(max_nbytes, FAR))
        try:
            if self.asks.target.points:
                self.need_points(&joined, places)
            else:
                self.need_product(&joined, places)
            return joined_ranges(&joined)
        finally:
            joined_free(&joined)

    cdef int need_product(self, Joined* joined, dict places) except -1:
        """Walk the chunks by their places, and of each what the product of its spans picks."""
        cdef Read* read = self._in_order()
        cdef Py_ssize_t itemsize = self.asked.dtype.itemsize
        cdef const Py_ssize_t[:, ::1] chunks
        cdef int code
        numbers = self.touched(read) if self.asked.root.kind == NODE_SHARD else [0]
        found = sorted([(places[number], k) for k, number in enumerate(numbers) if number in places])
        if not found:
            return 0
        chunks = np.array(found, dtype=np.intp)
        # Given up once for all of them: each takes microseconds, and to get it back may take a thousand times that.
        with nogil:
            code = join_chunks(joined, read, itemsize, chunks)
        if code != OK:
            raise MemoryError
        return 0

    cdef int need_points(self, Joined* joined, dict places) except -1:
        """Put the points' items in order."""
        cdef const Node* root = self.asked.root
        cdef const Node* leaf = root.child if root.kind == NODE_SHARD else root
        cdef Py_ssize_t itemsize = self.asked.dtype.itemsize
        cdef const Py_ssize_t[::1] offsets, starts
        cdef int axis, code
        at = np.zeros(self.asks.n_points, dtype=np.intp)
        for axis in range(root.ndim):
            positions = self._uses[axis]
            at += (positions % root.inner[axis] if root.kind == NODE_SHARD else positions) * leaf.strides[axis]
        if root.kind == NODE_SHARD:
            base = np.full(2 * root.index.entries, -1, dtype=np.intp)
            base[list(places)] = list(places.values())
            base = base[self._inner_numbers()]
            there = base >= 0
            at = at[there] + base[there]
        offsets = np.sort(at)
        starts = np.sort(np.array(list(places.values()), dtype=np.intp))
        with nogil:
            code = joined_items(joined, offsets, starts, itemsize)
        if code != OK:
            raise MemoryError
        return 0

    cdef _inner_numbers(self):
        """For each point the number of its inner chunk in the index, which counts integers, two to an entry."""
        cdef const Node* root = self.asked.root
        cdef int axis
        numbers = np.zeros(self.asks.n_points, dtype=np.intp)
        for axis in range(root.ndim):
            numbers += (self._uses[axis] // root.inner[axis]) * root.index.strides[axis]
        return numbers

    cdef Read* _in_order(self) except NULL:
        """The read that `asks` is, with positions that ascend along each axis, each once."""
        cdef Span spans[MAX_NDIM]
        cdef Py_ssize_t strides[MAX_NDIM]
        cdef Span* span
        cdef int axis
        cdef bint ordered = True
        if self.ascending != NULL:
            return self.ascending
        if self.asks.n_tasks == 0:
            raise ValueError("a read of nothing has no order")
        memset(strides, 0, sizeof(strides))
        for axis in range(self.asked.root.ndim):
            spans[axis] = self.asks.outer[axis][0]
            span = &spans[axis]
            if span.index == NULL and span.step < 0:
                span.start, span.step = span.start + (span.count - 1) * span.step, -span.step
                ordered = False
            elif span.index != NULL:
                positions = ascending(np.asarray(<Py_ssize_t[:span.count]> <Py_ssize_t*> span.index))
                self._uses.append(positions)
                span.count = positions.size
                span.index = <const Py_ssize_t*> cnp.PyArray_DATA(<cnp.ndarray> positions)
                ordered = False
        self.ascending = self.asks if ordered else read_new(self.asked, spans, False, NULL, strides)
        return self.ascending

    def inner_requests(self, index, size=None):
        """The bytes of the touched inner chunks: [(offset, nbytes)], ascending, each once, none for absent ones.

        Parameters
        ----------
        index : bytes or CheckedIndex
            The encoded index, as index_request asks for it.
        size : int, optional
            The object's length where it is known.

        Raises
        ------
        CorruptChunkError
            The index is too short or corrupt, or an entry that the selection needs is wrong.
        """
        if self.index_request is None:
            raise ValueError("only a shard that nothing stands around has inner chunks to ask for")
        return sorted(set(self.entries(index, size).values()))

    def checked_index(self, index, size=None):
        """An index that was verified, to be given in its place to requests of reads of the same program.

        Arguments and errors are those of inner_requests.
        """
        cdef const Node* root = self.asked.root
        cdef CheckedIndex found
        cdef Failure failure
        if self.index_request is None:
            raise ValueError("only a shard that nothing stands around has an index")
        if type(index) is CheckedIndex and (<CheckedIndex> index).program is self.asked:
            found = index
        else:
            found = CheckedIndex()
            found.raw = bytes(memoryview(index))
        failure_clear(&failure)
        failure.length, failure.expected, failure.found = len(found.raw), root.index.nbytes, len(found.raw)
        if not root.index.at_start:
            failure.offset = -len(found.raw) if size is None else max(size - len(found.raw), 0)
        if len(found.raw) != root.index.nbytes or (size is not None and size < root.index.nbytes):
            failure.code = E_INDEX_SHORT if len(found.raw) <= root.index.nbytes else E_STORED_SIZE
            raise_failure(&failure, self.key, None)
        if found.program is None and index_verify(&root.index, found.raw) != OK:
            failure.code = E_INDEX_CHECKSUM
            raise_failure(&failure, self.key, None)
        found.program = self.asked
        return found

    cdef dict entries(self, index, size):
        """The entries, (offset, nbytes), of the touched inner chunks that are there, by their numbers in the index."""
        cdef const Node* root = self.asked.root
        cdef CheckedIndex checked = self.checked_index(index, size)
        cdef const char* raw = checked.raw
        cdef Failure failure
        cdef uint64_t offset, nbytes
        cdef uint64_t limit = FAR if size is None else size
        cdef bint absent
        cdef int code
        failure_clear(&failure)
        failure.expected = failure.found = root.index.nbytes
        found = {}
        for number in self.touched(self.asks):
            index_entry(&root.index, raw, number, &offset, &nbytes)
            code = check_entry(offset, nbytes, limit, root.child.stored, &absent)
            if code != OK:
                failure.code, failure.offset, failure.length = code, <Py_ssize_t> offset, <Py_ssize_t> nbytes
                failure.expected = <Py_ssize_t> limit if code == E_ENTRY else root.child.stored
                failure.found = <Py_ssize_t> nbytes
                raise_failure(&failure, self.key, self.position(number))
            if not absent:
                found[number] = offset, nbytes
        return found

    cdef tuple position(self, Py_ssize_t number):
        """The grid position, in the array's axes, of the inner chunk with this number in the index."""
        cdef const Node* node = self.program.root
        axes = list(range(node.ndim))
        while node != self.asked.root:
            axes = axes_below(node, axes)
            node = node.below
        return grid_position(node, number, axes)

    cdef list touched(self, const Read* read):
        """The numbers, in the index, of the touched inner chunks, in the order of a read's tables."""
        cdef const Node* root = self.asked.root
        cdef Py_ssize_t i
        cdef int axis
        numbers = np.zeros(1, dtype=np.intp)
        if self.asks.target.points:
            here = np.zeros(2 * root.index.entries, dtype=bool)
            here[self._inner_numbers()] = True
            return np.flatnonzero(here).tolist()
        if read.n_tasks == 0:
            return []
        for axis in range(root.ndim):
            along = [read.inner[axis][i].chunk * root.index.strides[axis]
                     for i in range(read.begin[axis][1])]
            numbers = np.add.outer(numbers, np.array(along, dtype=np.intp)).ravel()
        return numbers.tolist()

    cdef int _set_source(self, Py_ssize_t size, const char* data, object held) except -1:
        """Read from memory: `size` bytes at `data`, or from the segments; -1: there is no object."""
        self._refuse_running()
        self.source.size = size
        self.source.data = data
        self.source.segments = NULL
        self.source.n_segments = 0
        self._held = held
        self.read.memory = &self.source
        self.read.literal = True
        return 0

    cdef bint _is_running(self) except -1:
        """Whether it is being run; asks again where helpers were left at work on it."""
        if self.running and self._left is not None and not left_running(self._left):
            self.running, self._left = False, None
        return self.running

    cdef int _refuse_running(self) except -1:
        if self._is_running():
            raise RuntimeError(f"the read of {self.key!r} is running")
        return 0

    def set_missing(self):
        """There is no such object: its part of `out` becomes the fill value."""
        self._set_source(-1, NULL, None)

    def set_object(self, data):
        """The whole stored object, as any contiguous buffer; it is held, not copied, and must not change meanwhile."""
        view = np.frombuffer(data, dtype=np.uint8)
        self._set_source(view.size, <const char*> cnp.PyArray_DATA(<cnp.ndarray> view), view)

    def set_file(self, bytes path not None):
        """The stored object is a file; it is opened when the read runs."""
        if b"\0" in path:
            raise ValueError(f"path {path!r} holds a NUL byte")
        self._refuse_running()
        self._held = path
        self.read.prefix = path
        self.read.prefix_nbytes = len(path)
        self.read.literal = True
        self.read.memory = NULL

    def set_parts(self, parts, size=None, index=None, end=0):
        """The fetched bytes: parts [(offset, buffer)], the index apart where there is one.

        `size` is the object's length where it is known; else the object is taken to end with what was fetched, but not
        before `end`.
        """
        cdef const Node* root = self.asked.root
        cdef Fetched fetched
        held = [(checked_offset(at, data), np.frombuffer(data, dtype=np.uint8)) for at, data in parts if len(data)]
        held.sort(key=lambda part: part[0])
        end = max([end] + [offset + view.size for offset, view in held])
        checked_offset(end, b"")
        if size is not None:
            checked_offset(size, b"")
        if index is not None:
            at_end = (end + root.index.nbytes if size is None else size) - root.index.nbytes
            at = checked_offset(0 if root.index.at_start else at_end, index)
            held = merged_parts(held, at, np.frombuffer(index, dtype=np.uint8))
            end = max([end] + [offset + view.size for offset, view in held])
        fetched = Fetched(held)
        self._set_source(end if size is None else size, NULL, fetched)
        self.source.segments = fetched.segments
        self.source.n_segments = fetched.n

    def set_as(self, ChunkRead other not None):
        """The same object as another read's, as that one was given it: nothing is copied."""
        if other.read.memory == NULL:
            raise ValueError(f"the bytes of {other.key!r} were not set")
        self._set_source(other.source.size, other.source.data, other._held)
        self.source.segments = other.source.segments
        self.source.n_segments = other.source.n_segments


def with_all_axes(out, selection, points):
    """A view of `out` that has an axis for each integer of the selection, too."""
    if points:
        return out
    return out[(*[slice(None) if isinstance(one, slice) or np.ndim(one) == 1 else None for one in selection], ...)]


cdef tuple fill_spans_of(Span* spans, selection, shape, bint points, list uses):
    """Set one span per axis; returns the shape of what is picked. `uses` keeps the arrays."""
    cdef cnp.ndarray index, place
    picked = []
    for axis, (key, extent) in enumerate(zip(selection, shape)):
        memset(&spans[axis], 0, sizeof(Span))
        if isinstance(key, slice) or np.ndim(key) == 0:
            if points:
                raise IndexError(f"axis {axis}: points are arrays, found {key!r}")
            spans[axis].start, spans[axis].step, spans[axis].count = span_numbers(axis, key, extent)
            if isinstance(key, slice):
                picked.append(spans[axis].count)
            continue
        index = index_array(axis, key, extent)
        uses.append(index)
        spans[axis].count = index.size
        spans[axis].index = <const Py_ssize_t*> cnp.PyArray_DATA(index)
        picked.append(index.size)
    if points and len(set(picked)) != 1:
        raise IndexError(f"points need one array per axis, all of one length; found lengths {picked}")
    place = np.arange(max(picked, default=0), dtype=np.intp)
    uses.append(place)
    for axis in range(len(shape)):
        if spans[axis].index != NULL:
            spans[axis].place = <const Py_ssize_t*> cnp.PyArray_DATA(place)
    return tuple(picked[:1]) if points else tuple(picked)
