"""Real data that others made, stored by zarr and by tensorstore, read back through every door.

The volume is the MNI152 brain template that nilearn's wheel carries (read from the file, so that
nilearn itself isn't imported).
"""

from __future__ import annotations

import gzip
import importlib.util
import struct
from pathlib import Path

import numpy as np
import pytest
import zarr

from support.compare import assert_same_values
from support.doors import ALL, DIRECT, PLAIN, asks_our_codecs, assert_native, by_codecs_alone, plain_zarr, trace
from support.handmade import be, blosc, codec, crc32c, le, shard, transpose, zstd
from support.handmade import gzip as gzip_codec

TEMPLATE = "datasets/data/mni_icbm152_t1_tal_nlin_sym_09a_converted.nii.gz"
NIFTI_DTYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8"}


def read_nifti(path):
    """The array of a NIfTI-1 file, in its own axes (x, y, z), without scaling."""
    data = gzip.decompress(Path(path).read_bytes())
    ndim, *dims = struct.unpack_from("<8h", data, 40)
    dtype = NIFTI_DTYPES[struct.unpack_from("<h", data, 70)[0]]
    offset = int(struct.unpack_from("<f", data, 108)[0])
    shape = dims[:ndim]
    values = np.frombuffer(data, "<" + dtype, int(np.prod(shape)), offset)
    return values.reshape(shape, order="F")


@pytest.fixture(scope="module")
def volume():
    """A brain: 8.7 million voxels of uint8."""
    spec = importlib.util.find_spec("nilearn")
    if spec is None:
        pytest.skip("nilearn, which carries the template, isn't installed")
    return read_nifti(Path(spec.submodule_search_locations[0], TEMPLATE))


def test_the_template_is_a_brain(volume):
    """A guard: the file is what the other tests take it for."""
    assert volume.shape == (197, 233, 189)
    assert volume.dtype == np.uint8
    assert volume[98, 116, 94] > 0
    assert volume[0, 0, 0] == 0
    assert 0.15 < (volume > 0).mean() < 0.5


KEYS = {
    "voxel": np.s_[98, 116, 94],
    "sagittal": np.s_[98],
    "coronal": np.s_[:, 116],
    "axial": np.s_[:, :, 94],
    "box": np.s_[61:130, 120:135, 3:100],
    "strided": np.s_[::7, 5::11, :-1:13],
    "everything": np.s_[...],
}


def check(array, volume, door):
    ours = not by_codecs_alone(door) or asks_our_codecs(array.metadata.to_dict()["codecs"])
    for key in KEYS.values():
        with trace() as counts:
            got = array[key]
        assert_same_values(got, volume[key])
        assert_native(counts, door, served=ours)
    points = np.random.default_rng(0).integers(0, volume.shape, (50, 3)).T
    assert_same_values(array.vindex[tuple(points)], volume[tuple(points)])
    rows = [3, 150, 3, 77]
    assert_same_values(array.oindex[rows, 100, 20:30], volume[rows, 100, 20:30])


ZARR_LAYOUTS = {
    "sharded, zstd": {"chunks": (32, 32, 32), "shards": (128, 128, 128)},
    "sharded, raw": {"chunks": (32, 64, 64), "shards": (64, 128, 128), "compressors": None},
    "sharded, blosc": {
        "chunks": (32, 32, 64),
        "shards": (64, 256, 192),
        "compressors": zarr.codecs.BloscCodec(cname="zstd", shuffle="bitshuffle"),
    },
    "plain, zstd": {"chunks": (64, 64, 64)},
}


@pytest.fixture(scope="module", params=ZARR_LAYOUTS.values(), ids=ZARR_LAYOUTS)
def stored_by_zarr(request, volume, tmp_path_factory):
    folder = tmp_path_factory.mktemp("zarr")
    with plain_zarr():
        made = zarr.create_array(folder, shape=volume.shape, dtype=volume.dtype, **request.param)
        made[...] = volume
    return folder


def test_stored_by_zarr(door, volume, stored_by_zarr):
    check(zarr.open_array(stored_by_zarr, mode="r"), volume, door)


def _dtype_in_volume(volume, dtype):
    """The volume in another data type, with values that use its width."""
    return (volume * np.array(257, dtype)).astype(dtype) if dtype != "uint8" else volume


TENSORSTORE_LAYOUTS = {
    "sharded, zstd": ("uint8", (128, 128, 128), [shard((32, 32, 32), [le(), zstd()])]),
    "sharded, blosc, big-endian": ("uint16", (64, 128, 128), [shard((32, 32, 64), [be(), blosc("lz4", typesize=2)])]),
    "gzip, transposed": ("float32", (64, 96, 64), [transpose(2, 0, 1), le(), gzip_codec(), crc32c()]),
    "index at start": ("uint16", (128, 128, 128), [shard((64, 32, 32), [le(), zstd()], [be(), crc32c()], "start")]),
    "shard behind a transpose": ("uint8", (50, 64, 36), [transpose(1, 2, 0), shard((16, 18, 25), [le(), zstd()])]),
}


@pytest.fixture(scope="module", params=TENSORSTORE_LAYOUTS, ids=str)
def stored_by_tensorstore(request, volume, tmp_path_factory):
    """(name, folder, values)"""
    tensorstore = pytest.importorskip("tensorstore")
    dtype, chunk_shape, codecs = TENSORSTORE_LAYOUTS[request.param]
    folder = tmp_path_factory.mktemp("tensorstore")
    values = _dtype_in_volume(volume, dtype)
    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": str(folder)},
        "metadata": {
            "shape": list(values.shape),
            "data_type": dtype,
            "chunk_grid": codec("regular", chunk_shape=list(chunk_shape)),
            "codecs": [_for_tensorstore(each) for each in codecs],
            "fill_value": 0,
        },
    }
    tensorstore.open(spec, create=True).result().write(np.ascontiguousarray(values)).result()
    return request.param, folder, values


def _for_tensorstore(each):
    """tensorstore knows zstd without `checksum`."""
    configuration = {k: v for k, v in each.get("configuration", {}).items() if k != "checksum"}
    for inner in ("codecs", "index_codecs"):
        if inner in configuration:
            configuration[inner] = [_for_tensorstore(c) for c in configuration[inner]]
    return {**each, "configuration": configuration} if configuration else each


def test_stored_by_tensorstore(door, stored_by_tensorstore):
    name, folder, values = stored_by_tensorstore
    if name == "shard behind a transpose" and (PLAIN or door not in (DIRECT, ALL)):
        pytest.xfail("the configuration doors can't change zarr's rules, which refuse this document")
    check(zarr.open_array(folder, mode="r"), values, door)
