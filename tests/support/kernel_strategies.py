"""Hypothesis strategies of the kernel tests: shapes, dtypes, strided arrays, selections."""

import math

import numcodecs
import numpy as np
from hypothesis import strategies as st

import reference

STRUCT = np.dtype([("flux", "<f4"), ("mask", ">i2"), ("tag", "u1"), ("pair", "<c8", (2,))])
NAMES = "u1 ? i2 >f2 f4 >f4 f8 >i8 g >g >c8 c16 >c16 G >G S3 S16 U2 >U2 V5 V8 M8[s] >m8[ms]"
DTYPES = [
    *(np.dtype(name) for name in NAMES.split()),
    STRUCT,
    np.dtype([("nested", STRUCT), ("last", ">f8")]),
]

dtypes = st.sampled_from(DTYPES)


def shapes(min_dims=0, max_dims=4, min_side=0, max_side=6):
    """Shapes of arrays, small enough to be looked at item by item."""
    return st.lists(st.integers(min_side, max_side), min_size=min_dims, max_size=max_dims).map(tuple)


def random_items(shape, dtype, seed):
    """Array of ``shape``: any bit pattern that ``dtype`` can hold."""
    dtype = np.dtype(dtype)
    n = math.prod(shape)
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(dtype).reshape(shape)
    if dtype.kind == "U":
        points = rng.integers(1, 0x3000, n * dtype.itemsize // 4)
        return points.astype(dtype.byteorder + "u4").view(dtype).reshape(shape)
    if dtype.char in "gG":
        # Its padding bytes are no part of the value: NumPy's own copies may drop them.
        return rng.normal(size=n).astype(dtype).reshape(shape)
    return np.frombuffer(rng.bytes(n * dtype.itemsize), dtype=dtype).reshape(shape).copy()


def same_items(a, b):
    """Whether two arrays hold the same items bit for bit, whatever their byte order."""
    if a.shape != b.shape:
        return False
    if a.dtype.names:
        return all(same_items(a[name], b[name]) for name in a.dtype.names)
    if a.dtype.names == ():
        return True
    return a.tobytes() == b.astype(a.dtype).tobytes()


class Placed:
    """An array that is a strided part of a larger base, and the base's other items.

    view: the array. untouched(): whether all items of the base beside the view are as they were.
    """

    def __init__(self, base, cut):
        self.base = base
        self.view = cut(base)
        beside = np.ones(base.shape, dtype=bool)
        cut(beside)[...] = False
        self._beside = beside
        self._before = base.copy()

    def untouched(self):
        return same_items(self.base[self._beside], self._before[self._beside])


def _cut(shape, steps, margins, order):
    """Function from a base to the view of ``shape``: cut along each axis, then transposed."""
    inverse = np.argsort(order) if order else []
    slices = []
    for axis in inverse:
        n, step, margin = shape[axis], steps[axis], margins[axis]
        first = margin if step > 0 else margin + (n - 1) * -step
        last = first + n * step
        slices.append(slice(first, last if last >= 0 else None, step) if n else slice(0, 0))
    return lambda base: base[(..., *slices)].transpose(order)


@st.composite
def placed(draw, shape, dtype):
    """A Placed of ``shape`` and ``dtype``: any order of axes, steps of both signs, margins."""
    ndim = len(shape)
    steps = [draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2])) for _ in shape]
    margins = [draw(st.integers(0, 2)) for _ in shape]
    order = tuple(draw(st.permutations(range(ndim))))
    inverse = [int(axis) for axis in np.argsort(order)] if order else []
    base_shape = [shape[a] * abs(steps[a]) + 2 * margins[a] for a in inverse]
    base = random_items(base_shape, dtype, draw(st.integers(0, 2**32 - 1)))
    return Placed(base, _cut(shape, steps, margins, order))


@st.composite
def slices(draw, size, falling=False):
    """A slice of an axis of ``size``, bounds beyond either end included."""
    bound = st.none() | st.integers(-size - 2, size + 2)
    step = st.none() | st.integers(1, size + 2)
    if falling:
        step |= st.integers(-size - 2, -1)
    return slice(draw(bound), draw(bound), draw(step))


@st.composite
def index_arrays(draw, size, max_count=8):
    """A 1-d integer array of positions on an axis of ``size``: any order, repeats, any dtype."""
    dtype = draw(st.sampled_from(["i8", "i8", "i4", "u1", "u8", ">i8", ">i2"]))
    values = draw(st.lists(st.integers(0, size - 1), max_size=max_count)) if size else []
    return np.array(values, dtype=dtype)


def entries(size, falling=False):
    """One axis of a selection."""
    kinds = [slices(size, falling), index_arrays(size)]
    if size:
        kinds += [st.integers(0, size - 1), st.integers(0, size - 1).map(np.int64)]
    return st.one_of(kinds)


def selections(shape, falling=False):
    """A selection of an array of ``shape``: a tuple with one entry per axis."""
    return st.tuples(*(entries(size, falling) for size in shape))


@st.composite
def points(draw, shape):
    """One index array per axis, all of one length, to be taken together."""
    n = draw(st.integers(0, 9)) if 0 not in shape else 0
    return tuple(
        np.array(draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)), dtype=np.int64) for size in shape
    )


# Programs: see reference.shard for what a chain is.

CODECS = {
    "zstd": [numcodecs.Zstd(level=1), numcodecs.Zstd(level=3, checksum=True)],
    "blosc": [
        numcodecs.Blosc(cname=cname, clevel=5, shuffle=shuffle)
        for cname in ("lz4", "zstd", "zlib", "blosclz")
        for shuffle in (numcodecs.Blosc.NOSHUFFLE, numcodecs.Blosc.SHUFFLE)
    ],
    "lz4": [numcodecs.LZ4()],
    "gzip": [numcodecs.GZip(level=1)],
    "zlib": [numcodecs.Zlib(level=1)],
    "crc32c": [None],
}


def filters(*names):
    """Bytes-to-bytes part of a chain, by names."""
    return [{"name": name, "codec": CODECS[name][0]} for name in names]


def plain(shape, dtype, *names, order=None):
    """A chain that ends in ``bytes``."""
    return {
        "shape": shape,
        "order": order,
        "filters": filters(*names),
        "bytes": {"dtype": np.dtype(dtype)},
    }


def shard(shape, chain, *names, order=None, index_order=None, **index):
    """A chain that ends in a shard of inner chunks stored by ``chain``."""
    options = {"location": "end", "byteorder": "little", "checksums": 1, "order": index_order}
    return {
        "shape": shape,
        "order": order,
        "filters": filters(*names),
        "shard": {"chunk_shape": chain["shape"], "chain": chain, "index": {**options, **index}},
    }


@st.composite
def _filters(draw):
    names = draw(st.lists(st.sampled_from(sorted(CODECS)), max_size=2))
    return [{"name": name, "codec": draw(st.sampled_from(CODECS[name]))} for name in names]


@st.composite
def _indexes(draw, ndim):
    return {
        "location": draw(st.sampled_from(["end", "start"])),
        "byteorder": draw(st.sampled_from(["little", "big"])),
        "checksums": draw(st.sampled_from([1, 0, 2])),
        "order": draw(st.none() | st.permutations(range(ndim + 1)).map(tuple)),
    }


def _divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


@st.composite
def chains(draw, shape, dtype, depth):
    """A chain for chunks of ``shape``: shards nested ``depth`` deep."""
    ndim = len(shape)
    order = draw(st.none() | st.permutations(range(ndim)).map(tuple))
    chain = {"shape": shape, "order": order, "filters": draw(_filters())}
    if depth == 0:
        stored = dtype.newbyteorder() if draw(st.booleans()) else dtype
        return {**chain, "bytes": {"dtype": stored}}
    encoded = [shape[axis] for axis in order or range(ndim)]
    inner = tuple(draw(st.sampled_from(_divisors(n))) for n in encoded)
    part = {
        "chunk_shape": inner,
        "chain": draw(chains(inner, dtype, depth - 1)),
        "index": draw(_indexes(ndim)),
    }
    return {**chain, "shard": part}


@st.composite
def stored_chunks(draw, min_depth=1, max_depth=3):
    """(chain, dtype, fill, values, layout): a chunk, how it is stored, and its items.

    Some regions hold the fill value only, so that inner chunks of any level can be absent.
    """
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 4, 6, 8]), max_size=3)))
    dtype = draw(dtypes)
    chain = draw(chains(shape, dtype, draw(st.integers(min_depth, max_depth))))
    seed = draw(st.integers(0, 2**32 - 1))
    fill = random_items((1,), dtype, seed).tobytes()
    values = random_items(shape, dtype, seed + 1)
    for _ in range(draw(st.integers(0, 3))):
        values[draw(st.tuples(*(slices(n) for n in shape)))] = np.frombuffer(fill, dtype)[0]
    layout = reference.Layout(
        absent=draw(st.sampled_from([1.0, 0.5, 0.0])),
        shuffle=draw(st.booleans()),
        max_gap_nbytes=draw(st.sampled_from([0, 0, 5])),
        seed=seed,
    )
    return chain, dtype, fill, values, layout
