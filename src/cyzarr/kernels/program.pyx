"""A codec chain, compiled once per array: what the stored bytes are and how they are undone.

The description is a nested dict (see Program). Every length in it is checked here, so that the
leaves that walk the compiled nodes need not.
"""

import math
import operator

import numpy as np

from libc.stdlib cimport calloc, free

from cyzarr.kernels.blocks cimport Plan
from cyzarr.kernels.natives cimport DECODE_CRC32C
from cyzarr.kernels.shardindex import index_spec
from cyzarr.kernels.status cimport MAX_DEPTH
from cyzarr.kernels.types cimport MAX_NDIM

DECODER_NUMBERS = {"zstd": 0, "blosc": 1, "lz4": 2, "gzip": 3, "zlib": 4, "crc32c": 5, "python": DECODE_PYTHON}
KINDS = {"bytes", "shard", "python", "hull"}
MAX_NBYTES = 1 << 60


cdef void free_node(Node* node) noexcept:
    if node != NULL:
        free_node(node.child)
        free(node)


def checked_shape(shape, what):
    """A shape as a tuple of positive ints whose product is no overflow."""
    shape = tuple(operator.index(n) for n in shape)
    if len(shape) > MAX_NDIM - 1:
        raise ValueError(f"{what} has {len(shape)} axes, at most {MAX_NDIM - 1} are supported")
    if any(n < 1 for n in shape) or math.prod(shape) > MAX_NBYTES:
        raise ValueError(f"{what} {shape}: extents must be positive and their product at most 2^60")
    return shape


def checked_order(order, ndim):
    """A permutation of the axes; None is the identity."""
    if order is None:
        return tuple(range(ndim))
    order = tuple(operator.index(i) for i in order)
    if sorted(order) != list(range(ndim)):
        raise ValueError(f"order {order} is no permutation of {ndim} axes")
    return order


cdef int check_depth(int depth) except -1:
    if depth >= MAX_DEPTH:
        raise ValueError(f"at most {MAX_DEPTH - 1} shards within shards are supported")
    return 0


cdef class Program:
    """A compiled codec chain.

    Parameters
    ----------
    chain : dict
        ``shape``: the chunk handed to this chain, in items; ``order`` (optional): its transposes,
        composed: axis i of the encoded chunk is axis order[i] of the chunk; ``filters`` (optional):
        its bytes-to-bytes codecs in the order of encoding, each ``{"name": ..., "codec": ...}`` with a
        name of zstd, blosc, lz4, gzip, zlib, crc32c and a numcodecs-like object with ``decode(bytes)``
        that is used where the C decoder is not there, or the name python, for one that only decodes so; and exactly
        one of
        ``bytes``: ``{"dtype": the stored dtype, with its byte order}``;
        ``shard``: ``{"chunk_shape": ..., "chain": ..., "index": {...}}`` with the inner chunks' shape in the
        encoded frame, their own chain, and the index's ``location``, ``byteorder``, ``checksums`` and ``order``;
        ``python``: ``{"codec": ...}`` whose ``decode(bytes)`` gives an array of the encoded frame's shape;
        ``hull``: ``{"codec": ..., "program": Program, "elementwise": bool}`` without filters: the program decodes,
        and the codec's ``decode(array)`` gives the encoded frame from that. Elementwise, it may be given any block.
    dtype : dtype
        Of the output; for ``bytes`` the stored dtype up to byte order. Objects and NumPy's strings need a Python leaf.
    fill : bytes
        One item of `dtype`: what absent chunks hold. Where items are objects: such an object.

    Raises
    ------
    ValueError, TypeError
        The description makes no sense, or is beyond what the kernels hold (31 axes, 8 filters, 8 shards
        within shards, 2^60 bytes).
    """

    def __cinit__(self, chain, dtype, fill):
        dtype = np.dtype(dtype)
        if dtype.itemsize == 0:
            raise TypeError(f"dtype {dtype} has no items of a fixed size")
        self.dtype = dtype
        self.chain = chain
        self.objects = dtype.hasobject or dtype.char == "T"
        self.fill_object = fill if self.objects else None
        self._fill = bytes(dtype.itemsize) if self.objects else bytes(memoryview(fill))
        if len(self._fill) != dtype.itemsize:
            raise ValueError(f"fill has {len(self._fill)} bytes, an item of {dtype} has {dtype.itemsize}")
        self.fill = self._fill
        self._keep = []
        self.shape = checked_shape(chain["shape"], "chunk shape")
        leaf = []
        self.root = self._node(chain, list(range(len(self.shape))), leaf, 0)
        # Objects are placed by NumPy: their items are never copied as bytes.
        self._plan = Plan(np.dtype("V1"), np.dtype("V1")) if self.objects else Plan(leaf[0], dtype)
        self.items = (<Plan> self._plan).plan

    def __dealloc__(self):
        free_node(self.root)

    cdef Node* _node(self, object chain, list axis_of, object leaf, int depth) except NULL:
        """Compile one chain; axis_of[i] is the array's axis that the chunk's axis i is."""
        cdef Node* node
        check_depth(depth)
        shape = checked_shape(chain["shape"], "chunk shape")
        if len(shape) != len(axis_of):
            raise ValueError(f"chunk shape {shape} has {len(shape)} axes, expected {len(axis_of)}")
        order = checked_order(chain.get("order"), len(shape))
        if len(KINDS & set(chain)) != 1:
            raise ValueError(f"a chain holds exactly one of {', '.join(sorted(KINDS))}")
        node = <Node*> calloc(1, sizeof(Node))
        if node == NULL:
            raise MemoryError
        self.depth = max(self.depth, depth)
        try:
            node.ndim = len(shape)
            for i, axis in enumerate(axis_of):
                node.shape[axis] = shape[i]
            encoded = [shape[i] for i in order]
            frame = [axis_of[i] for i in order]
            for i, axis in enumerate(frame):
                node.axes[i] = axis
            set_filters(node, chain.get("filters", ()), self._keep)
            for i in range(node.n_filters):
                self.runs_python |= node.filters[i].decoder == DECODE_PYTHON
            if "bytes" in chain:
                leaf.append(set_leaf(node, chain["bytes"], encoded, frame))
                if self.objects:
                    raise TypeError(f"dtype {self.dtype} has no items of a fixed size")
                for i in range(node.n_filters):
                    self.compressed |= node.filters[i].decoder != DECODE_CRC32C
            elif "python" in chain or "hull" in chain:
                leaf.append(self.dtype)
                self.compressed = self.runs_python = True
                node.nbytes = checked_nbytes(encoded, self.dtype)
                set_python(node, chain.get("python") or chain["hull"], encoded, self._keep)
                if node.kind == NODE_HULL:
                    self.below = chain["hull"]["program"] if depth == 0 else None
                    self.depth = max(self.depth, depth + (<Program> chain["hull"]["program"]).depth)
                    check_depth(self.depth)
            else:
                set_shard(node, chain["shard"], encoded, frame)
                node.child = self._node(chain["shard"]["chain"], frame, leaf, depth + 1)
                if int(node.child.nbytes) * int(node.index.entries) > MAX_NBYTES:
                    raise ValueError(f"a chunk of {shape} items is beyond 2^60 bytes")
                node.nbytes = node.child.nbytes * node.index.entries
            set_limits(node)
        except BaseException:
            free_node(node)
            raise
        return node


cdef int set_limits(Node* node) except -1:
    """What a chunk's bytes may grow to, decoded and stored.

    A stage grows what it is handed by a container's headers at most; a shard may hold gaps. Beyond twice
    that and 16 MiB nothing is decoded: it would be a bomb.
    """
    decoded = int(node.nbytes)
    if node.kind == NODE_PYTHON:
        # Nobody knows what a Python codec is handed.
        node.bound, node.limit = MAX_NBYTES, 4 * MAX_NBYTES
        return 0
    if node.kind == NODE_HULL:
        node.bound, node.limit = node.below.bound, node.below.limit
        return 0
    if node.kind == NODE_SHARD:
        decoded = int(node.child.bound) * int(node.index.entries) + int(node.index.nbytes)
    stored = decoded
    for _ in range(node.n_filters):
        stored += stored // 16 + 1024
    node.bound = min(stored, MAX_NBYTES)
    node.limit = min(2 * stored + (16 << 20), 4 * MAX_NBYTES)
    return 0


cdef int set_filters(Node* node, filters, list keep) except -1:
    filters = tuple(filters)
    if len(filters) > MAX_FILTERS:
        raise ValueError(f"at most {MAX_FILTERS} bytes-to-bytes codecs are supported, found {len(filters)}")
    for i, given in enumerate(filters):
        if given["name"] not in DECODER_NUMBERS:
            raise ValueError(f"unknown decoder {given['name']!r}")
        codec = given.get("codec")
        keep.append(codec)
        node.filters[i].decoder = DECODER_NUMBERS[given["name"]]
        node.filters[i].codec = <void*> codec
    node.n_filters = len(filters)
    return 0


def checked_nbytes(shape, dtype):
    """The bytes of a chunk decoded, at most 2^60."""
    nbytes = dtype.itemsize * math.prod(shape)
    if nbytes > MAX_NBYTES:
        raise ValueError(f"a chunk of {shape} items of {dtype.itemsize} bytes is beyond 2^60 bytes")
    return nbytes


cdef int set_python(Node* node, given, encoded, list keep) except -1:
    """A node that a Python codec decodes: a leaf, or a hull with a program below it."""
    cdef Program below
    keep.append(given["codec"])
    node.codec = <void*> given["codec"]
    node.kind = NODE_PYTHON
    node.stored = -1
    if "program" not in given:
        return 0
    below = given["program"]
    if node.n_filters:
        raise ValueError("a hull has no filters of its own")
    if below.objects:
        raise TypeError(f"what is below a hull can't be of dtype {below.dtype}")
    node.elementwise = given["elementwise"]
    if node.elementwise and below.shape != tuple(encoded):
        raise ValueError(f"an elementwise codec is handed chunks of {below.shape} items for {tuple(encoded)}")
    keep.append(below)
    node.kind = NODE_HULL
    node.below, node.items, node.fill = below.root, &below.items, below.fill
    node.dtype = <void*> below.dtype
    node.stored = below.root.stored
    return 0


cdef set_leaf(Node* node, given, encoded, frame):
    """A leaf's strides and lengths; returns its stored dtype."""
    dtype = np.dtype(given["dtype"])
    along = dtype.itemsize
    node.kind = NODE_BYTES
    checked_nbytes(encoded, dtype)
    for extent, axis in zip(reversed(encoded), reversed(frame)):
        node.strides[axis] = along
        along *= extent
    node.nbytes = along
    checksums = [node.filters[i].decoder == DECODE_CRC32C for i in range(node.n_filters)]
    node.stored = along + 4 * len(checksums) if all(checksums) else -1
    return dtype


cdef int set_shard(Node* node, given, encoded, frame) except -1:
    """A shard's inner chunk shape and index; its child is compiled by the caller."""
    inner = checked_shape(given["chunk_shape"], "inner chunk shape")
    if len(inner) != len(encoded):
        raise ValueError(f"inner chunk shape {inner} has {len(inner)} axes, expected {len(encoded)}")
    if any(outer % n for outer, n in zip(encoded, inner)):
        raise ValueError(f"inner chunk shape {inner} does not divide the chunk it is handed, {tuple(encoded)}")
    if tuple(given["chain"]["shape"]) != inner:
        raise ValueError(f"the inner chain is for {tuple(given['chain']['shape'])}, inner chunks are {inner}")
    index = given.get("index", {})
    grid = [outer // n for outer, n in zip(encoded, inner)]
    location = index.get("location", "end")
    byteorder, checksums = index.get("byteorder", "little"), operator.index(index.get("checksums", 1))
    entries, nbytes, strides, pair = index_spec(grid, byteorder, checksums, index.get("order"), location)
    node.kind = NODE_SHARD
    node.stored = -1
    node.index.entries, node.index.nbytes, node.index.pair = entries, nbytes, pair
    node.index.checksums = checksums
    node.index.big = byteorder == "big"
    node.index.at_start = location == "start"
    for i, axis in enumerate(frame):
        node.inner[axis] = inner[i]
        node.index.strides[axis] = strides[i]
    return 0


# --- positions, for messages

cdef list axes_below(const Node* hull, list axes):
    cdef int i
    if not hull.elementwise:
        # Its codec may have made anything of them.
        return list(range(hull.below.ndim))
    order = [hull.axes[i] for i in range(hull.ndim)]
    return [order.index(axis) for axis in axes]


cdef tuple grid_position(const Node* shard, Py_ssize_t number, list axes):
    cdef int axis
    return tuple([(number // shard.index.strides[axis]) % (shard.shape[axis] // shard.inner[axis]) for axis in axes])
