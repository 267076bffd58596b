"""Codecs without a kernel, and items that are objects: read through the codecs' own methods, under the kernels."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time

import numcodecs
import numpy as np
import pytest
import zarr
import zarr.codecs
from hypothesis import given
from hypothesis import strategies as st
from zarr.abc.codec import BytesBytesCodec
from zarr.codecs import BytesCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as zarr_numcodecs
from zarr.registry import register_codec
from zarr.storage import LocalStore, MemoryStore

from support import doors
from support.codecs import Backwards, Counted, Flip, Inverted, RefusedError, Refusing
from support.codecs import Plain as PlainCodec
from support.compare import Outcome, assert_same_outcome
from support.handmade import Stored
from support.strategies import basic_keys, orthogonal_keys, points

pytestmark = pytest.mark.filterwarnings("ignore")
EVERY_DOOR = pytest.mark.parametrize("door", doors.doors(), ids=repr)
SHAPE, CHUNK, SHARD = (20, 16), (5, 4), (10, 8)
INTEGERS = np.random.default_rng(0).integers(0, 1000, SHAPE).astype("i4")
FLOATS = np.random.default_rng(1).integers(0, 100, SHAPE) / 4
TEXTS = np.array([["x" * (v % 9) + f"é{v}" for v in row] for row in INTEGERS.tolist()], dtype=object)
BYTES = np.array([[v.encode() for v in row] for row in TEXTS], dtype=object)


def scale_offset():
    found = getattr(zarr.codecs, "ScaleOffset", None)
    return None if found is None else found(offset=1.5, scale=4.0)


def sharded(*inner, before=(), after=()):
    """Arguments for create_array: a shard of these inner codecs, with codecs before and after it."""
    serializer = ShardingCodec(chunk_shape=CHUNK, codecs=list(inner))
    return {"chunks": SHARD, "filters": list(before), "serializer": serializer, "compressors": list(after)}


def plain(*codecs, before=(), serializer=None):
    return {
        "chunks": CHUNK,
        "filters": list(before),
        "serializer": serializer or BytesCodec(),
        "compressors": list(codecs),
    }


ARRAYS = {
    "flip": (INTEGERS, plain(before=[Flip()])),
    "flip around a shard": (INTEGERS, sharded(BytesCodec(), before=[Flip()])),
    "flip between transposes": (
        INTEGERS,
        plain(ZstdCodec(), before=[TransposeCodec(order=(1, 0)), Flip(), TransposeCodec(order=(1, 0))]),
    ),
    "flip in a shard": (INTEGERS, sharded(Flip(), BytesCodec(), ZstdCodec())),
    "backwards": (INTEGERS, plain(ZstdCodec(), Backwards())),
    "backwards in a shard": (INTEGERS, sharded(BytesCodec(), Backwards())),
    "backwards around a shard": (INTEGERS, sharded(BytesCodec(), ZstdCodec(), after=[Backwards(), ZstdCodec()])),
    "inverted": (INTEGERS, plain(ZstdCodec(), serializer=Inverted())),
    "inverted in a shard": (INTEGERS, sharded(Inverted(), Backwards())),
    "bz2 and lzma": (INTEGERS, plain(zarr_numcodecs.BZ2(level=1), zarr_numcodecs.LZMA())),
    "shuffle in a shard": (INTEGERS, sharded(BytesCodec(), zarr_numcodecs.Shuffle(elementsize=4))),
    "checksums in a shard": (INTEGERS, sharded(BytesCodec(), zarr_numcodecs.Adler32(), zarr_numcodecs.Fletcher32())),
    "delta in a shard": (INTEGERS, sharded(zarr_numcodecs.Delta(dtype="i4"), BytesCodec())),
    "packbits": (INTEGERS % 2 == 0, plain(before=[zarr_numcodecs.PackBits()])),
    "fixed scale": (
        FLOATS,
        plain(before=[zarr_numcodecs.FixedScaleOffset(offset=0, scale=4, dtype="f8", astype="i2")]),
    ),
    "text": (TEXTS, {"chunks": CHUNK}),
    "text in shards": (TEXTS, {"chunks": CHUNK, "shards": SHARD}),
    "bytes in shards": (BYTES, {"chunks": CHUNK, "shards": SHARD, "dtype": "variable_length_bytes"}),
}
if scale_offset() is not None:
    ARRAYS["scale"] = (FLOATS, plain(ZstdCodec(), before=[scale_offset()]))
    ARRAYS["scale, raw"] = (FLOATS, plain(before=[scale_offset()]))
    ARRAYS["scale around a shard"] = (FLOATS, sharded(BytesCodec(), before=[scale_offset()]))
    ARRAYS["scale between transposes around a shard"] = (
        FLOATS,
        sharded(BytesCodec(), before=[TransposeCodec(order=(1, 0)), scale_offset(), TransposeCodec(order=(1, 0))]),
    )
    ARRAYS["scale in a shard"] = (FLOATS, sharded(scale_offset(), BytesCodec(), ZstdCodec()))
V2_FILTERS = {
    "delta": [numcodecs.Delta("i4")],
    "shuffle": [numcodecs.Shuffle(4)],
    "fixed scale": [numcodecs.FixedScaleOffset(0, 1, "i4", "i8")],
    "delta and fletcher": [numcodecs.Delta("i4"), numcodecs.Fletcher32()],
    "none": None,
}
V2_COMPRESSORS = [None, numcodecs.BZ2(1), numcodecs.LZMA(), numcodecs.Blosc(), numcodecs.Zstd(), numcodecs.GZip(1)]
for _name, _filters in V2_FILTERS.items():
    for _compressor in V2_COMPRESSORS:
        for _order in "CF":
            ARRAYS[f"v2 {_name}, {getattr(_compressor, 'codec_id', 'raw')}, {_order}"] = (
                INTEGERS,
                {"chunks": CHUNK, "filters": _filters, "compressors": _compressor, "order": _order, "zarr_format": 2},
            )
ARRAYS["v2 packbits"] = (
    INTEGERS % 2 == 0,
    {"chunks": CHUNK, "filters": [numcodecs.PackBits()], "zarr_format": 2, "compressors": None},
)
ARRAYS["v2 text"] = (TEXTS, {"chunks": CHUNK, "zarr_format": 2})


def fill_of(values):
    item = values.flat[7]
    return item if isinstance(item, str | bytes) else values.dtype.type(item)


def written(name):
    """The objects of an array of this name, written by zarr alone, with rows 10 and 11 never written."""
    values, arguments = ARRAYS[name]
    given = {"dtype": str if values is TEXTS else values.dtype, "fill_value": fill_of(values), **arguments}
    with doors.plain_zarr():
        array = zarr.create_array(MemoryStore(), shape=SHAPE, **given)
        array[:10] = values[:10]
        array[12:] = values[12:]
        return Stored({key: value.to_bytes() for key, value in array.store._store_dict.items()})


@pytest.fixture(scope="module")
def stored():
    kept = {}
    return lambda name: kept.setdefault(name, None) or kept.update({name: written(name)}) or kept[name]


KINDS = {
    "basic": (basic_keys(SHAPE), lambda array, key: array[key]),
    "orthogonal": (orthogonal_keys(SHAPE), lambda array, key: array.oindex[key]),
    "points": (points(SHAPE), lambda array, key: array.vindex[key]),
}


@EVERY_DOOR
@given(data=st.data())
def test_as_zarr_reads(door, stored, tmp_path_factory, data):
    """Every codec, door and kind of selection, from files and from memory; nothing falls back."""
    name = data.draw(st.sampled_from(sorted(ARRAYS)), label="array")
    kind = data.draw(st.sampled_from(sorted(KINDS)), label="kind")
    keys, read = KINDS[kind]
    key = data.draw(keys, label="key")
    objects = stored(name)
    store = objects.local(tmp_path_factory.mktemp("foreign")) if data.draw(st.booleans()) else objects.memory()
    with doors.plain_zarr():
        want = Outcome.of(lambda: read(zarr.open_array(store, mode="r"), key))
    with door.through():
        array = zarr.open_array(store, mode="r")
        with doors.trace() as counts:
            got = Outcome.of(lambda: read(array, key))
    assert_same_outcome(got, want)
    if want.error is None:
        doors.assert_native(counts, door, served=door is doors.DIRECT and np.size(want.value) > 0)


@doors.needs_cyzarr
@pytest.mark.parametrize("name", ["flip in a shard", "backwards in a shard", "inverted in a shard"])
def test_only_touched_inner_chunks_are_decoded(stored, name):
    with doors.DIRECT.through():
        array = zarr.open_array(stored(name).memory(), mode="r")
        stages = 2 if name == "inverted in a shard" else 1
        for key, touched in [((0, 0), 1), ((slice(3, 7), slice(3, 5)), 4), ((slice(0, 10, 6), 1), 2)]:
            Counted.start()
            with doors.trace() as counts:
                array[key]
            assert len(Counted.calls) == touched * stages
            assert counts.chunks_decoded == touched
        Counted.start()
        array.vindex[[0, 1, 0, 9], [0, 0, 1, 15]]
        assert len(Counted.calls) == 2 * stages


@doors.needs_cyzarr
@pytest.mark.skipif(scale_offset() is None, reason="this zarr has no scale_offset")
def test_an_elementwise_codec_around_a_shard_decodes_and_reads_only_what_is_touched(stored, tmp_path):
    with doors.DIRECT.through():
        local = stored("scale around a shard").local(tmp_path)
        for store in (local, Wrapped(local)):
            array = zarr.open_array(store, mode="r")
            with doors.trace() as counts:
                array[2:4, 1:3]
            assert counts.chunks_decoded == 1
            assert counts.requests == 2
            # The index of four entries and a checksum, and one inner chunk.
            index, inner = 4 * 16 + 4, 5 * 4 * 8
            assert counts.bytes_read <= index + inner


class Wrapped(zarr.storage.WrapperStore):
    """A store that cyzarr may not go around."""


@doors.needs_cyzarr
@EVERY_DOOR
def test_a_codec_that_raises(door):
    """Its own error, with the key and the inner chunk as a note."""
    arguments = sharded(BytesCodec(), Refusing())
    with doors.plain_zarr():
        made = zarr.create_array(MemoryStore(), shape=SHAPE, dtype="i4", fill_value=0, **arguments)
        made[...] = INTEGERS
    with door.through():
        array = zarr.open_array(made.store, mode="r")
        with pytest.raises(RefusedError, match="not today") as raised:
            array[0, 5]
    notes = " ".join(raised.value.__notes__)
    assert "c/0/0" in notes
    assert "(0, 1)" in notes


@doors.needs_cyzarr
def test_a_codec_that_gives_another_shape_is_an_error():
    class Short(Inverted):
        async def _decode_single(self, chunk_data, chunk_spec):
            whole = await super()._decode_single(chunk_data, chunk_spec)
            return type(whole)(whole.as_numpy_array()[:-1])

    with doors.plain_zarr():
        made = zarr.create_array(MemoryStore(), shape=SHAPE, dtype="i4", **plain(serializer=Short()))
        made[...] = INTEGERS
    with doors.DIRECT.through(), pytest.raises(ValueError, match=r"expected \(5, 4\), found \(4, 4\)"):
        made[...]


@doors.needs_cyzarr
def test_many_reads_that_wait_for_coroutines_never_block_each_other(stored):
    """More reads at once than zarr's loop has threads, each of whose codecs needs one of these."""
    store = Wrapped(stored("backwards in a shard").memory())
    with doors.PIPELINE.through():
        array = zarr.open_array(store, mode="r")

        async def read_all():
            reads = [array.async_array.getitem((slice(None), i % 16)) for i in range(64)]
            return await asyncio.wait_for(asyncio.gather(*reads), 60)

        found = zarr.core.sync.sync(read_all())
    want = INTEGERS.copy()
    want[10:12] = fill_of(INTEGERS)
    for i, column in enumerate(found):
        np.testing.assert_array_equal(column, want[:, i % 16])


@doors.needs_cyzarr
@pytest.mark.parametrize("kind", [MemoryStore, LocalStore])
def test_a_codec_that_needs_zarrs_loop_is_not_waited_for_there(stored, tmp_path, kind):
    """A synchronous read inside zarr's own loop: zarr refuses it, and it doesn't hang."""
    objects = stored("backwards")
    store = objects.memory() if kind is MemoryStore else objects.local(tmp_path)
    with doors.DIRECT.through():
        array = zarr.open_array(store, mode="r")

        async def read():
            return array[0, 0]

        with pytest.raises(zarr.core.sync.SyncError):
            zarr.core.sync.sync(read(), timeout=30)


@doors.needs_cyzarr
def test_a_subclass_reads_by_its_own_coroutine(stored):
    """A subclass that changes the coroutine alone is not read by the function that it inherits."""

    class Doubling(Flip):
        async def _decode_single(self, chunk_data, chunk_spec):
            return type(chunk_data)(2 * self._decode_sync(chunk_data, chunk_spec).as_numpy_array())

    with doors.plain_zarr():
        made = zarr.create_array(MemoryStore(), shape=SHAPE, dtype="i4", **plain(before=[Doubling()]))
        made[...] = INTEGERS
        want = made[...]
    assert (want == 2 * INTEGERS).all()
    with doors.DIRECT.through():
        np.testing.assert_array_equal(made[...], want)


def registered(cls):
    """A codec class under a name of its own, so that an array that is opened anew has it, too."""
    cls.codec_name = f"cyzarr_test.{cls.__name__.lower()}"
    register_codec(cls.codec_name, cls)
    return cls


def within(seconds, call):
    """What a call gives; a failure where it hangs."""
    found = []
    thread = threading.Thread(target=lambda: found.append(Outcome.of(call)), daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, "it hangs"
    if found[0].error is not None:
        raise found[0].error
    return found[0].value


@doors.needs_cyzarr
def test_a_codec_that_reads_another_array():
    """Both reads are long enough to be left to helpers, and there are no more helpers than reads."""
    length = 1 << 23
    with doors.plain_zarr():
        other = zarr.create_array(MemoryStore(), shape=(length,), chunks=(length,), dtype="i4")
        other[...] = np.arange(length)

    @registered
    class Looking(Flip):
        def _decode_sync(self, chunk_data, chunk_spec):
            assert other[length - 1] == length - 1
            assert other[...][5] == 5
            return chunk_data

    with doors.plain_zarr():
        arguments = {**plain(before=[Looking()]), "chunks": (length,)}
        made = zarr.create_array(MemoryStore(), shape=(2 * length,), dtype="i4", fill_value=0, **arguments)
        made[...] = 1
    with doors.DIRECT.through():
        assert within(60, lambda: made[...]).min() >= 0


@doors.needs_cyzarr
def test_nothing_is_written_into_out_after_an_error():
    """A decoding that is under way when another chunk fails has ended when the error is raised."""
    length = 1 << 20

    @registered
    class Slow(Flip):
        def _decode_sync(self, chunk_data, chunk_spec):
            time.sleep(0.2)
            return chunk_data

    class Failing(zarr.storage.WrapperStore):
        async def get(self, key, *args, **kwargs):
            if key.endswith("c/3"):
                await asyncio.sleep(0.1)
                raise ConnectionError("gone")
            return await super().get(key, *args, **kwargs)

    with doors.plain_zarr():
        arguments = {**plain(before=[Slow()]), "chunks": (length,)}
        made = zarr.create_array(MemoryStore(), shape=(4 * length,), dtype="i4", fill_value=0, **arguments)
        made[...] = 1
    out = np.zeros(4 * length, "i4")
    with doors.DIRECT.through():
        array = zarr.open_array(Failing(made.store), mode="r")
        with pytest.raises(ConnectionError):
            array.get_basic_selection(..., out=zarr.core.buffer.cpu.NDBuffer.from_numpy_array(out))
        out[...] = 7
        time.sleep(0.5)
    assert (out == 7).all()


@doors.needs_cyzarr
def test_python_codecs_never_hold_up_zarrs_loop():
    @registered
    class Slow(Flip):
        def _decode_sync(self, chunk_data, chunk_spec):
            assert not cyzarr_zarr.on_zarr_loop()
            return chunk_data

    from cyzarr import _zarr as cyzarr_zarr

    with doors.plain_zarr():
        made = zarr.create_array(MemoryStore(), shape=SHAPE, dtype="i4", fill_value=0, **plain(before=[Slow()]))
        made[...] = INTEGERS
    with doors.PIPELINE.through():
        for store in (made.store, Wrapped(made.store)):
            zarr.open_array(store, mode="r")[...]


@doors.needs_cyzarr
def test_an_error_comes_with_its_own_chunk_in_the_note():
    """Many chunks fail at once, in several threads."""

    @registered
    class Telling(Refusing):
        async def _decode_single(self, chunk_data, chunk_spec):
            raise RefusedError(int(np.frombuffer(chunk_data.to_bytes(), "i4")[0]))

    with doors.plain_zarr():
        arguments = {**plain(Telling()), "chunks": (1 << 12,)}
        made = zarr.create_array(MemoryStore(), shape=(1 << 16,), dtype="i4", fill_value=-1, **arguments)
        made[...] = np.arange(1 << 16) >> 12
    with doors.DIRECT.through(), zarr.config.set({"cyzarr.threads": 4}):
        for _ in range(100):
            with pytest.raises(RefusedError) as raised:
                made[...]
            assert f"'c/{raised.value.args[0]}'" in raised.value.__notes__[0]


@doors.needs_cyzarr
def test_codecs_that_compare_as_equal_are_not_taken_for_each_other():
    """A codec that is no dataclass is equal to all of its class."""

    class Xor(PlainCodec, BytesBytesCodec):
        def __init__(self, key):
            self.key = key

        async def _decode_single(self, chunk_data, chunk_spec):
            return chunk_spec.prototype.buffer.from_array_like(chunk_data.as_numpy_array() ^ np.uint8(self.key))

        _encode_single = _decode_single

    assert Xor(1) == Xor(2)
    for arguments in (plain, sharded):
        arrays = []
        for key in (1, 2):
            given = plain(Xor(key)) if arguments is plain else sharded(BytesCodec(), Xor(key))
            with doors.plain_zarr():
                made = zarr.create_array(MemoryStore(), shape=SHAPE, dtype="i4", fill_value=0, **given)
                made[...] = INTEGERS
            arrays.append(made)
        with doors.DIRECT.through():
            for made in arrays:
                np.testing.assert_array_equal(made[...], INTEGERS)


@doors.needs_cyzarr
def test_coroutines_that_await_other_reads():
    """Each of many reads waits for a codec that awaits a read that waits for a codec."""
    with doors.plain_zarr():
        other = zarr.create_array(
            MemoryStore(), shape=(4,), dtype="i4", fill_value=0, **{**plain(Backwards()), "chunks": (4,)}
        )
        other[...] = 1

    @registered
    class Reading(Backwards):
        async def _decode_single(self, chunk_data, chunk_spec):
            await other.async_array.getitem(0)
            return await super()._decode_single(chunk_data, chunk_spec)

    with doors.plain_zarr():
        given = {**plain(Reading()), "chunks": (4,)}
        made = zarr.create_array(MemoryStore(), shape=(4,), dtype="i4", fill_value=0, **given)
        made[...] = 2

    async def read_all():
        return await asyncio.gather(*[made.async_array.getitem(...) for _ in range(30)])

    with doors.DIRECT.through():
        assert len(within(60, lambda: zarr.core.sync.sync(read_all()))) == 30


KEY = contextvars.ContextVar("KEY", default=0)


@doors.needs_cyzarr
@pytest.mark.parametrize("door", [doors.DIRECT, doors.PIPELINE], ids=repr)
def test_codecs_run_in_the_callers_context(door):
    """Also those that run in other threads: the read is long enough for several."""

    @registered
    class Keyed(Flip):
        def _decode_sync(self, chunk_data, chunk_spec):
            time.sleep(0.01)
            return type(chunk_data)(chunk_data.as_numpy_array() + np.int32(KEY.get()))

    length = 1 << 16
    with doors.plain_zarr():
        given = {**plain(before=[Keyed()]), "chunks": (length,)}
        made = zarr.create_array(MemoryStore(), shape=(16 * length,), dtype="i4", fill_value=0, **given)
        made[...] = 1
    with door.through(), zarr.config.set({"cyzarr.threads": 4}):
        for store in (made.store, Wrapped(made.store)):
            array = zarr.open_array(store, mode="r")
            token = KEY.set(41)
            try:
                assert (array[...] == 42).all()
            finally:
                KEY.reset(token)


@doors.needs_cyzarr
@pytest.mark.parametrize("fill", [np.inf, 1e300, np.nan])
def test_a_fill_value_that_a_filter_can_not_encode(fill):
    """It is never needed: a missing chunk is filled after all codecs."""
    filters = [zarr_numcodecs.FixedScaleOffset(offset=1, scale=10, dtype="f8", astype="i4")]
    with doors.plain_zarr():
        given = {**plain(before=filters), "chunks": (4,)}
        made = zarr.create_array(MemoryStore(), shape=(8,), dtype="f8", fill_value=fill, **given)
        made[:4] = [1, 2, 3, 4]
    with doors.DIRECT.through(), doors.trace() as counts:
        np.testing.assert_array_equal(made[2:6], [3, 4, fill, fill])
    doors.assert_native(counts, doors.DIRECT)


@doors.needs_cyzarr
def test_stop_iteration_out_of_a_codec():
    @registered
    class Stopping(Flip):
        def _decode_sync(self, chunk_data, chunk_spec):
            raise StopIteration

    with doors.plain_zarr():
        made = zarr.create_array(MemoryStore(), shape=SHAPE, dtype="i4", fill_value=0, **plain(before=[Stopping()]))
        made[...] = INTEGERS
    for door in (doors.DIRECT, doors.PIPELINE):
        with door.through():
            array = zarr.open_array(made.store, mode="r")
            with pytest.raises(RuntimeError, match="StopIteration"):
                within(30, lambda array=array: array[...])
