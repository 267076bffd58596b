"""Stores that answer short, long, late, not at all, or with an error: key and range are told, nothing is made up."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import zarr
from zarr.abc.store import RangeByteRequest, Store
from zarr.core.array_spec import ArrayConfig
from zarr.core.buffer.cpu import Buffer

from support import doors
from support.asked import AskedStore, RangesStore, SizedStore
from support.compare import Outcome, assert_same_values
from support.doors import PLAIN
from support.handmade import Stored, crc32c, le, shard, store

if PLAIN:
    pytest.skip("about cyzarr, which this run leaves out", allow_module_level=True)

import cyzarr

HAS_RANGES = hasattr(Store, "get_ranges")
KINDS = [AskedStore, SizedStore, *([RangesStore] if HAS_RANGES else [])]
VALUES = np.arange(1, 601, dtype="<i4").reshape(12, 50)
CODECS = {
    "plain": [le()],
    "sharded": [shard((2, 5), [le()])],
    "sharded-crc": [shard((2, 5), [le(), crc32c()])],
    "index-first": [shard((2, 5), [le()], location="start")],
}
# Touches two chunks, and of shards several ranges that are not merged.
KEY = np.s_[4:9, 3:40:17]


@pytest.fixture(autouse=True)
def _no_gaps(monkeypatch):
    from cyzarr import _zarr

    monkeypatch.setattr(_zarr, "coalesce_limits", lambda config: (0, 16 << 20))


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=CODECS.values(), ids=CODECS)
def codecs(request):
    return request.param


def read(door, kind, codecs, edit, out=None, config=None):
    held = kind.of(store(VALUES, (6, 50), codecs, fill=-1), edit=edit)
    array = zarr.open_array(held, mode="r")
    if config:
        array = array.with_config(config)
    return array[KEY] if out is None else array.get_basic_selection(KEY, out=out)


def at_data(number, change):
    """Change the answer to the so-manieth request for data, of all after a first one to that object."""
    seen = []
    lock = threading.Lock()

    def edit(key, byte_range, answer):
        with lock:
            seen.append(key)
            count = seen.count(key)
        # zarr's codecs ask for whole chunks, we for windows; an index is asked for first.
        return change(key, byte_range, answer) if count >= number and key.endswith("c/1/0") else answer

    return edit


def shorter(key, byte_range, answer):
    if answer is None or byte_range == "size":
        return answer
    return Buffer.from_bytes(answer.to_bytes()[:-1])


def longer(key, byte_range, answer):
    if answer is None or byte_range == "size":
        return answer
    return Buffer.from_bytes(answer.to_bytes() + b"\0")


@pytest.mark.parametrize("change", [shorter, longer])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_wrong_lengths(door, kind, codecs, number, change):
    """Whichever answer it is, unless it was never given."""
    edit = at_data(number, change)
    given = []

    def watched(key, byte_range, answer):
        edited = edit(key, byte_range, answer)
        given.append(edited is not answer)
        return edited

    outcome = Outcome.of(lambda: read(door, kind, codecs, watched))
    assert (outcome.error is not None) == any(given)
    if outcome.error is None:
        assert_same_values(outcome.value, VALUES[KEY])
    elif door.roads != ("codec",):
        # Through our codecs alone, zarr may read a whole chunk and refuse it by itself.
        assert type(outcome.error) is cyzarr.CorruptChunkError
    if isinstance(outcome.error, cyzarr.CorruptChunkError):
        assert "c/1/0" in str(outcome.error)
        assert outcome.error.key.endswith("c/1/0")
        assert outcome.error.length is not None


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_store_that_raises(door, kind, codecs, number):
    """Its error comes through, with key and range; whatever `out` holds then is not returned."""

    def fail(key, byte_range, answer):
        if byte_range == "size":
            return answer  # a store may have no lengths to tell
        raise ConnectionResetError("lost")

    outcome = Outcome.of(lambda: read(door, kind, codecs, at_data(number, fail)))
    if outcome.error is None:
        assert_same_values(outcome.value, VALUES[KEY])
        assert number > 1
        return
    assert type(outcome.error) is ConnectionResetError
    if door.roads != ("codec",) or any(each["name"] == "sharding_indexed" for each in codecs):
        notes = "".join(getattr(outcome.error, "__notes__", []))
        assert "c/1/0" in notes
        assert "offset" in notes or "bytes" in notes or "whole" in notes


def test_lengths_that_can_not_be_told(door, codecs):
    def fail(key, byte_range, answer):
        if byte_range == "size":
            raise PermissionError("no HEAD for you")
        return answer

    assert_same_values(read(door, SizedStore, codecs, fail), VALUES[KEY])


def test_late_answers(door, kind, codecs):
    """Answers in another order than asked for."""
    import random

    rng = random.Random(0)
    held = kind.of(store(VALUES, (6, 50), codecs))
    array = zarr.open_array(held, mode="r")
    for _ in range(5):
        held.edit = lambda key, byte_range, answer: setattr(held, "latency", rng.random() / 200) or answer
        assert_same_values(array[KEY], VALUES[KEY])
        assert_same_values(array[...], VALUES)


# -- keys that vanish -------------------------------------------------------------------------


def without_second():
    expected = VALUES.copy()
    expected[6:] = -1
    return expected[KEY]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_key_that_vanishes(door, kind, codecs, number):
    """From some request on it is not there: a missing chunk, as if it had never been; or all was read before."""
    got = read(door, kind, codecs, at_data(number, lambda *_: None))
    assert got.tobytes() in (without_second().tobytes(), np.ascontiguousarray(VALUES[KEY]).tobytes())
    if number == 1:
        assert_same_values(got, without_second())
    if number == 2 and codecs is not CODECS["plain"]:
        # Between the index and the data.
        assert_same_values(got, without_second())


@pytest.mark.skipif(
    "read_missing_chunks" not in ArrayConfig.__dataclass_fields__, reason="missing chunks are never errors here"
)
@pytest.mark.parametrize("number", [1, 2])
def test_a_key_that_vanishes_where_missing_chunks_are_errors(door, kind, number):
    from zarr.errors import ChunkNotFoundError

    for codecs in (CODECS["sharded"], CODECS["index-first"]):
        with pytest.raises(ChunkNotFoundError):
            read(door, kind, codecs, at_data(number, lambda *_: None), config={"read_missing_chunks": False})


def test_none_for_one_range_of_a_shard(door, kind):
    """The shard is there, and its index says that the range is: no fill value is made up."""
    if kind is RangesStore:
        pytest.skip("zarr's get_ranges says of one missing range that the key is")
    refused = []

    def edit(key, byte_range, answer):
        if isinstance(byte_range, RangeByteRequest) and key.endswith("c/1/0"):
            refused[:] = refused or [byte_range]
            return None if byte_range == refused[0] else answer
        return answer

    with pytest.raises(cyzarr.CorruptChunkError, match="not this range") as caught:
        read(door, kind, CODECS["sharded"], edit)
    assert caught.value.key.endswith("c/1/0")
    assert (caught.value.offset, caught.value.length) == (refused[0].start, refused[0].end - refused[0].start)


def test_none_for_a_window_of_a_plain_chunk(door):
    """The store contradicts itself: the whole chunk is asked for, and is right."""

    def edit(key, byte_range, answer):
        return None if isinstance(byte_range, RangeByteRequest) else answer

    if door.name == "codecs-fused":
        pytest.skip("nothing tells there that the object exists")
    assert_same_values(read(door, SizedStore, CODECS["plain"], edit), VALUES[KEY])


def test_a_shard_that_is_replaced_meanwhile(door, kind):
    """Between index and data it becomes a shorter one: read anew, it is right."""
    old = store(VALUES, (6, 50), CODECS["sharded"])
    new = store(VALUES[:, ::-1].copy(), (6, 50), CODECS["sharded"])
    held = kind.of(old)
    array = zarr.open_array(held, mode="r")

    def edit(key, byte_range, answer):
        if isinstance(byte_range, RangeByteRequest) and key.endswith("c/1/0"):
            held.edit = lambda key, byte_range, answer: answer
            held._store_dict["c/1/0"] = Buffer.from_bytes(new.objects["c/1/0"])
            return None
        return answer

    held.edit = edit
    got = array[6:9, 3:40:17]
    assert_same_values(got, VALUES[:, ::-1][6:9, 3:40:17])


@pytest.mark.parametrize("kind", [None, AskedStore])
@pytest.mark.parametrize("door", doors.doors(), ids=repr)
def test_the_key_is_the_stores(door, kind):
    """Whatever the road, and also below a group."""
    stored = store(VALUES.copy(), (6, 50), CODECS["sharded-crc"])
    below = Stored({f"group/array/{key}": value for key, value in stored.objects.items()})
    below.objects["group/array/c/1/0"] = below.objects["group/array/c/1/0"][:-3]
    held = below.memory() if kind is None else kind.of(below)
    with door.through(), pytest.raises(cyzarr.CorruptChunkError) as caught:
        zarr.open_array(held, path="group/array", mode="r")[...]
    assert caught.value.key == "group/array/c/1/0"
    assert "'group/array/c/1/0'" in str(caught.value)


@pytest.mark.skipif(not HAS_RANGES, reason="this zarr's stores have no get_ranges")
@pytest.mark.parametrize("door", doors.doors(), ids=repr)
def test_a_shard_that_has_gone_by_its_stores_own_word(door):
    """As zarr has it: FileNotFoundError of a `get_ranges` is believed, though the index stays."""

    class Denying(AskedStore):
        async def get_ranges(self, key, byte_ranges, *, prototype, **limits):
            raise BaseExceptionGroup("no ranges", [FileNotFoundError(key)])
            yield

    array = zarr.open_array(Denying.of(store(VALUES.copy(), (6, 50), CODECS["sharded"], fill=-1)), mode="r")
    assert (array[7, 3:5] == -1).all()


@pytest.mark.parametrize("door", doors.doors(), ids=repr)
def test_no_data_though_the_index_stays(door):
    """That is not a shard that has gone."""

    def edit(key, byte_range, answer):
        return None if isinstance(byte_range, RangeByteRequest) else answer

    held = AskedStore.of(store(VALUES.copy(), (6, 50), CODECS["sharded"], fill=-1), edit=edit)
    with door.through(), pytest.raises(cyzarr.CorruptChunkError, match="the store has the object, but not this range"):
        zarr.open_array(held, mode="r")[4, 7]
