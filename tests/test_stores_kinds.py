"""Every kind of store that zarr reads from: right, through its own methods, in no more requests than zarr makes."""

from __future__ import annotations

import collections
import functools
import itertools

import numpy as np
import pytest
import zarr
from packaging.version import Version
from zarr.codecs import ZstdCodec
from zarr.core.buffer.cpu import Buffer
from zarr.core.sync import sync
from zarr.storage import LocalStore, LoggingStore, MemoryStore, StorePath, WrapperStore, ZipStore

from support.compare import assert_same_values
from support.doors import PLAIN, ZARR, assert_native, plain_zarr, trace

VALUES = np.arange(1, 24 * 30 + 1, dtype="i4").reshape(24, 30)
LAYOUTS = {
    "plain": {"chunks": (6, 30), "compressors": None},
    "zstd": {"chunks": (6, 30), "compressors": ZstdCodec()},
    "sharded": {"shards": (12, 30), "chunks": (2, 5), "compressors": None},
    "sharded-zstd": {"shards": (12, 30), "chunks": (2, 5), "compressors": ZstdCodec()},
}
KEYS = [np.s_[...], np.s_[3], np.s_[7:13, 3:9], np.s_[::5, 29], np.s_[23, 29]]
_names = itertools.count()


def fsspec_memory(folder):
    pytest.importorskip("fsspec")
    from zarr.storage import FsspecStore

    return FsspecStore.from_url(f"memory://stores{next(_names)}/deep")


def fsspec_local(folder):
    pytest.importorskip("fsspec")
    from zarr.storage import FsspecStore

    # Without it nothing is written below a folder that is not there yet.
    return FsspecStore.from_url(f"file://{folder}/deep", storage_options={"auto_mkdir": True})


def zipped(folder):
    held = ZipStore(folder / "a.zip", mode="w")
    sync(held._ensure_open())  # zarr 3.1 can't write before
    return held


def obstore_memory(folder):
    kinds = pytest.importorskip("obstore.store")
    from zarr.storage import ObjectStore

    return ObjectStore(kinds.MemoryStore())


def obstore_local(folder):
    kinds = pytest.importorskip("obstore.store")
    from zarr.storage import ObjectStore

    return ObjectStore(kinds.LocalStore(folder))


def cached(folder):
    module = pytest.importorskip("zarr.experimental.cache_store")
    return module.CacheStore(MemoryStore(), cache_store=MemoryStore())


def cached_local(folder):
    module = pytest.importorskip("zarr.experimental.cache_store")
    return module.CacheStore(LocalStore(folder), cache_store=MemoryStore())


def icechunk_session(folder):
    icechunk = pytest.importorskip("icechunk")
    repository = icechunk.Repository.create(icechunk.in_memory_storage())
    return repository.writable_session("main").store


class OwnWrapper(WrapperStore):
    """A wrapper that changes nothing."""


KINDS = {
    "fsspec-memory": fsspec_memory,
    "fsspec-local": fsspec_local,
    "obstore-memory": obstore_memory,
    "obstore-local": obstore_local,
    "zip": zipped,
    "logging": lambda folder: LoggingStore(MemoryStore()),
    "wrapper": lambda folder: WrapperStore(LocalStore(folder)),
    "own-wrapper": lambda folder: OwnWrapper(WrapperStore(MemoryStore())),
    "cache": cached,
    "cache-local": cached_local,
    "icechunk": icechunk_session,
}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def opened(request, tmp_path):
    held = request.param(tmp_path)
    yield held
    held.close()


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS)
def layout(request):
    return request.param


def write(held, layout, path="in/side"):
    """Written by zarr, with one chunk left out; the values."""
    array = zarr.create_array(StorePath(held, path), shape=VALUES.shape, dtype="i4", fill_value=-1, **layout)
    array[:12] = VALUES[:12]
    array[18:, :20] = VALUES[18:, :20]
    expected = np.full_like(VALUES, -1)
    expected[:12] = VALUES[:12]
    expected[18:, :20] = VALUES[18:, :20]
    return expected


@pytest.fixture
def asked(monkeypatch):
    """A function that counts the calls of `get` and `getsize` of a store, and of what it wraps, from then on."""
    calls = collections.Counter()

    def count(cls, name):
        method = getattr(cls, name)

        @functools.wraps(method)
        async def counting(self, *arguments, **options):
            if type(self) is cls:
                calls[name, cls.__name__] += 1
            return await method(self, *arguments, **options)

        monkeypatch.setattr(cls, name, counting)

    def watch(held):
        while held is not None:
            count(type(held), "get")
            held = getattr(held, "_store", None) if isinstance(held, WrapperStore) else None
        return calls

    return watch


def test_right(door, opened, layout):
    """The same values and nothing left to zarr's own code."""
    expected = write(opened, layout)
    array = zarr.open_array(StorePath(opened, "in/side"), mode="r")
    for key in KEYS:
        with trace() as counts:
            got = array[key]
        assert_same_values(got, expected[key])
        assert_native(counts, door, served=False)


@pytest.mark.skipif(PLAIN, reason="about cyzarr, which this run leaves out")
@pytest.mark.skipif(Version("3.3") > ZARR, reason="zarr asks for each inner chunk by itself")
def test_requests_through_its_own_methods(opened, layout, asked):
    """Of each store involved, `get` is called no more often than by zarr."""
    import cyzarr

    expected = write(opened, layout)
    path = StorePath(opened, "in/side")
    calls = asked(opened)

    def counted(read):
        array = zarr.open_array(path, mode="r")
        # A cache of what was read before would hide the others.
        clear = getattr(opened, "clear_cache", None)
        if clear is not None:
            sync(clear())
        calls.clear()
        got = read(array)
        return got, dict(calls)

    for key in KEYS:
        with plain_zarr():
            _, by_zarr = counted(lambda array, key=key: array[key])
        with cyzarr.enabled(), cyzarr.trace() as counts:
            got, ours = counted(lambda array, key=key: array[key])
        assert_same_values(got, expected[key])
        assert not counts.fallbacks
        assert set(ours) == set(by_zarr)
        for name, count in ours.items():
            assert count <= by_zarr[name], (key, name)


@pytest.mark.skipif(PLAIN, reason="about cyzarr, which this run leaves out")
def test_the_interface(opened):
    from zarr.abc.store import RangeByteRequest, SuffixByteRequest

    from cyzarr import stores

    write(opened, LAYOUTS["plain"], "a")
    whole = VALUES[:6].astype("<i4").tobytes()
    assert stores.getsize(opened, "a/c/0/0") == len(whole)
    assert stores.read_range(opened, "a/c/0/0") == whole
    assert stores.read_range(opened, "a/c/0/0", RangeByteRequest(10, 50)) == whole[10:50]
    assert stores.read_range(StorePath(opened, "a"), "c/0/0", SuffixByteRequest(7)) == whole[-7:]
    assert stores.read_range(opened, "a/c/2/0") is None
    with pytest.raises(KeyError):
        stores.getsize(opened, "a/c/2/0")


@pytest.mark.skipif(PLAIN, reason="about cyzarr, which this run leaves out")
def test_a_chunk_of_another_length(opened, layout):
    """The stored object's length is held against the metadata in every store that lets one be written."""
    import cyzarr

    if layout is not LAYOUTS["plain"] or type(opened).__name__ == "IcechunkStore":
        pytest.skip("its length is fixed, and any can be written")
    write(opened, layout)
    if isinstance(opened, ZipStore):
        pytest.skip("a key is written once")
    sync(opened.set("in/side/c/0/0", Buffer.from_bytes(bytes(6 * 30 * 4 + 4))))
    array = zarr.open_array(StorePath(opened, "in/side"), mode="r")
    with cyzarr.enabled(), pytest.raises(cyzarr.CorruptChunkError, match="c/0/0"):
        array[3]


# -- what fsspec's filesystems cost -----------------------------------------------------------


def test_archives_and_listings_of_fsspec(tmp_path):
    """Members of an archive are read whole; no folder is listed for a length."""
    fsspec = pytest.importorskip("fsspec")
    import zipfile

    from fsspec.implementations.memory import MemoryFileSystem
    from zarr.storage import FsspecStore

    from cyzarr.stores.kinds import kind_of

    class Listing(MemoryFileSystem):
        protocol = "listing"
        info = fsspec.AbstractFileSystem.info

    def store_of(filesystem, path):
        try:
            from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
        except ImportError:
            pytest.skip("this fsspec wraps no synchronous filesystems")
        return FsspecStore(AsyncFileSystemWrapper(filesystem, asynchronous=True), path=path, read_only=True)

    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("c/0", bytes(1000))
    archived = store_of(fsspec.filesystem("zip", fo=str(tmp_path / "a.zip")), "")
    listed = store_of(Listing(), "/x")
    plain = store_of(MemoryFileSystem(), "/x")
    for held, stream, told in [(archived, True, None), (listed, False, False), (plain, False, True)]:
        for one in (held, LoggingStore(held, log_level="ERROR")):
            kind = kind_of(one)
            assert kind.is_stream(one, "c/0") is stream
            if told is not None:
                assert kind.tells_sizes(one) is told
