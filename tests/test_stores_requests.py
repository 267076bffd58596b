"""What stores are asked: how many requests, how many at once, in how many rounds, and by which method."""

from __future__ import annotations

import asyncio
import gc
import math
import weakref

import numpy as np
import pytest
import zarr
from zarr.abc.store import RangeByteRequest, Store
from zarr.core.buffer.cpu import Buffer
from zarr.storage import LoggingStore, MemoryStore, WrapperStore

from support.asked import AskedStore, RangesStore, SizedStore
from support.compare import Outcome, assert_same_values
from support.doors import PLAIN, plain_zarr
from support.handmade import Stored, crc32c, document, le, shard, store

if PLAIN:
    pytest.skip("about cyzarr, which this run leaves out", allow_module_level=True)

import cyzarr
from cyzarr.stores.ranges import merge

HAS_RANGES = hasattr(Store, "get_ranges")
needs_ranges = pytest.mark.skipif(not HAS_RANGES, reason="this zarr has no get_ranges")

# 16 shards of 13 rows of inner chunks; the first of each row is touched in 200 of them. Between two lie 8 others.
SHARDS, ROWS, COLUMNS, ITEMS = 16, 13, 9, 256
KEY = np.s_[4:-4, :ITEMS]


def scattered():
    """The layout of the benchmark of stores, in small: inner chunks of 1 KiB, and 8 KiB between those touched."""
    shape = (SHARDS * ROWS, COLUMNS * ITEMS)
    a = np.arange(math.prod(shape), dtype="<i4").reshape(shape)
    return store(a, (ROWS, COLUMNS * ITEMS), [shard((1, ITEMS), [le()])]), a


@pytest.fixture(autouse=True)
def _small_gaps(monkeypatch):
    """A gap limit in proportion; zarr 3.1 has none to set."""
    from cyzarr import _zarr

    monkeypatch.setattr(_zarr, "coalesce_limits", lambda config: (1 << 10, 16 << 20))


def read(kind, concurrency, latency=0.02, key=KEY):
    stored, a = scattered()
    held = kind.of(stored, latency=latency)
    array = zarr.open_array(held, mode="r")
    with cyzarr.enabled(), cyzarr.trace() as counts, zarr.config.set({"async.concurrency": concurrency}):
        got = array[key]
    assert_same_values(got, a[key])
    assert not counts.fallbacks
    return held, counts


@pytest.mark.parametrize("kind", [AskedStore, pytest.param(RangesStore, marks=needs_ranges)])
def test_many_at_once(kind):
    """All shards at once: a round for the indexes, one for the data."""
    held, counts = read(kind, 256)
    assert len(held.log) == counts.requests == 216
    assert held.rounds == 2
    assert held.peak == 200


@pytest.mark.parametrize("kind", [AskedStore, pytest.param(RangesStore, marks=needs_ranges)])
def test_ten_at_once(kind):
    """As zarr counts: ten shards at once, and ten ranges of each; three rounds for ten shards, and three for six."""
    held, counts = read(kind, 10)
    assert len(held.log) == counts.requests == 216
    assert held.peak <= 100
    assert held.rounds <= 7
    if kind is RangesStore:
        assert set(held.limits) <= {9, 10}


@pytest.mark.parametrize("kind", [AskedStore, pytest.param(RangesStore, marks=needs_ranges)])
def test_one_at_once(kind):
    held, counts = read(kind, 1, latency=0.001)
    assert len(held.log) == counts.requests == 216
    assert held.peak == 1


def test_lengths_take_no_rounds():
    """They are asked for beside the windows, and count as none."""
    a = np.arange(20 * 100 * 8, dtype="<i4").reshape(20 * 100, 8)
    held = SizedStore.of(store(a, (100, 8), [le()]), latency=0.02)
    with cyzarr.enabled(), zarr.config.set({"async.concurrency": 5}):
        assert_same_values(zarr.open_array(held, mode="r")[7::100], a[7::100])
    assert len(held.log) == 40
    assert held.peak == 10
    assert held.rounds == 4


def test_without_a_limit():
    held, _ = read(AskedStore, None)
    assert held.rounds == 2


def test_index_requests():
    """k shards: k index reads, and what the merge rule gives for each."""
    held, _ = read(AskedStore, 64, latency=0, key=np.s_[: 2 * ROWS, : 2 * ITEMS])
    suffixes = [one for _, one in held.log if not isinstance(one, RangeByteRequest)]
    assert len(suffixes) == 2
    assert len(held.log) == 2 + 2 * ROWS  # two neighbours are one
    assert all(one.end - one.start == 2 * 4 * ITEMS for _, one in held.log if isinstance(one, RangeByteRequest))


def test_whole_shards_are_one_request():
    held, _ = read(AskedStore, 64, latency=0, key=np.s_[:ROWS])
    assert held.log == [("c/0/0", None)]


def test_whole_objects_only():
    """cyzarr.partial_storage_reads False: decoding is partial, fetching is not."""
    with zarr.config.set({"cyzarr.partial_storage_reads": False}):
        held, counts = read(AskedStore, 64, latency=0, key=np.s_[:3, :ITEMS])
    assert held.log == [("c/0/0", None)]
    assert counts.chunks_decoded == 3


def test_merging():
    ranges = [(0, 10), (12, 5), (30, 10), (40, 100)]
    assert merge(ranges, 2, 1000) == [(0, 17), (30, 140)]
    assert merge(ranges, 13, 1000) == [(0, 140)]
    assert merge(ranges, 13, 50) == [(0, 40), (40, 140)]
    assert merge([(0, 20), (5, 3), (21, 4)], 1, 1000) == [(0, 25)]
    assert merge([], 1, 1) == []


# -- plain chunks -----------------------------------------------------------------------------


def plain_chunk(kind=SizedStore, **options):
    a = np.arange(4000, dtype="<i4").reshape(40, 100)
    return kind.of(store(a, (40, 100), [le()]), **options), a


def test_a_window_and_the_length_in_one_round():
    held, a = plain_chunk(latency=0.02)
    with cyzarr.enabled():
        assert_same_values(zarr.open_array(held, mode="r")[3], a[3])
    assert sorted(map(str, held.log)) == sorted(map(str, [("c/0/0", RangeByteRequest(1200, 1600)), ("c/0/0", "size")]))
    assert held.rounds == 1


def test_whole_chunks_are_one_request():
    held, a = plain_chunk()
    with cyzarr.enabled():
        assert_same_values(zarr.open_array(held, mode="r")[...], a)
    assert held.log == [("c/0/0", None)]


def test_a_length_is_not_asked_for_by_reading():
    """A store that has to read an object to know its length is asked for the object, once."""
    held, a = plain_chunk(AskedStore)
    with cyzarr.enabled():
        assert_same_values(zarr.open_array(held, mode="r")[3], a[3])
    assert held.log == [("c/0/0", None)]


def test_lengths_that_are_not_wanted():
    held, a = plain_chunk(AskedStore)
    with cyzarr.enabled(), zarr.config.set({"cyzarr.check_remote_size": False}):
        assert_same_values(zarr.open_array(held, mode="r")[3], a[3])
    assert held.log == [("c/0/0", RangeByteRequest(1200, 1600))]


# -- whose method is asked --------------------------------------------------------------------


def inverted(key, buffer):
    """Chunk bytes with each inverted; documents as they are."""
    if buffer is None or key.endswith(".json"):
        return buffer
    return Buffer.from_bytes(bytes(255 - b for b in buffer.to_bytes()))


class GetOnly(WrapperStore):
    """A wrapper with a `get` of its own: whole chunks go through it, a shard's ranges as zarr sends them."""

    async def get(self, key, prototype, byte_range=None):
        return inverted(key, await self._store.get(key, prototype, byte_range))


class IndexOnly(WrapperStore):
    """One that inverts the last bytes alone, where zarr reads the index through it and the ranges past it."""

    async def get(self, key, prototype, byte_range=None):
        buffer = await self._store.get(key, prototype, byte_range)
        return buffer if isinstance(byte_range, RangeByteRequest) else inverted(key, buffer)


class Everything(GetOnly):
    """One that zarr's own get_ranges reads through its get."""

    if HAS_RANGES:
        get_ranges = Store.get_ranges


class Twice(WrapperStore):
    """One whose get_ranges does something of its own."""

    if HAS_RANGES:

        async def get_ranges(self, key, byte_ranges, *, prototype, max_gap_bytes=0, max_coalesced_bytes=0):
            for at, byte_range in enumerate(byte_ranges):
                yield [(at, inverted(key, inverted(key, await self._store.get(key, prototype, byte_range))))]


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
@pytest.mark.parametrize("wrapper", [WrapperStore, GetOnly, IndexOnly, Everything, Twice])
@pytest.mark.parametrize("around", [(), (WrapperStore,)], ids=["alone", "wrapped"])
@pytest.mark.parametrize("codecs", [[le()], [le(), crc32c()], [shard((2, 5), [le()], [le()])]])
def test_wrappers_as_zarr_honours_them(wrapper, around, codecs):
    """Whatever a wrapper overrides, values and errors are zarr's: plain chunks and shards, whole and in part."""
    if not HAS_RANGES and len(codecs) == 1 and codecs[0]["name"] == "sharding_indexed":
        pytest.skip("zarr 3.1 makes values up of ranges that are not there")
    a = np.arange(120, dtype="<i4").reshape(12, 10)
    plain = store(a, (6, 10), codecs).memory()._store_dict
    for held in (plain, {key: inverted(key, value) for key, value in plain.items()}):
        opened = wrapper(MemoryStore(dict(held), read_only=True))
        for outer in around:
            opened = outer(opened)
        array = zarr.open_array(opened, mode="r")
        for key in (np.s_[...], np.s_[1:3, 3:7], np.s_[7]):
            with plain_zarr():
                expected = Outcome.of(array.__getitem__, key)
            with cyzarr.enabled():
                got = Outcome.of(array.__getitem__, key)
            if expected.error is not None:
                # Bytes that are other than expected: zarr's own error, or ours that says where.
                assert isinstance(got.error, (type(expected.error), cyzarr.CorruptChunkError)), got.error
                continue
            assert got.error is None
            assert_same_values(got.value, expected.value)


class PlainIterator:
    """An iterator that has nothing to close."""

    def __init__(self, groups):
        self.groups = groups

    def __aiter__(self):
        return self

    async def __anext__(self):
        return await self.groups.__anext__()


class IteratorStore(MemoryStore):
    """One whose get_ranges is no generator."""

    def get_ranges(self, key, byte_ranges, *, prototype, **limits):
        return PlainIterator(super().get_ranges(key, byte_ranges, prototype=prototype, **limits))


@needs_ranges
def test_ranges_by_a_plain_iterator():
    stored, a = scattered()
    array = zarr.open_array(IteratorStore(dict(stored.memory()._store_dict), read_only=True), mode="r")
    with cyzarr.enabled(), cyzarr.trace() as counts:
        assert_same_values(array[KEY], a[KEY])
    assert counts.reads == {"pipeline": 1}


class SizedWrapper(WrapperStore):
    """A wrapper that knows the lengths of objects, around a store that must read them for that."""

    async def getsize(self, key):
        return len(self._store._store_dict[key])


def test_a_wrapper_that_tells_lengths():
    for kind, asked in [
        (SizedWrapper, [RangeByteRequest(1200, 1600)]),
        (WrapperStore, [None]),
        (LoggingStore, [None]),
    ]:
        held, a = plain_chunk(AskedStore)
        array = zarr.open_array(kind(held), mode="r")
        held.reset()
        with cyzarr.enabled():
            assert_same_values(array[3], a[3])
        assert held.log == [("c/0/0", one) for one in asked]
    held, _ = plain_chunk()
    array = zarr.open_array(LoggingStore(held), mode="r")
    held.reset()
    with cyzarr.enabled():
        array[3]
    assert sorted(map(str, held.log)) == sorted(map(str, [("c/0/0", RangeByteRequest(1200, 1600)), ("c/0/0", "size")]))


def test_wrappers_that_hold_their_store_otherwise():
    """Of them nothing is known but their methods."""
    from cyzarr import _zarr
    from cyzarr.stores.kinds import kind_of

    for kind in (WrapperStore, LoggingStore):
        wrapper = kind.__new__(kind)
        assert _zarr.answers_ranges(wrapper) == (wrapper, HAS_RANGES)
        assert not kind_of(wrapper).tells_sizes(wrapper)


@pytest.mark.parametrize("how", ["get", "get_sync"])
def test_errors_of_getters_without_a_key_tell_their_text(how):
    from cyzarr.kernels import ChunkRead, Program
    from cyzarr.stores import fetch

    class Getter:
        """Stands for no object of a store."""

        def __str__(self):
            return "inner chunk 7"

        async def get(self, prototype, byte_range=None):
            raise ConnectionError("lost")

        def get_sync(self, *, prototype, byte_range=None):
            raise ConnectionError("lost")

    getter = Getter()
    program = Program({"shape": (4,), "bytes": {"dtype": "<i4"}}, "<i4", bytes(4))
    read = ChunkRead(program, (slice(None),), np.empty(4, "i4"), str(getter))
    with pytest.raises(ConnectionError) as caught:
        if how == "get":
            asyncio.run(fetch.Asker({}).fetch(read, getter, None))
        else:
            fetch.fetch_sync(read, getter, None, {})
    assert any("inner chunk 7" in note for note in caught.value.__notes__)


# -- what is left behind ----------------------------------------------------------------------


def test_fetched_bytes_are_let_go():
    """While later shards are under way nothing keeps what earlier ones were decoded from."""
    alive = []

    class Watched(np.ndarray):
        """Bytes that can be watched."""

    def edit(key, byte_range, answer):
        if not isinstance(byte_range, RangeByteRequest):
            return answer
        alive.append(sum(ref() is not None for ref in watched))
        data = np.frombuffer(answer.to_bytes(), "u1").copy().view(Watched)
        watched.append(weakref.ref(data))
        return Buffer(data)

    watched = []
    stored, a = scattered()
    array = zarr.open_array(AskedStore.of(stored, latency=0.005, edit=edit), mode="r")
    with cyzarr.enabled(), zarr.config.set({"async.concurrency": 1}):
        assert_same_values(array[:, :ITEMS], a[:, :ITEMS])
    assert len(watched) == SHARDS * ROWS
    assert max(alive) <= 4 * ROWS
    gc.collect()
    assert not any(ref() is not None for ref in watched)


def run_on_zarrs_loop(coroutine):
    from zarr.core.sync import sync

    return sync(coroutine)


@pytest.mark.parametrize("kind", [AskedStore, SizedStore, pytest.param(RangesStore, marks=needs_ranges)])
@pytest.mark.parametrize("codecs", [[le()], [shard((1, ITEMS), [le()])]], ids=["plain", "sharded"])
def test_no_task_is_left_after_an_error(kind, codecs):
    """The first error ends the read; whatever else was under way has ended by then."""
    a = np.arange(8 * 4 * ITEMS, dtype="<i4").reshape(8, 4 * ITEMS)
    asked = []

    def edit(key, byte_range, answer):
        asked.append(key)
        if len(asked) == 5:
            raise ConnectionError("lost")
        return answer

    held = kind.of(store(a, (1, 4 * ITEMS), codecs), latency=0.01, edit=edit)
    array = zarr.open_array(held, mode="r")
    with cyzarr.enabled(), zarr.config.set({"async.concurrency": 4}):
        with pytest.raises(ConnectionError) as caught:
            array[:, 3 : 3 + ITEMS]
        assert any("c/" in note for note in caught.value.__notes__)
        before = len(held.log)
        assert held.under == 0

        async def others():
            await asyncio.sleep(0.03)
            return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

        assert run_on_zarrs_loop(others()) == []
        assert len(held.log) == before
        held.edit = lambda key, byte_range, answer: answer
        assert_same_values(array[...], a)


def test_stored_missing_chunks():
    """Keys that are not there are the fill value, and one request each."""
    held = AskedStore.of(Stored.of(document((8, 8), (4, 8), "i4", [shard((2, 8), [le()])], fill_value=7), {}))
    with cyzarr.enabled(), cyzarr.trace() as counts:
        assert (zarr.open_array(held, mode="r")[1:6, 2] == 7).all()
    assert counts.requests == len(held.log) == 2
    assert counts.chunks_missing == 2
