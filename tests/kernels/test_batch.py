"""run_reads with labels: reads of one object share what is decoded, and give what they give alone."""

from __future__ import annotations

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from numcodecs import Zstd

import cyzarr
from cyzarr import kernels

SHAPE = (24, 20)
VALUES = np.arange(24 * 20, dtype="u2").reshape(SHAPE)


def shard(compressed=True):
    """A shard of 6 x 5 inner chunks of 4 x 4, some of which are absent, and its program."""
    body, index = b"", []
    for number, (i, j) in enumerate(np.ndindex(6, 5)):
        inner = VALUES[4 * i : 4 * i + 4, 4 * j : 4 * j + 4].tobytes()
        data = Zstd().encode(inner) if compressed else inner
        if number % 7 == 3:
            index += [2**64 - 1, 2**64 - 1]
        else:
            index += [len(body), len(data)]
            body += data
    chain = {
        "shape": SHAPE,
        "shard": {
            "chunk_shape": (4, 4),
            "chain": {
                "shape": (4, 4),
                "filters": [{"name": "zstd", "codec": Zstd()}] if compressed else [],
                "bytes": {"dtype": np.dtype("<u2")},
            },
            "index": {"location": "end", "byteorder": "little", "checksums": 0, "order": None},
        },
    }
    return body + np.array(index, "<u8").tobytes(), kernels.Program(chain, "u2", b"\x07\x00")


def expected():
    want = VALUES.copy()
    for number, (i, j) in enumerate(np.ndindex(6, 5)):
        if number % 7 == 3:
            want[4 * i : 4 * i + 4, 4 * j : 4 * j + 4] = 7
    return want


def keys(extent):
    bound = st.integers(-extent, extent)
    return st.one_of(
        st.integers(0, extent - 1),
        st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, 3, -1, -3])),
        st.lists(st.integers(0, extent - 1), max_size=8).map(lambda found: np.array(found, np.intp)),
    )


def picked(values, key):
    positions = [np.atleast_1d(np.arange(n)[one]) for one, n in zip(key, values.shape, strict=True)]
    kept = [len(at) for at, one in zip(positions, key, strict=True) if np.ndim(one) or isinstance(one, slice)]
    return values[np.ix_(*positions)].reshape(kept)


@given(st.lists(st.tuples(keys(24), keys(20)), min_size=1, max_size=6), st.booleans(), st.integers(1, 3), st.booleans())
def test_any_selections_of_one_shard(selections, compressed, threads, split):
    data, program = shard(compressed)
    want = [picked(expected(), key) for key in selections]
    reads = [
        kernels.ChunkRead(program, key, np.zeros(one.shape, "u2"), f"r{at}")
        for at, (key, one) in enumerate(zip(selections, want, strict=True))
    ]
    for read in reads:
        read.set_object(data)
    for _ in range(2):
        # The second time the same reads run anew.
        stats = kernels.run_reads(reads, threads, labels=range(len(reads)) if split else [0] * len(reads))
        for read, one in zip(reads, want, strict=True):
            assert (read.out == one).all()
            read.out[...] = 0
    if not split:
        cells = set()
        for y, x in selections:
            rows = np.atleast_1d(np.arange(24)[y]) // 4
            columns = np.atleast_1d(np.arange(20)[x]) // 4
            cells |= {(int(i), int(j)) for i in rows for j in columns}
        absent = {(n // 5, n % 5) for n in range(30) if n % 7 == 3}
        assert stats["chunks_decoded"] == len(cells - absent)
        assert stats["inner_missing"] == len(cells & absent)


def test_what_cannot_share():
    data, program = shard()
    points = kernels.ChunkRead(program, (np.array([1]), np.array([2])), np.zeros(1, "u2"), points=True)
    points.set_object(data)
    with pytest.raises(ValueError, match="can't share"):
        kernels.run_reads([points], labels=[0])
    one, other = (kernels.ChunkRead(of, (1, 2), np.zeros((), "u2")) for of in (program, shard()[1]))
    one.set_object(data)
    other.set_object(data)
    with pytest.raises(ValueError, match="different programs"):
        kernels.run_reads([one, other], labels=[0, 0])
    with pytest.raises(ValueError):
        kernels.run_reads([one, other], labels=[0])
    kernels.run_reads([one, other], labels=[0, 1])


@pytest.mark.parametrize("layout", [{"chunks": (2, 2, 2)}, {"chunks": (1, 1, 1), "shards": (2, 2, 2)}])
def test_more_chunks_than_a_number_counts(layout):
    extent = 1 << 40
    array = zarr.create_array({}, shape=(extent,) * 3, dtype="i4", **layout)
    far = [0, 1, 5, extent // 3, extent // 2, extent - 3, extent - 2]
    windows, want = [], []
    for at in far:
        for up in (at, (at * 7) % (extent - 2)):
            array[at, up, at] = at % 1000 + 1
            windows += [(slice(at, at + 2), slice(up, up + 2), slice(at, at + 2)), (at, slice(up, up + 1), at)] * 2
    want = [array[key] for key in windows]
    found = cyzarr.read_many(array, windows)
    assert all((a == b).all() for a, b in zip(found, want, strict=True))


def test_small_inner_chunks_of_a_file_are_read_together(tmp_path):
    array = zarr.create_array(
        tmp_path, shape=(256, 256), chunks=(4, 4), shards=(256, 256), dtype="u1", compressors=None
    )
    array[...] = values = np.random.default_rng(0).integers(1, 255, (256, 256)).astype("u1")
    array = zarr.open_array(tmp_path)
    windows = [(slice(y, y + 36), slice(x, x + 33)) for y in range(0, 256, 32) for x in range(0, 256, 32)]
    windows = [windows[at] for at in np.random.default_rng(1).permutation(len(windows))]
    with cyzarr.trace() as counts:
        found = cyzarr.read_many(array, windows)
    assert all((one == values[key]).all() for one, key in zip(found, windows, strict=True))
    assert counts.chunks_decoded == 64 * 64
    # zarr writes them along a curve, and in that order they are read.
    assert counts.requests < 200


def file_read(path, program, key):
    shape = np.empty(program.shape, "b")[key].shape
    read = kernels.ChunkRead(program, key, np.zeros(shape, program.dtype))
    read.set_file(bytes(path))
    return read


def test_large_windows_of_a_raw_chunk_of_a_file_need_no_scratch(tmp_path):
    rows = 1 << 11
    values = np.random.default_rng(0).integers(0, 255, (rows, 1 << 12)).astype("u1")
    (tmp_path / "chunk").write_bytes(values.tobytes())
    program = kernels.Program({"shape": values.shape, "bytes": {"dtype": np.dtype("u1")}}, "u1", b"\0")
    keys = [(slice(0, 3 * rows // 4), slice(None)), (slice(rows // 4, rows), slice(None))]
    reads = [file_read(tmp_path / "chunk", program, key) for key in keys]
    stats = kernels.run_reads(reads, labels=[0, 0])
    assert all((read.out == values[key]).all() for read, key in zip(reads, keys, strict=True))
    assert stats["requests"] == 2
    assert stats["bytes_read"] == values.size * 3 // 2
    # Small ones together pick more than all of it: that is read once.
    small = [(slice(y, y + 64), slice(x, x + 64)) for y in range(0, rows - 63, 32) for x in range(0, 4096 - 63, 32)]
    reads = [file_read(tmp_path / "chunk", program, key) for key in small]
    stats = kernels.run_reads(reads, labels=[0] * len(reads))
    assert all((read.out == values[key]).all() for read, key in zip(reads, small, strict=True))
    assert stats["requests"] == 1


def test_reads_of_a_batch_run_alone_afterwards(tmp_path):
    """What a batch has noted in them is not theirs for good."""
    data, program = shard(compressed=False)
    (tmp_path / "shard").write_bytes(data)
    keys = [(slice(0, 17), slice(3, 20)), (slice(9, 24), slice(0, 11)), (slice(None), slice(None))]
    reads = [file_read(tmp_path / "shard", program, key) for key in keys]
    for labels in ([0, 0, 0], None, [0, 1, 0], None):
        kernels.run_reads(reads, labels=labels)
        for read, key in zip(reads, keys, strict=True):
            assert (read.out == expected()[key]).all()
            read.out[...] = 0
        kernels.run_reads(reads[:1])
        assert (reads[0].out == expected()[keys[0]]).all()
