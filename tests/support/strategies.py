"""Hypothesis strategies: arrays stored by hand in every form that cyzarr reads, and selections."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from random import Random

import numpy as np
from hypothesis import strategies as st
from zarr.core.dtype import get_data_type_from_native_dtype

from support import handmade
from support.doors import ZARR
from support.handmade import Freedom, Stored, be, blosc, crc32c, fill_json, gzip, le, lz4, shard, transpose, zlib, zstd

# -- values -----------------------------------------------------------------------------------

PLAIN_DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
PLAIN_DTYPES += ["M8[ns]", "M8[25us]", "M8[D]", "m8[s]", "m8[10ms]", "S1", "S5", "U1", "U4", "V1", "V3", "V8"]
STRUCTS = [
    [("a", "<f4"), ("b", "<i4"), ("c", "u1")],
    [("t", "<M8[s]"), ("p", [("x", "<c8"), ("s", "S3")]), ("b", "?")],
    [("u", "<U2")],
]


def all_dtypes():
    return st.sampled_from([np.dtype(d) for d in PLAIN_DTYPES + STRUCTS])


def random_values(dtype, shape, rng):
    """An array of random bits, legal for its dtype: NaN payloads, -0.0, NaT and all."""
    if dtype.names is not None:
        out = np.zeros(shape, dtype)
        for name in dtype.names:
            out[name] = random_values(dtype[name], shape, rng)
        return out
    count = int(np.prod(shape))
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype("?")
    if dtype.kind == "U":
        letters = rng.integers(0x20, 0x2FF, count * (dtype.itemsize // 4), dtype="u4")
        return letters.view(dtype).reshape(shape)
    return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype, count).reshape(shape).copy()


# -- chains -----------------------------------------------------------------------------------

_COMPRESSORS = [
    zstd(),
    zstd(checksum=True),
    gzip(),
    blosc("lz4"),
    blosc("zstd", "bitshuffle", 2),
    blosc("blosclz", "noshuffle", 1),
    crc32c(),
    lz4(),
    zlib(),
]
_INDEX_CODECS = [[le(), crc32c()], [le()], [be(), crc32c()], [be()]]


def orders(ndim):
    return st.permutations(range(ndim))


@st.composite
def chains(draw, shape, depth=3):
    """Codecs for a chunk of `shape`: transposes, bytes or a shard, then bytes-to-bytes codecs.

    Returns (codecs, plain): plain is False where zarr itself misreads the chain, because a shard
    stands behind a transpose and its inner chunks don't divide the chunk as it was before.
    """
    codecs, before, plain = [], shape, True
    for _ in range(draw(st.integers(0, 2))):
        order = draw(orders(len(shape)))
        codecs.append(transpose(*order))
        shape = tuple(shape[k] for k in order)
    if depth and draw(st.booleans()):
        inner = tuple(draw(st.sampled_from(_divisors(n))) for n in shape)
        plain = all(n % m == 0 for n, m in zip(before, inner, strict=True))
        inner_codecs, inner_plain = draw(chains(inner, depth - 1))
        plain = plain and inner_plain
        index_codecs = list(draw(st.sampled_from(_INDEX_CODECS)))
        if draw(st.integers(0, 3)) == 0:
            index_codecs.insert(0, transpose(*draw(orders(len(shape) + 1))))
        codecs.append(shard(inner, inner_codecs, index_codecs, draw(st.sampled_from(["start", "end"]))))
    else:
        codecs.append(draw(st.sampled_from([le(), be()])))
    codecs += draw(st.lists(st.sampled_from(_COMPRESSORS), max_size=2))
    return codecs, plain


def _divisors(n):
    return [m for m in range(1, n + 1) if n % m == 0]


# -- arrays -----------------------------------------------------------------------------------


@dataclass
class Case:
    """An array as stored and as it should be read. `plain`: zarr itself reads it right."""

    stored: Stored
    values: np.ndarray
    plain: bool
    complete: bool  # every chunk is stored
    codecs: list

    def __repr__(self):
        return f"Case({self.values.dtype}, {self.values.shape}, {self.stored.objects['zarr.json'].decode()})"


def zarr_fails(case):
    """Where zarr 3.1 is no oracle: it drops a struct's byte order when it reads the document, and can't shard voids."""
    voids_fail = '"big"' in repr(case) or "sharding_indexed" in repr(case)
    return case.values.dtype.kind == "V" and ZARR.release < (3, 2) and voids_fail


@st.composite
def cases(draw, *, min_dims=0, dtypes=None):
    """Arrays of 0 to 4 axes, up to three chunks an axis, stored by hand."""
    ndim = draw(st.integers(min_dims, 4))
    longest = (30, 30, 12, 6, 5)[ndim]
    chunk_shape = tuple(draw(st.integers(1, longest)) for _ in range(ndim))
    most = 3 if ndim < 4 else 2
    empty = draw(st.integers(0, 7)) == 0
    shape = tuple(draw(st.integers(0 if empty else 1, most * n)) for n in chunk_shape)
    dtype = draw(dtypes or all_dtypes())
    codecs, plain = draw(chains(chunk_shape))
    seed = draw(st.integers(0, 2**32 - 1))
    rng, choices = np.random.default_rng(seed), Random(seed)
    values = random_values(dtype, shape, rng)
    fill = _storable(dtype, random_values(dtype, (), rng) if draw(st.booleans()) else np.zeros((), dtype))
    grid = list(np.ndindex(*(-(-n // m) for n, m in zip(shape, chunk_shape, strict=True))))
    share = draw(st.sampled_from([0.0, 0.0, 0.3, 1.0]))
    missing = {at for at in grid if choices.random() < share}
    freedom = Freedom(choices, absent=draw(st.sampled_from([0.0, 0.3])), junk=draw(st.sampled_from([0, 7])))
    pad = random_values(dtype, (), rng)
    stored = handmade.store(values, chunk_shape, codecs, fill, missing=missing, freedom=freedom, pad=pad)
    return Case(stored, values, plain, not missing and freedom.absent == 0, codecs)


def _storable(dtype, fill):
    """The fill value as zarr gives it back from a document: some NaN payloads don't outlive that."""
    if dtype.kind in "SU":
        fill = np.array(b"fill" if dtype.kind == "S" else "fill", dtype)
    zdtype = get_data_type_from_native_dtype(dtype)
    return np.asarray(zdtype.from_json_scalar(fill_json(dtype, fill), zarr_format=3), dtype)


# -- selections -------------------------------------------------------------------------------


def _integers(draw, n):
    value = draw(st.integers(-n, n - 1))
    return draw(st.sampled_from([int, np.int64, np.int16]))(value)


@st.composite
def slices(draw, n):
    """Slices with bounds inside, outside and backwards of an axis of n; steps from 1 up."""
    bound = st.none() | st.integers(-n - 3, n + 3)
    step = draw(st.none() | st.integers(1, n + 2))
    return slice(draw(bound), draw(bound), step)


@st.composite
def basic_keys(draw, shape):
    """Legal keys: integers, NumPy integers, slices, Ellipsis, fewer items than axes."""
    parts = []
    for n in shape:
        kind = draw(st.sampled_from(["slice", "slice", "whole", "integer"]))
        if kind == "integer" and n:
            parts.append(_integers(draw, n))
        else:
            parts.append(slice(None) if kind == "whole" else draw(slices(n)))
    if draw(st.booleans()):
        return tuple(parts[: draw(st.integers(0, len(parts)))])
    if draw(st.booleans()):
        first = draw(st.integers(0, len(parts)))
        last = draw(st.integers(first, len(parts)))
        parts[first:last] = [Ellipsis]
    return parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)


@st.composite
def odd_keys(draw, shape):
    """Keys most of which zarr refuses: out of range, steps below one, too many, other objects."""
    n = max(shape, default=1)
    part = st.one_of(
        st.integers(-n - 4, n + 4),
        st.builds(slice, st.none() | st.integers(-n - 3, n + 3), st.none(), st.integers(-3, 2)),
        st.sampled_from([Ellipsis, None, True, False, 1.5, "x", np.array(1), np.float64(1), [], b"", 2**70]),
        st.just(np.zeros((2, 2), int)),
    )
    return draw(part | st.lists(part, max_size=len(shape) + 2).map(tuple))


@st.composite
def indices(draw, n):
    """An index list or array for one axis of n > 0: any order, repeats, negatives."""
    picked = draw(st.lists(st.integers(-n, n - 1), max_size=min(2 * n, 12)))
    return picked if draw(st.booleans()) else np.array(picked, draw(st.sampled_from(["i8", "i4"])))


@st.composite
def orthogonal_keys(draw, shape):
    """For arrays without an empty axis: a slice, integer, index array or mask for each axis."""
    parts = []
    for n in shape:
        kind = draw(st.sampled_from(["slice", "integer", "indices", "indices", "mask"]))
        if kind == "slice":
            parts.append(draw(slices(n)))
        elif kind == "integer":
            parts.append(draw(st.integers(-n, n - 1)))
        elif kind == "indices":
            parts.append(draw(indices(n)))
        else:
            parts.append(np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool))
    return tuple(parts)


def with_typed_lists(key):
    """The same with empty lists as arrays: zarr refuses an empty list, which doesn't say that it holds integers."""
    return tuple(np.array(part, int) if isinstance(part, list) and not part else part for part in key)


def pick_orthogonal(values, key):
    """What an orthogonal key picks, axis by axis."""
    axis_positions = []
    for part, n in zip(key, values.shape, strict=True):
        positions = np.arange(n)[np.asarray(part, int) if isinstance(part, list) else part]
        axis_positions.append(np.atleast_1d(positions))
    picked = values[np.ix_(*axis_positions)]
    keep = [m for part, m in zip(key, picked.shape, strict=True) if not isinstance(part, int)]
    return picked.reshape(keep)


@st.composite
def points(draw, shape):
    """Coordinates: index arrays of one shape, one per axis."""
    count = draw(st.integers(1, 12))
    form = draw(st.sampled_from([(count,), (count, 2)]))
    size = reduce(int.__mul__, form)
    lists = [draw(st.lists(st.integers(-n, n - 1), min_size=size, max_size=size)) for n in shape]
    return tuple(np.array(picked).reshape(form) for picked in lists)


@st.composite
def block_keys(draw, grid):
    """Keys for `arr.blocks`: integers and slices of step one over the chunk grid."""
    parts = []
    for n in grid:
        first = draw(st.integers(0, n - 1))
        parts.append(first if draw(st.booleans()) else slice(first, draw(st.integers(first + 1, n))))
    return tuple(parts)
