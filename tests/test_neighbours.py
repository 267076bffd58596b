"""Small inner chunks of local shards: those that lie together are read together, in whatever order they lie."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
import zarr

from support.compare import assert_same_values
from support.doors import PLAIN
from support.handmade import Freedom, checksum, crc32c, le, shard, store, zstd

if PLAIN:
    pytest.skip("about cyzarr, which this run leaves out", allow_module_level=True)

import cyzarr


def written(folder, shape, inner, codecs=(), freedom=None, location="end"):
    """A shard of '<i4' values, and these."""
    a = np.arange(1, math.prod(shape) + 1, dtype="<i4").reshape(shape)
    stored = store(a, shape, [shard(inner, [le(), *codecs], location=location)], freedom=freedom)
    return zarr.open_array(stored.local(folder), mode="r"), a


def read(array, key, threads=1):
    settings = {"cyzarr.threads": threads, "cyzarr.index_cache_nbytes": 0}
    with zarr.config.set(settings), cyzarr.enabled(), cyzarr.trace() as counts:
        got = array[key]
    assert counts.reads == {"direct": 1}
    return got, counts


@pytest.mark.parametrize(
    ("inner", "key", "requests"),
    [
        (32, np.s_[:], 1),  # all: 64 of 128 bytes
        (32, np.s_[40:70], 1),
        (32, np.s_[3:4], 1),
        (32, np.s_[::64], 1),  # every other one
        (512, np.s_[:], 2),  # 64 of 2 KiB: two times 64 KiB
        (512, np.s_[:: 3 * 512], 1 + (22 * 3 * 2048 - 2 * 2048 - 1) // 65536),  # gaps of 4 KiB
        (512, np.s_[:: 4 * 512], 16),  # of 6 KiB: each by itself
        (4096, np.s_[: 6 * 4096], 2),  # of 16 KiB, whole: four at once
        (4096, np.s_[4095 : 5 * 4096 : 4096], 5),  # the last of each: no more is read than is needed
        (8192, np.s_[: 5 * 8192], 5),  # too large to gain
    ],
)
@pytest.mark.parametrize("location", ["start", "end"])
def test_requests(inner, key, requests, location, tmp_path):
    array, a = written(tmp_path, (64 * inner,), (inner,), location=location)
    got, counts = read(array, key)
    assert_same_values(got, a[key])
    assert counts.requests == 1 + requests


@pytest.mark.parametrize("codecs", [[], [crc32c()], [zstd()]], ids=["raw", "crc32c", "zstd"])
@pytest.mark.parametrize("threads", [1, 2])
def test_any_order_in_the_file(codecs, threads, tmp_path):
    """Shuffled, with gaps and holes: a whole read is the index, and 64 KiB at once."""
    for seed in range(5):
        freedom = Freedom(Random(seed), absent=0.2, junk=100)
        array, a = written(tmp_path / str(seed), (40, 40, 40), (5, 4, 5), codecs, freedom)
        got, counts = read(array, np.s_[...], threads)
        assert_same_values(got, a)
        # Each thread may read over the end of its share; several of them take parts of shares.
        assert counts.requests <= 7 if threads == 1 else counts.requests < 100
        for key in [np.s_[3:30:2, 7, 4:], np.s_[39, :, 38:], np.s_[:7, 20:, ::3]]:
            assert_same_values(read(array, key, threads)[0], a[key])


def test_as_zarr_writes_them(tmp_path):
    """Along a Morton curve."""
    a = np.arange(128 * 128, dtype="i4").reshape(128, 128)
    array = zarr.create_array(tmp_path, shape=a.shape, chunks=(8, 8), shards=a.shape, dtype="i4", compressors=None)
    array[...] = a
    for key, requests in [(np.s_[...], 1), (np.s_[:64, :64], 1), (np.s_[:64], 2), (np.s_[:, :64], 2)]:
        got, counts = read(zarr.open_array(tmp_path, mode="r"), key)
        assert_same_values(got, a[key])
        assert counts.requests <= 1 + requests < 5


def test_many_shards_at_once(tmp_path):
    """What was read of one is never taken for another's."""
    a = np.random.default_rng(0).integers(0, 1 << 30, (64, 256)).astype("<i4")
    stored = store(a, (4, 64), [shard((1, 16), [le()])], freedom=Freedom(Random(1), junk=30))
    array = zarr.open_array(stored.local(tmp_path), mode="r")
    for threads in (1, 2, 3):
        for _ in range(20):
            got, _ = read(array, np.s_[...], threads)
            assert_same_values(got, a)


@pytest.mark.parametrize("codecs", [[], [zstd()]], ids=["raw", "zstd"])
def test_one_bad_neighbour_is_named(codecs, tmp_path):
    array, a = written(tmp_path, (64 * 32,), (32,), codecs)
    path = tmp_path / "c" / "0"
    data = bytearray(path.read_bytes())
    index = np.frombuffer(data[-(64 * 16 + 4) : -4], "<u8").reshape(-1, 2).copy()
    index[7, 0] = len(data)
    data[-(64 * 16 + 4) :] = index.tobytes() + checksum(index.tobytes())
    path.write_bytes(data)
    with pytest.raises(cyzarr.CorruptChunkError) as caught:
        read(array, np.s_[:])
    assert caught.value.inner == "(7,)"
    for key in (np.s_[: 7 * 32], np.s_[8 * 32 :]):
        assert_same_values(read(array, key)[0], a[key])
