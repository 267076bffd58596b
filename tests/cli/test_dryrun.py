"""What a plan says that a read costs is what it costs: requests, bytes, chunks."""

from __future__ import annotations

import json

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as zarr_numcodecs
from zarr.core.buffer import cpu
from zarr.storage import MemoryStore

import cyzarr
from cyzarr.explaining.dryrun import dry_run
from support import codecs
from support.asked import AskedStore, TellingStore

SHAPE = (40, 30, 20)
INNER = ShardingCodec(chunk_shape=(5, 5, 5), codecs=[BytesCodec(), ZstdCodec()])
RAW = ShardingCodec(chunk_shape=(5, 5, 5), codecs=[BytesCodec()])
NESTED = ShardingCodec(chunk_shape=(10, 5, 10), codecs=[ShardingCodec(chunk_shape=(5, 5, 5))])
TURN = TransposeCodec(order=(2, 0, 1))
TURNED = ShardingCodec(chunk_shape=(5, 10, 2), codecs=[BytesCodec(), GzipCodec()])
BY_ITEM = zarr_numcodecs.AsType(encode_dtype="<i8", decode_dtype="<i4")

LAYOUTS = {
    "plain": [BytesCodec()],
    "big-endian": [BytesCodec(endian="big")],
    "turned": [TURN, BytesCodec()],
    "zstd": [BytesCodec(), ZstdCodec()],
    "blosc": [BytesCodec(), BloscCodec(typesize=4)],
    "checksum": [BytesCodec(), Crc32cCodec()],
    "shard": [INNER],
    "raw shard": [RAW],
    "index at the start": [ShardingCodec(chunk_shape=(5, 5, 5), index_location="start")],
    "nested": [NESTED],
    "turned shard": [TURN, TURNED],
    "shard in zstd": [INNER, ZstdCodec()],
    "shard with a checksum": [INNER, Crc32cCodec()],
    "item by item before a shard": [BY_ITEM, INNER],
    "all items before a shard": [codecs.Flip(), INNER],
}


def stored(layout):
    """The objects of an array `a` of chunks of (20, 10, 10), one of which is not stored, nor some inner chunks."""
    store = MemoryStore()
    made = zarr.create_array(store, name="a", shape=SHAPE, chunks=(20, 10, 10), dtype="i4")
    document = made.metadata.to_dict() | {"codecs": [codec.to_dict() for codec in LAYOUTS[layout]]}
    text = json.dumps(document, default=lambda one: one.to_json() if hasattr(one, "to_json") else str(one))
    store._store_dict["a/zarr.json"] = cpu.Buffer.from_bytes(text.encode())
    values = np.arange(1, np.prod(SHAPE) + 1, dtype="i4").reshape(SHAPE)
    values[:20, :10, :10] = 0
    values[20:26, 10:16, 10:16] = 0
    array = zarr.open_array(store, path="a", mode="r+", config={"write_empty_chunks": False})
    array[...] = values
    return store._store_dict


_made = {}


def objects_of(layout):
    if layout not in _made:
        with cyzarr.enabled():  # a shard behind a transpose is judged rightly
            _made[layout] = stored(layout)
    return _made[layout]


def axis_keys(extent):
    starts = st.integers(0, extent - 1)
    return st.one_of(
        starts,
        st.builds(lambda a, b, s: slice(min(a, b), max(a, b) + 1, s), starts, starts, st.integers(1, 7)),
        st.just(slice(None)),
    )


def mixed(extent):
    return st.lists(st.integers(0, extent - 1), min_size=1, max_size=6)


KEYS = st.one_of(
    st.tuples(*map(axis_keys, SHAPE)),
    st.tuples(mixed(SHAPE[0]), axis_keys(SHAPE[1]), st.just(slice(2, 9))),
    st.integers(1, 6).flatmap(
        lambda n: st.tuples(*(st.lists(st.integers(0, extent - 1), min_size=n, max_size=n) for extent in SHAPE))
    ),
)


def really(layout, key, kind):
    """The counts of a read of a store that is asked through its own methods; and how often it was asked."""
    store = kind(objects_of(layout))
    with cyzarr.enabled(), zarr.config.set({"codec_pipeline.path": "cyzarr.CodecPipeline"}):
        array = zarr.open_array(store, path="a", mode="r")
        store.reset()
        with cyzarr.trace() as trace:
            array[key]
        assert not trace.fallbacks
        return trace, store.log


def agree(layout, key, kind):
    with cyzarr.enabled():
        store = kind(objects_of(layout))
        array = zarr.open_array(store, path="a", mode="r")
        store.reset()
        planned = dry_run(array, key)
        # But for indexes, nothing is read where lengths are told.
        assert kind is AskedStore or len(store.log) == planned.index_requests
    assert not planned.fallback
    trace, log = really(layout, key, kind)
    assert (planned.requests, planned.fetched_nbytes) == (trace.requests, trace.bytes_read)
    assert planned.data_requests + planned.index_requests + (kind is AskedStore) * planned.size_requests == len(log)
    assert planned.missing == trace.chunks_missing
    assert len(planned.objects) == len({key for key, _ in log})
    if planned.inner is not None and layout != "nested" and not planned.missing:
        assert planned.inner == trace.chunks_decoded + trace.inner_missing


@pytest.mark.filterwarnings("ignore:Combining a")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", [AskedStore, TellingStore])
@given(key=KEYS, gap=st.sampled_from([0, 100, 1 << 20]))
def test_a_plan_costs_what_the_read_costs(layout, kind, key, gap):
    with zarr.config.set({"array.sharding_coalesce_max_gap_bytes": gap}):
        agree(layout, key, kind)
