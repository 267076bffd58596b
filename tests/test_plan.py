"""`cyzarr.plan`: what to fetch and how to decode it, without I/O, against NumPy."""

from __future__ import annotations

import array as arrays
import json
import mmap
from random import Random

import numpy as np
import pytest
import zarr
from hypothesis import assume, given
from hypothesis import strategies as st
from zarr.codecs import ZstdCodec

import cyzarr
from cyzarr.errors import CorruptChunkError
from support import handmade
from support.compare import assert_same_values
from support.handmade import Freedom, crc32c, le, shard, zstd
from support.strategies import basic_keys, cases, orthogonal_keys, pick_orthogonal, points, with_typed_lists, zarr_fails
from support.tensors import Copying, Immutable, OldTensor, Tensor, Unversioned


class Objects:
    """Stored objects, and what was fetched of them."""

    def __init__(self, objects):
        self.objects, self.fetched = objects, []

    def fetch(self, ranges, wrap=bytes):
        self.fetched += ranges
        found = [self.objects.get(one.key) for one in ranges]
        return [
            None if data is None else wrap(data[one.start : one.stop]) for data, one in zip(found, ranges, strict=True)
        ]


def read(plan, objects, out=None, wrap=bytes, **limits):
    """What a plan reads, and the ranges of data that it asked for."""
    found = Objects(objects)
    ranges = plan.requests(found.fetch(plan.index_requests, wrap), **limits)
    return plan.decode(found.fetch(ranges, wrap), out), ranges


def sharded(values, **given):
    codecs = [shard((4, 5), [le(), zstd()], [le(), crc32c()], "end")]
    return handmade.store(values, (8, 10), codecs, np.zeros((), values.dtype), **given).objects


VALUES = np.arange(20 * 30, dtype="i4").reshape(20, 30)


@given(st.data())
def test_basic_selections(data):
    case = data.draw(cases())
    assume(case.plain and not zarr_fails(case))
    key = data.draw(basic_keys(case.values.shape))
    plan = cyzarr.plan(case.stored.objects["zarr.json"], key)
    out, _ = read(plan, case.stored.objects)
    assert_same_values(out, np.array(case.values[key], case.values.dtype))
    assert plan.shape == out.shape


@given(st.data())
def test_orthogonal_selections_into_any_strides(data):
    case = data.draw(cases(min_dims=1))
    assume(case.plain and not zarr_fails(case) and 0 not in case.values.shape)
    key = data.draw(orthogonal_keys(case.values.shape).map(with_typed_lists))
    want = pick_orthogonal(case.values, key)
    # Every other item, backwards, with the axes turned: what lies between must stay as it is.
    wide = np.zeros(tuple(2 * n + 1 for n in want.shape[::-1]), want.dtype)
    before = wide.tobytes()
    into = wide[(*[slice(2 * n - 1, None, -2) if n else slice(0) for n in want.shape[::-1]], ...)]
    plan = cyzarr.plan(json.loads(case.stored.objects["zarr.json"]), key)
    limits = {"max_gap_nbytes": data.draw(st.sampled_from([0, 50, 1 << 20]))}
    out, _ = read(plan, case.stored.objects, into.transpose(), **limits)
    assert_same_values(np.array(out, order="C"), np.ascontiguousarray(want).reshape(want.shape))
    into[...] = np.zeros((), want.dtype)
    assert wide.tobytes() == before


@given(st.data())
def test_points(data):
    case = data.draw(cases(min_dims=1))
    assume(case.plain and not zarr_fails(case) and 0 not in case.values.shape)
    key = data.draw(points(case.values.shape))
    out, _ = read(cyzarr.plan(case.stored.objects["zarr.json"], key, points=True), case.stored.objects)
    assert_same_values(out, case.values[key])


def test_masks():
    mask = np.random.default_rng(0).random(VALUES.shape) < 0.1
    objects = sharded(VALUES)
    out, _ = read(cyzarr.plan(objects["zarr.json"], mask, points=True), objects)
    assert_same_values(out, VALUES[mask])


def test_no_more_is_asked_for_than_is_needed():
    objects = sharded(VALUES)
    plan = cyzarr.plan(objects["zarr.json"], (slice(3, 6), 7))
    (index,) = plan.index_requests
    assert index == ("c/0/0", -68, None)
    found = Objects(objects)
    indexes = found.fetch([index])
    apart = plan.requests(indexes, max_gap_nbytes=0)
    entries = np.frombuffer(indexes[0][:64], "<u8").reshape(2, 2, 2)
    assert [(one.start, one.stop) for one in apart] == sorted((int(e[0]), int(e.sum())) for e in entries[:, 1])
    assert len(plan.requests(indexes)) == 1
    whole = cyzarr.plan(objects["zarr.json"], slice(0, 16))
    assert whole.index_requests == []
    assert all(one[1:] == (0, None) for one in whole.requests())


def test_a_window_of_an_uncompressed_chunk():
    objects = handmade.store(VALUES, (20, 30), [le()], np.zeros((), "i4")).objects
    out, ranges = read(cyzarr.plan(objects["zarr.json"], (slice(3, 5), slice(2, 4))), objects)
    assert ranges == [("c/0/0", 4 * (3 * 30 + 2), 4 * (4 * 30 + 4))]
    assert_same_values(out, np.ascontiguousarray(VALUES[3:5, 2:4]))


def test_windows_of_uncompressed_inner_chunks():
    codecs = [shard((20, 15), [le()], [le(), crc32c()], "start")]
    objects = handmade.store(VALUES.copy(), (20, 30), codecs, np.zeros((), "i4")).objects
    plan = cyzarr.plan(objects["zarr.json"], ([2, 17], slice(4, 6)))
    out, ranges = read(plan, objects, max_gap_nbytes=8)
    start = np.frombuffer(objects["c/0/0"][:8], "<u8")[0]
    assert [(one.start - start, one.stop - start) for one in ranges] == [
        (4 * (15 * r + 4), 4 * (15 * r + 6)) for r in (2, 17)
    ]
    assert_same_values(out, VALUES[[2, 17], 4:6])


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("given_as", ["array", "metadata", "dict", "text", "bytes"])
def test_whatever_describes_the_array(zarr_format, given_as):
    store = {}
    made = zarr.create_array(store, shape=(20, 30), chunks=(7, 8), dtype="i4", zarr_format=zarr_format)
    made[...] = VALUES
    name = ".zarray" if zarr_format == 2 else "zarr.json"
    text = store[name].to_bytes()
    described = {
        "array": made,
        "metadata": made.metadata,
        "dict": json.loads(text),
        "text": text.decode(),
        "bytes": text,
    }
    objects = {key: value.to_bytes() for key, value in store.items()}
    out, _ = read(cyzarr.plan(described[given_as], (slice(3, 17, 2), [1, 29, 0])), objects)
    assert_same_values(out, VALUES[3:17:2][:, [1, 29, 0]])


def mapped(data):
    if not data:
        return data
    held = mmap.mmap(-1, len(data))
    held[:] = data
    return held


WRAPS = {
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "mmap": mapped,
    "numpy": lambda data: np.frombuffer(data, np.uint8),
    "array": lambda data: arrays.array("b", data),
}


@pytest.mark.parametrize("kind", [*WRAPS, "arrow"])
@pytest.mark.parametrize("key", [..., (slice(2, 9), 3)])
def test_any_buffer_in(kind, key):
    wrap = pytest.importorskip("pyarrow").py_buffer if kind == "arrow" else WRAPS[kind]
    objects = sharded(VALUES)
    out, _ = read(cyzarr.plan(objects["zarr.json"], key), objects, wrap=wrap)
    assert_same_values(out, np.ascontiguousarray(VALUES[key]))


@pytest.mark.parametrize("kind", [Tensor, OldTensor])
def test_output_by_dlpack(kind):
    objects = sharded(VALUES)
    values = np.zeros((14, 30), "i4")
    read(cyzarr.plan(objects["zarr.json"], slice(2, 9)), objects, kind(values[::2]))
    assert_same_values(np.ascontiguousarray(values[::2]), VALUES[2:9])
    assert not values[1::2].any()


def test_output_in_a_file(tmp_path):
    objects = sharded(VALUES)
    values = np.memmap(tmp_path / "values", "i4", "w+", shape=(7, 30))
    read(cyzarr.plan(objects["zarr.json"], slice(2, 9)), objects, values)
    values.flush()
    assert (tmp_path / "values").read_bytes() == VALUES[2:9].tobytes()


def test_output_by_the_buffer_protocol():
    objects = sharded(VALUES)
    values = np.zeros((7, 30), "i4")
    read(cyzarr.plan(objects["zarr.json"], slice(2, 9)), objects, memoryview(values))
    assert_same_values(values, VALUES[2:9])


def read_only(values):
    values.flags.writeable = False
    return values


@pytest.mark.parametrize(
    ("out", "error", "text"),
    [
        (lambda: read_only(np.zeros((7, 30), "i4")), ValueError, "read-only"),
        (lambda: memoryview(bytes(840)), ValueError, "read-only"),
        (lambda: np.zeros((7, 30), "u4"), TypeError, "dtype int32, found uint32"),
        (lambda: np.zeros((30, 7), "i4"), ValueError, r"shape \(7, 30\), found \(30, 7\)"),
        (lambda: Tensor(read_only(np.zeros((7, 30), "i4"))), ValueError, "read-only"),
        (lambda: Immutable(np.zeros((7, 30), "i4")), ValueError, "read-only"),
        (lambda: Unversioned(np.zeros((7, 30), "i4")), ValueError, "read-only"),
        (lambda: Copying(np.zeros((7, 30), "i4")), ValueError, "read-only"),
        (lambda: [0] * 210, TypeError, "no array in host memory: list"),
    ],
)
def test_unfit_outputs(out, error, text):
    objects = sharded(VALUES)
    with pytest.raises(error, match=text):
        read(cyzarr.plan(objects["zarr.json"], slice(2, 9)), objects, out())


def test_output_over_the_bytes_that_are_read():
    objects = handmade.store(VALUES, (20, 30), [le()], np.zeros((), "i4")).objects
    plan = cyzarr.plan(objects["zarr.json"])
    held = bytearray(objects["c/0/0"])
    plan.requests()
    with pytest.raises(ValueError, match="share memory"):
        plan.decode([held], np.frombuffer(held, "i4").reshape(20, 30))


def test_missing_objects_become_the_fill_value():
    objects = sharded(VALUES)
    del objects["c/0/0"]
    out, _ = read(cyzarr.plan(objects["zarr.json"], (slice(3, 12), slice(4, 7))), objects)
    want = VALUES[3:12, 4:7].copy()
    want[:5] = 0
    assert_same_values(out, want)


def test_a_plan_serves_one_read_after_the_other():
    """It decodes by the indexes that it was given last, as often as that is asked for."""
    first, second = sharded(VALUES), sharded(VALUES[::-1] * 7)
    plan = cyzarr.plan(first["zarr.json"], (slice(3, 12), slice(4, 17)))
    assert plan.index_requests
    for objects, values in ((first, VALUES), (second, VALUES[::-1] * 7), (first, VALUES)):
        found = Objects(objects)
        buffers = found.fetch(plan.requests(found.fetch(plan.index_requests)))
        for _ in range(2):
            assert_same_values(plan.decode(buffers), np.ascontiguousarray(values[3:12, 4:17]))


def test_a_range_that_is_missing_while_its_index_is_there():
    objects = sharded(VALUES)
    plan = cyzarr.plan(objects["zarr.json"], (3, 4))
    plan.requests(Objects(objects).fetch(plan.index_requests))
    with pytest.raises(CorruptChunkError, match=r"chunk 'c/0/0': the store has the object, but not this range"):
        plan.decode([None])


def test_bytes_of_another_length():
    objects = sharded(VALUES)
    plan = cyzarr.plan(objects["zarr.json"], (3, 4))
    (one,) = plan.requests(Objects(objects).fetch(plan.index_requests))
    with pytest.raises(CorruptChunkError, match=f"c/0/0.*expected {one.stop - one.start} bytes, found 3"):
        plan.decode([b"abc"])


def test_corrupt_indexes_and_chunks():
    objects = sharded(VALUES)
    plan = cyzarr.plan(objects["zarr.json"], (3, 4))
    (index,) = Objects(objects).fetch(plan.index_requests)
    with pytest.raises(CorruptChunkError, match="c/0/0"):
        plan.requests([index[:-1] + bytes([index[-1] ^ 1])])
    with pytest.raises(RuntimeError, match="comes before"):
        plan.decode([])
    (one,) = plan.requests([index])
    with pytest.raises(CorruptChunkError, match=r"c/0/0.*\(0, 0\)"):
        plan.decode([bytes(one.stop - one.start)])


def test_counts_of_buffers():
    objects = sharded(VALUES)
    plan = cyzarr.plan(objects["zarr.json"], (3, 4))
    with pytest.raises(ValueError, match="expected 1 indexes, found 0"):
        plan.requests([])
    plan.requests(Objects(objects).fetch(plan.index_requests))
    with pytest.raises(ValueError, match="expected 1 buffers, found 2"):
        plan.decode([b"", b""])
    with pytest.raises(ValueError, match="must not be negative"):
        plan.requests([None], max_nbytes=-1)
    plan.requests(Objects(objects).fetch(plan.index_requests))
    with pytest.raises(TypeError, match="'c/0/0': expected a contiguous buffer, found int"):
        plan.decode([5])


def test_a_plan_is_used_again():
    objects, others = sharded(VALUES), sharded(VALUES + 1)
    plan = cyzarr.plan(objects["zarr.json"], slice(2, 9))
    for each, want in ((objects, VALUES), (others, VALUES + 1)):
        assert_same_values(read(plan, each)[0], want[2:9])


@pytest.mark.parametrize(
    ("key", "points", "error", "text"),
    [
        ((20,), False, cyzarr.BoundsCheckError, "axis 0: 20 to 20 is not within an extent of 20"),
        ((0, [1, -31]), False, cyzarr.BoundsCheckError, "axis 1: -31 to 1 is not within an extent of 30"),
        ((0, 0, 0), False, IndexError, "no selection of 2 axes"),
        ((slice(None, None, -1),), False, zarr.errors.NegativeStepError, "axis 0: only slices with positive steps"),
        (("x",), False, IndexError, "axis 0"),
        (([0], [30]), True, IndexError, r"within its axis of \(20, 30\)"),
        (([0],), True, IndexError, "points are 2 integer arrays"),
    ],
)
def test_wrong_selections(key, points, error, text):
    with pytest.raises(error, match=text):
        cyzarr.plan(sharded(VALUES)["zarr.json"], key, points=points)


@pytest.mark.parametrize("metadata", [b"[]", b"{", 5, "{}"])
def test_what_is_no_metadata(metadata):
    with pytest.raises((ValueError, TypeError, KeyError)):
        cyzarr.plan(metadata, 0)


def test_absent_inner_chunks_are_not_asked_for():
    freedom = Freedom(Random(0), absent=1.0)
    objects = sharded(np.full((8, 10), 7, "i4"), freedom=freedom)
    out, ranges = read(cyzarr.plan(objects["zarr.json"], (slice(0, 3), slice(0, 3))), objects)
    assert ranges == []
    assert (out == 0).all()


def test_rectilinear_grids():
    if zarr.config.get("array.rectilinear_chunks", None) is None:
        pytest.skip("this zarr has no rectilinear grids")
    with zarr.config.set({"array.rectilinear_chunks": True}):
        store = {}
        made = zarr.create_array(
            store, shape=(20, 30), chunks=[[3, 7, 10], [12, 18]], dtype="i4", compressors=ZstdCodec()
        )
        made[...] = VALUES
        objects = {key: value.to_bytes() for key, value in store.items()}
        out, _ = read(cyzarr.plan(objects["zarr.json"], (slice(1, 19, 3), [0, 29])), objects)
    assert_same_values(out, VALUES[1:19:3][:, [0, 29]])


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda array: cyzarr.plan("volume.zarr"), ValueError, "expected the text of a zarr.json or .zarray"),
        (lambda array: cyzarr.plan("volume.zarr"), ValueError, "a plan opens no files"),
        (lambda array: cyzarr.plan(7), TypeError, "expected an array, its metadata, .* found int"),
        (lambda array: cyzarr.plan({}), ValueError, "no array's metadata: 'zarr_format' is missing"),
        (lambda array: cyzarr.plan({"zarr_format": 3}), ValueError, "no array's metadata: .* is missing"),
        (lambda array: cyzarr.plan({"zarr_format": 2, "shape": {1}}), ValueError, "no array's metadata: "),
        (lambda array: cyzarr.plan("[]"), ValueError, "metadata is an object, found list"),
        (lambda array: cyzarr.read_many("volume.zarr", [0]), TypeError, "expected a zarr.Array, found str"),
        (lambda array: cyzarr.read_many(array, "0"), TypeError, "expected a sequence of selections, .* found str"),
        (lambda array: cyzarr.read_many(array, 3), TypeError, "expected a sequence of selections, .* found int"),
        (lambda array: cyzarr.explain(zarr.open_group({})), TypeError, "expected a zarr.Array, found Group$"),
        (lambda array: cyzarr.explain("volume.zarr"), TypeError, "expected a zarr.Array, found str"),
        (lambda array: cyzarr.explain(array, "3, 5"), TypeError, "found a text: '3, 5'"),
        (lambda array: cyzarr.LazyArray("volume.zarr"), TypeError, "expected an array, with shape.*found str"),
    ],
)
def test_what_is_no_array(call, error, said):
    array = zarr.create_array({}, shape=(4, 4), dtype="i4")
    with pytest.raises(error, match=said):
        call(array)
