"""The twins of shards against zarr: what one writes, the other reads."""

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from zarr.codecs import BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec

import reference
from support.kernel_strategies import plain, random_items, same_items, shard, stored_chunks

PLAIN = plain((2, 3), "<i4", "zstd")
CHAINS = {
    "default": shard((4, 6), PLAIN),
    "index at the start": shard((4, 6), PLAIN, location="start"),
    "big index, no checksum": shard((4, 6), PLAIN, byteorder="big", checksums=0),
    "two checksums at the start": shard((4, 6), PLAIN, location="start", checksums=2),
    "transposed index": shard((4, 9), PLAIN, index_order=(1, 2, 0)),
    "big-endian, transposed chunks": shard((6, 6), plain((2, 3), ">i4", "crc32c", order=(1, 0))),
    "transposed shard": shard((6, 12), PLAIN, order=(1, 0)),
    "filters around": shard((4, 6), PLAIN, "gzip", "crc32c"),
    "nested": shard((8, 12), shard((4, 6), PLAIN, "crc32c", location="start")),
    "nested and transposed": shard(
        (6, 8, 4),
        shard((3, 4, 2), plain((3, 1, 2), "<i4", order=(2, 0, 1))),
        order=(0, 1, 2),
    ),
}


def zarr_codecs(chain):
    """The codecs of ``chain`` as zarr's own objects: filters, serializer, compressors."""
    order = chain["order"]
    filters = [] if order is None else [TransposeCodec(order=order)]
    if "bytes" in chain:
        serializer = bytes_codec(chain["bytes"]["dtype"].byteorder == ">")
    else:
        part = chain["shard"]
        before, inside, after = zarr_codecs(part["chain"])
        serializer = ShardingCodec(
            chunk_shape=part["chunk_shape"],
            codecs=[*before, inside, *after],
            index_codecs=index_codecs(part["index"]),
            index_location=part["index"]["location"],
        )
    named = {"zstd": ZstdCodec, "gzip": GzipCodec, "crc32c": Crc32cCodec}
    return filters, serializer, [named[entry["name"]]() for entry in chain["filters"]]


def bytes_codec(big):
    return BytesCodec(endian="big" if big else "little")


def index_codecs(index):
    codecs = [] if index["order"] is None else [TransposeCodec(order=index["order"])]
    codecs.append(bytes_codec(index["byteorder"] == "big"))
    return codecs + [Crc32cCodec()] * index["checksums"]


def zarr_array(chain, store):
    before, inside, after = zarr_codecs(chain)
    return zarr.create_array(
        store,
        shape=chain["shape"],
        chunks=chain["shape"],
        dtype="i4",
        filters=before,
        serializer=inside,
        compressors=after,
        fill_value=-7,
    )


def example(chain):
    """Values with one absent corner, in any chain's shape."""
    values = np.arange(np.prod(chain["shape"]), dtype="i4").reshape(chain["shape"])
    values[tuple(slice(0, n // 2) for n in chain["shape"])] = -7
    return values


FILL = np.int32(-7).tobytes()


@pytest.mark.parametrize("name", CHAINS)
def test_zarr_reads_what_the_twin_writes(name):
    chain = CHAINS[name]
    store = {}
    array = zarr_array(chain, store)
    spec = reference.Program(chain, np.dtype("i4"), FILL)
    layout = reference.Layout(shuffle=True, max_gap_nbytes=9)
    key = "c/" + "/".join("0" * len(chain["shape"]))
    data = reference.encode_shard(example(chain), spec, layout)
    store[key] = zarr.core.buffer.cpu.Buffer.from_bytes(data)
    assert np.array_equal(array[...], example(chain))


@pytest.mark.parametrize("name", CHAINS)
def test_the_twin_reads_what_zarr_writes(name):
    chain = CHAINS[name]
    store = {}
    array = zarr_array(chain, store)
    array[...] = example(chain)
    key = "c/" + "/".join("0" * len(chain["shape"]))
    spec = reference.Program(chain, np.dtype("i4"), FILL)
    found = reference.decode_chunk(store[key].to_bytes(), chain, spec)
    assert np.array_equal(found, example(chain))


@settings(deadline=None)
@given(stored_chunks(min_depth=0))
def test_the_twin_reads_what_it_writes(arguments):
    chain, dtype, fill, values, layout = arguments
    spec = reference.Program(chain, dtype, fill)
    data = reference.encode_shard(values, spec, layout)
    assert same_items(reference.decode_chunk(data, chain, spec), values)


def test_random_items_are_kept_by_astype():
    """The comparison of the tests leans on this: no bit is lost by a change of byte order."""
    for kind in ("f4", "f8", "c8", "c16"):
        items = random_items((1000,), kind, 5)
        swapped = items.astype(np.dtype(kind).newbyteorder())
        assert swapped.byteswap().tobytes() == items.tobytes()
