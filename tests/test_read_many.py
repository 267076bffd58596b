"""`cyzarr.read_many`: many windows of one array, against NumPy; what is fetched and decoded is counted."""

from __future__ import annotations

import numpy as np
import pytest
import zarr
from hypothesis import assume, given
from hypothesis import strategies as st
from zarr.codecs import ZstdCodec
from zarr.storage import LocalStore, MemoryStore

import cyzarr
from cyzarr import _zarr
from cyzarr.errors import CorruptChunkError
from support import doors, handmade
from support.asked import AskedStore, RangesStore
from support.compare import assert_same_values
from support.handmade import crc32c, le, shard, zstd
from support.strategies import basic_keys, cases, orthogonal_keys, pick_orthogonal, with_typed_lists, zarr_fails
from support.tensors import OldTensor, Tensor

STORES = ["local", "memory", "asked"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("many")
    numbers = iter(range(10**9))
    return lambda: base / str(next(numbers))


def opened(stored, kind, folders):
    """An array whose objects lie in a store of a kind."""
    if kind == "asked":
        store = AskedStore.of(stored)
    else:
        store = stored.local(folders()) if kind == "local" else stored.memory()
    return zarr.open_array(store, mode="r")


def contiguous(values):
    return np.array(values, order="C")


@pytest.mark.filterwarnings("ignore:nothing was traced")  # of no windows
@given(st.data(), st.sampled_from(STORES), st.booleans())
def test_basic_windows(folders, data, kind, on):
    case = data.draw(cases())
    assume(case.plain and not zarr_fails(case))
    keys = data.draw(st.lists(basic_keys(case.values.shape), max_size=6))
    array = opened(case.stored, kind, folders)
    if on:
        cyzarr.enable()
    with cyzarr.trace() as counts:
        found = cyzarr.read_many(array, keys)
    cyzarr.disable()
    assert len(found) == len(keys)
    assert isinstance(found, np.ndarray) == (len({np.shape(case.values[key]) for key in keys}) == 1)
    for at, key in enumerate(keys):
        # A view, since a single item of an array of bytes would be cut to its length.
        one = found[at, ...] if isinstance(found, np.ndarray) else found[at]
        assert_same_values(one, np.array(case.values[key], case.values.dtype, order="C"))
    assert not counts.fallbacks


@given(st.data(), st.sampled_from(STORES))
def test_orthogonal_windows_into_any_strides(folders, data, kind):
    case = data.draw(cases(min_dims=1))
    assume(case.plain and not zarr_fails(case) and 0 not in case.values.shape)
    keys = data.draw(st.lists(orthogonal_keys(case.values.shape).map(with_typed_lists), min_size=1, max_size=4))
    array = opened(case.stored, kind, folders)
    want = [pick_orthogonal(case.values, key) for key in keys]
    bases = [np.zeros(tuple(2 * n for n in one.shape), one.dtype) for one in want]
    out = [base[(*[slice(None, None, -2)] * base.ndim, ...)] for base in bases]
    assert cyzarr.read_many(array, keys, out) is out
    for found, one in zip(out, want, strict=True):
        assert_same_values(contiguous(found), contiguous(one).reshape(one.shape))
    for found, base in zip(out, bases, strict=True):
        found[...] = np.zeros((), base.dtype)
        assert base.tobytes() == bytes(base.nbytes)


VALUES = np.arange(64 * 64, dtype="i4").reshape(64, 64)


def stored(codecs=None, values=VALUES, **given):
    """Shards of 32 x 32, inner chunks of 8 x 8 with zstd; or whatever chain is given."""
    codecs = [shard((8, 8), [le(), zstd()], [le(), crc32c()], "end")] if codecs is None else codecs
    # A copy, since what is left out becomes the fill value there.
    return handmade.store(values.copy(), (32, 32), codecs, np.zeros((), values.dtype), **given)


def boxes(n, size, seed=0):
    at = np.random.default_rng(seed).integers(0, 64 - size, (n, 2))
    return [(slice(int(i), int(i) + size), slice(int(j), int(j) + size)) for i, j in at]


def touched(windows, step):
    """How many cells of a grid windows touch."""
    return len({(i // step, j // step) for y, x in windows for i in range(64)[y] for j in range(64)[x]})


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize(
    ("codecs", "step"),
    [(None, 8), ([le(), zstd()], 32), ([shard((8, 8), [le(), crc32c()], [le()], "start")], 8)],
    ids=["sharded", "plain", "checked"],
)
def test_each_touched_chunk_is_decoded_once(folders, kind, codecs, step):
    windows = boxes(60, 12)
    array = opened(stored(codecs), kind, folders)
    with cyzarr.trace() as counts:
        found = cyzarr.read_many(array, windows)
    assert counts.chunks_decoded == touched(windows, step)
    assert_same_values(found, np.stack([VALUES[key] for key in windows]))


def test_each_object_is_opened_and_its_index_read_once(folders):
    windows = boxes(60, 12)
    array = opened(stored(), "local", folders)
    with cyzarr.trace() as counts:
        cyzarr.read_many(array, windows)
    # An index for each of four shards, and each inner chunk, some of them together with those that follow.
    assert counts.chunks_decoded == touched(windows, 8)
    assert 8 <= counts.requests < 4 + touched(windows, 8)
    assert counts.bytes_read == counts.bytes_needed


@pytest.mark.parametrize("made", [AskedStore, RangesStore])
def test_a_store_is_asked_once_for_what_windows_share(made):
    windows = [(slice(0, 10), slice(0, 10)), (slice(4, 12), slice(4, 12)), (slice(5, 12), slice(33, 40))]
    store = made.of(stored())
    array = zarr.open_array(store, mode="r")
    found = cyzarr.read_many(array, windows)
    for key, one in zip(windows, found, strict=True):
        assert_same_values(one, contiguous(VALUES[key]))
    # Of two shards: the index, and what is near together as one.
    assert len(store.log) == 4


def test_far_windows_of_an_uncompressed_chunk_are_read_apart(folders):
    codecs = [shard((32, 32), [le()], [le(), crc32c()], "end")]
    array = opened(stored(codecs), "local", folders)
    windows = [(slice(0, 2), slice(0, 32)), (slice(30, 32), slice(0, 32))]
    with cyzarr.trace() as counts:
        cyzarr.read_many(array, windows)
    assert counts.bytes_read == 2 * 2 * 32 * 4 + 20
    assert counts.chunks_decoded == 1


def test_a_store_is_asked_for_windows_of_uncompressed_inner_chunks():
    store = AskedStore.of(stored([shard((32, 32), [le()], [le(), crc32c()], "end")]))
    array = zarr.open_array(store, mode="r")
    windows = [(slice(0, 2), slice(0, 32)), (slice(1, 4), slice(0, 32)), (slice(30, 32), slice(0, 32))]
    with cyzarr.trace() as counts:
        found = cyzarr.read_many(array, windows)
    for key, one in zip(windows, found, strict=True):
        assert_same_values(one, contiguous(VALUES[key]))
    # Four rows once, and two more, unless all of a chunk lies within a gap.
    assert counts.bytes_read <= 32 * 32 * 4 + 20 + 2


@pytest.mark.parametrize("kind", STORES)
def test_missing_objects(folders, kind):
    array = opened(stored(missing={(0, 1)}), kind, folders)
    windows = boxes(20, 20)
    want = VALUES.copy()
    want[:32, 32:] = 0
    with cyzarr.trace() as counts:
        found = cyzarr.read_many(array, windows)
    assert_same_values(found, np.stack([want[key] for key in windows]))
    if kind != "asked":
        assert counts.chunks_missing == 1


@pytest.mark.skipif(doors.ZARR.release < (3, 2), reason="this zarr fills what is missing")
@pytest.mark.parametrize("kind", STORES)
def test_missing_objects_where_they_are_errors(folders, kind):
    array = opened(stored(missing={(0, 1)}), kind, folders).with_config({"read_missing_chunks": False})
    with pytest.raises(zarr.errors.ChunkNotFoundError):
        cyzarr.read_many(array, boxes(20, 20))
    found = cyzarr.read_many(array, [(slice(0, 9), slice(0, 9)), (slice(1, 10), slice(0, 9))])
    assert_same_values(found, np.stack([VALUES[:9, :9], VALUES[1:10, :9]]))


@pytest.mark.parametrize("kind", STORES)
def test_corrupt_chunks_are_named(folders, kind):
    given = stored()
    data = bytearray(given.objects["c/1/0"])
    offset, nbytes = np.frombuffer(bytes(data[-260:-244]), "<u8")
    data[offset : offset + nbytes] = bytes(int(nbytes))
    given.objects["c/1/0"] = bytes(data)
    array = opened(given, kind, folders)
    with pytest.raises(CorruptChunkError, match=r"c/1/0.*\(0, 0\)"):
        cyzarr.read_many(array, boxes(60, 12))


def test_python_objects_and_strings_are_read_one_by_one():
    array = zarr.create_array({}, shape=(10,), chunks=(3,), dtype=str)
    array[:] = [str(i) * i for i in range(10)]
    found = cyzarr.read_many(array, [slice(0, 4), slice(2, 6)])
    assert found.tolist() == [array[0:4].tolist(), array[2:6].tolist()]


def test_rectilinear_grids(tmp_path):
    if zarr.config.get("array.rectilinear_chunks", None) is None:
        pytest.skip("this zarr has no rectilinear grids")
    with zarr.config.set({"array.rectilinear_chunks": True}):
        for store in (MemoryStore(), LocalStore(tmp_path), AskedStore(read_only=False)):
            array = zarr.create_array(
                store, shape=(64, 64), chunks=[[3, 30, 31], [12, 52]], dtype="i4", compressors=ZstdCodec()
            )
            array[...] = VALUES
            windows = [*boxes(20, 12), (slice(3, 15), slice(0, 12))]
            with cyzarr.trace() as counts:
                found = cyzarr.read_many(array, windows)
            assert counts.chunks_decoded <= 6
            assert_same_values(found, np.stack([VALUES[key] for key in windows]))


def test_another_pipeline_reads_window_by_window():
    fused = pytest.importorskip("zarr.core.codec_pipeline").__dict__.get("FusedCodecPipeline")
    if fused is None:
        pytest.skip("this zarr has one pipeline")
    with zarr.config.set({"codec_pipeline.path": "zarr.core.codec_pipeline.FusedCodecPipeline"}):
        array = opened(stored(), "memory", None)
    assert_same_values(cyzarr.read_many(array, boxes(3, 5)), np.stack([VALUES[key] for key in boxes(3, 5)]))


@pytest.mark.parametrize(
    ("out", "error", "text"),
    [
        (np.zeros((3, 5, 4), "i4"), ValueError, r"shape \(3, 5, 5\), found \(3, 5, 4\)"),
        (np.zeros((3, 5, 5), "i8"), TypeError, "dtype int32, found int64"),
        ([np.zeros((5, 5), "i4")], ValueError, "expected 3 arrays in out, found 1"),
        ([np.zeros((5, 5), "i4")] * 2 + [np.zeros((5, 6), "i4")], ValueError, r"out\[2\] must be of shape \(5, 5\)"),
        (np.broadcast_to(np.zeros((), "i4"), (3, 5, 5)), ValueError, "read-only"),
    ],
)
def test_unfit_outputs(out, error, text):
    array = opened(stored(), "memory", None)
    with pytest.raises(error, match=text):
        cyzarr.read_many(array, boxes(3, 5), out)


def test_unlike_windows_need_an_array_for_each():
    array = opened(stored(), "memory", None)
    with pytest.raises(ValueError, match="unlike shapes"):
        cyzarr.read_many(array, [slice(0, 3), slice(0, 4)], np.zeros((2, 3, 64), "i4"))


def test_wrong_windows():
    array = opened(stored(), "memory", None)
    with pytest.raises(cyzarr.BoundsCheckError, match="axis 1: 64 to 64"):
        cyzarr.read_many(array, [(0, 0), (0, 64)])
    with pytest.raises(IndexError, match="axis 0"):
        cyzarr.read_many(array, [slice(None, None, -1)])


def test_what_is_no_array():
    array = opened(stored(), "memory", None)
    for other in (VALUES, array.async_array if hasattr(array, "async_array") else array._async_array):
        with pytest.raises(TypeError, match=r"expected a zarr\.Array, found"):
            cyzarr.read_many(other, [0])


def test_single_items():
    array = opened(stored(), "memory", None)
    found = cyzarr.read_many(array, [(3, 4), (5, -1)])
    assert_same_values(found, np.array([VALUES[3, 4], VALUES[5, 63]], "i4"))


@pytest.mark.filterwarnings("ignore:Numcodecs codecs are not in the Zarr version 3")
@pytest.mark.parametrize("made", [MemoryStore, AskedStore])
@pytest.mark.parametrize("kind", ["hull", "bytes"])
def test_codecs_in_python_run_once_for_each_touched_chunk(made, kind):
    from zarr.codecs import numcodecs

    store = made(read_only=False)
    coding = {
        "hull": {"filters": [numcodecs.FixedScaleOffset(offset=0, scale=2, dtype="<i4", astype="<i8")]},
        "bytes": {"compressors": [numcodecs.BZ2()]},
    }
    array = zarr.create_array(store, shape=(64, 64), chunks=(8, 8), shards=(32, 32), dtype="i4", **coding[kind])
    array[...] = VALUES
    windows = boxes(30, 12)
    with cyzarr.trace() as counts:
        found = cyzarr.read_many(array, windows)
    assert_same_values(found, np.stack([VALUES[key] for key in windows]))
    assert counts.chunks_decoded == touched(windows, 8)
    assert not counts.fallbacks


@pytest.mark.parametrize("kind", STORES)
def test_output_in_a_file(kind, folders, tmp_path):
    array = opened(stored(), kind, folders)
    values = np.memmap(tmp_path / "values", "i4", "w+", shape=(3, 5, 5))
    assert cyzarr.read_many(array, boxes(3, 5), values) is values
    values.flush()
    want = np.stack([VALUES[key] for key in boxes(3, 5)])
    assert (tmp_path / "values").read_bytes() == want.tobytes()
    values[...] = 0
    cyzarr.read_many(array, boxes(3, 5), list(values))
    assert_same_values(np.array(values), want)


@pytest.mark.parametrize("kind", [Tensor, OldTensor])
def test_output_by_dlpack(kind):
    array = opened(stored(), "memory", None)
    batch = kind(np.zeros((3, 5, 5), "i4"))
    assert cyzarr.read_many(array, boxes(3, 5), batch) is batch
    assert_same_values(batch.values, np.stack([VALUES[key] for key in boxes(3, 5)]))
    each = [kind(np.zeros((5, 5), "i4")), np.zeros((4, 4), "i4")]
    cyzarr.read_many(array, [*boxes(1, 5), *boxes(1, 4)], each)
    assert_same_values(each[0].values, contiguous(VALUES[boxes(1, 5)[0]]))
    assert_same_values(each[1], contiguous(VALUES[boxes(1, 4)[0]]))


def test_an_ellipsis_beside_arrays():
    array = opened(stored(), "memory", None)
    found = cyzarr.read_many(array, [([3, 1], ...), (..., [2, 5])])
    assert_same_values(found[0], contiguous(VALUES[[3, 1]]))
    assert_same_values(found[1], contiguous(VALUES[:, [2, 5]]))


def test_a_zarr_that_keeps_the_parts_of_arrays_otherwise(monkeypatch):
    array = opened(stored(), "asked", None)
    monkeypatch.setattr(_zarr, "parts_of", lambda _: None)
    assert_same_values(cyzarr.read_many(array, boxes(3, 5)), np.stack([VALUES[key] for key in boxes(3, 5)]))


REFUSED = [
    *[slice(None, None, -1), slice(0, 4, 0), [[1, 2]], ([[1, 2]], 0), [], ([], 0), np.array([], float)],
    *[np.zeros((0, 2), int), 64, -65, np.int64(64), [64], (0, [3, -65]), np.array(3), np.array(64), 1.5, [1.0], None],
    *[(0, 0, 0), [True, False], (..., ...), {}],
]


@pytest.mark.parametrize("key", REFUSED, ids=repr)
def test_what_is_refused_is_refused_as_zarr_does(key):
    array = opened(stored(), "memory", None)
    with pytest.raises(Exception) as wanted:
        array.oindex[key]
    for read in (lambda: cyzarr.read_many(array, [key]), lambda: cyzarr.plan(array, key)):
        with pytest.raises(wanted.type) as found:
            read()
        assert isinstance(found.value, zarr.errors.BoundsCheckError) == (wanted.type is zarr.errors.BoundsCheckError)
        assert isinstance(found.value, cyzarr.BoundsCheckError) == (wanted.type is zarr.errors.BoundsCheckError)
