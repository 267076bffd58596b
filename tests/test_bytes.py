"""A read takes the bytes it needs and no others; what it took is counted by a trace and by the store."""

from __future__ import annotations

import numpy as np
import pytest
import zarr
from zarr.abc.store import Store
from zarr.storage import MemoryStore

from support.compare import assert_same_values
from support.doors import ALL, DIRECT, PIPELINE, ZARR, needs_cyzarr, plain_zarr, trace
from support.handmade import be, crc32c, le, shard, store, transpose, zstd

OWN_DOORS = pytest.mark.parametrize("door", [DIRECT, PIPELINE, ALL], ids=repr)
INDEX_ENTRY = 16
CRC = 4


@pytest.fixture
def read(tmp_path, door):
    """read(stored, key) -> (values, counts of a trace), through the door, from local files."""
    folders = iter(range(10**6))

    def read(stored, key):
        with door.through():
            array = zarr.open_array(stored.local(tmp_path / str(next(folders))), mode="r")
            with trace() as counts:
                return array[key], counts

    return read


def frames(codecs=None, shape=(8, 64, 64), dtype="u2"):
    a = np.arange(np.prod(shape), dtype=dtype).reshape(shape)
    return store(a, shape, codecs or [le()]), a


# -- uncompressed chunks ----------------------------------------------------------------------

ONE_RANGE = {
    "rows of a frame": (np.s_[3, 10:20, :], 10 * 64 * 2),
    "a piece of a row": (np.s_[3, 10, 5:17], 12 * 2),
    "an item": (np.s_[3, 10, 5], 2),
    "frames": (np.s_[2:5], 3 * 64 * 64 * 2),
    "a frame": (np.s_[2:3, :, :], 64 * 64 * 2),
    "everything": (np.s_[...], 8 * 64 * 64 * 2),
    "nothing": (np.s_[3:3], 0),
}


@needs_cyzarr
@OWN_DOORS
@pytest.mark.parametrize(("key", "nbytes"), ONE_RANGE.values(), ids=ONE_RANGE)
def test_one_range(read, key, nbytes):
    stored, a = frames()
    values, counts = read(stored, key)
    assert_same_values(values, a[key])
    assert counts.bytes_read == nbytes
    assert counts.bytes_needed == nbytes


@needs_cyzarr
@OWN_DOORS
def test_columns_of_a_frame(read):
    """A box of one frame: at most the rows that it touches, from the first item to the last."""
    stored, a = frames()
    values, counts = read(stored, np.s_[3, 10:20, 5:9])
    assert_same_values(values, a[3, 10:20, 5:9])
    assert 10 * 4 * 2 <= counts.bytes_read <= 10 * 64 * 2


@needs_cyzarr
@OWN_DOORS
def test_strided_rows(read):
    stored, a = frames()
    values, counts = read(stored, np.s_[3, 10:20:3, :])
    assert_same_values(values, a[3, 10:20:3, :])
    assert 4 * 64 * 2 <= counts.bytes_read <= 10 * 64 * 2


@needs_cyzarr
@pytest.mark.parametrize("door", [DIRECT], ids=repr)
def test_far_rows_are_not_bridged(read):
    """Where the gaps are wide, about what is returned is read."""
    stored, a = frames(shape=(4, 8, 16384), dtype="f4")
    key = np.s_[1:3, 4:6, 10:20]
    values, counts = read(stored, key)
    assert_same_values(values, a[key])
    assert counts.bytes_needed == values.nbytes
    assert counts.bytes_read <= 2 * values.nbytes


@needs_cyzarr
@OWN_DOORS
@pytest.mark.parametrize("order", [(2, 1, 0), (2, 0, 1), (1, 2, 0), (0, 2, 1)])
@pytest.mark.parametrize("endian", [le(), be()], ids=["little", "big"])
def test_windows_of_transposed_chunks(read, order, endian):
    """The contiguous axis is the last of the order."""
    stored, a = frames([transpose(*order), endian], shape=(6, 8, 10))
    position = (3, 5, 7)
    values, counts = read(stored, tuple(slice(p, p + 1) for p in position))
    assert_same_values(values, a[3:4, 5:6, 7:8])
    assert counts.bytes_read == 2
    key = [slice(p, p + 1) for p in position]
    key[order[-1]] = slice(None)
    values, counts = read(stored, tuple(key))
    assert_same_values(values, a[tuple(key)])
    assert counts.bytes_read == values.nbytes


@needs_cyzarr
@OWN_DOORS
@pytest.mark.parametrize("codecs", [[le(), crc32c()], [le(), zstd()]], ids=["crc32c", "zstd"])
def test_no_window_through_a_checksum_or_compressor(read, codecs):
    stored, a = frames(codecs)
    values, counts = read(stored, np.s_[3, 10:20, :])
    assert_same_values(values, a[3, 10:20, :])
    assert counts.bytes_read == len(stored.objects["c/0/0/0"])


@needs_cyzarr
@OWN_DOORS
def test_only_touched_chunks(read):
    a = np.arange(40 * 40, dtype="i4").reshape(40, 40)
    stored = store(a, (10, 10), [le(), zstd()])
    values, counts = read(stored, np.s_[5:15, 25:28])
    assert_same_values(values, a[5:15, 25:28])
    assert counts.bytes_read == len(stored.objects["c/0/2"]) + len(stored.objects["c/1/2"])
    assert counts.requests == 2
    assert counts.chunks_decoded == 2
    assert counts.chunks_missing == 0


@needs_cyzarr
@OWN_DOORS
def test_missing_chunks(read):
    a = np.full((40, 40), 3, "i4")
    stored = store(a, (10, 10), [le()], fill=3, missing=set(np.ndindex(4, 4)))
    values, counts = read(stored, np.s_[5:15, 25:28])
    assert (values == 3).all()
    assert (counts.bytes_read, counts.chunks_decoded, counts.chunks_missing) == (0, 0, 2)


# -- shards -----------------------------------------------------------------------------------


def series(codecs, location="end"):
    """Days by stations: one shard of 32 inner chunks, each four days."""
    a = np.arange(128 * 100, dtype="f8").reshape(128, 100)
    return store(a, (128, 100), [shard((4, 100), codecs, location=location)]), a


INDEX = 32 * INDEX_ENTRY + CRC


@needs_cyzarr
@OWN_DOORS
@pytest.mark.parametrize("location", ["start", "end"])
@pytest.mark.parametrize("extra", [[], [crc32c()]], ids=["raw", "crc32c"])
def test_index_and_one_inner_chunk(read, location, extra):
    stored, a = series([le(), *extra], location)
    values, counts = read(stored, np.s_[4:8])
    assert_same_values(values, a[4:8])
    assert counts.bytes_read == INDEX + 4 * 100 * 8 + CRC * len(extra)
    assert counts.chunks_decoded == 1
    assert counts.requests == 2


@needs_cyzarr
@OWN_DOORS
def test_one_day_of_a_raw_shard(read):
    """At most the index and the inner chunk, at least the day."""
    stored, a = series([le()])
    values, counts = read(stored, np.s_[5])
    assert_same_values(values, a[5])
    assert INDEX + 100 * 8 <= counts.bytes_read <= INDEX + 4 * 100 * 8


@needs_cyzarr
@OWN_DOORS
def test_compressed_inner_chunk(read):
    stored, a = series([le(), zstd()])
    with plain_zarr():
        index = np.frombuffer(stored.objects["c/0/0"][-INDEX:-CRC], "<u8").reshape(32, 2)
    values, counts = read(stored, np.s_[9, 3])
    assert_same_values(values, np.asarray(a[9, 3]))
    assert counts.bytes_read == INDEX + int(index[2, 1])


@needs_cyzarr
@OWN_DOORS
def test_distant_inner_chunks_are_read_alone(read):
    """Two inner chunks with more between them than the gap limit."""
    a = np.arange(512 * 1024, dtype="f8").reshape(512, 1024)
    stored = store(a, (512, 1024), [shard((8, 1024), [le(), crc32c()])])
    with zarr.config.set({"array.sharding_coalesce_max_gap_bytes": 4096}):
        values, counts = read(stored, np.s_[0:512:256])
    assert_same_values(values, a[0:512:256])
    inner = 8 * 1024 * 8 + CRC
    assert counts.bytes_read == 64 * INDEX_ENTRY + CRC + 2 * inner
    assert counts.chunks_decoded == 2


@needs_cyzarr
@OWN_DOORS
def test_whole_shard(read):
    """Everything of a shard: no byte twice."""
    stored, a = series([le(), zstd()])
    values, counts = read(stored, np.s_[...])
    assert_same_values(values, a)
    assert counts.bytes_read <= len(stored.objects["c/0/0"])
    assert counts.chunks_decoded == 32


@needs_cyzarr
@OWN_DOORS
def test_absent_inner_chunks(read):
    from support.handmade import Stored, document, pack_shard

    a = np.array([-7, -7, 1, 2, -7, -7, 3, 4], "i2")
    payloads = [None, a[2:4].tobytes(), None, a[6:].tobytes()]
    stored = Stored.of(document((8,), (8,), "i2", [shard((2,), [le()])], -7), {"c/0": pack_shard(payloads)})
    values, counts = read(stored, np.s_[0:4])
    assert_same_values(values, a[0:4])
    assert counts.bytes_read == 4 * INDEX_ENTRY + CRC + 4
    assert (counts.chunks_decoded, counts.chunks_missing, counts.inner_missing) == (1, 0, 1)


@needs_cyzarr
@OWN_DOORS
def test_nested_shard(read):
    """The outer index, one inner index, one innermost chunk."""
    a = np.arange(64 * 64, dtype="i4").reshape(64, 64)
    stored = store(a, (64, 64), [shard((16, 64), [shard((4, 8), [le(), crc32c()])])])
    values, counts = read(stored, np.s_[20:24, 8:16])
    assert_same_values(values, a[20:24, 8:16])
    indexes = (4 * INDEX_ENTRY + CRC) + (32 * INDEX_ENTRY + CRC)
    assert counts.bytes_read == indexes + 4 * 8 * 4 + CRC


@needs_cyzarr
@OWN_DOORS
def test_partial_storage_reads_off(read):
    """Whole objects are fetched, decoding stays partial."""
    stored, a = series([le(), zstd()])
    with zarr.config.set({"cyzarr.partial_storage_reads": False}):
        values, counts = read(stored, np.s_[4:8])
    assert_same_values(values, a[4:8])
    assert counts.bytes_read == len(stored.objects["c/0/0"])
    assert counts.chunks_decoded == 1


# -- what a store is asked --------------------------------------------------------------------


@needs_cyzarr
@OWN_DOORS
def test_from_memory(door):
    """Bytes that are at hand: what is looked at is at most the objects that are touched."""
    stored, a = series([le(), zstd()])
    with door.through():
        array = zarr.open_array(stored.memory(), mode="r")
        with trace() as counts:
            assert_same_values(array[4:8], a[4:8])
    assert 0 < counts.bytes_needed <= counts.bytes_read <= len(stored.objects["c/0/0"])
    assert counts.chunks_decoded == 1


class CountingStore(MemoryStore):
    """Notes each answer: (key, bytes of the answer). It tells sizes without an answer."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.answers = []

    def note(self, key, answer):
        if key != "zarr.json":
            self.answers.append((key, 0 if answer is None else len(answer)))
        return answer

    async def get(self, key, prototype=None, byte_range=None):
        return self.note(key, await super().get(key, prototype, byte_range))

    def get_sync(self, key, *, prototype=None, byte_range=None):
        return self.note(key, super().get_sync(key, prototype=prototype, byte_range=byte_range))

    async def getsize(self, key):
        if key not in self._store_dict:
            raise FileNotFoundError(key)
        return len(self._store_dict[key])


class SizelessStore(CountingStore):
    """zarr's own way to tell a size, which is to get the object."""

    getsize = Store.getsize


def asked(stored, key, kind=CountingStore):
    """(values, answers) of a read from a counting store."""
    array = zarr.open_array(kind(stored.memory()._store_dict), mode="r")
    array.store.answers.clear()  # those of the opening
    values = array[key]
    return values, array.store.answers


def test_store_is_asked_for_index_and_inner_chunk(door):
    stored, a = series([le(), crc32c()])
    values, answers = asked(stored, np.s_[4:8])
    assert_same_values(values, a[4:8])
    assert sorted(n for _, n in answers) == sorted([INDEX, 4 * 100 * 8 + CRC])


def test_store_is_asked_for_touched_shards_only(door):
    a = np.arange(40 * 40, dtype="i4").reshape(40, 40)
    stored = store(a, (20, 20), [shard((5, 5), [le(), crc32c()])])
    values, answers = asked(stored, np.s_[5:10, 22:24])
    assert_same_values(values, a[5:10, 22:24])
    assert {key for key, _ in answers} == {"c/0/1"}
    assert sum(n for _, n in answers) == 16 * INDEX_ENTRY + CRC + 5 * 5 * 4 + CRC


@pytest.mark.skipif(ZARR.release < (3, 2), reason="zarr 3.1 merges no neighbours")
def test_neighbours_are_merged(door):
    stored, a = series([le(), crc32c()])
    values, answers = asked(stored, np.s_[4:16])
    assert_same_values(values, a[4:16])
    assert sorted(n for _, n in answers) == sorted([INDEX, 3 * (4 * 100 * 8 + CRC)])


def test_whole_shard_is_one_request(door):
    stored, a = series([le(), crc32c()])
    values, answers = asked(stored, np.s_[...])
    assert_same_values(values, a)
    assert answers == [("c/0/0", len(stored.objects["c/0/0"]))]


@needs_cyzarr
def test_store_is_asked_for_a_window(door):
    """One range of a raw chunk; its object's size is asked for beside it."""
    stored, a = frames()
    values, answers = asked(stored, np.s_[3, 10:20, :])
    assert_same_values(values, a[3, 10:20, :])
    # Where nothing tells an object's length, one byte is asked for at its end.
    assert sum(n for _, n in answers) - 10 * 64 * 2 in (0, 1)


def test_no_more_than_the_object_where_sizes_cost_one(door):
    """A size that can only be had with the whole object is no reason to read more than that."""
    stored, a = frames()
    values, answers = asked(stored, np.s_[3, 10:20, :], SizelessStore)
    assert_same_values(values, a[3, 10:20, :])
    assert sum(n for _, n in answers) <= len(stored.objects["c/0/0/0"])


def test_each_missing_chunk_is_asked_for_once(door):
    a = np.full((40, 40), 3, "i4")
    stored = store(a, (10, 10), [le()], fill=3, missing=set(np.ndindex(4, 4)))
    values, answers = asked(stored, np.s_[5:15, 25:28])
    assert (values == 3).all()
    assert sorted(answers) == [("c/0/2", 0), ("c/1/2", 0)]
