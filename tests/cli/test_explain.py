"""``cyzarr explain``, and ``cyzarr.explain`` below it."""

from __future__ import annotations

import json

import numpy as np
import pytest
import zarr
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as zarr_numcodecs
from zarr.storage import MemoryStore, StorePath

import cyzarr
from cyzarr import _zarr
from cyzarr.cli import engines
from support import codecs
from support.asked import TellingStore

pytestmark = pytest.mark.filterwarnings("ignore:Combining a")

INNER = ShardingCodec(chunk_shape=(4, 4), codecs=[BytesCodec(), ZstdCodec()])
RAW = ShardingCodec(chunk_shape=(4, 4), codecs=[BytesCodec()])
BY_ITEM = zarr_numcodecs.AsType(encode_dtype="<i8", decode_dtype="<i4")


def made(filters=(), serializer=None, compressors=(), shape=(64, 64), chunks=(16, 16), values=True, **options):
    array = zarr.create_array(
        MemoryStore(),
        shape=shape,
        chunks=chunks,
        dtype="i4",
        filters=filters,
        serializer=serializer or BytesCodec(),
        compressors=compressors,
        **options,
    )
    if values:
        array[...] = np.arange(1, array.size + 1, dtype="i4").reshape(shape)
    return array


CASES = {
    "shard": made(serializer=INNER),
    "shard of uncompressed chunks": made(serializer=RAW),
    "shard behind codecs item by item": made(filters=[BY_ITEM], serializer=RAW),
    "shard behind whole-chunk codecs": made(filters=[codecs.Flip()], serializer=INNER),
    "shard within codecs": made(serializer=INNER, compressors=[ZstdCodec()]),
    "window": made(),
    "window behind codecs item by item": made(filters=[BY_ITEM]),
    "chunk": made(compressors=[GzipCodec()]),
    "zstd chunk": made(compressors=[ZstdCodec()]),
    "blosc chunk": made(compressors=[BloscCodec(typesize=4)]),
    "own codec": made(serializer=codecs.Inverted()),
}


@pytest.mark.parametrize("case", CASES)
def test_the_case_is_named_and_true(case):
    """What is said of an array is what a read of one item shows."""
    array = zarr.open_array(TellingStore(CASES[case].store._store_dict), mode="r")
    found = cyzarr.explain(array, (3, 5))
    assert found.layout.case == case
    assert (found.wanted.whole == 0) == found.layout.is_partial
    if found.layout.is_partial:
        assert found.wanted.fetched_nbytes < found.wanted.stored_nbytes
    else:
        assert found.wanted.data_nbytes == found.wanted.stored_nbytes
    with cyzarr.enabled(), cyzarr.trace() as trace:
        array[3, 5]
    if found.wanted.inner is not None:
        assert found.wanted.inner == trace.chunks_decoded
    json.dumps(found.as_json())


def test_transposes_are_strides():
    found = cyzarr.explain(made(filters=[TransposeCodec(order=(1, 0))]))
    assert found.layout.transposed
    assert found.layout.case == "window"
    assert found.layout.said.startswith("The transposes before")
    assert found.stages[0].is_native
    assert found.wanted is None


def test_stages():
    found = cyzarr.explain(made(filters=[codecs.Flip()], serializer=INNER, compressors=[Crc32cCodec()]))
    assert [(one.depth, one.part, one.name, one.is_native) for one in found.stages] == [
        (0, "array to array", "cyzarr_test.flip", False),
        (0, "array to bytes", "sharding_indexed", True),
        (1, "array to bytes", "bytes", True),
        (1, "bytes to bytes", "zstd", True),
        (1, "index", "bytes", True),
        (1, "index", "crc32c", True),
        (0, "bytes to bytes", "crc32c", True),
    ]
    assert found.stages[1].configuration == {"chunk_shape": (4, 4), "index_location": "end"}


def test_stages_of_format_2():
    array = zarr.create_array(MemoryStore(), shape=(8,), chunks=(4,), dtype="i4", zarr_format=2)
    assert [(one.name, one.is_native) for one in cyzarr.explain(array).stages] == [("bytes", True), ("zstd", True)]


def test_without_c_functions_the_stages_say_so():
    with zarr.config.set({"cyzarr.native": False}):
        cyzarr.status()
        found = cyzarr.explain(CASES["zstd chunk"])
        assert [one.is_native for one in found.stages] == [True, False]
        assert any("No C function decodes zstd" in one for one in found.advice)
    cyzarr.status()


@pytest.mark.skipif(len(engines.available()) < 3, reason="this zarr has one pipeline")
def test_what_zarr_reads_itself_is_said():
    array = engines.FUSED.open(StorePath(CASES["chunk"].store, ""))
    found = cyzarr.explain(array, (slice(None),))
    assert found.layout is None
    assert found.fallback == "pipeline FusedCodecPipeline was chosen"
    assert any("zarr's own code reads this array" in one for one in found.advice)


ADVICE = {
    "A compressor around the shard (zstd) forces whole objects": (CASES["shard within codecs"], (3, 5)),
    "A checksum around the shard (crc32c)": (made(serializer=INNER, compressors=[Crc32cCodec()]), (3, 5)),
    "A codec before the shard (cyzarr_test.flip) needs whole chunks": (
        CASES["shard behind whole-chunk codecs"],
        (3, 5),
    ),
    "A checksum after uncompressed chunks": (made(compressors=[Crc32cCodec()]), (3, 5)),
    "Decoded in Python, and so by one thread at a time: cyzarr_test.inverted": (CASES["own codec"], (3, 5)),
    "Each touched chunk holds 4 MiB, and 1,048,576 times what is wanted": (
        made(compressors=[ZstdCodec()], shape=(1024, 1024), chunks=(1024, 1024)),
        (3, 5),
    ),
    "Shard indexes (4 KiB) outweigh the data (4 B)": (
        made(serializer=ShardingCodec(chunk_shape=(1, 1), codecs=[BytesCodec()]), shape=(16, 16), chunks=(16, 16)),
        (3, 5),
    ),
    "1,024 objects of 4 B on average": (made(shape=(32, 32), chunks=(1, 1)), (slice(None), slice(None))),
}


@pytest.mark.parametrize("words", ADVICE)
def test_advice(words):
    array, key = ADVICE[words]
    assert any(words in one for one in cyzarr.explain(array, key).advice)


def test_no_advice_where_all_is_well():
    assert cyzarr.explain(CASES["shard"], (slice(0, 16), slice(0, 16))).advice == []
    assert cyzarr.explain(CASES["window"], (3, 5)).advice == []


@pytest.mark.parametrize(
    ("serializer", "decodes_whole"),
    [
        (ShardingCodec(chunk_shape=(1024, 1024), codecs=[BytesCodec(), ZstdCodec()]), True),
        (ShardingCodec(chunk_shape=(1024, 1024), codecs=[BytesCodec()]), False),
        (ShardingCodec(chunk_shape=(1024, 1024), codecs=[BytesCodec(), BloscCodec(typesize=4)]), False),
        (ShardingCodec(chunk_shape=(1024, 1024), codecs=[ShardingCodec(chunk_shape=(256, 256))]), False),
    ],
)
def test_only_what_is_decoded_whole_is_called_too_large(serializer, decodes_whole):
    array = made(serializer=serializer, shape=(1024, 1024), chunks=(1024, 1024))
    found = cyzarr.explain(array, (3, 5))
    assert found.layout.decodes_whole == decodes_whole
    assert any("Each touched inner chunk holds 4 MiB" in one for one in found.advice) == decodes_whole


def test_advice_on_settings():
    array = zarr.open_array(TellingStore(CASES["window"].store._store_dict), mode="r")
    advice = cyzarr.explain(array, (3, 5)).advice
    assert any("1 request for lengths" in one for one in advice)
    with zarr.config.set({"cyzarr.check_remote_size": False}):
        assert not cyzarr.explain(array, (3, 5)).advice
    with zarr.config.set({"cyzarr.partial_storage_reads": False}):
        assert any("partial_storage_reads is off" in one for one in cyzarr.explain(array, (3, 5)).advice)
    sharded = zarr.open_array(TellingStore(CASES["shard"].store._store_dict), mode="r")
    assert any("cyzarr.remote_index_cache=True" in one for one in cyzarr.explain(sharded, (3, 5)).advice)


def test_a_zarr_that_keeps_the_parts_of_arrays_otherwise(monkeypatch):
    monkeypatch.setattr(_zarr, "parts_of", lambda _: None)
    found = cyzarr.explain(CASES["chunk"], (3, 5))
    assert found.stages == []
    assert found.fallback == found.wanted.fallback == "this zarr keeps an array's parts otherwise than known"


def test_missing_chunks_that_may_not_be():
    if not hasattr(CASES["chunk"].config, "read_missing_chunks"):
        pytest.skip("this zarr fills them always")
    array = made(values=False, config={"read_missing_chunks": False})
    for key in [(3, 5), [1, 30], ([1, 30], [2, 4])]:
        assert cyzarr.explain(array, key).wanted.missing > 0


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_the_result_takes_no_memory(zarr_format):
    extent = 1 << 25
    options = {"zarr_format": 2} if zarr_format == 2 else {}
    array = zarr.create_array(MemoryStore(), shape=(extent,) * 2, chunks=(extent,) * 2, dtype="u2", **options)
    wanted = cyzarr.explain(array, ...).wanted
    assert (wanted.nbytes, wanted.missing) == (1 << 51, 1)
    assert cyzarr.explain(array, (slice(None), [1, 2, 1 << 24])).wanted.nbytes == 3 << 26


@pytest.mark.parametrize("key", [(3, 5), ([1, 2], [3, 4]), (slice(None), [3, 4]), np.ones((64, 64), bool)])
def test_status_counts_no_read(key):
    with cyzarr.enabled(), cyzarr.trace() as trace:
        assert cyzarr.explain(CASES["chunk"], key).wanted.nbytes == CASES["chunk"][key].nbytes
        assert not cyzarr.status().fallbacks
    assert not trace.fallbacks
    assert trace.reads == {"direct": 1}


# --- the command


def test_the_command(command, folder):
    status, out, err = command("explain", folder, "volume", "3, 10:20, ::2", "--width", "80")
    assert (status, err) == (0, "")
    for words in (
        "uint16 (64, 64, 64), 512 KiB, shards (32, 32, 32), inner chunks (8, 8, 8)",
        "sharding_indexed  chunk_shape=8x8x8",
        "Parts of a shard are read",
        "selection [3, 10:20, ::2]",
        "touched       2 of 8 shards",
        "16 of their 128 inner chunks",
        "read once, to count: straight from files",
        "grid of shards, 2 x 2 x 2",
    ):
        assert words in out
    assert "\x1b" not in out


@pytest.mark.parametrize("text", ["3, 10:20, ::2", "...", "[1, 5, 9]", "[1, 5], [2, 40], [3, 3]", "-1, 5:", "0, 0, 0"])
def test_numbers_are_those_of_the_read(command, folder, text):
    _, out, _ = command("explain", f"{folder}::volume", "--json", text)
    found = json.loads(out)
    array = zarr.open_array(folder, path="volume", mode="r")
    key = eval(f"np.s_[{text}]")
    with cyzarr.enabled(), zarr.config.set({"codec_pipeline.path": "cyzarr.CodecPipeline"}):
        with cyzarr.trace() as direct:
            result = array[key]
        # The same through a store's own methods.
        with cyzarr.trace() as asked:
            zarr.open_array(zarr.storage.WrapperStore(array.store), path="volume", mode="r")[key]
    assert found["wanted"]["nbytes"] == result.nbytes
    assert found["read"]["bytes_needed"] == direct.bytes_needed or direct.index_hits
    assert found["read"]["chunks_decoded"] == direct.chunks_decoded == found["wanted"]["inner"]
    assert (found["wanted"]["requests"], found["wanted"]["fetched_nbytes"]) == (asked.requests, asked.bytes_read)


def test_without_a_selection_all_is_planned(command, folder):
    _, out, _ = command("explain", folder, "0", "--json")
    found = json.loads(out)
    assert found["selection"] == "0:1000"
    assert found["wanted"]["objects"] == 143
    _, out, _ = command("explain", folder, "0", "--max-chunks", "10", "--json")
    found = json.loads(out)
    assert (found["selection"], found["selection_was_cut"], found["wanted"]["objects"]) == ("0:63", True, 9)


def test_an_array_of_no_axes(command, folder):
    status, out, _ = command("explain", folder, "point", "()")
    assert status == 0
    assert "touched       1 of 1 chunk\n" in out


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_an_array_of_no_items(command, tmp_path, zarr_format):
    zarr.create_array(tmp_path / "a", shape=(0, 5), chunks=(1, 5), dtype="i4", zarr_format=zarr_format)
    status, out, _ = command("explain", tmp_path / "a")
    assert status == 0
    assert "touched       0 of 0 chunks" in out


def test_a_rectilinear_grid(command, tmp_path):
    try:
        with zarr.config.set({"array.rectilinear_chunks": True}):
            array = zarr.create_array(tmp_path / "a", shape=(60, 100), chunks=[[10, 20, 30], [50, 50]], dtype="i4")
            array[...] = 1
    except (TypeError, ValueError):
        pytest.skip("this zarr has no rectilinear grids")
    with zarr.config.set({"array.rectilinear_chunks": True}):
        status, out, _ = command("explain", tmp_path / "a", "5:15, 60:")
    assert status == 0
    assert "touched       2 of 6 chunks" in out
    assert "  .#\n  .#\n  ..\n" in out


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        (["nowhere"], 2, "no such file or folder"),
        (["."], 2, "name one of its arrays, as PATH::NAME: 0, big, deep/plain, point, volume"),
        ([".", "nothing"], 2, "no 'nothing' in"),
        (["volume", "0, x"], 2, "selection '0, x', character 4: names are not taken, found 'x'"),
        (["volume", "None"], 2, "None (np.newaxis) is refused"),
        (["volume", "0, 0, 0, 0"], 2, "at most 3 of the axes"),
        (["volume", "64"], 2, "selection [64]: "),
        (["volume", "::-1"], 2, "selection [::-1]: "),
        (["volume", "[1, 99]"], 2, "selection [[1, 99]]: "),
        (["0", "--max-chunks", "10", "::"], 2, "up to 143 chunks; to plan more than 10 takes --max-chunks"),
        (["volume::deep", "0"], 2, "is an array, and holds no 'deep'"),
        (["volume", "--storage-option", "anon=true"], 2, "storage options are for URLs"),
        (["s3://b/a", "--storage-option", "anon"], 2, "a storage option is NAME=VALUE, found 'anon'"),
        (["nosuch://b/a"], 2, "nosuch://b/a"),
    ],
)
def test_errors_are_one_line(command, folder, given, status, words):
    path = given[0] if "://" in given[0] else folder / given[0]
    found, out, err = command("explain", path, *given[1:])
    assert (found, out) == (status, "")
    assert err.startswith("cyzarr explain: ")
    assert words in err
    assert err.count("\n") == 1


def test_a_damaged_index_ends_with_1(command, folder, tmp_path):
    array = zarr.create_array(tmp_path / "a", shape=(16,), shards=(16,), chunks=(4,), dtype="i4")
    array[...] = 1
    path = tmp_path / "a/c/0"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    status, _, err = command("explain", tmp_path / "a", "3")
    assert status == 1
    assert "checksum" in err
    assert err.count("\n") == 1
