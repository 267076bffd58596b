"""Which parts of an array the demo reads."""

import math
from dataclasses import dataclass
from itertools import starmap
from typing import Any

import zarr

# An array can be far larger than memory, or have more chunks than anyone has time for.
LIMIT_NBYTES = 256 * 2**20
LIMIT_CHUNKS = 20_000

Key = tuple[int | slice, ...]


@dataclass(frozen=True)
class Read:
    """One selection; ``cut`` where the limits above took a part of what the label says."""

    label: str
    key: Key
    cut: bool = False

    def __str__(self) -> str:
        """The key as one would write it: ``[3, 0:10]``."""
        parts = [str(k) if isinstance(k, int) else f"{k.start}:{k.stop}" for k in self.key]
        return f"[{', '.join(parts) or '()'}]"


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


def choose(array: zarr.Array[Any]) -> list[Read]:
    """The reads for ``array``, of any rank and shape: one at least, "everything"."""
    # Without one shape of chunks, take ten an axis.
    chunks = one_shape(array, "chunks") or tuple(extent // 10 for extent in array.shape)
    pairs = zip(array.shape, chunks, strict=True)
    axes = [Axis(extent, max(1, min(chunk, extent))) for extent, chunk in pairs]
    sharded = one_shape(array, "shards") is not None
    keys: dict[str, Key] = {}
    if axes and array.size:
        keys["one item"] = tuple(axis.inside() for axis in axes)
        keys["one inner chunk" if sharded else "one chunk"] = tuple(axis.one_chunk() for axis in axes)
        if len(axes) > 1:  # across the axis of a vector lies an item, and that is there
            keys |= {f"plane, axis {i}": plane(axes, i) for i in range(len(axes))}
        keys["unaligned box"] = tuple(axis.unaligned() for axis in axes)
    keys["everything"] = tuple(axis.all() for axis in axes)
    itemsize = array.dtype.itemsize
    return list(starmap(lambda label, key: bounded(label, key, axes, itemsize), keys.items()))


def plane(axes: list[Axis], across: int) -> Key:
    """One index on axis ``across``, all of the others."""
    return tuple(a.inside() if i == across else a.all() for i, a in enumerate(axes))


def bounded(label: str, key: Key, axes: list[Axis], itemsize: int) -> Read:
    """The read of ``key``, or of as much of it as the limits allow.

    The first axes are cut first, to whole chunks, so that what remains lies together in
    the store; within a chunk only where one chunk alone is too large.
    """
    lengths = [1 if isinstance(k, int) else k.stop - k.start for k in key]
    before = list(lengths)

    def over() -> float:
        chunks = math.prod(-(-n // a.chunk) for n, a in zip(lengths, axes, strict=True))
        return max(math.prod(lengths) * itemsize / LIMIT_NBYTES, chunks / LIMIT_CHUNKS)

    for unit in ([axis.chunk for axis in axes], [1] * len(axes)):
        for i, step in enumerate(unit):
            if over() > 1:
                lengths[i] = min(lengths[i], max(1, int(lengths[i] / over() / step)) * step)
    cut = tuple(k if isinstance(k, int) else slice(k.start, k.start + n) for k, n in zip(key, lengths, strict=True))
    return Read(label, cut, lengths != before)
