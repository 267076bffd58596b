"""Stores and files: what is read directly, what is asked through its own methods, what never aliases."""

from __future__ import annotations

import collections
import os

import numpy as np
import pytest
import zarr
from packaging.version import Version
from zarr.abc.store import Store
from zarr.core.buffer import BufferPrototype
from zarr.core.buffer.cpu import Buffer, NDBuffer
from zarr.storage import LocalStore, LoggingStore, MemoryStore, StorePath, WrapperStore, ZipStore

from support.compare import Outcome, assert_same_values
from support.doors import DIRECT, PLAIN, asks_our_codecs, assert_native, by_codecs_alone, needs_cyzarr, trace
from support.handmade import Stored, crc32c, document, le, shard, store, zstd
from support.process import run_python

LAYOUTS = {
    "raw": [le()],
    "zstd": [le(), zstd()],
    "sharded": [shard((2, 5), [le()])],
    "sharded-zstd": [shard((2, 5), [le(), zstd(), crc32c()])],
}


def example(codecs):
    a = np.arange(12 * 10, dtype="i4").reshape(12, 10)
    return store(a, (6, 10), codecs), a


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS)
def stored(request):
    return example(request.param)[0]


@pytest.fixture
def values():
    return example([le()])[1]


def check(array, values, door=None):
    """Values are right; where a door is given it served them, else the direct road kept off."""
    served = door is None or not by_codecs_alone(door) or asks_our_codecs(array.metadata.to_dict()["codecs"])
    for key in [np.s_[...], np.s_[1:8, 3:7], np.s_[5], np.s_[::3, ::4]]:
        with trace() as counts:
            assert_same_values(array[key], values[key])
        if door is not None:
            assert_native(counts, door, served=served)
        else:
            assert PLAIN or "direct" not in counts.reads
    with trace() as counts:
        assert array[7, 7] == values[7, 7]


# -- stores with methods of their own ---------------------------------------------------------


def mangle(data):
    """Bytes with each one inverted."""
    return bytes(b ^ 0xFF for b in data)


def mangled(stored):
    return Stored({key: mangle(data) if "c/" in key else data for key, data in stored.objects.items()})


def unmangle(key, buffer):
    if buffer is None or "c/" not in key:
        return buffer
    return type(buffer).from_bytes(mangle(buffer.to_bytes()))


class OwnLocal(LocalStore):
    """A subclass that undoes the mangling, however it is asked."""

    async def get(self, key, prototype=None, byte_range=None):
        return unmangle(key, await super().get(key, prototype, byte_range))

    async def get_partial_values(self, prototype, key_ranges):
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    def get_sync(self, key, *, prototype=None, byte_range=None):
        return unmangle(key, super().get_sync(key, prototype=prototype, byte_range=byte_range))


class OwnMemory(MemoryStore):
    async def get(self, key, prototype=None, byte_range=None):
        return unmangle(key, await super().get(key, prototype, byte_range))

    def get_sync(self, key, *, prototype=None, byte_range=None):
        return unmangle(key, super().get_sync(key, prototype=prototype, byte_range=byte_range))


class OwnWrapper(WrapperStore):
    """A wrapper that overrides the asynchronous get alone."""

    async def get(self, key, prototype, byte_range=None):
        return unmangle(key, await self._store.get(key, prototype, byte_range))


class OwnRangesWrapper(OwnWrapper):
    """One that answers several ranges by its own get, too."""

    if hasattr(Store, "get_ranges"):
        get_ranges = Store.get_ranges


def test_subclass_of_local_store(door, stored, values, tmp_path):
    mangled(stored).local(tmp_path)
    check(zarr.open_array(OwnLocal(tmp_path), mode="r"), values)


def test_subclass_of_memory_store(door, stored, values):
    check(zarr.open_array(OwnMemory(mangled(stored).memory()._store_dict), mode="r"), values)


class EmptyLocal(LocalStore):
    """A subclass without anything of its own: the same answers, by its own methods."""


def test_subclass_without_changes(door, stored, values, tmp_path):
    stored.local(tmp_path)
    check(zarr.open_array(EmptyLocal(tmp_path), mode="r"), values)


@pytest.mark.parametrize("codecs", [LAYOUTS["raw"], LAYOUTS["zstd"]], ids=["raw", "zstd"])
def test_wrapper_overriding_get(door, codecs, put):
    """zarr asks for whole chunks by get, and only for ranges of a shard elsewhere; windows must ask there, too."""
    if door.name.endswith("fused"):
        pytest.skip("zarr's fused pipeline asks the wrapped store instead")
    stored, values = example(codecs)
    check(zarr.open_array(OwnWrapper(put(mangled(stored))), mode="r"), values)


def test_wrapper_overriding_get_and_ranges(door, stored, values, put):
    if door.name.endswith("fused"):
        pytest.skip("zarr's fused pipeline asks the wrapped store instead")
    check(zarr.open_array(OwnRangesWrapper(put(mangled(stored))), mode="r"), values)


@pytest.mark.parametrize("kind", [LocalStore, MemoryStore])
def test_methods_overridden_on_the_instance(door, stored, values, kind, tmp_path):
    opened = stored.local(tmp_path) if kind is LocalStore else stored.memory()
    array = zarr.open_array(opened, mode="r+")
    array[0, 0]  # the road is known before the override
    store_of_array = array.store
    for key, data in mangled(stored).objects.items():
        zarr.core.sync.sync(store_of_array.set(key, Buffer.from_bytes(data)))
    get, get_sync = store_of_array.get, getattr(store_of_array, "get_sync", None)

    async def own_get(key, prototype=None, byte_range=None):
        return unmangle(key, await get(key, prototype, byte_range))

    def own_get_sync(key, *, prototype=None, byte_range=None):
        return unmangle(key, get_sync(key, prototype=prototype, byte_range=byte_range))

    store_of_array.get = own_get
    if get_sync is not None:
        store_of_array.get_sync = own_get_sync
    check(array, values)


def test_methods_overridden_on_the_class(door, stored, values, tmp_path, monkeypatch):
    """Someone patches LocalStore itself: also honoured."""
    mangled(stored).local(tmp_path)
    array = zarr.open_array(tmp_path, mode="r")
    get, get_sync = LocalStore.get, getattr(LocalStore, "get_sync", None)

    async def own_get(self, key, prototype=None, byte_range=None):
        return unmangle(key, await get(self, key, prototype, byte_range))

    def own_get_sync(self, key, *, prototype=None, byte_range=None):
        return unmangle(key, get_sync(self, key, prototype=prototype, byte_range=byte_range))

    monkeypatch.setattr(LocalStore, "get", own_get)
    if get_sync is not None:
        monkeypatch.setattr(LocalStore, "get_sync", own_get_sync)
    check(array, values)


@pytest.mark.skipif(PLAIN, reason="about cyzarr, which this run leaves out")
@pytest.mark.parametrize("kind", [LocalStore, MemoryStore])
@pytest.mark.parametrize(
    "name", ["get", "get_sync", "get_partial_values", "_ensure_open", "_ensure_open_sync", "_open"]
)
def test_any_method_around_a_read_patched_on_the_class(stored, values, put, kind, name, monkeypatch):
    """Each that zarr may call on its way to a file or a dict keeps the direct roads off, and on again without it."""
    from cyzarr.stores import plain

    assert name in plain.WATCHED
    array = zarr.open_array(put(stored), mode="r")
    method = getattr(kind, name, None)
    watched = type(array.store) is kind

    def own(*args, **kwargs):
        return method(*args, **kwargs)

    with DIRECT.through():
        for patched in (False, True, False):
            with monkeypatch.context() as patch:
                if patched:
                    patch.setattr(kind, name, own, raising=False)
                assert plain.is_plain(array.store) is not (patched and watched)
                with trace() as counts:
                    assert_same_values(array[1:8, 3:7], values[1:8, 3:7])
                assert counts.reads["direct"] == (0 if patched and watched else 1)


@pytest.mark.parametrize("read_before", [True, False])
@pytest.mark.parametrize("name", ["_is_open", "_store_dict", "root"])
def test_a_store_that_is_made_otherwise(door, stored, values, put, name, read_before, monkeypatch):
    """A zarr whose stores don't hold these in their instances' dicts: by their own methods, without an error."""
    array = zarr.open_array(put(stored), mode="r")
    if name not in array.store.__dict__:
        pytest.skip("nothing that such a store holds")
    if read_before:
        array[0, 0]
    kept = array.store.__dict__.pop(name)
    monkeypatch.setattr(type(array.store), name, property(lambda self: kept), raising=False)
    for key in [np.s_[...], np.s_[1:8, 3:7], np.s_[5]]:
        with trace() as counts:
            assert_same_values(array[key], values[key])
        assert PLAIN or "direct" not in counts.reads


class Mapping(collections.UserDict):
    """A mapping that isn't a dict; the class counts what is asked."""

    asked = 0

    def __getitem__(self, key):
        Mapping.asked += 1
        return super().__getitem__(key)


def test_memory_store_of_another_mapping(door, stored, values):
    array = zarr.open_array(MemoryStore(Mapping(stored.memory()._store_dict)), mode="r")
    before = Mapping.asked
    check(array, values)
    assert Mapping.asked > before


class SubDict(dict):
    """A dict with a __getitem__ of its own."""

    def __getitem__(self, key):
        return unmangle(key, super().__getitem__(key))


def test_memory_store_of_a_subclass_of_dict(door, stored, values):
    check(zarr.open_array(MemoryStore(SubDict(mangled(stored).memory()._store_dict)), mode="r"), values)


def test_other_stores(door, stored, values, tmp_path):
    with ZipStore(tmp_path / "a.zip", mode="w") as archive:
        for key, data in stored.objects.items():
            zarr.core.sync.sync(archive.set(f"deep/er/{key}", Buffer.from_bytes(data)))
    with ZipStore(tmp_path / "a.zip", mode="r") as archive:
        check(zarr.open_array(archive, path="deep/er", mode="r"), values)
    check(zarr.open_array(LoggingStore(stored.memory()), mode="r"), values)


def test_wrapped_local_and_memory(door, stored, values, put):
    check(zarr.open_array(WrapperStore(put(stored)), mode="r"), values)


def test_plain_stores_are_served(door, stored, values, put):
    check(zarr.open_array(put(stored), mode="r"), values, door)


def test_paths_inside_a_store(door, stored, values, tmp_path):
    stored.local(tmp_path / "one" / "two")
    check(zarr.open_array(StorePath(LocalStore(tmp_path), "one/two"), mode="r"), values, door)
    nested = {f"one/two/{key}": data for key, data in stored.objects.items()}
    check(zarr.open_array(Stored(nested).memory(), path="one/two", mode="r"), values, door)


def test_names_that_are_not_ascii(door, stored, values, tmp_path):
    stored.local(tmp_path / "zählung 数" / "a b")
    check(zarr.open_array(tmp_path / "zählung 数" / "a b", mode="r"), values, door)


# -- files ------------------------------------------------------------------------------------


def test_relative_root(door, stored, values, tmp_path, monkeypatch):
    """A relative root is resolved at each read, as zarr does."""
    for folder in ("here", "there"):
        stored.local(tmp_path / folder / "a")
    (tmp_path / "there" / "a" / "c" / "0" / "0").unlink()
    monkeypatch.chdir(tmp_path / "here")
    array = zarr.open_array("a", mode="r")
    assert_same_values(array[...], values)
    monkeypatch.chdir(tmp_path / "there")
    without_chunk = values.copy()
    without_chunk[:6] = 0
    assert_same_values(array[...], without_chunk)
    monkeypatch.chdir(tmp_path / "here")
    assert_same_values(array[1], values[1])


def test_directory_in_a_chunks_place(door, stored, values, tmp_path):
    opened = stored.local(tmp_path)
    (tmp_path / "c/0/0").unlink()
    (tmp_path / "c/0/0").mkdir()
    values[:6] = 0
    assert_same_values(zarr.open_array(opened, mode="r")[...], values)


def test_file_in_a_directorys_place(door, stored, values, tmp_path):
    opened = stored.local(tmp_path)
    (tmp_path / "c/0/0").unlink()
    (tmp_path / "c/0").rmdir()
    (tmp_path / "c/0").write_bytes(b"")
    values[:6] = 0
    assert_same_values(zarr.open_array(opened, mode="r")[...], values)


def test_symbolic_links(door, stored, values, tmp_path):
    stored.local(tmp_path / "real")
    (tmp_path / "real/c/0/0").rename(tmp_path / "elsewhere")
    (tmp_path / "real/c/0/0").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    check(zarr.open_array(tmp_path / "link", mode="r"), values, door)
    (tmp_path / "elsewhere").unlink()
    values[:6] = 0
    assert_same_values(zarr.open_array(tmp_path / "link", mode="r")[...], values)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(door, stored, tmp_path):
    opened = stored.local(tmp_path)
    (tmp_path / "c/0/0").chmod(0)
    with pytest.raises(PermissionError):
        zarr.open_array(opened, mode="r")[...]


@needs_cyzarr
@pytest.mark.parametrize("key", ["...", "1:3, 2:4"])
def test_fifo_in_a_chunks_place(stored, tmp_path, key):
    """An error at once; a plain open would wait for a writer."""
    stored.local(tmp_path)
    (tmp_path / "c/0/0").unlink()
    os.mkfifo(tmp_path / "c/0/0")
    code = f"""
        import sys
        import zarr, cyzarr
        array = zarr.open_array(sys.argv[1], mode="r")
        cyzarr.enable()
        try:
            array[{key}]
        except OSError as error:
            assert "c/0/0" in str(error), error
        else:
            raise AssertionError("a FIFO was read")
    """
    run_python(code, tmp_path, timeout=20)


def test_no_file_stays_open(door, stored, tmp_path):
    array = zarr.open_array(stored.local(tmp_path), mode="r")
    array[...]
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    for _ in range(20):
        array[...], array[1:3, 4]
    after = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    assert after <= before + 2


def test_no_file_stays_open_after_errors(door, tmp_path):
    stored = Stored.of(document((8,), (8,), "i4", [le()]), {"c/0": bytes(24)})
    array = zarr.open_array(stored.local(tmp_path), mode="r")
    counts = []
    for _ in range(20):
        with pytest.raises((ValueError, RuntimeError)):
            array[0:2]
        counts.append(len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0)
    assert counts[-1] <= counts[0] + 2


# -- aliasing, other buffers ------------------------------------------------------------------


@pytest.mark.parametrize(
    "codecs", [[le()], [shard((12, 10), [le()])], [shard((6, 5), [le()])]], ids=["raw", "one", "four"]
)
def test_results_do_not_alias(door, put, codecs):
    a = np.arange(12 * 10, dtype="i4").reshape(12, 10)
    opened = put(store(a, (12, 10), codecs))
    array = zarr.open_array(opened, mode="r")
    for key in [np.s_[...], np.s_[3:7], np.s_[5], np.s_[2:4, 3:8]]:
        first = array[key]
        assert first.flags.writeable
        first[...] = -1
        assert_same_values(array[key], a[key])


def test_missing_chunks_do_not_alias(door, put):
    array = zarr.open_array(put(store(np.full((4, 4), 7, "i4"), (4, 4), [le()], fill=7, missing={(0, 0)})), mode="r")
    array[...][...] = 0
    assert (array[...] == 7).all()


def test_memory_that_changes_later(door):
    """The output is a copy: what happens to the store's bytes later doesn't reach it."""
    a = np.arange(16, dtype="i4")
    data = np.frombuffer(store(a, (16,), [le()]).objects["c/0"], "u1").copy()
    meta = store(a, (16,), [le()]).objects["zarr.json"]
    opened = MemoryStore({"zarr.json": Buffer.from_bytes(meta), "c/0": Buffer.from_array_like(data)})
    got = zarr.open_array(opened, mode="r")[...]
    data[...] = 0
    assert_same_values(got, a)


@pytest.mark.parametrize("flaw", ["strided", "readonly"])
def test_buffers_of_other_kinds_in_memory(door, flaw):
    """A MemoryStore's values may be any one-dimensional byte array."""
    a = np.arange(16, dtype="i4")
    stored = store(a, (16,), [shard((4,), [le()])])
    data = np.frombuffer(stored.objects["c/0"], "u1")
    if flaw == "strided":
        wide = np.zeros(2 * data.size, "u1")
        wide[::2] = data
        data = wide[::2]
    objects = {"zarr.json": Buffer.from_bytes(stored.objects["zarr.json"]), "c/0": Buffer.from_array_like(data)}
    array = zarr.open_array(MemoryStore(objects), mode="r")
    for key in (np.s_[...], np.s_[5:9]):
        got = Outcome.of(lambda key=key: array[key])
        if flaw == "strided" and got.error is not None:
            assert type(got.error) is ValueError  # zarr refuses it, too
        else:
            assert_same_values(got.value, a[key])


class OwnArray(np.ndarray):
    """An array type of someone else's."""


class OwnNDBuffer(NDBuffer):
    @classmethod
    def create(cls, *, shape, dtype, order="C", fill_value=None):
        made = cls(OwnArray(shape=shape, dtype=dtype, order=order))
        if fill_value is not None:
            made.fill(fill_value)
        return made

    @classmethod
    def empty(cls, shape, dtype, order="C"):
        return cls(OwnArray(shape=shape, dtype=dtype, order=order))


OWN_PROTOTYPE = BufferPrototype(buffer=Buffer, nd_buffer=OwnNDBuffer)


def test_other_prototypes(door, put):
    """Another prototype's arrays come back as zarr gives them."""
    stored, a = example([le(), zstd()])
    array = zarr.open_array(put(stored), mode="r")
    for key in [np.s_[...], np.s_[1:7, 3:5]]:
        got = array.get_basic_selection(key, prototype=OWN_PROTOTYPE)
        assert type(got) is OwnArray
        assert_same_values(np.asarray(got), a[key])


def test_other_prototypes_by_config(door, put):
    from zarr.registry import register_ndbuffer

    stored, a = example([le(), zstd()])
    register_ndbuffer(OwnNDBuffer)
    array = zarr.open_array(put(stored), mode="r")
    array[...]
    with zarr.config.set({"ndbuffer": f"{OwnNDBuffer.__module__}.{OwnNDBuffer.__qualname__}"}):
        got = array[1:7, 3:5]
    assert type(got) is OwnArray
    assert_same_values(np.asarray(got), a[1:7, 3:5])
    assert type(array[...]) is np.ndarray


@needs_cyzarr
def test_errors_tell_their_place():
    """Key, inner chunk, offset and length are attributes too, so that a script can list what is damaged."""
    import pickle

    import cyzarr

    a = np.arange(8, dtype="i4")
    stored = store(a, (8,), [shard((2,), [le(), crc32c()])])
    data = bytearray(stored.objects["c/0"])
    data[12] ^= 1
    stored.objects["c/0"] = bytes(data)
    with cyzarr.enabled(), pytest.raises(cyzarr.CorruptChunkError) as caught:
        zarr.open_array(stored.memory(), mode="r")[...]
    error = caught.value
    assert (error.key, error.inner, error.offset, error.length) == ("c/0", "(1,)", 12, 12)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@needs_cyzarr
@pytest.mark.parametrize("kind", ["<M8", ">M8", "<m8", ">m8"])
@pytest.mark.filterwarnings("ignore")
def test_times_without_a_unit_keep_scale_and_fill(kind):
    """NumPy drops the scale of such a time where it allocates, and forgets to swap it where it assigns one item."""
    import cyzarr

    if Version(zarr.__version__) < Version("3.2"):
        pytest.skip("zarr 3.1 itself drops the scale, and swaps such times or not as NumPy does")
    counts = np.array([0, 1, -2, 100], dtype=kind[0] + "i8")
    array = zarr.create_array({}, data=counts.view(np.dtype(kind + "[2generic]")), chunks=2, compressors=None)
    array.resize((6,))
    alone = [np.asarray(read(array)) for read in (lambda a: a[:], lambda a: a.oindex[[0, 5]], lambda a: a[1])]
    with cyzarr.enabled():
        ours = [np.asarray(read(array)) for read in (lambda a: a[:], lambda a: a.oindex[[0, 5]], lambda a: a[1])]
    for one, other in zip(ours, alone, strict=True):
        assert np.datetime_data(one.dtype) == np.datetime_data(other.dtype)
        assert one.tobytes() == other.tobytes()
