"""Which parts of an array are read to compare."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import zarr

from cyzarr.cli.selection import write
from cyzarr.words import nbytes_text, so_many

# An array can be far larger than memory, or have more chunks than anyone has time for.
LIMIT_NBYTES = 256 * 2**20
LIMIT_CHUNKS = 20_000

# How many points are read, where they are.
POINTS = 1000

# One entry for each axis; index arrays are taken together.
Key = tuple[int | slice | np.ndarray, ...]


@dataclass(frozen=True)
class Limits:
    """What one read may take: bytes of the result, and chunks."""

    nbytes: int = LIMIT_NBYTES
    chunks: int = LIMIT_CHUNKS

    def __str__(self) -> str:
        return f"{nbytes_text(self.nbytes)} or {so_many(self.chunks, 'chunk')}"


DEMO = Limits()


@dataclass(frozen=True)
class Read:
    """One selection; ``cut`` where the limits above took a part of what the label says."""

    label: str
    key: Key
    cut: bool = False

    @property
    def is_basic(self) -> bool:
        """Whether the key is integers and slices alone."""
        return not any(isinstance(one, np.ndarray) for one in self.key)

    def __str__(self) -> str:
        """The key as one would write it: ``[3, 0:10]``."""
        return f"[{write(self.key)}]" if self.is_basic else "[points]"


@dataclass(frozen=True)
class Axis:
    """One axis of the array: its extent, its chunks' and where its middle chunk starts."""

    extent: int
    chunk: int

    @property
    def middle(self) -> int:
        return self.extent // 2 // self.chunk * self.chunk

    def all(self) -> slice:
        return slice(0, self.extent)

    def one_chunk(self) -> slice:
        return slice(self.middle, min(self.extent, self.middle + self.chunk))

    def inside(self) -> int:
        """An index within the middle chunk, on none of its edges where it has an inside."""
        return min(self.extent - 1, self.middle + self.chunk // 3)

    def unaligned(self) -> slice:
        """From within the middle chunk to within the next one."""
        start = min(self.extent - 1, self.middle + self.chunk // 2)
        return slice(start, min(self.extent, start + self.chunk + self.chunk // 3))


def one_shape(array: zarr.Array[Any], what: str) -> tuple[int, ...] | None:
    """``array.chunks`` or ``array.shards``; None where there are none, or of several shapes.

    The smallest unit stored is the chunk: zarr names the inner chunks of a sharded array so.
    """
    try:
        found: tuple[int, ...] | None = getattr(array, what)
    except NotImplementedError:  # a rectilinear grid
        return None
    return found


def axes_of(array: zarr.Array[Any], what: str = "chunks") -> list[Axis]:
    """The axes of an array, cut by its chunks or shards."""
    # Without one shape of chunks, take ten an axis.
    chunks = one_shape(array, what) or one_shape(array, "chunks") or tuple(extent // 10 for extent in array.shape)
    pairs = zip(array.shape, chunks, strict=True)
    return [Axis(extent, max(1, min(chunk, extent))) for extent, chunk in pairs]


def choose(array: zarr.Array[Any], limits: Limits = DEMO) -> list[Read]:
    """The reads for ``array``, of any rank and shape: one at least, "everything"."""
    axes = axes_of(array)
    sharded = one_shape(array, "shards") is not None
    keys: dict[str, tuple[int | slice, ...]] = {}
    if axes and array.size:
        keys["one item"] = tuple(axis.inside() for axis in axes)
        keys["one inner chunk" if sharded else "one chunk"] = tuple(axis.one_chunk() for axis in axes)
        if len(axes) > 1:  # across the axis of a vector lies an item, and that is there
            keys |= {f"plane, axis {i}": plane(axes, i) for i in range(len(axes))}
        keys["unaligned box"] = tuple(axis.unaligned() for axis in axes)
    keys["everything"] = tuple(axis.all() for axis in axes)
    itemsize = array.dtype.itemsize
    return [bounded(label, key, axes, itemsize, limits) for label, key in keys.items()]


def with_points(array: zarr.Array[Any], reads: list[Read]) -> list[Read]:
    """The reads, and one of points here and there, the same each time: before "everything", which takes longest."""
    if not array.ndim or not array.size:
        return reads
    rng = np.random.default_rng(0)
    count = min(POINTS, array.size)
    key = tuple(rng.integers(0, extent, count) for extent in array.shape)
    return [*reads[:-1], Read(f"{count} points", key), reads[-1]]


def plane(axes: list[Axis], across: int) -> tuple[int | slice, ...]:
    """One index on axis ``across``, all of the others."""
    return tuple(a.inside() if i == across else a.all() for i, a in enumerate(axes))


def bounded(label: str, key: tuple[int | slice, ...], axes: list[Axis], itemsize: int, limits: Limits = DEMO) -> Read:
    """The read of ``key``, or of as much of it as the limits allow.

    The first axes are cut first, to whole chunks, so that what remains lies together in
    the store; within a chunk only where one chunk alone is too large.
    """
    lengths = [1 if isinstance(k, int) else k.stop - k.start for k in key]
    before = list(lengths)

    def over() -> float:
        chunks = math.prod(-(-n // a.chunk) for n, a in zip(lengths, axes, strict=True))
        return max(math.prod(lengths) * itemsize / limits.nbytes, chunks / limits.chunks)

    for unit in ([axis.chunk for axis in axes], [1] * len(axes)):
        for i, step in enumerate(unit):
            if over() > 1:
                lengths[i] = min(lengths[i], max(1, int(lengths[i] / over() / step)) * step)
    cut = tuple(k if isinstance(k, int) else slice(k.start, k.start + n) for k, n in zip(key, lengths, strict=True))
    return Read(label, cut, lengths != before)
