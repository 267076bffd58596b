"""The arrays that reads.py reads, and the reads of each: 24 to 64 MiB, so that runs stay short."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import zarr
from numcodecs import Blosc, Zstd
from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

DAY = 4320
DAYS = 370


def image() -> np.ndarray:
    """Photon counts: hardly compressible. 32 MiB."""
    return np.random.default_rng(0).poisson(100, (64, 512, 512)).astype("u2")


def cube() -> np.ndarray:
    """A smooth field, rounded: compressible. 64 MiB."""
    x, y, z = (axis.astype("f4") for axis in np.ogrid[:256, :256, :256])
    waves = np.sin(x / 25) + np.sin(y / 35) + np.sin(z / 45)
    noise = np.random.default_rng(0).normal(0, 0.02, waves.shape).astype("f4")
    return np.round(waves + noise, 2)


def series() -> np.ndarray:
    """Two long rows, of many days each. 24 MiB."""
    return np.round(np.random.default_rng(0).normal(size=(2, DAYS * DAY)), 2)


ZSTD = ZstdCodec(level=1)
BLOSC = BloscCodec(cname="lz4", clevel=5, shuffle="shuffle", typesize=4)

# name: (values, shards, chunks, compressor); of Zarr v2 where the name says so
LAYOUTS = {
    "image_zstd": (image, (64, 256, 256), (16, 64, 64), ZSTD),
    "image_raw": (image, (64, 256, 256), (16, 64, 64), None),
    "cube_blosc": (cube, (128, 128, 128), (32, 32, 32), BLOSC),
    "cube_raw": (cube, (128, 128, 128), (32, 32, 32), None),
    "plain_raw": (cube, None, (64, 256, 256), None),
    "plain_zstd": (cube, None, (64, 64, 64), ZSTD),
    "series_zstd": (series, (1, DAYS * DAY), (1, DAY), ZSTD),
    "series_raw": (series, (1, DAYS * DAY), (1, DAY), None),
    "series_gzip": (series, None, (1, 10 * DAY), GzipCodec(level=1)),
    "v2_blosc": (cube, None, (64, 64, 64), Blosc("lz4", 5, Blosc.SHUFFLE)),
    "v2_zstd": (cube, None, (64, 64, 64), Zstd(1)),
}

IMAGE_READS = {
    "all": np.s_[:, :, :],
    "one inner chunk": np.s_[16:32, 64:128, 64:128],
    "unaligned box": np.s_[10:20, 100:400, 200:450],
    "one frame": np.s_[5, :, :],
}
CUBE_READS = {
    "all": np.s_[:, :, :],
    "far-axis plane": np.s_[:, :, 100],
    "every 7th": np.s_[::7, ::7, ::7],
}
PLAIN_READS = {
    "all": np.s_[:, :, :],
    "one item": np.s_[100, 200, 130],
    "region of one frame": np.s_[100, 100:200, 50:150],
    "region of 20 frames": np.s_[100:120, 100:200, 50:150],
}
SERIES_READS = {
    "all": np.s_[:, :],
    "one day": np.s_[1, DAY * 100 : DAY * 101],
}
V2_READS = {
    "all": np.s_[:, :, :],
    "one chunk": np.s_[64:128, 64:128, 64:128],
    "unaligned box": np.s_[50:150, 60:200, 33:90],
}


def write_all(root: Path, names: Iterable[str] = LAYOUTS) -> None:
    """Write these layouts below ``root``, by zarr."""
    for name in names:
        values, shards, chunks, compressor = LAYOUTS[name]
        data = values()
        v2 = name.startswith("v2_")
        array = zarr.create_array(
            root / name,
            shape=data.shape,
            dtype=data.dtype,
            shards=shards,
            chunks=chunks,
            filters=None,
            compressors=compressor,
            zarr_format=2 if v2 else 3,
        )
        array[...] = data
