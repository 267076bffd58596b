"""Writing to small chunks of zarr's own stores: what is stored is byte for byte what zarr would have stored."""

import asyncio

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.core.buffer import cpu
from zarr.storage import LocalStore, MemoryStore, StorePath

from cyzarr import LazyArray, _zarr
from cyzarr.errors import CorruptChunkError
from cyzarr.lazy import chunkwrites, zarrwrites
from lazy.support import CountingStore
from support.codecs import Backwards, Flip, Inverted

# No gzip, which writes the time down.
COMPRESSORS = [None, "auto", [zarr.codecs.BloscCodec(typesize=4), zarr.codecs.Crc32cCodec()]]


@st.composite
def arrays(draw):
    """An array with some chunks filled, others missing."""
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    options = {
        "chunks": tuple(draw(st.integers(1, extent)) for extent in shape),
        "dtype": draw(st.sampled_from(["i8", "u1", ">i4", "f4", "<U3", "M8[s]", "c8", "?"])),
        "zarr_format": draw(st.sampled_from([2, 3])),
        "config": {"write_empty_chunks": draw(st.booleans()), "order": draw(st.sampled_from("CF"))},
        "compressors": draw(st.sampled_from(COMPRESSORS[:2])),
    }
    if options["zarr_format"] == 3:
        options["compressors"] = draw(st.sampled_from(COMPRESSORS))
        if draw(st.integers(0, 3)) == 0:
            # Third parties': some have nothing but coroutines.
            options["serializer"] = Inverted()
            options["compressors"] = draw(st.sampled_from([None, [Backwards()]]))
            options["filters"] = [Flip()]
        elif draw(st.booleans()):
            options["filters"] = [zarr.codecs.TransposeCodec(order=tuple(range(len(shape)))[::-1])]
    else:
        options["order"] = draw(st.sampled_from("CF"))
    array = zarr.create_array({}, shape=shape, **options)
    for _ in range(draw(st.integers(0, 2))):
        box = tuple(slice(draw(st.integers(0, extent - 1)), None) for extent in shape)
        array[box] = np.ones((), array.dtype)
    if _zarr.INTS_COVER_EDGES and draw(st.booleans()):
        # Edge chunks then hold something beyond. (A slice of one is an int by now, which zarr once took for less.)
        array.resize(tuple(draw(st.integers(1, extent)) for extent in shape))
    return array


def entry(draw, extent):
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return draw(st.integers(0, extent - 1))
    if kind == 1:
        return np.unique(draw(st.lists(st.integers(0, extent - 1), min_size=1)))
    start = draw(st.integers(0, extent - 1))
    return slice(start, draw(st.integers(start + 1, extent)), draw(st.integers(1, 3)))


def values_for(draw, array, shape):
    """Zeros are the fill value, so some chunks become empty."""
    given = np.array(draw(st.lists(st.integers(0, 1), min_size=1, max_size=4)))
    return np.resize(given, shape).astype(array.dtype)


def twin_of(array):
    """The same array in another store. zarr 3.1.6 doesn't take a config to open one with."""
    store = StorePath(MemoryStore(array.store_path.store._store_dict.copy()))
    return zarr.Array(zarr.AsyncArray(array.metadata, store, config=array.config))


def stored(array):
    return {key: value.to_bytes() for key, value in array.store_path.store._store_dict.items()}


@given(data=st.data(), array=arrays())
def test_the_same_bytes_as_zarrs(data, array):
    other = twin_of(array)
    assert chunkwrites.target_of(array) is not None
    view = LazyArray(array)
    for _ in range(data.draw(st.integers(1, 2))):
        if data.draw(st.booleans()):
            points = np.unique([[data.draw(st.integers(0, n - 1)) for n in array.shape] for _ in range(6)], axis=0).T
            values = values_for(data.draw, array, points.shape[1:])
            view.vindex[tuple(points)] = values
            other.vindex[tuple(points)] = values
        else:
            key = tuple(entry(data.draw, extent) for extent in array.shape)
            values = values_for(data.draw, array, view.oindex[key].shape)
            view.oindex[key] = values
            other.oindex[key] = values
        assert stored(array) == stored(other)


def test_whose_chunks_are_written():
    def made(store=None, **options):
        given = {"shape": (8, 8), "chunks": (4, 4), "dtype": "i8", **options}
        return zarr.create_array({} if store is None else store, **given)

    assert chunkwrites.target_of(made()) is not None
    assert chunkwrites.target_of(made(dtype=[("a", "i4"), ("b", "f8")])) is not None
    for other in (
        made(shards=(8, 8)),
        made(shape=(1000, 1000), chunks=(1000, 1000)),
        made(CountingStore()),
        made(dtype=np.dtypes.StringDType()),
        made(dtype=zarr.dtype.VariableLengthBytes()),
    ):
        assert chunkwrites.target_of(other) is None
    patched = MemoryStore()
    patched.get = patched.get
    assert chunkwrites.target_of(made(patched)) is None


def test_files(tmp_path):
    array = zarr.create_array(LocalStore(tmp_path), shape=(9, 9), chunks=(4, 4), dtype="i8")
    expected = np.zeros((9, 9), int)
    view = LazyArray(array)
    view.vindex[[8, 0, 8, 3], [8, 8, 8, 0]] = [1, 2, 3, 4]
    expected[8, 8], expected[0, 8], expected[3, 0] = 3, 2, 4
    assert array[...].tolist() == expected.tolist()
    view[1:8, ::-2] = np.arange(35).reshape(7, 5)
    expected[1:8, ::-2] = np.arange(35).reshape(7, 5)
    assert array[...].tolist() == expected.tolist()
    view[...] = 0
    assert not list((tmp_path / "c").rglob("*/*/*"))


def test_what_lies_beyond_the_array_stays():
    array = zarr.create_array({}, shape=(6,), chunks=(4,), dtype="i8", fill_value=5)
    array[...] = np.arange(6) + 10
    array.resize(8)
    array[6:] = 7
    array.resize(6)
    LazyArray(array).vindex[[4]] = 1
    array.resize(8)
    assert array[...].tolist() == [10, 11, 12, 13, 1, 15, 7, 7]
    # A chunk of which all is overwritten isn't read; what is beyond is fill value, as zarr has it.
    array.resize(6)
    LazyArray(array)[4:] = 2
    array.resize(8)
    assert array[...].tolist() == [10, 11, 12, 13, 2, 2, 5, 5]


ROWS = np.arange(6)
WRITES = {
    "basic": ("basic", (slice(4, 6), slice(4, 6))),
    "basic with an int": ("basic", (slice(4, 6), 5)),
    "basic in steps": ("basic", (slice(4, 6), slice(4, 6, 2))),
    "basic in part": ("basic", (slice(4, 5), slice(None))),
    "all by an array": ("oindex", (ROWS, slice(None))),
    "an array": ("oindex", (slice(4, 6), ROWS[4:])),
    "an array of an inner cell": ("oindex", (ROWS[:4], slice(4, 6))),
    "arrays": ("oindex", (ROWS[4:], ROWS[4:])),
    "arrays with gaps": ("oindex", (ROWS[[0, 2, 4, 5]], ROWS[4:])),
    "arrays of parts": ("oindex", (ROWS[[0, 4]], ROWS)),
    "arrays of one": ("oindex", (ROWS[5:], ROWS[5:])),
    "one point": ("vindex", (ROWS[5:], ROWS[5:])),
    "one in steps": ("basic", (slice(5, 6, 2), slice(4, 6))),
    "points": ("vindex", (np.repeat(ROWS[4:], 2), np.tile(ROWS[4:], 2))),
    "all points": ("vindex", tuple(np.indices((6, 6)).reshape(2, 36))),
}


def lower(one):
    """One entry, a position lower."""
    if isinstance(one, slice):
        start, stop = (None if at is None else at - 1 for at in (one.start, one.stop))
        return slice(start, stop, one.step)
    return np.unique(np.maximum(one - 1, 0)) if np.ndim(one) and len(one) < 4 else np.maximum(one - 1, 0)


@pytest.mark.parametrize("largest", [chunkwrites.MOST_NBYTES, 0])
@pytest.mark.parametrize(
    "options", [{}, {"zarr_format": 2}, {"shards": (4, 4), "chunks": (2, 2)}, {"compressors": "auto"}], ids=repr
)
@pytest.mark.parametrize("extent", [6, 5])
@pytest.mark.parametrize("write", WRITES)
def test_what_lies_beyond_the_array_is_what_zarr_leaves_there(monkeypatch, write, extent, options, largest):
    """Where `largest` is 0, zarr writes."""
    monkeypatch.setattr(chunkwrites, "MOST_NBYTES", largest)
    kind, key = WRITES[write]
    if extent == 5:
        # The same one further up: a single row and column in edge chunks.
        key = tuple(lower(one) for one in key)
    found = []
    for view in (lambda array: array, LazyArray):
        array = zarr.create_array(
            {}, shape=(8, 8), dtype="i4", fill_value=-1, **{"chunks": (4, 4), "compressors": None, **options}
        )
        array[...] = np.arange(64).reshape(8, 8)
        array.resize((extent, extent))
        target = view(array)
        (target if kind == "basic" else getattr(target, kind))[key] = 99
        array.resize((8, 8))
        found.append(array[...].tolist())
    assert found[1] == found[0]


def test_what_lies_beyond_the_array_in_chunks_of_others_stays(monkeypatch):
    """Where what is stored isn't at hand, zarr is handed whole cells."""
    monkeypatch.setattr(chunkwrites.plain, "set_at_hand", lambda *_: False)
    array = zarr.create_array({}, shape=(6,), chunks=(4,), dtype="i8", compressors=None)
    array[...] = np.arange(6)
    array.resize(5)
    LazyArray(array)[3:4] = 9
    LazyArray(array).oindex[[4]] = 9
    array.resize(6)
    assert array[...].tolist() == [0, 1, 2, 9, 9, 5]


def test_chunks_that_are_overwritten_whole_are_not_read():
    array = zarr.create_array({}, shape=(8,), chunks=(4,), dtype="i8", compressors=None)
    array[...] = 1
    objects = array.store_path.store._store_dict
    objects["c/0"] = cpu.Buffer.from_bytes(b"broken")
    before = stored(array)
    with pytest.raises(CorruptChunkError) as caught:
        LazyArray(array).oindex[[0, 5, 6, 7]] = 3
    assert caught.value.__notes__ == ["written: 0 of 2 chunks"]
    assert stored(array) == before
    LazyArray(array).oindex[[3, 2, 0, 1, 7]] = 3
    assert array[...].tolist() == [3, 3, 3, 3, 1, 1, 1, 3]


class Other(cpu.Buffer):
    """A buffer that is not zarr's own."""


def test_buffers_of_others():
    array = zarr.create_array({}, shape=(8,), chunks=(4,), dtype="i8", compressors=None)
    array[...] = 1
    objects = array.store_path.store._store_dict
    objects["c/1"] = Other.from_bytes(objects["c/1"].to_bytes())
    assert chunkwrites.target_of(array).put(planned(array, [0, 6]), False) is None
    LazyArray(array).oindex[[0, 6]] = 3
    assert array[...].tolist() == [3, 1, 1, 1, 1, 1, 3, 1]


def planned(array, at):
    cells = LazyArray(array)._grid
    return list(zarrwrites.blocks(((np.array(at),), np.full(len(at), 9)), cells, whole=True))


def test_batches_and_what_was_written(monkeypatch):
    """Encoding fails in the third of four batches."""
    array = zarr.create_array({}, shape=(8,), chunks=(1,), dtype="i8", compressors=None)
    monkeypatch.setattr(zarrwrites, "BATCH_NBYTES", 8)
    encode = zarr.codecs.BytesCodec._encode_sync

    def failing(self, buffer, spec):
        if buffer.as_numpy_array()[0] == 5:
            raise OSError("no more")
        return encode(self, buffer, spec)

    monkeypatch.setattr(zarr.codecs.BytesCodec, "_encode_sync", failing)
    with pytest.raises(OSError, match="no more") as caught:
        LazyArray(array)[...] = np.arange(1, 9)
    assert caught.value.__notes__ == ["written: 5 of 8 chunks: c/0, c/1, c/2, c/3, c/5"]
    assert array[...].tolist() == [1, 2, 3, 4, 0, 6, 0, 0]


@pytest.mark.parametrize("compressors", [None, "auto"])
def test_a_store_that_refuses_a_chunk(compressors):
    store = MemoryStore()
    array = zarr.create_array(store, shape=(6,), chunks=(2,), dtype="i8", compressors=compressors)

    async def refusing(key, value, byte_range=None):
        if key == "c/1":
            raise OSError("not this one")
        await MemoryStore.set(store, key, value, byte_range)

    store.set = refusing
    assert chunkwrites.target_of(array) is not None
    with pytest.raises(OSError, match="not this one") as caught:
        LazyArray(array).oindex[[5, 2, 1, 1]] = [1, 2, 3, 4]
    assert caught.value.__notes__ == ["written: 2 of 3 chunks: c/0, c/2"]
    assert array[...].tolist() == [0, 4, 0, 0, 0, 1]


def test_a_store_that_is_read_only():
    store = MemoryStore()
    zarr.create_array(store, shape=(6,), chunks=(2,), dtype="i8")
    array = zarr.open_array(store.with_read_only(True), mode="r")
    with pytest.raises(ValueError, match="read-only") as caught:
        LazyArray(array)[1:3] = 1
    assert caught.value.__notes__ == ["written: 0 of 2 chunks"]


def test_what_is_stored_is_nobody_elses():
    array = zarr.create_array({}, shape=(4, 4), chunks=(4, 4), dtype="i8", compressors=None)
    values = np.arange(16).reshape(4, 4)
    LazyArray(array)[...] = values
    values[...] = 0
    assert array[3, 3] == 15


@pytest.mark.parametrize("owner", [MemoryStore, StorePath])
def test_a_class_whose_ways_to_write_are_changed(monkeypatch, owner):
    """As instrumentation does: it may wait for the event loop."""
    array = zarr.create_array(MemoryStore(), shape=(6,), chunks=(2,), dtype="i8", compressors=None)
    own = owner.set

    async def slow(self, *given, **more):
        await asyncio.sleep(0.001)
        await own(self, *given, **more)

    monkeypatch.setattr(owner, "set", slow)
    LazyArray(array)[1:5] = 3
    assert array[...].tolist() == [0, 3, 3, 3, 3, 0]


def test_a_zarr_that_keeps_the_parts_of_arrays_otherwise(monkeypatch):
    array = zarr.create_array({}, shape=(6,), chunks=(2,), dtype="i8")
    monkeypatch.setattr(_zarr, "parts_of", lambda _: None)
    assert chunkwrites.target_of(array) is None
    LazyArray(array)[1:5] = 3
    LazyArray(array).oindex[[0, 1, 5]] = 4
    assert array[...].tolist() == [4, 4, 3, 3, 3, 4]
    assert _zarr.set_slabs(OnlyBasic(array), [((slice(2, 4),), 5), ((slice(9, 10, -1),), 5)])[0] is None
    assert array[...].tolist() == [4, 4, 5, 5, 3, 4]


class OnlyBasic:
    """An array that shows nothing but its values."""

    def __init__(self, array):
        self.array = array

    def __setitem__(self, key, value):
        self.array[key] = value


def test_parts_that_are_not_there():
    assert _zarr.parts_of(OnlyBasic(None)) is None
    assert _zarr.without_output(OnlyBasic(None), None) is None
    assert _zarr.WriteLog(OnlyBasic(None)).array is None
    assert _zarr.encodes_parts(object())
