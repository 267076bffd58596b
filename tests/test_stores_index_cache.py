"""Shard indexes that are kept under a promise: asked for once, never stale, never corrupt, never in the way."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.abc.store import RangeByteRequest
from zarr.core.buffer.cpu import Buffer
from zarr.storage import StorePath

from support.asked import AskedStore
from support.compare import assert_same_values
from support.doors import CODECS_FUSED, HAS_FUSED, PLAIN
from support.handmade import crc32c, le, shard, store

if PLAIN:
    pytest.skip("about cyzarr, which this run leaves out", allow_module_level=True)

import cyzarr
from cyzarr.stores import indexcache
from cyzarr.stores.ranges import Request

VALUES = np.arange(1, 1201, dtype="<i4").reshape(24, 50)
CODECS = [shard((2, 5), [le()])]
PROMISE = {"cyzarr.remote_index_cache": True}
# Of each index that is kept, besides its bytes.
ENTRY = indexcache.ENTRY_NBYTES
INDEX_NBYTES = 3 * 10 * 16 + 4


@pytest.fixture(autouse=True)
def _empty():
    indexcache.cache.clear()
    yield
    indexcache.cache.clear()


def example(codecs=CODECS, **options):
    held = AskedStore.of(store(VALUES, (6, 50), codecs), **options)
    return held, zarr.open_array(held, mode="r")


def indexes(held):
    return [key for key, asked in held.log if not isinstance(asked, RangeByteRequest) and asked is not None]


def test_ten_reads_of_one_shard(door):
    """One index request, with the promise; ten without."""
    held, array = example()
    for config, expected in (({}, 10), (PROMISE, 1)):
        held.reset()
        with zarr.config.set(config), cyzarr.trace() as counts:
            for i in range(10):
                assert_same_values(array[i % 6, i : i + 7], VALUES[i % 6, i : i + 7])
        assert len(indexes(held)) == expected
        assert len(held.log) == counts.requests
    assert (counts.index_hits, counts.index_misses) == (9, 1)


def test_off_by_default_and_by_size():
    held, array = example()
    for config in ({}, {**PROMISE, "cyzarr.index_cache_nbytes": 0}, {**PROMISE, "cyzarr.index_cache_nbytes": 100}):
        held.reset()
        with cyzarr.enabled(), zarr.config.set(config), cyzarr.trace() as counts:
            array[0, 0], array[1, 1]
        assert len(indexes(held)) == 2
        assert counts.index_hits == 0
    assert len(indexcache.cache) == 0


def test_all_shards_each_once():
    held, array = example()
    with cyzarr.enabled(), zarr.config.set(PROMISE):
        for _ in range(3):
            assert_same_values(array[:, 3:20:5], VALUES[:, 3:20:5])
    assert sorted(indexes(held)) == [f"c/{i}/0" for i in range(4)]
    assert indexcache.cache.nbytes == 4 * (INDEX_NBYTES + ENTRY)


def test_least_recently_used_go_first():
    held, array = example()
    with cyzarr.enabled(), zarr.config.set({**PROMISE, "cyzarr.index_cache_nbytes": 2 * (INDEX_NBYTES + ENTRY) + 5}):
        for row in (0, 6, 0, 12, 0, 6):
            array[row, 0]
            assert indexcache.cache.nbytes <= 2 * (INDEX_NBYTES + ENTRY)
    assert indexes(held) == ["c/0/0", "c/1/0", "c/2/0", "c/1/0"]


def test_local_files_and_memory_are_not_asked(put):
    array = zarr.open_array(put(store(VALUES, (6, 50), CODECS)), mode="r")
    with cyzarr.enabled(), zarr.config.set(PROMISE):
        array[0, 0]
    assert len(indexcache.cache) == 0


def test_stores_are_apart_and_die():
    """Equal stores need not share; a dead one's indexes go, also where its id is given anew."""
    first, array = example()
    second, other = example()
    with cyzarr.enabled(), zarr.config.set(PROMISE):
        array[0, 0], other[0, 0]
        assert len(indexes(first)) == len(indexes(second)) == 1
        assert len(indexcache.cache) == 2
        del first, array
        gc.collect()
        other[0, 0]
        assert len(indexcache.cache) == 1
        for _ in range(20):
            held, array = example()
            array[0, 0]
            assert len(indexes(held)) == 1
            del held, array


def test_corrupt_indexes_are_not_kept():
    stored = store(VALUES, (6, 50), CODECS)
    good = stored.objects["c/0/0"]
    stored.objects["c/0/0"] = good[:-1] + bytes([good[-1] ^ 1])
    held = AskedStore.of(stored)
    array = zarr.open_array(held, mode="r")
    with cyzarr.enabled(), zarr.config.set(PROMISE):
        for _ in range(2):
            with pytest.raises(cyzarr.CorruptChunkError):
                array[0, 0]
        assert len(indexcache.cache) == 0
        held._store_dict["c/0/0"] = Buffer.from_bytes(good)
        assert array[0, 0] == VALUES[0, 0]
        assert len(indexcache.cache) == 1


def test_missing_shards_are_not_kept():
    held, array = example()
    kept = held._store_dict.pop("c/0/0")
    with cyzarr.enabled(), zarr.config.set(PROMISE):
        assert array[0, 0] == 0
        held._store_dict["c/0/0"] = kept
        assert array[0, 0] == VALUES[0, 0]


def shorter_shards():
    """The same array with fewer inner chunks in each shard, so that ranges of the longer ones don't exist."""
    values = VALUES.copy()
    values[:, :45] = 0
    made = {}
    array = zarr.create_array(made, shape=(24, 50), shards=(6, 50), chunks=(2, 5), dtype="<i4", compressors=None)
    array[...] = values
    return made, values


def test_a_broken_promise_is_found_out():
    """Ranges that are not there, or a shard that is gone: the index is read anew, once."""
    held, array = example()
    shorter, values = shorter_shards()
    with cyzarr.enabled(), zarr.config.set(PROMISE):
        assert_same_values(array[20:22, 40:], VALUES[20:22, 40:])
        held._store_dict["c/3/0"] = shorter["c/3/0"]
        held.reset()
        assert_same_values(array[20:22, 40:], values[20:22, 40:])
        assert len(indexes(held)) == 1
        del held._store_dict["c/3/0"]
        assert not array[20:22, 40:].any()


def test_undecodable_chunks_are_doubted():
    """The error comes through; the next read looks at the index again."""
    held, array = example([shard((2, 5), [le(), crc32c()])])
    with cyzarr.enabled(), zarr.config.set(PROMISE):
        array[0, 0]
        data = bytearray(held._store_dict["c/0/0"].to_bytes())
        good = held._store_dict["c/0/0"]
        data[0] ^= 1
        data[50] ^= 1
        held._store_dict["c/0/0"] = Buffer.from_bytes(bytes(data))
        with pytest.raises(cyzarr.CorruptChunkError):
            array[0:4, 0:10]
        assert len(indexcache.cache) == 0
        held._store_dict["c/0/0"] = good
        assert_same_values(array[...], VALUES)


# -- writers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["enabled", "pipeline", "fused"])
@pytest.mark.parametrize("root", ["", "deep/er"])
def test_writers_of_this_process(how, root):
    """What is written through another store object, or from another root, is seen at once."""
    pipelines = {"pipeline": "cyzarr.CodecPipeline", "fused": "zarr.core.codec_pipeline.FusedCodecPipeline"}
    if how == "fused" and not HAS_FUSED:
        pytest.skip("this zarr has no fused pipeline")
    shared = {}
    config = {"codec_pipeline.path": pipelines[how]} if how in pipelines else {}
    reading = AskedStore(shared)
    with cyzarr.enabled(), zarr.config.set(PROMISE):
        with zarr.config.set(config):
            writer = zarr.create_array(
                StorePath(AskedStore(shared, read_only=False), root),
                shape=(24, 50),
                shards=(6, 50),
                chunks=(2, 5),
                dtype="<i4",
                compressors=None,
            )
        reader = zarr.open_array(reading, path=root, mode="r")
        for i in range(1, 4):
            # Each time there are more inner chunks, and they lie elsewhere.
            writer[0:6, 0 : 10 * i] = VALUES[0:6, 0 : 10 * i] + i
            for _ in range(2):
                assert_same_values(reader[2:5, 3:9], VALUES[2:5, 3:9] + i)
        assert len(indexes(reading)) == 3
        assert indexcache.cache.used


def test_a_writer_while_an_index_is_under_way():
    """The index that a reader gets then is not kept."""
    cache = indexcache.IndexCache()
    held, _ = example()
    _, flight, leads = cache.claim(held, "a/c/0", "end")
    assert leads
    cache.invalidate("c/0")
    _, second, leads = cache.claim(held, "a/c/0", "end")
    assert leads
    cache.land(flight, b"old", 1000)
    assert len(cache) == 0
    cache.land(second, b"new", 1000)
    assert cache.claim(held, "a/c/0", "end")[0] == b"new"
    cache.invalidate("b/c/0")
    assert len(cache) == 1
    cache.invalidate("root/a/c/0")
    assert not cache.used


# -- single flight ----------------------------------------------------------------------------


def at_once(array, count=8):
    """The same read from many threads."""
    barrier = threading.Barrier(count)

    def read():
        barrier.wait()
        return array[0:3, 0:7]

    with ThreadPoolExecutor(count) as pool:
        return [task.result() for task in [pool.submit(read) for _ in range(count)]]


def test_concurrent_reads_ask_once(door):
    held, array = example(latency=0.05)
    with zarr.config.set(PROMISE):
        for got in at_once(array):
            assert_same_values(got, VALUES[0:3, 0:7])
    assert len(indexes(held)) == 1


def test_across_event_loops():
    """Reads on a user's loops and on zarr's share one request."""
    held, array = example(latency=0.05)

    async def read():
        found = await asyncio.gather(*(array.async_array.getitem((slice(0, 3), slice(0, 7))) for _ in range(3)))
        return [np.asarray(one) for one in found]

    with cyzarr.enabled(), zarr.config.set(PROMISE), ThreadPoolExecutor(3) as pool:
        tasks = [pool.submit(asyncio.run, read()) for _ in range(2)]
        tasks.append(pool.submit(lambda: [array[0:3, 0:7]]))
        for task in tasks:
            for got in task.result(timeout=20):
                assert_same_values(got, VALUES[0:3, 0:7])
    assert len(indexes(held)) == 1


def test_the_first_one_fails(door):
    """Those that wait ask for themselves, one at a time."""
    lock = threading.Lock()
    failed = []

    def edit(key, byte_range, answer):
        with lock:
            if len(failed) < 2:
                failed.append(key)
                raise ConnectionError("lost")
        return answer

    _, array = example(latency=0.02, edit=edit)

    def read(_):
        try:
            return array[0:3, 0:7]
        except ConnectionError:
            return None

    with zarr.config.set(PROMISE), ThreadPoolExecutor(6) as pool:
        found = list(pool.map(read, range(6)))
    right = [one for one in found if one is not None]
    assert len(right) == 4
    for one in right:
        assert_same_values(one, VALUES[0:3, 0:7])


def test_the_first_one_is_cancelled():
    """Neither a leader nor a waiter that is given up holds up the others."""
    _, array = example(latency=0.05)

    async def read():
        return np.asarray(await array.async_array.getitem((slice(0, 3), slice(0, 7))))

    async def main(given_up):
        tasks = [asyncio.ensure_future(read()) for _ in range(4)]
        await asyncio.sleep(0.02)
        tasks[given_up].cancel()
        done = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        assert isinstance(done.pop(given_up), asyncio.CancelledError)
        for got in done:
            assert_same_values(got, VALUES[0:3, 0:7])

    with cyzarr.enabled(), zarr.config.set(PROMISE):
        for given_up in (0, 2):
            indexcache.cache.clear()
            asyncio.run(main(given_up))
    assert indexcache.cache._flights == {}


def test_nobody_waits_for_long(monkeypatch):
    """A leader whose loop stands still: others ask for themselves."""
    from cyzarr.stores import fetch

    monkeypatch.setattr(fetch, "PATIENCE", 0.05)
    held, array = example()
    with cyzarr.enabled(), zarr.config.set(PROMISE):
        array[0, 0]
        (entry,) = indexcache.cache._kept
        indexcache.cache.clear()
        _, flight, leads = indexcache.cache.claim(held, entry[1], entry[2])
        assert leads
        assert array[1, 1] == VALUES[1, 1]
        indexcache.cache.fail(flight)


@pytest.mark.skipif(not HAS_FUSED, reason="this zarr has no synchronous reads")
def test_no_thread_that_runs_a_loop_waits():
    """A synchronous read on an event loop's thread asks for itself: the leader may need that loop."""
    from cyzarr.stores.fetch import Index, ask_index_sync
    from cyzarr.stores.getters import Source

    held, _ = example()
    with CODECS_FUSED.through(), zarr.config.set(PROMISE):
        array = zarr.open_array(held, mode="r")
        array[0, 0]
        (entry,) = indexcache.cache._kept
        indexcache.cache.clear()
        _, flight, _ = indexcache.cache.claim(held, entry[1], entry[2])

        async def main():
            index = Index(entry[2], lambda found: None)
            return ask_index_sync(Source.of(StorePath(held, entry[1])), index, {})

        assert len(asyncio.run(asyncio.wait_for(main(), 5))) == INDEX_NBYTES
        indexcache.cache.fail(flight)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing to fork")
def test_after_a_fork():
    """The parent's flights don't land in the child."""
    from support.process import run_python

    code = """
        import os, sys
        import zarr, cyzarr
        from support.asked import AskedStore
        from support.handmade import le, shard, store
        import numpy as np
        from cyzarr.stores import indexcache, fetch
        a = np.arange(100, dtype="i4").reshape(10, 10)
        held = AskedStore.of(store(a, (10, 10), [shard((2, 5), [le()])]))
        array = zarr.open_array(held, mode="r")
        cyzarr.enable()
        zarr.config.set({"cyzarr.remote_index_cache": True})
        array[0, 0]
        (entry,) = indexcache.cache._kept
        indexcache.cache.clear()
        indexcache.cache.claim(held, entry[1], entry[2])
        indexcache.cache._lock.acquire()
        child = os.fork()
        if child == 0:
            claimed = indexcache.cache.claim(held, entry[1], entry[2])
            os._exit(0 if claimed[2] else 1)
        assert os.waitpid(child, 0)[1] == 0
    """
    run_python(code, timeout=30)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["claim", "write"]), st.integers(0, 30)), max_size=40)
)
def test_the_cache_against_a_model(steps):
    """Bounded, least recently used first, and never what was written since."""
    cache = indexcache.IndexCache()
    limit = 2 * ENTRY + 30
    model = {}

    class Store:
        pass

    held = Store()
    for version, (key, what, nbytes) in enumerate(steps):
        if what == "write":
            cache.invalidate(key)
            model.pop(key, None)
            continue
        index, flight, leads = cache.claim(held, key, "end")
        assert index == model.get(key)
        if index is not None:
            model[key] = model.pop(key)
            continue
        assert leads
        made = bytes([version]) * nbytes
        cache.land(flight, made, limit)
        assert flight.landed.result() == made
        model[key] = made
        while sum(ENTRY + len(one) for one in model.values()) > limit:
            del model[next(iter(model))]
        assert cache.nbytes == sum(ENTRY + len(one) for one in model.values()) <= limit
        assert len(cache) == len(model)


def test_one_that_has_no_room_drives_out_no_others():
    cache = indexcache.IndexCache()
    held, _ = example()
    for key, nbytes in [("a", 10), ("b", 100)]:
        cache.land(cache.claim(held, key, "end")[1], bytes(nbytes), ENTRY + 50)
    assert [entry[1] for entry in cache._kept] == ["a"]


def test_a_promise_that_is_withdrawn_while_an_index_is_under_way():
    """It is of use to that read, and not kept."""
    cache = indexcache.IndexCache()
    held, _ = example()
    _, flight, _ = cache.claim(held, "a", "end")
    cache.trim(0)
    cache.land(flight, b"index", 1 << 20)
    assert flight.landed.result() == b"index"
    assert not cache.used


def test_a_bound_that_is_lowered():
    """The least recently used go at the next read, which needs no index for that."""
    _, array = example()
    with cyzarr.enabled(), zarr.config.set(PROMISE):
        array[:, 0]
        assert len(indexcache.cache) == 4
        with zarr.config.set({"cyzarr.index_cache_nbytes": 2 * (INDEX_NBYTES + ENTRY)}):
            array[0:6]
            assert [entry[1] for entry in indexcache.cache._kept] == ["c/2/0", "c/3/0"]


def test_what_an_entry_takes():
    """The bound counts what is kept of many small indexes, not their bytes alone."""
    cache = indexcache.IndexCache()
    held, _ = example()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for i in range(2000):
            cache.land(cache.claim(held, f"c/{i}", Request(last=20))[1], bytes(20), 1 << 40)
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert 0.7 * taken <= cache.nbytes <= 2 * taken


def test_what_the_settings_forbid_is_forgotten():
    """Without the promise, or without room, nothing is kept for later."""
    _held, array = example()
    forbidding = [{"cyzarr.remote_index_cache": False}, {**PROMISE, "cyzarr.index_cache_nbytes": 0}]
    for change in forbidding:
        with cyzarr.enabled():
            with zarr.config.set(PROMISE):
                array[0, 0]
                assert len(indexcache.cache) == 1
            with zarr.config.set(change):
                array[0, 0]
                assert len(indexcache.cache) == 0
