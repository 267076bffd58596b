"""The demo's own array: a sharded volume such as a microscope or a model gives."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.codecs import ZstdCodec

SHARD = 256
INNER = 32


def nbytes(edge: int) -> int:
    """How many bytes an array of ``edge`` ** 3 items has."""
    return 2 * edge**3


def create(path: Path, edge: int) -> zarr.Array[Any]:
    """An empty array of ``edge`` ** 3 uint16 items at ``path``, in zstd-compressed shards."""
    shard = min(SHARD, -(-edge // INNER) * INNER)
    return zarr.create_array(
        path,
        shape=(edge,) * 3,
        dtype="uint16",
        shards=(shard,) * 3,
        chunks=(INNER,) * 3,
        filters=None,
        compressors=ZstdCodec(level=1),
    )


def regions(array: zarr.Array[Any]) -> list[tuple[slice, ...]]:
    """The part of each shard that lies in the array."""
    shards = array.shards or array.chunks
    starts = [range(0, n, step) for n, step in zip(array.shape, shards, strict=True)]
    return [
        tuple(slice(a, min(a + step, n)) for a, step, n in zip(corner, shards, array.shape, strict=True))
        for corner in product(*starts)
    ]


def values(region: tuple[slice, ...]) -> np.ndarray:
    """Smooth waves with a little noise: it compresses about as images do.

    The same region always gives the same values.
    """
    rng = np.random.default_rng([part.start for part in region])
    x, y, z = (axis.astype("float32") for axis in np.ogrid[region])
    waves = np.sin(x / 25) + np.sin(y / 35) + np.sin(z / 45)
    noise = rng.integers(0, 16, waves.shape, dtype="uint16")
    return np.add((1000 + 300 * waves).astype("uint16"), noise)


def write(array: zarr.Array[Any], step: Callable[[], None]) -> None:
    """Fill ``array``, shard by shard; ``step`` is called after each."""
    for region in regions(array):
        array[region] = values(region)
        step()
