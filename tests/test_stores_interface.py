"""cyzarr.stores: what any store can be asked, and what makes something a store."""

from __future__ import annotations

import asyncio
import collections
import gc
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer.cpu import Buffer
from zarr.storage import LocalStore, LoggingStore, MemoryStore, StorePath, WrapperStore, ZipStore

from support.doors import PLAIN

if PLAIN:
    pytest.skip("about cyzarr, which this run leaves out", allow_module_level=True)

from cyzarr import CorruptChunkError, stores
from cyzarr.stores import kinds

DATA = bytes(range(100))


class Opaque:
    """Bytes by key, without a method that anyone knows."""

    def __init__(self, held):
        self.held, self.asked, self.threads = held, [], []


def opaque_range(store, key, byte_range):
    store.asked.append((key, byte_range))
    store.threads.append(threading.get_ident())
    data = store.held.get(key)
    if data is None or byte_range is None:
        return data
    return data[byte_range.start : byte_range.end] if isinstance(byte_range, RangeByteRequest) else data[-5:]


stores.register(Opaque, lambda store: True, opaque_range, lambda store, key: len(store.held[key]))


def local(folder):
    (folder / "deep").mkdir()
    (folder / "deep/a").write_bytes(DATA)
    return LocalStore(folder)


def zipped(folder):
    with ZipStore(folder / "a.zip", mode="w") as archive:
        asyncio.run(archive.set("deep/a", Buffer.from_bytes(DATA)))
    archive = ZipStore(folder / "a.zip", mode="r")
    asyncio.run(archive._ensure_open())  # zarr 3.1 can't read before
    return archive


def memory(folder=None):
    return MemoryStore({"deep/a": Buffer.from_bytes(DATA)})


KINDS = {
    "dict": lambda folder: {"deep/a": DATA},
    "arrays": lambda folder: {"deep/a": np.frombuffer(DATA, "u1")},
    "mapping": lambda folder: collections.UserDict({"deep/a": DATA}),
    "buffers": lambda folder: {"deep/a": Buffer.from_bytes(DATA)},
    "local": local,
    "memory": memory,
    "zip": zipped,
    "logging": lambda folder: LoggingStore(memory()),
    "wrapper": lambda folder: WrapperStore(local(folder)),
    "registered": lambda folder: Opaque({"deep/a": DATA}),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def store(request, tmp_path):
    return request.param(tmp_path)


ASKED = [(None, DATA), (RangeByteRequest(3, 9), DATA[3:9]), (SuffixByteRequest(5), DATA[-5:])]


@pytest.mark.parametrize(("byte_range", "expected"), ASKED)
def test_read_range(store, byte_range, expected):
    got = stores.read_range(store, "deep/a", byte_range)
    assert type(got) is bytes
    assert got == expected
    assert asyncio.run(stores.read_range_async(store, "deep/a", byte_range)) == expected


def test_missing_key(store):
    assert stores.read_range(store, "deep/b", RangeByteRequest(0, 2)) is None
    assert asyncio.run(stores.read_range_async(store, "deep/b")) is None
    with pytest.raises(KeyError):
        stores.getsize(store, "deep/b")
    with pytest.raises(KeyError):
        asyncio.run(stores.getsize_async(store, "deep/b"))


def test_getsize(store):
    assert stores.getsize(store, "deep/a") == 100
    assert asyncio.run(stores.getsize_async(store, "deep/a")) == 100


def test_ranges_beyond_the_end(store):
    """Nothing is padded: key, range and both lengths are told."""
    with pytest.raises(CorruptChunkError, match=r"'deep/a'.*expected 20 bytes, found 10 .*offset 90, length 20"):
        stores.read_range(store, "deep/a", RangeByteRequest(90, 110))
    if not isinstance(store, Opaque):
        with pytest.raises(CorruptChunkError, match=r"expected 101 bytes, found \d+ \(the last 101 bytes"):
            asyncio.run(stores.read_range_async(store, "deep/a", SuffixByteRequest(101)))


@given(st.data())
def test_any_range_of_a_dict_is_that_of_a_zarr_store(data):
    """Of a dict that is cut here, as of a store that cuts by itself."""
    start = data.draw(st.integers(0, 100))
    kinds = [
        RangeByteRequest(start, data.draw(st.integers(start, 100))),
        OffsetByteRequest(start),
        SuffixByteRequest(data.draw(st.integers(1, 100))),
    ]
    byte_range = data.draw(st.sampled_from(kinds))
    assert stores.read_range({"deep/a": DATA}, "deep/a", byte_range) == stores.read_range(
        memory(), "deep/a", byte_range
    )


def test_supports_partial_reads(tmp_path):
    assert stores.supports_partial_reads(memory())
    assert stores.supports_partial_reads(LocalStore(tmp_path))
    assert stores.supports_partial_reads(StorePath(memory(), "deep"))
    assert stores.supports_partial_reads(Opaque({}))
    assert not stores.supports_partial_reads({})
    assert not stores.supports_partial_reads(collections.UserDict())


def test_store_paths():
    assert stores.read_range(StorePath(memory(), "deep"), "a", RangeByteRequest(1, 2)) == DATA[1:2]
    assert stores.getsize(StorePath(memory(), "deep"), "a") == 100


def test_what_is_no_store():
    with pytest.raises(TypeError, match=r"int.*register"):
        stores.read_range(3, "a")


def test_registered_for_subclasses_and_by_threads():
    class Derived(Opaque):
        pass

    store = Derived({"a": DATA})
    assert asyncio.run(stores.read_range_async(store, "a", RangeByteRequest(0, 3))) == DATA[:3]
    assert store.asked == [("a", RangeByteRequest(0, 3))]
    assert threading.get_ident() not in store.threads  # no event loop waited for it
    stores.read_range(store, "a")
    assert threading.get_ident() in store.threads


def test_registered_asynchronously_and_without_getsize():
    class Both(Opaque):
        pass

    async def read(store, key, byte_range):
        store.asked.append("async")
        return None if key not in store.held else memoryview(store.held[key])

    stores.register(Both, lambda store: False, opaque_range, read_range_async=read)
    store = Both({"a": DATA})
    assert not stores.supports_partial_reads(store)
    assert asyncio.run(stores.getsize_async(store, "a")) == 100
    assert store.asked == ["async"]
    assert stores.getsize(store, "a") == 100
    with pytest.raises(KeyError):
        asyncio.run(stores.getsize_async(store, "b"))


@pytest.mark.parametrize("kind", [LocalStore, MemoryStore])
def test_stores_that_are_read_directly_can_not_be_registered(kind):
    """They would be asked by one road and not by another; their subclasses are asked by all."""
    with pytest.raises(ValueError, match=f"{kind.__name__} is read directly"):
        stores.register(kind, lambda store: True, opaque_range)
    assert kind not in kinds._kinds

    class Own(kind):
        """One that is asked otherwise."""

    stores.register(Own, lambda store: True, lambda store, key, byte_range: b"abc")
    assert stores.read_range(Own("nowhere") if kind is LocalStore else Own(), "a") == b"abc"


def test_a_registered_store_that_lies():
    class Liar(Opaque):
        pass

    stores.register(Liar, lambda store: True, lambda store, key, byte_range: b"abc")
    with pytest.raises(CorruptChunkError, match="expected 2 bytes, found 3") as caught:
        stores.read_range(Liar({}), "some/key", RangeByteRequest(5, 7))
    assert (caught.value.key, caught.value.offset, caught.value.length) == ("some/key", 5, 2)


def test_errors_of_the_store_tell_key_and_range():
    class Broken(Opaque):
        pass

    def fail(store, key, byte_range):
        raise ConnectionError("no route")

    stores.register(Broken, lambda store: True, fail)
    for read in (stores.read_range, lambda *asked: asyncio.run(stores.read_range_async(*asked))):
        with pytest.raises(ConnectionError, match="no route") as caught:
            read(Broken({}), "some/key", RangeByteRequest(5, 7))
        assert any("some/key" in note and "offset 5, length 2" in note for note in caught.value.__notes__)


def test_answers_keep_nothing_alive():
    """A part of a large object is a copy."""

    class Bytes(np.ndarray):
        """An array that can be watched."""

    whole = np.frombuffer(DATA, "u1").view(Bytes)
    watched = weakref.ref(whole)
    held = {"a": whole}
    part = stores.read_range(held, "a", RangeByteRequest(0, 3))
    held.clear()
    del whole
    gc.collect()
    assert part == DATA[:3]
    assert watched() is None


def test_the_interface_is_needed_by_no_kernel():
    """It can be used where the compiled modules can't be loaded."""
    from support.process import run_python

    code = """
        import sys
        import cyzarr.stores
        assert cyzarr.stores.getsize({"a": b"xy"}, "a") == 2
        assert not [name for name in sys.modules if name.startswith("cyzarr.kernels")]
    """
    run_python(code)
