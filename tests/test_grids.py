"""Rectilinear grids, plain and under shards, against zarr alone."""

from __future__ import annotations

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.storage import MemoryStore

from support import doors
from support.compare import Outcome, assert_same_outcome
from support.handmade import Stored
from support.strategies import basic_keys, orthogonal_keys, points, random_values

if zarr.config.get("array.rectilinear_chunks", None) is None:
    pytest.skip("this zarr has no rectilinear grids", allow_module_level=True)

# zarr 3.2 writes neither shards nor regular axes on such a grid, and reads no blocks of it.
COMPLETE = doors.ZARR.release >= (3, 3)


@pytest.fixture(autouse=True)
def allowed():
    with zarr.config.set({"array.rectilinear_chunks": True}):
        yield


@st.composite
def written(draw):
    """(objects, values): an array on a rectilinear grid, written by zarr alone, parts of it perhaps never written."""
    ndim = draw(st.integers(1, 3))
    unit = tuple(draw(st.integers(1, 3)) for _ in range(ndim))
    edges = [[u * k for k in draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))] for u in unit]
    shape = tuple(sum(along) for along in edges)
    # An axis may be regular.
    if COMPLETE and ndim > 1 and draw(st.booleans()):
        edges[0] = unit[0] * draw(st.integers(1, 2))
    dtype = np.dtype(draw(st.sampled_from(["i4", "f8", "u1", "S3", "c8", "M8[s]"])))
    values = random_values(dtype, shape, np.random.default_rng(draw(st.integers(0, 2**32 - 1))))
    sharded = COMPLETE and draw(st.booleans())
    grid = {"chunks": unit, "shards": edges} if sharded else {"chunks": edges}
    compressors = draw(st.sampled_from([None, "auto"]))
    array = zarr.create_array(
        MemoryStore(), shape=shape, dtype=dtype, fill_value=values.flat[0], compressors=compressors, **grid
    )
    part = tuple(slice(0, draw(st.integers(0, n))) for n in shape) if draw(st.booleans()) else ...
    array[part] = values[part]
    if draw(st.booleans()):
        # A shrunk array's last chunks reach beyond it.
        array.resize(tuple(max(1, n - draw(st.integers(0, 5))) for n in shape))
    return Stored({key: value.to_bytes() for key, value in array.store._store_dict.items()}), array.shape, array


@st.composite
def blocks(draw, counts):
    """Keys for `blocks`, some of them outside."""
    whole = st.just(slice(None))
    along = [
        st.integers(-n - 1, n) | st.builds(slice, st.integers(0, n), st.integers(0, n + 1)) | whole for n in counts
    ]
    return tuple(draw(one) for one in along)


READS = {
    "basic": lambda array, key: array[key],
    "get_basic_selection": lambda array, key: array.get_basic_selection(key),
    "orthogonal": lambda array, key: array.oindex[key],
    "points": lambda array, key: array.vindex[key],
    "mask": lambda array, key: array.get_mask_selection(key),
    "blocks": lambda array, key: array.blocks[key],
}


def keys(kind, shape, array):
    """Keys of a kind for an array."""
    if kind == "mask":
        return st.integers(0, 2**32 - 1).map(lambda seed: np.random.default_rng(seed).random(shape) < 0.3)
    if kind == "blocks":
        return blocks(tuple(len(along) for along in array.write_chunk_sizes))
    return {"orthogonal": orthogonal_keys, "points": points}.get(kind, basic_keys)(shape)


@pytest.mark.parametrize("door", doors.doors(), ids=repr)
@given(data=st.data())
def test_as_zarr_reads(door, tmp_path_factory, data):
    with doors.plain_zarr():
        objects, shape, array = data.draw(written())
    kind = data.draw(st.sampled_from(sorted(READS)[not COMPLETE :]), label="kind")
    key = data.draw(keys(kind, shape, array), label="key")
    store = objects.local(tmp_path_factory.mktemp("grids")) if data.draw(st.booleans()) else objects.memory()
    with doors.plain_zarr():
        want = Outcome.of(READS[kind], zarr.open_array(store, mode="r"), key)
    with door.through():
        opened = zarr.open_array(store, mode="r")
        with doors.trace() as counts:
            got = Outcome.of(READS[kind], opened, key)
    assert_same_outcome(got, want)
    if want.error is None and not doors.PLAIN:
        doors.assert_native(counts, door, served=False)
        if door is doors.DIRECT and np.size(want.value):
            assert set(counts.reads) == {"direct"}


@doors.needs_cyzarr
@pytest.mark.skipif(not COMPLETE, reason="zarr 3.2 writes no shards on a rectilinear grid")
def test_only_touched_chunks_are_read(tmp_path):
    with doors.plain_zarr():
        array = zarr.create_array(
            tmp_path,
            shape=(60, 8),
            chunks=(2, 2),
            shards=[[4, 20, 36], [8]],
            dtype="i4",
            compressors=None,
            fill_value=0,
        )
        array[...] = np.arange(480).reshape(60, 8)
    with doors.DIRECT.through(), doors.trace() as counts:
        np.testing.assert_array_equal(array[3:5, 0], [24, 32])
    # Two shards: an index and a window of one inner chunk from each.
    assert (counts.requests, counts.chunks_decoded) == (4, 2)


@doors.needs_cyzarr
def test_missing_chunks_are_refused_where_the_user_says_so(tmp_path):
    config = {"read_missing_chunks": False}
    with doors.plain_zarr():
        array = zarr.create_array(tmp_path, shape=(9,), chunks=[[2, 3, 4]], dtype="i4", fill_value=0, config=config)
        array[:5] = 1
    with doors.DIRECT.through():
        assert array[4] == 1
        with pytest.raises(zarr.errors.ChunkNotFoundError):
            array[4:6]
