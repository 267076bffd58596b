"""Parts of uncompressed chunks and inner chunks, from stores that are asked: which ranges, and what comes of them."""

from __future__ import annotations

import logging
import math
from random import Random
from unittest import mock

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from zarr.abc.store import RangeByteRequest, Store
from zarr.storage import LoggingStore, MemoryStore, WrapperStore, ZipStore

from support.asked import AskedStore, SizedStore
from support.compare import assert_same_values
from support.doors import PLAIN
from support.handmade import Freedom, be, encode, le, shard, store, transpose

if PLAIN:
    pytest.skip("about cyzarr, which this run leaves out", allow_module_level=True)

import cyzarr
from cyzarr import _zarr
from cyzarr.stores.ranges import merge

needs_ranges = pytest.mark.skipif(not hasattr(Store, "get_ranges"), reason="this zarr has no get_ranges")
FILL = 60000
FAR = 1 << 40


def limits(gap, most=FAR):
    return mock.patch.object(_zarr, "coalesce_limits", return_value=(gap, most))


def shown(held):
    """What a store was asked, without the keys: None, "size", (start, stop), or -nbytes for the last ones."""
    found = []
    for _, asked in held.log:
        if isinstance(asked, RangeByteRequest):
            asked = asked.start, asked.end
        found.append(-asked.suffix if hasattr(asked, "suffix") else asked)
    return found


def read(held, key, way="basic", gap=1 << 20, most=FAR):
    """(result, what was asked, counts) of a read through the pipeline."""
    array = zarr.open_array(held, mode="r")
    if isinstance(held, AskedStore):
        held.reset()
    with limits(gap, most), cyzarr.enabled(), cyzarr.trace() as counts:
        got = {"basic": array, "oindex": array.oindex, "vindex": array.vindex}[way][key]
    assert not counts.fallbacks
    return got, shown(held) if isinstance(held, AskedStore) else None, counts


# -- a block of frames ------------------------------------------------------------------------

FRAMES = np.arange(16 * 40 * 50, dtype="<i4").reshape(16, 40, 50)
FRAME = 40 * 50 * 4
BLOCK = np.s_[3:11, 10:14, 20:30]


@pytest.mark.parametrize(("gap", "expected"), [(100, 8 * 4), (160, 8), (FRAME, 1)])
def test_a_block_of_frames(gap, expected):
    """Rows lie 160 bytes apart, frames about 7 KiB."""
    held = SizedStore.of(store(FRAMES.copy(), FRAMES.shape, [le()]), latency=0.02)
    got, asked, counts = read(held, BLOCK, gap=gap)
    assert_same_values(got, FRAMES[BLOCK])
    assert len(asked) == expected + 1
    assert "size" in asked
    assert counts.requests == len(asked)
    assert counts.bytes_needed >= got.nbytes
    if gap == 100:
        assert counts.bytes_read == got.nbytes
    if gap == 160:
        assert counts.bytes_read == 8 * (3 * 200 + 40)
    for concurrency, rounds in [(64, 1), (8, -(-expected // 8)), (4, -(-expected // 4))]:
        with zarr.config.set({"async.concurrency": concurrency}):
            read(held, BLOCK, gap=gap)
        assert held.rounds == rounds
        assert held.peak <= concurrency + 1  # a length doesn't count


@needs_ranges
@pytest.mark.parametrize("gap", [100, 160, FRAME])
def test_a_block_of_a_shard_of_one_inner_chunk(gap):
    held = SizedStore.of(store(FRAMES.copy(), FRAMES.shape, [shard(FRAMES.shape, [le()])]))
    got, asked, counts = read(held, BLOCK, gap=gap)
    assert_same_values(got, FRAMES[BLOCK])
    assert asked[0] == -20
    assert "size" in asked
    assert len(asked) == 2 + {100: 32, 160: 8, FRAME: 1}[gap]
    assert counts.bytes_read < 20 + 8 * FRAME


@needs_ranges
def test_an_index_is_asked_for_only_where_it_spares_more_than_a_gap():
    held = SizedStore.of(store(FRAMES.copy(), FRAMES.shape, [shard((4, 40, 50), [le()])]))
    for gap, whole in [(1 << 20, True), (FRAME // 2, False), (0, False)]:
        _, asked, _ = read(held, np.s_[:, 0], gap=gap)
        assert (asked == [None]) == whole
    _, asked, _ = read(held, np.s_[...], gap=0)
    assert asked == [None]


def test_points_ask_for_their_items():
    held = SizedStore.of(store(FRAMES.copy(), FRAMES.shape, [le()]))
    key = ([9, 0, 9, 2], [1, 0, 1, 39], [7, 0, 8, 49])
    got, asked, counts = read(held, key, "vindex", gap=0)
    assert_same_values(got, FRAMES[key])
    at = 9 * FRAME + 200 + 28
    assert sorted(set(asked) - {"size"}) == [(0, 4), (3 * FRAME - 4, 3 * FRAME), (at, at + 8)]
    assert counts.bytes_read == 16


def test_a_run_is_one_range_whatever_its_length():
    held = SizedStore.of(store(FRAMES.copy(), FRAMES.shape, [le()]))
    _, asked, _ = read(held, np.s_[2:9], gap=0, most=1000)
    assert sorted(asked, key=str) == [(2 * FRAME, 9 * FRAME), "size"]
    _, asked, _ = read(held, np.s_[2:9:2], gap=FRAME, most=3 * FRAME)
    assert sorted(asked, key=str) == [(2 * FRAME, 5 * FRAME), (6 * FRAME, 9 * FRAME), "size"]


def test_very_many_ranges_are_joined_over_wider_gaps():
    """More than a store can bear are never asked for, whatever the limit says."""
    from cyzarr.kernels import ChunkRead, Program

    n = 1 << 19
    program = Program({"shape": (n,), "bytes": {"dtype": "<i4"}}, "<i4", bytes(4))
    one = ChunkRead(program, (slice(None, None, 2),), np.empty(n // 2, "i4"))
    ranges = one.chunk_requests(0)
    assert 1 <= len(ranges) <= 1 << 15
    assert sum(nbytes for _, nbytes in ranges) >= 2 * n
    # What can't be joined is asked for as it is.
    assert len(one.chunk_requests(0, 4)) == n // 2


# -- the rule ---------------------------------------------------------------------------------


def entries(data, grid, location):
    """The (offset, nbytes) of each inner chunk in a shard; None for absent ones."""
    nbytes = 16 * math.prod(grid) + 4
    index = np.frombuffer(data[:nbytes] if location == "start" else data[-nbytes:], "u1")[:-4].view("<u8")
    return [None if one[0] == 2**64 - 1 else tuple(map(int, one)) for one in index.reshape(-1, 2)]


def runs_of(payload, start, needed):
    """The runs of needed values in an uncompressed chunk that starts at `start`: (offset, nbytes) each."""
    where = np.flatnonzero(np.isin(payload, needed))
    pieces = np.split(where, np.flatnonzero(np.diff(where) > 1) + 1) if where.size else []
    size = payload.itemsize
    return [(start + int(one[0]) * size, len(one) * size) for one in pieces]


def expected_of_chunk(data, dtype, needed, gap, most):
    ranges = merge(runs_of(np.frombuffer(data, dtype), 0, needed), gap, most)
    return [None] if ranges == [(0, len(data))] else [*ranges, "size"]


def expected_of_shard(data, plain, layout, needed, touched):
    """`plain`: the shard as it is without gaps, in order, with nothing absent; `touched`: numbers of inner chunks."""
    dtype, grid, location, gap, most = layout

    def ranges_in(data):
        found, whole, end = [], [], 0
        for number, entry in enumerate(entries(data, grid, location)):
            if number in touched and entry is not None:
                end = max(end, sum(entry))
                payload = np.frombuffer(data[entry[0] : sum(entry)], dtype)
                found += runs_of(payload, entry[0], needed)
                whole.append(entry)
        windows, whole = merge(sorted(found), gap, most), merge(sorted(whole), gap, most)
        spared = sum(stop - start for start, stop in whole) - sum(stop - start for start, stop in windows)
        return (windows, end) if spared > gap else (whole, 0)

    index = 16 * math.prod(grid) + 4
    if len(touched) == math.prod(grid):
        ranges, _ = ranges_in(plain)
        if len(plain) - index - sum(stop - start for start, stop in ranges) <= gap:
            return [None]
    ranges, end = ranges_in(data)
    asked = [(0, index) if location == "start" else -index, *ranges]
    return [*asked, "size"] if ranges and end > ranges[-1][1] else asked


@st.composite
def cases(draw):
    """An array of different values, cut and stored in some way, and a selection."""
    ndim = draw(st.integers(1, 3))
    inner = tuple(draw(st.integers(1, 5)) for _ in range(ndim))
    grid = tuple(draw(st.integers(1, 3)) for _ in range(ndim))
    sharded = draw(st.booleans())
    chunk = tuple(n * m for n, m in zip(inner, grid, strict=True)) if sharded else inner
    shape = tuple(draw(st.integers(1, 2 * n)) for n in chunk)
    dtype = np.dtype(draw(st.sampled_from([">u2", "<u2", ">u4", "<i8", "<f4"])))
    order = draw(st.permutations(range(ndim)))
    leaf = [transpose(*order), be() if dtype.byteorder == ">" else le()]
    location = draw(st.sampled_from(["start", "end"]))
    codecs = [shard(inner, leaf, location=location)] if sharded else leaf
    way = draw(st.sampled_from(["basic", "oindex", "vindex"]))
    if way == "vindex":
        count = draw(st.integers(1, 6))
        key = tuple(np.array(draw(st.lists(st.integers(0, n - 1), min_size=count, max_size=count))) for n in shape)
    else:
        key = tuple(draw(along(n, way == "oindex")) for n in shape)
    gap = draw(st.sampled_from([0, 3, 8, 20, 100, 1 << 20]))
    most = draw(st.sampled_from([1, 16, 60, FAR]))
    seed = draw(st.none() | st.integers(0, 2**32))
    return shape, chunk, inner, dtype, codecs, location, way, key, gap, most, seed


@st.composite
def along(draw, n, arrays):
    if arrays and draw(st.booleans()):
        return np.array(draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=6)))
    if draw(st.booleans()):
        return draw(st.integers(0, n - 1))
    start = draw(st.integers(0, n - 1))
    return slice(start, draw(st.integers(start + 1, n)), draw(st.integers(1, 4)))


def picked(a, way, key):
    if way != "oindex":
        return a[key]
    kept = a[np.ix_(*[np.arange(n)[one].ravel() for one, n in zip(key, a.shape, strict=True)])]
    return kept.reshape([n for n, one in zip(kept.shape, key, strict=True) if np.ndim(one) or isinstance(one, slice)])


@needs_ranges
@settings(max_examples=300, deadline=None)
@given(cases())
def test_requests_and_values(case):
    shape, chunk, inner, dtype, codecs, location, way, key, gap, most, seed = case
    a = np.arange(math.prod(shape)).astype(dtype).reshape(shape)
    whole = a.copy()
    freedom = Freedom() if seed is None else Freedom(Random(seed), absent=0.2, junk=9)
    stored = store(a, chunk, codecs, fill=FILL, freedom=freedom)
    held = SizedStore.of(stored)
    got, _, counts = read(held, key, way, gap, most)
    assert_same_values(got, picked(a, way, key).astype(dtype.newbyteorder("=")))
    positions = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1)
    at = picked(np.arange(a.size).reshape(shape), way, key).ravel()
    needed = np.setdiff1d(a.ravel()[at], np.array([FILL], dtype))
    touched = {}
    for position in positions.reshape(-1, len(shape))[at]:
        object_ = tuple(map(int, position // chunk))
        touched.setdefault(object_, set()).add(tuple(map(int, position % chunk // inner)))
    expected = []
    for object_, chunks in touched.items():
        name = "/".join(map(str, ("c", *object_)))
        data = stored.objects[name]
        if chunk is inner or len(codecs) == 2:
            expected += expected_of_chunk(data, dtype, needed, gap, most)
            continue
        grid = tuple(n // m for n, m in zip(chunk, inner, strict=True))
        part = np.full(chunk, FILL, dtype)
        place = tuple(slice(i * n, (i + 1) * n) for i, n in zip(object_, chunk, strict=True))
        part[tuple(slice(n) for n in whole[place].shape)] = whole[place]
        plain = encode(part, codecs)
        layout = dtype, grid, location, gap, most
        numbers = {int(np.ravel_multi_index(one, grid)) for one in chunks}
        # The decision is made of positions: in the plain shard absent inner chunks have their values.
        all_needed = np.union1d(needed, whole.ravel()[at])
        expected += expected_of_shard(data, plain, layout, all_needed, numbers)
    assert sorted(map(str, shown(held))) == sorted(map(str, expected))
    assert counts.requests == len(expected)


# -- lengths ----------------------------------------------------------------------------------


@needs_ranges
@pytest.mark.parametrize("location", ["start", "end"])
def test_a_shard_that_ends_within_an_inner_chunk_that_is_read_in_part(location):
    """What is needed is there, and the inner chunk isn't: no check is lost by reading less."""
    stored = store(FRAMES.copy(), FRAMES.shape, [shard((4, 40, 50), [le()], location=location)])
    if location == "start":
        stored.objects["c/0/0/0"] = stored.objects["c/0/0/0"][:-1]
    else:
        from support.handmade import pack_shard

        payloads = [FRAMES[k : k + 4].tobytes() for k in range(0, 16, 4)]

        def lie(index):
            index[3, 0, 0, 0] = 4 * 4 * FRAME - 3 * FRAME

        stored.objects["c/0/0/0"] = pack_shard(payloads, (4, 1, 1), edit=lie)
    for kind in (SizedStore, AskedStore):
        with pytest.raises(cyzarr.CorruptChunkError, match="c/0/0/0") as caught:
            read(kind.of(stored), np.s_[12, 0], gap=0)
        assert "points outside" in str(caught.value) or "expected 32000" in str(caught.value)
    got, asked, _ = read(SizedStore.of(stored), np.s_[8, 0], gap=0)
    assert_same_values(got, FRAMES[8, 0])
    assert asked.count("size") == 1
    with zarr.config.set({"cyzarr.check_remote_size": False}):
        _, asked, _ = read(SizedStore.of(stored), np.s_[12, 0], gap=0)
        assert len(asked) == 2


@needs_ranges
@pytest.mark.parametrize("kind", [AskedStore, SizedStore])
@pytest.mark.parametrize("edit", [lambda data: data[:-1], lambda data: data + b"x", lambda data: data[:0]])
@pytest.mark.parametrize(("location", "words"), [("start", "at offset 0, length 68"), ("end", "the last 68 bytes")])
def test_an_index_of_a_wrong_length_tells_what_was_asked(kind, edit, location, words):
    from zarr.core.buffer.cpu import Buffer

    stored = store(FRAMES.copy(), FRAMES.shape, [shard((4, 40, 50), [le()], location=location)])
    held = kind.of(stored)
    held.edit = lambda key, asked, answer: (
        answer if asked == "size" or len(answer) != 68 else Buffer.from_bytes(edit(answer.to_bytes()))
    )
    with pytest.raises(cyzarr.CorruptChunkError) as caught:
        read(held, np.s_[5, 3], gap=0)
    for word in ("c/0/0/0", words, "expected 68", f"found {len(edit(bytes(68)))}"):
        assert word in str(caught.value)


def test_a_missing_chunk_of_a_store_that_is_asked_in_turn_costs_one_request():
    """Without an event loop nothing is asked for that is known not to be there."""
    from cyzarr.kernels import ChunkRead, Program
    from cyzarr.stores import fetch

    program = Program({"shape": (64,), "bytes": {"dtype": "<i4"}}, "<i4", bytes(4))
    one = ChunkRead(program, (slice(None, None, 8),), np.empty(8, "i4"), "c/0")
    held = AskedStore({})
    totals = {}
    with limits(0):
        fetch.fetch_sync(one, zarr.storage.StorePath(held, "c/0"), mock.Mock(), totals)
    assert totals["requests"] == 1
    assert shown(held) == [(0, 4)]


# -- lengths at hand --------------------------------------------------------------------------


def wrapped_memory(stored, folder):
    return WrapperStore(stored.memory())


def logged_memory(stored, folder):
    return LoggingStore(WrapperStore(stored.memory()))


def zipped(stored, folder, compression=0):
    import zipfile

    with zipfile.ZipFile(folder / "a.zip", "w", compression) as archive:
        for key, data in stored.objects.items():
            archive.writestr(key, data)
    return ZipStore(folder / "a.zip", mode="r")


@pytest.mark.parametrize("make", [wrapped_memory, logged_memory, zipped])
def test_lengths_at_hand_cost_nothing(make, tmp_path):
    from cyzarr.stores import athand

    stored = store(FRAMES.copy(), FRAMES.shape, [le()])
    held = make(stored, tmp_path)
    got, _, counts = read(held, BLOCK, gap=160)
    assert_same_values(got, FRAMES[BLOCK])
    if athand.SEEKS or make is not zipped:
        assert counts.requests == 8
        assert counts.bytes_read == 8 * 640
    stored.objects["c/0/0/0"] += b"x"
    (tmp_path / "b").mkdir()
    with pytest.raises(cyzarr.CorruptChunkError, match="found 128001"):
        read(make(stored, tmp_path / "b"), BLOCK)


def test_deflated_members_are_read_once(tmp_path):
    """A part of one costs all that is before it."""
    for codecs in ([le()], [shard((4, 40, 50), [le()])]):
        held = zipped(store(FRAMES.copy(), FRAMES.shape, codecs), tmp_path, 8)
        got, _, counts = read(held, BLOCK, gap=160)
        assert_same_values(got, FRAMES[BLOCK])
        assert counts.requests == 1


def test_missing_members(tmp_path):
    stored = store(FRAMES.copy(), (8, 40, 50), [le()], fill=7, missing=[(1, 0, 0)])
    held = zipped(stored, tmp_path)
    got, _, counts = read(held, np.s_[:, 3, 4], gap=0)
    assert (got[8:] == 7).all()
    assert counts.chunks_missing == 1


class Longer(MemoryStore):
    """A store that says of what it holds that it is longer."""

    async def getsize(self, key):
        return len(self._store_dict[key]) + 1


def test_a_length_is_not_believed_more_than_the_object():
    """A store may tell what it holds, and give what that decodes to: the whole object decides, as in zarr."""
    stored = store(FRAMES.copy(), FRAMES.shape, [le()])
    got, _, _ = read(Longer(stored.memory()._store_dict, read_only=True), BLOCK)
    assert_same_values(got, FRAMES[BLOCK])
    stored.objects["c/0/0/0"] += b"!"
    with pytest.raises(cyzarr.CorruptChunkError, match="found 128001"):
        read(SizedStore.of(stored), BLOCK)


def test_a_length_at_hand_is_that_of_what_was_read():
    """Who makes a shard larger between index and data is read, as by zarr."""

    early = store(np.zeros_like(FRAMES), FRAMES.shape, [shard((4, 40, 50), [le()])], fill=0)
    late = store(FRAMES.copy(), FRAMES.shape, [shard((4, 40, 50), [le()])])
    early.objects["c/0/0/0"] = early.objects["c/0/0/0"][-68:]
    memory = early.memory()
    held = LoggingStore(memory, log_level="DEBUG", log_handler=logging.NullHandler())

    def write_first(record):
        if "c/0/0/0" in record.getMessage():
            memory._store_dict.update(late.memory()._store_dict)
        return False

    held.logger.addFilter(write_first)
    got, _, _ = read(held, np.s_[12, 0], gap=0)
    assert_same_values(got, FRAMES[12, 0])


class Unprobed(SizedStore):
    """Its lengths are forbidden, and so are ranges over the end."""

    async def getsize(self, key):
        raise PermissionError("no lengths here")

    async def get(self, key, prototype=None, byte_range=None):
        found = await super().get(key, prototype, byte_range)
        if isinstance(byte_range, RangeByteRequest) and len(found) < byte_range.end - byte_range.start:
            raise ValueError("the range is not satisfiable")
        return found


@pytest.mark.parametrize("codecs", [[le()], [shard((4, 40, 50), [le()], location="start")]], ids=["plain", "sharded"])
def test_a_store_that_refuses_to_tell_where_an_object_ends(codecs):
    stored = store(FRAMES.copy(), FRAMES.shape, codecs)
    got, _, _ = read(Unprobed.of(stored), np.s_[12, 0], gap=0)
    assert_same_values(got, FRAMES[12, 0])


@needs_ranges
@pytest.mark.parametrize("limits", [(-1, -1), (1 << 70, 1 << 70), (-1, 1 << 70)])
def test_any_limits_that_zarr_takes(limits):
    names = ("array.sharding_coalesce_max_gap_bytes", "array.sharding_coalesce_max_bytes")
    for codecs in ([le()], [shard((4, 40, 50), [le()])]):
        stored = store(FRAMES.copy(), FRAMES.shape, codecs)
        with zarr.config.set(dict(zip(names, limits, strict=True))), cyzarr.enabled():
            assert_same_values(zarr.open_array(SizedStore.of(stored), mode="r")[BLOCK], FRAMES[BLOCK])


def test_lengths_are_at_hand_only_where_nothing_is_overridden(tmp_path, monkeypatch):
    from cyzarr.stores import athand
    from cyzarr.stores.ranges import UNTOLD

    class Own(WrapperStore):
        """Of another class."""

    stored = store(FRAMES.copy(), FRAMES.shape, [le()])
    memory, archive = stored.memory(), zipped(stored, tmp_path)
    assert athand.size_of(memory, "c/0/0/0") == 128000
    assert athand.size_of(memory, "c/1/0/0") is None
    assert athand.size_of(archive, "c/0/0/0") == UNTOLD  # not open yet
    read(archive, BLOCK)
    assert athand.size_of(LoggingStore(archive), "c/0/0/0") == 128000
    archive.close()
    assert athand.size_of(archive, "c/0/0/0") == UNTOLD
    for held in (Own(memory), WrapperStore(Own(memory)), Longer(memory._store_dict), SizedStore(memory._store_dict)):
        assert athand.size_of(held, "c/0/0/0") == UNTOLD
    wrapper = WrapperStore(memory)
    wrapper.get = memory.get
    assert athand.size_of(wrapper, "c/0/0/0") == UNTOLD
    monkeypatch.setattr(MemoryStore, "get", SizedStore.get)
    assert athand.size_of(memory, "c/0/0/0") == UNTOLD


def test_a_store_that_told_no_length_is_not_asked_for_the_next():
    """The last byte and the one after it are asked for beside the ranges then: no round more than zarr's."""

    class Untold(SizedStore):
        async def getsize(self, key):
            raise PermissionError("no lengths here")

    held = Untold.of(store(FRAMES.copy(), FRAMES.shape, [le()]), latency=0.01)
    read(held, np.s_[3, 0])
    assert held.rounds == 2
    held.reset()
    got, asked, _ = read(held, np.s_[4, 0])
    assert_same_values(got, FRAMES[4, 0])
    assert held.rounds == 1
    assert sorted(asked) == [(4 * FRAME, 4 * FRAME + 200), (16 * FRAME - 1, 16 * FRAME + 1)]


@needs_ranges
def test_parts_of_inner_chunks_spare_more_than_a_gap():
    """Else they are read whole, without a request for the shard's length."""
    held = SizedStore.of(store(FRAMES.copy(), FRAMES.shape, [shard((4, 40, 50), [le()])]))
    for gap, length in [(FRAME, True), (3 * FRAME + 7799, True), (3 * FRAME + 7800, False)]:
        got, asked, _ = read(held, np.s_[5, 0], gap=gap)
        assert_same_values(got, FRAMES[5, 0])
        assert ("size" in asked) == length
        assert len(asked) == 2 + length
