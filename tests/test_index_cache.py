"""The cache of shard indexes as zarr's users meet it: one index read for many reads, its setting, its counts."""

from __future__ import annotations

import time

import numpy as np
import pytest
import zarr

from support.doors import PLAIN, doors
from support.filesystems import skip_without_local_clock
from support.handmade import le, shard, store
from support.process import run_python

if PLAIN:
    pytest.skip("about cyzarr's cache", allow_module_level=True)

import cyzarr
from cyzarr.kernels import indexcache

# 128 inner chunks: an index of 2052 bytes.
VALUES = np.arange(128 * 4, dtype="i4")
KEY = "cyzarr.index_cache_nbytes"
# What the codecs alone are asked for comes as bytes from zarr, or through the store's own methods.
ROADS = [door for door in doors() if door.name in ("direct", "pipeline")]


@pytest.fixture(autouse=True)
def empty():
    """Nothing kept, and bounded as the settings say."""
    indexcache.set_index_cache(0)
    indexcache.set_index_cache(64 << 20)
    yield
    indexcache.set_index_cache(0)
    indexcache.set_index_cache(64 << 20)


@pytest.fixture(params=ROADS, ids=repr)
def road(request):
    with request.param.through():
        yield request.param


@pytest.fixture
def made(tmp_path):
    skip_without_local_clock(tmp_path)
    stored = store(VALUES, VALUES.shape, [shard((4,), [le()])])
    stored.local(tmp_path)
    time.sleep(0.06)
    return tmp_path


def traced(array, at):
    with cyzarr.trace() as trace:
        value = array[at]
    assert value == VALUES[at]
    return trace


def test_case_24_ten_reads_of_one_shard(road, made):
    array = zarr.open_array(made, mode="r")
    with cyzarr.trace() as trace:
        for k in range(10):
            assert array[k * 50] == VALUES[k * 50]
    assert (trace.index_hits, trace.index_misses) == (9, 1)
    assert trace.requests == 11
    assert trace.bytes_read == 2052 + 10 * 4


def test_setting(road, made):
    array = zarr.open_array(made, mode="r")
    for nbytes, hits in [(0, 0), (3000, 1), (2000, 0), (1 << 40, 1)]:
        with zarr.config.set({KEY: nbytes}):
            traced(array, 9)
            assert traced(array, 9).index_hits == hits
            assert indexcache.index_cache().limit == nbytes
    traced(array, 9)
    assert indexcache.index_cache().limit == 64 << 20


@pytest.mark.parametrize("nbytes", [-1, "64", None, True, 1.5, 2**80])
def test_setting_that_is_no_number_of_bytes(road, made, nbytes):
    array = zarr.open_array(made, mode="r")
    with zarr.config.set({KEY: nbytes}):
        traced(array, 9)
        traced(array, 9)
        assert indexcache.index_cache().limit == 64 << 20


def test_setting_is_seen_whichever_road_saw_it_last(made):
    """A bound that one road has set must not be taken by the other for its own."""
    direct, pipeline = (door for door in sorted(ROADS, key=lambda door: door.name))
    for nbytes in (0, 5000, 0):
        for door in (direct, pipeline, direct):
            with zarr.config.set({KEY: nbytes}), door.through():
                traced(zarr.open_array(made, mode="r"), 9)
                assert indexcache.index_cache().limit == nbytes
            with pipeline.through():
                traced(zarr.open_array(made, mode="r"), 9)
                assert indexcache.index_cache().limit == 64 << 20


def test_off_before_it_is_enabled(made):
    with zarr.config.set({KEY: 0}), cyzarr.enabled():
        array = zarr.open_array(made, mode="r")
        assert [traced(array, 9).requests for _ in range(3)] == [2, 2, 2]
        assert traced(array, 9).index_misses == 0


def test_written_by_this_process(road, made):
    """A writer needs no word with the cache: the file is another one then."""
    array = zarr.open_array(made, mode="r+")
    for turn in range(6):
        time.sleep(0.03 * (turn % 2))
        array[7] = 1000 + turn
        assert array[7] == 1000 + turn
        assert (array[8], array[-1]) == (VALUES[8], VALUES[-1])
        array[4:8] = 0
        assert array[7] == 0
        array[7] = 7
        assert (array[:4] == VALUES[:4]).all()


@pytest.mark.parametrize(
    "door", ["cyzarr.enable()", 'zarr.config.set({"codec_pipeline.path": "cyzarr.CodecPipeline"})']
)
def test_on_by_default(made, door):
    """Without any setting of cyzarr's, in a process that never had one."""
    code = f"""
        import cyzarr, zarr
        {door}
        array = zarr.open_array({str(made)!r}, mode="r")
        with cyzarr.trace() as trace:
            array[0], array[1]
        assert trace.index_hits == 1, trace
    """
    run_python(code, timeout=60)
