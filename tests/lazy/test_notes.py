"""What the error of a failed write says of what was written: neither more nor less than the store took."""

import asyncio
import re
import threading
import time

import numcodecs
import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from zarr.storage import LocalStore, MemoryStore

import cyzarr
from cyzarr import LazyArray
from cyzarr.lazy import chunkwrites, zarrwrites
from lazy.support import Recorder
from support.doors import ZARR


def refusing(cls):
    """A store class whose instances refuse keys, and remember which they took."""

    class Refusing(cls):
        refused, unreadable = (), ()
        took = ()

        async def get(self, key, prototype=None, byte_range=None):
            if key in self.unreadable:
                raise OSError(f"{key} can't be read")
            return await super().get(key, prototype, byte_range)

        async def set(self, key, value, byte_range=None):
            if key in self.refused:
                raise OSError(f"{key} can't be written")
            await super().set(key, value)
            self.took = (*self.took, key)

        async def delete(self, key):
            await super().delete(key)
            self.took = (*self.took, key)

        def get_sync(self, key, *, prototype=None, byte_range=None):
            return asyncio.run(self.get(key, prototype or zarr.core.buffer.default_buffer_prototype(), byte_range))

        def set_sync(self, key, value):
            asyncio.run(self.set(key, value))

        def delete_sync(self, key):
            asyncio.run(self.delete(key))

    return Refusing


Refusing = refusing(MemoryStore)


def told(error):
    """(how many, of how many, keys) of the one note."""
    (note,) = error.__notes__
    found = re.fullmatch(r"written: (\d+) of (\d+) chunks?(?:: (.*))?", note)
    assert found, note
    return int(found[1]), int(found[2]), (found[3] or "").split(", ") if found[3] else []


LAYOUTS = {
    "small": {"chunks": (2, 2)},
    "shards": {"chunks": (1, 2), "shards": (2, 2)},
    "strings": {"chunks": (2, 2), "dtype": str},
}


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@given(st.data())
@settings(max_examples=10, deadline=None)
def test_the_chunks_that_the_store_took(layout, on, data):
    store = Refusing()
    options = {"dtype": "i4", **LAYOUTS[layout]}
    array = zarr.create_array(store, shape=(6, 6), **options)
    value = 1 if data.draw(st.booleans()) else 7
    array[...] = value if layout != "strings" else str(value)
    rows = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=8))
    columns = data.draw(st.lists(st.integers(0, 5), min_size=len(rows), max_size=len(rows)))
    view = LazyArray(array)
    view = data.draw(st.sampled_from([view[:], view[1:5, ::2], view.oindex[rows, columns], view.vindex[rows, columns]]))
    touched = {part.base_coords for part in view.with_parts((2, 2)).parts()}
    refused = data.draw(st.sampled_from(sorted(touched)))
    store.refused, store.took = ("c/{}/{}".format(*refused),), ()
    with cyzarr.enabled() if on else zarr.config.set({}), pytest.raises(OSError, match="can't be written") as caught:
        # What is there already, as well.
        view.write(7)
    time.sleep(0.005)
    count, of, keys = told(caught.value)
    assert count == len(keys)
    assert of == len(touched)
    assert sorted(keys) == sorted(store.took)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_read_only_store_took_nothing(layout):
    store = MemoryStore()
    array = zarr.create_array(store, shape=(6, 6), **{"dtype": "i4", **LAYOUTS[layout]})
    array[...] = 7 if layout != "strings" else "7"
    view = LazyArray(zarr.open_array(store.with_read_only(True), mode="r"))
    with pytest.raises(ValueError, match="read-only") as caught:
        view.write(7)
    assert told(caught.value) == (0, 9, [])


def test_a_codec_that_loses_digits():
    store = Refusing()
    rounding = numcodecs.FixedScaleOffset(offset=0, scale=10, dtype="f8", astype="i4")
    array = zarr.create_array(store, shape=(6,), chunks=(2,), dtype="f8", zarr_format=2, filters=[rounding])
    store.refused, store.took = ("2",), ()
    with pytest.raises(OSError, match="can't be written") as caught:
        LazyArray(array).write(np.arange(6) + 0.123)
    count, of, keys = told(caught.value)
    assert (count, of) == (len(keys), 3)
    assert sorted(keys) == sorted(store.took)


@pytest.mark.parametrize("layout", [{}, {"shards": (2,)}])
def test_a_later_batch_that_cannot_be_read(monkeypatch, layout):
    monkeypatch.setattr(zarrwrites, "BATCH_NBYTES", 8)
    monkeypatch.setattr(zarrwrites, "_fails", lambda *arguments: True)
    store = Refusing()
    array = zarr.create_array(store, shape=(8,), chunks=(1,) if layout else (2,), dtype="i4", **layout)
    array[...] = 9
    store.unreadable = ("c/2",)
    with pytest.raises(OSError, match="can't be read") as caught:
        LazyArray(array).oindex[[1, 0, 3, 2, 5]].write([1, 2, 3, 4, 5])
    assert told(caught.value) == (2, 3, ["c/0", "c/1"])
    assert array[:4].tolist() == [2, 1, 4, 3]


@pytest.mark.parametrize("dtype", ["i4", str])
def test_arrays_without_axes(dtype):
    store = Refusing()
    array = zarr.create_array(store, shape=(), chunks=(), dtype=dtype)
    LazyArray(array).write(3)
    assert str(array[()]) == "3"
    store.refused = ("c",)
    with pytest.raises(OSError, match="can't be written") as caught:
        LazyArray(array)[None].oindex[[0, 0]].write([4, 5])
    assert told(caught.value) == (0, 1, [])


@pytest.mark.parametrize("key", [slice(1, 7), (), 3])
def test_one_assignment_to_another_source(key):
    source = Recorder(np.zeros(8) if key != () else np.zeros(()), (2,) if key != () else ())
    source.fails_at = 0
    with pytest.raises(OSError, match="full") as caught:
        LazyArray(source)[key].write(1)
    assert caught.value.__notes__ == ["it was one assignment to the source; some of it may be written"]


def sharded(store, **options):
    """Written by zarr."""
    array = zarr.create_array(store, **{"chunks": (1,), "shards": (2,), "dtype": "i4", **options})
    assert chunkwrites.target_of(array) is None
    return array


@pytest.mark.skipif(ZARR.release < (3, 2), reason="zarr 3.1 reads each shard that it writes whole")
@pytest.mark.parametrize("cls", [MemoryStore, LocalStore])
def test_a_failed_write_reads_nothing_and_waits_for_no_stranger(cls, tmp_path):
    reading, go_on = threading.Event(), threading.Event()

    class Slow(cls):
        """Reads last until they are told to go on."""

        full, reads = False, 0

        async def set(self, key, value, byte_range=None):
            if self.full:
                raise OSError("full")
            await super().set(key, value)

        def set_sync(self, key, value):
            if self.full:
                raise OSError("full")
            super().set_sync(key, value)

        async def get(self, key, prototype=None, byte_range=None):
            self.reads += 1
            reading.set()
            while not go_on.is_set():
                await asyncio.sleep(0.01)
            return await super().get(key, prototype, byte_range)

    go_on.set()
    stores = [Slow() if cls is MemoryStore else Slow(tmp_path / name) for name in "ab"]
    busy, array = (sharded(store, shape=(400,)) for store in stores)
    busy[...] = array[...] = 1
    go_on.clear()
    reading.clear()
    thread = threading.Thread(target=lambda: busy[0])
    thread.start()
    assert reading.wait(10)
    stores[1].full, stores[1].reads = True, 0
    threading.Timer(4, go_on.set).start()
    with pytest.raises(OSError, match="full") as caught:
        LazyArray(array)[:].write(7)
    early = not go_on.is_set()
    go_on.set()
    thread.join()
    assert early
    assert told(caught.value) == (0, 200, [])
    assert stores[1].reads == 0


class SlowSecond(Refusing):
    """Takes its time over the second chunk, which it has begun with before it is done with the first."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds, self.begun = seconds, False

    async def set(self, key, value, byte_range=None):
        if key == "c/1":
            self.begun = True
            await asyncio.sleep(self.seconds)
        end = time.monotonic() + 10
        while key == "c/0" and not self.begun and time.monotonic() < end:
            await asyncio.sleep(0.001)
        await super().set(key, value, byte_range)


def test_what_a_store_was_handed_is_waited_for_and_nothing_follows():
    """zarr lets the other chunks go on after it raised."""

    store = SlowSecond(0.1)
    array = sharded(store, shape=(40,), fill_value=0)
    store.refused, store.took = ("c/0",), ()
    store.begun = False
    with zarr.config.set({"async.concurrency": 2}), pytest.raises(OSError, match="c/0") as caught:
        LazyArray(array)[:].write(7)
    count, of, keys = told(caught.value)
    assert of == 20
    time.sleep(0.3)
    assert sorted(keys) == sorted(store.took)
    assert "c/1" in keys
    assert count < 19


def test_what_does_not_end_is_told(monkeypatch):
    monkeypatch.setattr(zarrwrites, "SETTLE_SECONDS", 0.05)

    store = SlowSecond(0.5)
    array = sharded(store, shape=(4,), fill_value=0)
    store.refused = ("c/0",)
    with pytest.raises(OSError, match="c/0") as caught:
        LazyArray(array)[:].write(7)
    assert caught.value.__notes__ == ["written: 0 of 2 chunks; under way still: c/1"]


@pytest.mark.parametrize("layout", [{"chunks": (2,)}, {"chunks": (1,), "shards": (2,)}])
def test_the_array_itself_is_as_it_was(layout):
    array = zarr.create_array({}, shape=(6,), dtype="i4", **layout)
    path = array._async_array.store_path
    LazyArray(array)[1:].write(7)
    assert array._async_array.store_path is path
    assert type(path) is zarr.storage.StorePath
    array[...] = 3
    assert array[...].tolist() == [3] * 6


@pytest.mark.parametrize("mode", ["oindex", "vindex"])
@pytest.mark.parametrize("at", [[1, 9], [9, 1, 1], np.arange(12) % 2 == 0, [3], [0, 1, 2, 3, 11]])
def test_shards_of_different_shapes(mode, at):
    if not hasattr(zarr.Array, "write_chunk_sizes"):
        pytest.skip("zarr before rectilinear grids")
    with zarr.config.set({"array.rectilinear_chunks": True}):
        array = zarr.create_array({}, shape=(12,), chunks=(2,), shards=[[4, 8]], dtype="i4")
        array[...] = expected = np.arange(12)
        values = np.arange(100, 100 + len(expected[at]))
        getattr(LazyArray(array), mode)[at] = values
        expected[at] = values
        assert array[...].tolist() == expected.tolist()
