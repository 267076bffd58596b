"""Cases that accelerated readers got wrong, each built by hand and read through every door.

The numbers are those of the project's list of public reports. A case yields (stored, values,
selections): through every door, on both kinds of store, each selection must give what NumPy picks
from the values, and cyzarr must have served it. Cases that must raise stand below.
"""

from __future__ import annotations

import gzip as gzip_module
import json
import tracemalloc
from dataclasses import dataclass
from random import Random

import numcodecs
import numpy as np
import pytest
import zarr
from packaging.version import Version

from support import handmade
from support.compare import Outcome, assert_same_outcome, assert_same_values
from support.doors import (
    ALL,
    CODECS,
    DIRECT,
    PIPELINE,
    PLAIN,
    ZARR,
    asks_our_codecs,
    assert_native,
    by_codecs_alone,
    corrupt_error,
    plain_zarr,
    trace,
    zarr_differs,
)
from support.handmade import (
    ABSENT,
    Freedom,
    Stored,
    be,
    blosc,
    crc32c,
    document,
    encode,
    gzip,
    le,
    lz4,
    pack_shard,
    shard,
    store,
    transpose,
    zlib,
    zstd,
)

FULL = Ellipsis
NO_CRC = [le()]


@dataclass(frozen=True)
class Oindex:
    """A selection for `arr.oindex`."""

    key: tuple

    def of(self, values):
        return values[np.ix_(*self.key)] if isinstance(values, np.ndarray) else values.oindex[self.key]


def pick(array, selection):
    return selection.of(array) if isinstance(selection, Oindex) else array[selection]


CASES = []


def case(build):
    CASES.append(build)
    return build


def arange(shape, dtype):
    return np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


# -- shards inside other codecs ---------------------------------------------------------------


def _outer_codecs(codecs):
    a = arange((12, 8, 6), "i4")
    selections = [np.s_[1:3, 2, :], np.s_[5:7, :, 1], FULL]
    return store(a, (6, 4, 6), codecs), a, selections


@case
def case_02_transpose_then_shard():
    return _outer_codecs([transpose(2, 0, 1), shard((3, 2, 2), [le()])])


@case
def case_02_shard_then_gzip():
    return _outer_codecs([shard((3, 2, 3), [le()]), gzip()])


@case
def case_02_shard_then_crc32c():
    return _outer_codecs([shard((3, 2, 3), [le()]), crc32c()])


@case
def case_02_shard_then_zstd_of_compressed_inner_chunks():
    return _outer_codecs([shard((3, 2, 3), [le(), lz4()]), zstd(), crc32c()])


@case
def case_02_nested_shards_with_codecs_outside_and_between():
    inner = shard((3, 1, 1), [transpose(1, 2, 0), le(), zlib()])
    return _outer_codecs([transpose(2, 1, 0), shard((6, 4, 3), [transpose(0, 2, 1), inner, crc32c()]), gzip()])


def transposed_2d():
    a = arange((15, 32), "f4")
    selections = [FULL, np.s_[3:7, 20:30], np.s_[14, 31], np.s_[::4, ::7]]
    return store(a, (15, 32), [transpose(1, 0), shard((16, 5), [le()])]), a, selections


def transposed_3d():
    a = arange((4, 6, 10), "u2")
    selections = [FULL, np.s_[1:2, 2:5, 3:7], np.s_[3], np.s_[:, :, 9]]
    return store(a, (4, 6, 10), [transpose(1, 2, 0), shard((3, 5, 2), [le()])]), a, selections


# -- the shard index --------------------------------------------------------------------------


def _index_form(index_codecs, location):
    a = arange((6,), "i4")
    stored = store(a, (6,), [shard((2,), [le()], index_codecs, location)])
    return stored, a, [np.s_[3:5], FULL, np.s_[5]]


@case
def case_04_index_without_checksum():
    return _index_form([le()], "end")


@case
def case_04_index_without_checksum_at_start():
    return _index_form([le()], "start")


@case
def case_04_index_big_endian():
    return _index_form([be()], "end")


@case
def case_04_index_big_endian_with_checksum_at_start():
    return _index_form([be(), crc32c()], "start")


@case
def case_04_index_with_two_checksums():
    return _index_form([le(), crc32c(), crc32c()], "end")


@case
def case_04_index_permuted():
    return _index_form([transpose(1, 0), le(), crc32c()], "end")


@case
def case_04_index_permuted_2d_big_endian_at_start():
    a = arange((6, 8), "i4")
    index_codecs = [transpose(2, 0, 1), transpose(1, 0, 2), be(), crc32c()]
    stored = store(a, (6, 8), [shard((2, 2), [le()], index_codecs, "start")])
    return stored, a, [np.s_[3:5, 1:7], FULL, np.s_[5, 0]]


@case
def case_05_absent_object():
    a = np.full(2, 9, "u1")
    return store(a, (2,), [shard((1,), [le()])], fill=9, missing={(0,)}), a, [FULL, np.s_[1:2]]


@case
def case_05_index_of_all_absent():
    a = np.full(2, 9, "u1")
    meta = document((2,), (2,), "u1", [shard((1,), [le()])], 9)
    return Stored.of(meta, {"c/0": pack_shard([None, None])}), a, [FULL, np.s_[1:2]]


def _some_absent(location):
    a = np.array([-7, -7, 1, 2, -7, -7, 3, 4], "i2")
    payloads = [None, a[2:4].tobytes(), None, a[6:].tobytes()]
    meta = document((8,), (8,), "i2", [shard((2,), [le()], location=location)], -7)
    stored = Stored.of(meta, {"c/0": pack_shard(payloads, location=location)})
    return stored, a, [FULL, np.s_[1:4], np.s_[4:6], np.s_[7]]


@case
def case_07_absent_inner_chunk():
    return _some_absent("end")


@case
def case_07_absent_inner_chunk_index_at_start():
    return _some_absent("start")


@case
def case_25_payloads_permuted_with_gaps():
    a = arange((8, 6), "i4")
    freedom = Freedom(Random(7), junk=9)
    return store(a, (8, 6), [shard((2, 3), [le()])], freedom=freedom), a, [FULL, np.s_[3:7, 2:5], np.s_[7, 5]]


@case
def case_25_payloads_permuted_with_gaps_index_at_start_nested():
    a = arange((8, 6), "i4")
    inner = shard((1, 3), [le(), zstd()], NO_CRC, "start")
    freedom = Freedom(Random(3), junk=9)
    codecs = [shard((4, 3), [inner], location="start")]
    return store(a, (8, 6), codecs, freedom=freedom), a, [FULL, np.s_[3:7, 2:5], np.s_[7, 5]]


@case
def case_25_entries_share_a_payload():
    a = np.array([1, 2, 3, 4, 1, 2, 3, 4], "i4")

    def share(index):
        index[2], index[3] = index[0], index[1]

    payloads = [a[:2].tobytes(), a[2:4].tobytes(), None, None]
    meta = document((8,), (8,), "i4", [shard((2,), [le()])])
    return Stored.of(meta, {"c/0": pack_shard(payloads, edit=share)}), a, [FULL, np.s_[1:6], np.s_[7]]


@case
def case_01_entries_that_nobody_can_tell_from_legal_ones():
    """Offset 0 twice, and an offset inside the index: read as written."""

    def lie(index):
        index[1, 0] = 0
        index[3, 0] = 32

    data = pack_shard([arange((2,), "i4").tobytes() for _ in range(4)], index_codecs=NO_CRC, edit=lie)
    a = np.concatenate([np.frombuffer(data, "i4", 2, offset) for offset in (0, 0, 16, 32)])
    meta = document((8,), (8,), "i4", [shard((2,), [le()], NO_CRC)])
    return Stored.of(meta, {"c/0": data}), a, [FULL, np.s_[2:4], np.s_[6:8]]


# -- selections -------------------------------------------------------------------------------


@case
def case_08_integer_and_list():
    a = arange((20, 20), "i4")
    selections = [np.s_[5, [0, 1]], np.s_[[0, 13], 7], Oindex(([19, 0], [3, 3, 18]))]
    return store(a, (10, 10), [shard((2, 5), [le()])]), a, selections


@case
def case_09_past_the_first_inner_chunk():
    a = arange((60, 50), "f8")
    selections = [np.s_[0], np.s_[1], np.s_[19], np.s_[20], np.s_[59]]
    return store(a, (20, 50), [shard((1, 50), [le()])]), a, selections


@case
def case_09_edge_shards():
    a = arange((37, 23), "f4")
    selections = [FULL, np.s_[14:16, 7:9], np.s_[36, 22], np.s_[30:37, 16:23], np.s_[36:100, -1:]]
    return store(a, (15, 8), [shard((5, 4), [le(), zstd()])], pad=-1), a, selections


@case
def case_09_edge_chunks_plain():
    a = arange((37, 23), "f4")
    selections = [FULL, np.s_[14:16, 7:9], np.s_[36, 22], np.s_[30:37, 16:23]]
    return store(a, (15, 8), [le()], pad=-1), a, selections


@case
def case_23_slice_and_list():
    a = arange((200, 40), "f8")
    selections = [np.s_[slice(0, 100)], np.s_[list(range(100)),]]
    return store(a, (100, 10), [shard((100, 2), [le()])]), a, selections


@case
def case_23_list_between_slices():
    a = arange((1, 10, 40, 40), "f4")
    selections = [np.s_[:, [0, 3, 6], :, :]]
    return store(a, (1, 1, 20, 20), [shard((1, 1, 10, 20), [le()])]), a, selections


# -- data types -------------------------------------------------------------------------------

STRUCT = [("flux", "<f4"), ("mask", "<i4"), ("c", "u1")]


def _struct():
    a = np.zeros(6, STRUCT)
    a["flux"], a["mask"], a["c"] = np.arange(6) + 0.5, np.arange(6) - 3, np.arange(6) + 250
    return a


@case
def case_10_struct_big_endian():
    a = _struct()
    return store(a, (6,), [be()]), a, [FULL, np.s_[2:4], np.s_[3:5]]


@case
def case_10_struct_big_endian_in_shard():
    a = _struct()
    return store(a, (6,), [shard((2,), [be()])]), a, [FULL, np.s_[2:4], np.s_[3:5]]


@case
def case_10_struct_fill():
    a = np.zeros(4, [("a", "<f4"), ("b", "<i4")])
    a["a"], a["b"] = np.arange(4), np.arange(4) * 10
    fill = np.array((1.5, 7), a.dtype)
    return store(a, (2,), [le()], fill=fill, missing={(1,)}), a, [FULL, np.s_[1:3], np.s_[3:4]]


@case
def case_10_nested_struct_big_endian():
    a = np.zeros((4, 3), [("t", "<i8"), ("p", [("x", "<f4"), ("s", "S3"), ("z", "<c8")])])
    a["t"], a["p"]["x"], a["p"]["s"], a["p"]["z"] = arange((4, 3), "i8"), 0.25, b"ab", 1 + 2j
    return store(a, (4, 2), [transpose(1, 0), be(), blosc("zstd")]), a, [FULL, np.s_[1:3, 2], np.s_[::2]]


COMPLEX = np.array([1 + 2j, 3 - 4j, -5.5, 7j], "c8")


@case
def case_14_complex_big_endian():
    return store(COMPLEX.copy(), (4,), [be()]), COMPLEX, [FULL, np.s_[1:3]]


@case
def case_14_complex_big_endian_zstd():
    a = COMPLEX.astype("c16")
    return store(a, (4,), [be(), zstd()]), a, [FULL, np.s_[1:3], np.s_[::3]]


@case
def case_14_complex_big_endian_in_shard_with_fill():
    a = COMPLEX.copy()
    a[2:] = complex(1.0, float("nan"))
    meta = document((4,), (4,), "c8", [shard((2,), [be()])], [1.0, "NaN"])
    stored = Stored.of(meta, {"c/0": pack_shard([a[:2].astype(">c8").tobytes(), None])})
    return stored, a, [FULL, np.s_[1:3], np.s_[3:]]


SIGNED_ZEROS = np.array([0.0, -0.0, 0.0, 0.0, -0.0, -0.0], "f4")


@case
def case_15_signed_zeros():
    return store(SIGNED_ZEROS.copy(), (2,), [le()]), SIGNED_ZEROS, [FULL, np.s_[1:5:2]]


@case
def case_15_signed_zeros_in_shard():
    return store(SIGNED_ZEROS.copy(), (6,), [shard((2,), [le()])]), SIGNED_ZEROS, [FULL, np.s_[1:5:2]]


@case
def case_15_signed_zero_fill():
    a = SIGNED_ZEROS.copy()
    stored = store(a, (2,), [le()], fill=np.float32(-0.0), missing={(1,)})
    return stored, a, [FULL, np.s_[2:4]]


@case
def case_15_nan_payload_fill():
    a = np.full(4, 1.0, "f8")
    fill = np.uint64(0x7FF8000000000123).view("f8")
    a[2:] = fill
    meta = document((4,), (2,), "f8", [le()], "0x7ff8000000000123")
    return Stored.of(meta, {"c/0": a[:2].tobytes()}), a, [FULL, np.s_[2:3]]


@case
def case_15_nan_payload_fill_in_shard():
    a = np.full(4, 1.0, "f8")
    fill = np.uint64(0x7FF8000000000123).view("f8")
    a[2:] = fill
    meta = document((4,), (4,), "f8", [shard((2,), [be()])], "0x7ff8000000000123")
    return Stored.of(meta, {"c/0": pack_shard([a[:2].astype(">f8").tobytes(), None])}), a, [FULL, np.s_[2:3]]


@case
def case_16_misaligned_payloads():
    a = arange((6,), "u8")
    return store(a, (6,), [shard((2,), [le()], location="start")]), a, [FULL, np.s_[1:5]]


@case
def case_16_misaligned_complex():
    a = (np.arange(4) * (1 - 2j)).astype("c16")
    return store(a, (4,), [shard((1,), [le(), crc32c()])]), a, [np.s_[1:], FULL]


@case
def case_16_misaligned_big_endian():
    a = arange((6,), "u8")
    return store(a, (6,), [shard((2,), [be(), crc32c()], location="start")]), a, [FULL, np.s_[1:5]]


# -- memory order -----------------------------------------------------------------------------


def _transposed(order):
    a = arange((6, 8, 10), "u2")
    selections = [np.s_[1:3, 2, 4:9], np.s_[5], np.s_[:, :, 3], FULL]
    return store(a, (6, 8, 10), [transpose(*order), le()]), a, selections


@case
def case_13_transposed_210():
    return _transposed((2, 1, 0))


@case
def case_13_transposed_201():
    return _transposed((2, 0, 1))


@case
def case_13_transposed_120():
    return _transposed((1, 2, 0))


@case
def case_13_transposed_021():
    return _transposed((0, 2, 1))


@case
def case_13_two_transposes():
    a = arange((6, 8, 10), "u2")
    codecs = [transpose(1, 2, 0), transpose(2, 1, 0), be(), zstd()]
    return store(a, (3, 8, 5), codecs), a, [np.s_[1:3, 2, 4:9], np.s_[5], FULL]


# -- containers -------------------------------------------------------------------------------


def _container(data_codecs, data):
    a = arange((8,), "i4")
    return Stored.of(document((8,), (8,), "i4", [le(), *data_codecs]), {"c/0": data(a.tobytes())}), a


@case
def case_26_gzip_of_two_members():
    stored, a = _container([gzip()], lambda d: gzip_module.compress(d[:12]) + gzip_module.compress(d[12:]))
    return stored, a, [FULL, np.s_[2:4], np.s_[6]]


@case
def case_26_gzip_of_two_members_in_shard():
    a = arange((8,), "i4")
    halves = [gzip_module.compress(h[:8]) + gzip_module.compress(h[8:]) for h in (a[:4].tobytes(), a[4:].tobytes())]
    meta = document((8,), (8,), "i4", [shard((4,), [le(), gzip()])])
    return Stored.of(meta, {"c/0": pack_shard(halves)}), a, [FULL, np.s_[2:4], np.s_[6]]


@case
def case_26_zstd_of_two_frames():
    encoder = numcodecs.Zstd()
    stored, a = _container([zstd()], lambda d: bytes(encoder.encode(d[:12])) + bytes(encoder.encode(d[12:])))
    return stored, a, [FULL, np.s_[2:4], np.s_[6]]


def _zstd_without_content_size(data):
    """A frame of one raw block that doesn't say how long its content is."""
    header = (0xFD2FB528).to_bytes(4, "little") + bytes([0x00, 0x58])
    return header + ((len(data) << 3) | 1).to_bytes(3, "little") + data


@case
def case_26_zstd_without_content_size():
    stored, a = _container([zstd()], _zstd_without_content_size)
    return stored, a, [FULL, np.s_[2:4], np.s_[6]]


@case
def case_26_every_compressor():
    a = arange((40, 10), "i4")
    chain = [le(), zstd(checksum=True), crc32c(), blosc("zlib", "bitshuffle"), gzip(), lz4(), zlib()]
    return store(a, (16, 10), chain), a, [FULL, np.s_[15:17, 3], np.s_[39]]


@case
def case_26_blosc_forms():
    """One chunk of an inner shard per compressor and shuffle, all of which blosc itself tells."""
    forms = [
        (c, s) for c in ("lz4", "lz4hc", "blosclz", "zlib", "zstd") for s in ("noshuffle", "shuffle", "bitshuffle")
    ]
    a = arange((len(forms) * 512,), "i4")
    payloads = [
        encode(part, [le(), blosc(*form, typesize=4, blocksize=1024)])
        for part, form in zip(np.split(a, len(forms)), forms, strict=True)
    ]
    meta = document(a.shape, a.shape, "i4", [shard((512,), [le(), blosc()])])
    return Stored.of(meta, {"c/0": pack_shard(payloads)}), a, [FULL, np.s_[500:1100], np.s_[::777]]


# -- keys -------------------------------------------------------------------------------------


def _keys(name, separator):
    a = arange((5, 7), "i2")
    stored = store(a, (2, 3), [le()], key_encoding=handmade.codec(name, separator=separator))
    return stored, a, [FULL, np.s_[1:3, 2:4], np.s_[4, 6]]


@case
def case_keys_default_dot():
    return _keys("default", ".")


@case
def case_keys_v2_dot():
    return _keys("v2", ".")


@case
def case_keys_v2_slash():
    return _keys("v2", "/")


@case
def case_zero_dimensions():
    a = np.array(42, "i8")
    return store(a, (), [shard((), [le(), zstd()])]), a, [FULL, ()]


@case
def case_empty_array():
    a = np.zeros((0, 3), "i4")
    return store(a, (2, 2), [le()]), a, [FULL, np.s_[:, 1], np.s_[0:5, 2:1]]


# -- every case, every door -------------------------------------------------------------------


def check(road, build, opened=None):
    stored, values, selections = build()
    array = opened or road.open(stored)
    for selection in selections:
        with trace() as counts:
            got = pick(array, selection)
        assert_same_values(got, pick(values, selection))
        nothing_stored = len(stored.objects) == 1 or np.size(got) == 0
        served = not nothing_stored and "fill" not in build.__name__
        if by_codecs_alone(road.door):
            served = served and asks_our_codecs(json.loads(stored.objects["zarr.json"])["codecs"])
        assert_native(counts, road.door, served=served)


def _parameter(build):
    big_endian_struct = "struct_big_endian" in build.__name__
    lost = "zarr 3.1 drops a struct's byte order when it reads the document, so that nobody can know it afterwards"
    marks = [pytest.mark.xfail(Version("3.2") > ZARR, reason=lost, strict=False)] if big_endian_struct else []
    return pytest.param(build, marks=marks, id=build.__name__.removeprefix("case_"))


@pytest.mark.parametrize("build", [_parameter(build) for build in CASES])
def test_case(road, build):
    if "nested_struct" in build.__name__ and by_codecs_alone(road.door) and Version("3.3") > ZARR:
        pytest.skip("plain chunks are decoded by zarr's own codec, which forgets a struct's byte order")
    check(road, build)


@pytest.mark.parametrize("build", [transposed_2d, transposed_3d])
@zarr_differs("zarr refuses these at opening: it divides the chunk before its transposition")
def test_03_inner_chunks_divide_the_transposed_chunk(road, build):
    if road.door not in (DIRECT, ALL):
        pytest.xfail("the configuration doors can't change zarr's rules, which refuse this document")
    check(road, build)


@pytest.mark.parametrize(
    ("shape", "inner"), [((4, 8), (4, 8)), ((15, 32), (5, 16)), ((4, 12), (4, 6))], ids=["4x8", "15x32", "4x12"]
)
@zarr_differs("zarr accepts these and reads back fill values")
def test_03_inner_chunks_that_only_divide_the_chunk_are_refused(road, shape, inner):
    if road.door not in (DIRECT, ALL):
        pytest.xfail("the configuration doors can't change zarr's rules, which accept this document")
    stored = Stored.of(document(shape, shape, "i4", [transpose(1, 0), shard(inner, [le()])], -1), {})
    with pytest.raises((ValueError, RuntimeError)):
        road.open(stored)[...]


# -- what must raise --------------------------------------------------------------------------


def assert_raises_corrupt(road, stored, selections, *, inner=None, words=()):
    """Reading raises; through the direct door the message names what is known of the place."""
    array = road.open(stored)
    expected = corrupt_error()
    if by_codecs_alone(road.door):
        ours = asks_our_codecs(json.loads(stored.objects["zarr.json"])["codecs"])
        expected = (ValueError, RuntimeError) if ours else Exception
    for selection in selections:
        with pytest.raises(expected) as caught:
            array[selection]
        assert not isinstance(caught.value, MemoryError)
        if road.door in (DIRECT, ALL):
            message = str(caught.value)
            assert "c/0" in message
            if inner is not None:
                assert inner in message
            for word in words:
                assert str(word) in message, message


BAD_ENTRIES = {
    "offset-beyond": (1000, 8),
    "offset-2^63": (2**63, 8),
    "offset-wraps": (2**64 - 8, 16),
    "offset-absent-only": (ABSENT, 8),
    "nbytes-absent-only": (0, ABSENT),
    "nbytes-16": (8, 16),
    "nbytes-4": (8, 4),
    "nbytes-0": (8, 0),
    "ends-past-the-object": (90, 8),
}


@zarr_differs("zarr 3.1 serves some of these as data", before="3.2")
@pytest.mark.parametrize("entry", BAD_ENTRIES.values(), ids=BAD_ENTRIES)
@pytest.mark.parametrize("location", ["start", "end"])
def test_01_bad_index_entry(road, entry, location):
    a = arange((8,), "i4")

    def damage(index):
        index[1] = entry

    data = pack_shard([part.tobytes() for part in np.split(a, 4)], index_codecs=NO_CRC, location=location, edit=damage)
    stored = Stored.of(document((8,), (8,), "i4", [shard((2,), [le()], NO_CRC, location)]), {"c/0": data})
    assert_raises_corrupt(road, stored, [FULL, np.s_[2:4], np.s_[3:4]], inner="(1,)", words=entry)


@zarr_differs("zarr 3.1 serves some of these as data", before="3.2")
@pytest.mark.parametrize("entry", [e for e in BAD_ENTRIES.values() if e[1] not in (16, 4)])
def test_01_bad_index_entry_of_a_compressed_chunk(road, entry):
    a = arange((8,), "i4")

    def damage(index):
        index[1] = entry

    payloads = [encode(part, [le(), zstd()]) for part in np.split(a, 4)]
    data = pack_shard(payloads, index_codecs=NO_CRC, edit=damage)
    stored = Stored.of(document((8,), (8,), "i4", [shard((2,), [le(), zstd()], NO_CRC)]), {"c/0": data})
    assert_raises_corrupt(road, stored, [FULL, np.s_[2:4]], inner="(1,)")


def test_01_bad_entry_of_a_chunk_that_is_not_wanted(road):
    """A selection that doesn't touch the lying entry may be served."""
    a = arange((8,), "i4")

    def damage(index):
        index[1] = 1000, 8

    data = pack_shard([part.tobytes() for part in np.split(a, 4)], index_codecs=NO_CRC, edit=damage)
    stored = Stored.of(document((8,), (8,), "i4", [shard((2,), [le()], NO_CRC)]), {"c/0": data})
    outcome = Outcome.of(lambda: road.open(stored)[4:8])
    assert isinstance(outcome.error, ValueError | RuntimeError) or np.array_equal(outcome.value, a[4:8])


@zarr_differs("zarr 3.1 serves some of these as data", before="3.2")
@pytest.mark.parametrize("nbytes", [0, 2, 31, 35])
@pytest.mark.parametrize("location", ["start", "end"])
def test_05_shard_shorter_than_its_index(road, nbytes, location):
    meta = document((2,), (2,), "u1", [shard((1,), [le()], location=location)], 9)
    stored = Stored.of(meta, {"c/0": bytes(nbytes)})
    assert_raises_corrupt(road, stored, [FULL, np.s_[1:2]], words=[nbytes, 36])


def _sound_shard(codecs):
    a = arange((8,), "i4")
    stored = store(a, (8,), [shard((2,), codecs)])
    return stored, a


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-20] + bytes([d[-20] ^ 1]) + d[-19:], lambda d: d[:-7]], ids=["flip", "cut"]
)
def test_06_torn_index(road, damage):
    stored, _ = _sound_shard([le()])
    stored.objects["c/0"] = damage(stored.objects["c/0"])
    assert_raises_corrupt(road, stored, [FULL, np.s_[2:4]])


def test_06_damaged_payload(road):
    stored, a = _sound_shard([le(), crc32c()])
    data = stored.objects["c/0"]
    stored.objects["c/0"] = bytes([data[0] ^ 1]) + data[1:]
    assert_raises_corrupt(road, stored, [FULL, np.s_[0:1], np.s_[1:2]], inner="(0,)", words=[0, 12])
    assert_same_values(road.open(stored)[2:4], a[2:4])


def test_06_damaged_payload_at_the_unwanted_end(road):
    """A checksum covers the whole inner chunk, whatever part is wanted."""
    stored, a = _sound_shard([le(), crc32c()])
    data = stored.objects["c/0"]
    stored.objects["c/0"] = data[:19] + bytes([data[19] ^ 0x80]) + data[20:]
    assert_raises_corrupt(road, stored, [np.s_[2:3]], inner="(1,)")
    assert_same_values(road.open(stored)[:2], a[:2])


@pytest.mark.parametrize("nbytes", [24, 40, 0, 31, 33])
def test_17_object_of_the_wrong_length(road, nbytes):
    stored = Stored.of(document((8,), (8,), "i4", [le()]), {"c/0": bytes(nbytes)})
    assert_raises_corrupt(road, stored, [FULL, np.s_[0:2], np.s_[7]], words=[nbytes, 32])


@pytest.mark.parametrize("compressor", [zstd(), gzip(), zlib(), lz4(), blosc()], ids=lambda c: c["name"])
@pytest.mark.parametrize("count", [5, 9, 0])
def test_17_container_of_the_wrong_length(road, native, compressor, count):
    data = encode(arange((count,), "i4"), [le(), compressor])
    stored = Stored.of(document((8,), (8,), "i4", [le(), compressor]), {"c/0": data})
    assert_raises_corrupt(road, stored, [FULL, np.s_[0:2]])


def test_17_damage_outside_the_selection(road):
    data = bytearray(encode(arange((8,), "i4"), [le(), crc32c()]))
    data[30] ^= 4
    stored = Stored.of(document((8,), (8,), "i4", [le(), crc32c()]), {"c/0": bytes(data)})
    assert_raises_corrupt(road, stored, [FULL, np.s_[0:2]])


def _flip(data, at):
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


BAD_GZIP = {
    "crc": lambda d: _flip(d, len(d) - 7),
    "size": lambda d: _flip(d, len(d) - 2),
    "cut": lambda d: d[:-3],
    "cut-in-data": lambda d: d[:-12],
    "second-member-torn": lambda d: d + d[:9],
}


@pytest.mark.parametrize("damage", BAD_GZIP.values(), ids=BAD_GZIP)
def test_26_bad_gzip(road, native, damage):
    data = damage(encode(arange((8,), "i4"), [le(), gzip()]))
    stored = Stored.of(document((8,), (8,), "i4", [le(), gzip()]), {"c/0": data})
    assert_raises_corrupt(road, stored, [FULL, np.s_[0:2]])


@pytest.mark.parametrize(
    "compressor",
    [zstd(checksum=True), pytest.param(blosc(), marks=zarr_differs("c-blosc reads on past the end")), lz4(), zlib()],
    ids=lambda c: c["name"],
)
@pytest.mark.parametrize("damage", [lambda d: d[:-1], lambda d: d[:5], lambda d: b""], ids=["short", "stub", "empty"])
def test_26_bad_containers(road, native, compressor, damage):
    if by_codecs_alone(road.door) and compressor["name"] == "blosc":
        pytest.skip("zarr's own blosc codec reads on past the end")
    data = damage(encode(arange((8,), "i4"), [le(), compressor]))
    stored = Stored.of(document((8,), (8,), "i4", [le(), compressor]), {"c/0": data})
    assert_raises_corrupt(road, stored, [FULL, np.s_[0:2]])


# -- out of scope today: still what zarr gives ------------------------------------------------


def test_12_v2_order_f(road):
    a = arange((7, 11), "i4")
    array = json.dumps(
        {
            "zarr_format": 2,
            "shape": [7, 11],
            "chunks": [4, 6],
            "dtype": "<i4",
            "order": "F",
            "compressor": None,
            "filters": None,
            "fill_value": 0,
            "dimension_separator": ".",
        }
    )
    chunks = {".".join(map(str, at)): whole.tobytes(order="F") for at, whole, _ in handmade.cut(a, (4, 6), -1)}
    opened = road.open(Stored({".zarray": array.encode(), **chunks}))
    for selection in [FULL, np.s_[2:6, 5:8], np.s_[3], np.s_[:, 10], np.s_[1:2, 2:3]]:
        assert_same_values(opened[selection], a[selection])


@pytest.mark.parametrize("call", [lambda r: r["B"], lambda r: r.get_basic_selection(slice(0, 2), fields="A")])
def test_18_fields(road, call):
    a = np.array([("a", 1), ("b", 2), ("c", 3)], [("A", "<U8"), ("B", "<i4")])
    stored = store(a, (2,), [le()])
    with plain_zarr():
        want = Outcome.of(call, zarr.open_array(stored.memory(), mode="r"))
    assert_same_outcome(Outcome.of(call, road.open(stored)), want)


OTHER_CHAINS = {
    "numcodecs.delta": [handmade.codec("numcodecs.delta", dtype="<i4", astype="<i4"), le(), zstd()],
    "numcodecs.bz2": [le(), handmade.codec("numcodecs.bz2", level=1)],
    "numcodecs.shuffle": [le(), handmade.codec("numcodecs.shuffle", elementsize=4)],
    "numcodecs.delta in a shard": [shard((2, 3), [handmade.codec("numcodecs.delta", dtype="<i4", astype="<i4"), le()])],
}


@pytest.mark.parametrize("codecs", OTHER_CHAINS.values(), ids=OTHER_CHAINS)
def test_other_codecs_read_as_zarr_reads_them(road, codecs):
    a = arange((6, 9), "i4")
    store_made = handmade.Stored.of(document((6, 9), (4, 6), "i4", codecs), {}).memory()
    with plain_zarr():
        zarr.open_array(store_made, mode="r+")[...] = a
    stored = Stored({key: value.to_bytes() for key, value in store_made._store_dict.items()})
    array = road.open(stored)
    for selection in [FULL, np.s_[1:5, 4:8], np.s_[5, 8], np.s_[::2, 3]]:
        with trace() as counts:
            assert_same_values(array[selection], a[selection])
        if not PLAIN and road.door.patch:
            assert not counts.fallbacks


def test_strings_of_any_length_read_as_zarr_reads_them(road):
    with plain_zarr():
        made = zarr.create_array(zarr.storage.MemoryStore(), shape=(5,), chunks=(2,), dtype="str")
        made[:] = np.array(["a", "", "ccc", "d" * 40, "é"], dtype=object)
    stored = Stored({key: value.to_bytes() for key, value in made.store._store_dict.items()})
    assert list(road.open(stored)[1:]) == ["", "ccc", "d" * 40, "é"]


# -- scalars, missing chunks, memory ----------------------------------------------------------


def test_19_scalars(road):
    array = road.open(store(arange((4, 4), "i4"), (2, 2), [shard((1, 2), [le()])]))
    zero_d = array[1, 1]
    assert type(zero_d) is np.ndarray
    assert zero_d.shape == ()
    assert zero_d == 5
    scalar = array.get_basic_selection((1, 1))
    assert type(scalar) is np.int32
    assert scalar == 5


def _out(values):
    return zarr.core.buffer.cpu.NDBuffer.from_numpy_array(values)


@pytest.mark.parametrize("dtype", ["<i4", ">i4", "<f8", "<i2", "<c8"])
def test_19_out_of_another_dtype_is_cast_into(road, dtype):
    a = arange((4, 4), "i4")
    array = road.open(store(a, (2, 2), [shard((1, 2), [le(), zstd()])]))
    base = np.full((8, 6), 77, dtype)
    array.get_basic_selection(np.s_[1:4, 1:3], out=_out(base[2:8:2, 2:4]))
    want = np.full((8, 6), 77, dtype)
    want[2:8:2, 2:4] = a[1:4, 1:3]
    assert_same_values(base, want)


def test_19_bad_out(road):
    array = road.open(store(arange((4, 4), "i4"), (2, 2), [le()]))
    with pytest.raises(TypeError):
        array.get_basic_selection(..., out=np.zeros((4, 4), "i4"))
    with pytest.raises(ValueError):
        array.get_basic_selection(..., out=_out(np.zeros((4, 3), "i4")))
    frozen = np.zeros((4, 4), "i4")
    frozen.flags.writeable = False
    with pytest.raises(ValueError):
        array.get_basic_selection(..., out=_out(frozen))
    assert not frozen.any()


@pytest.mark.skipif(Version("3.2") > ZARR, reason="zarr has no read_missing_chunks")
@pytest.mark.parametrize("by", ["config", "open"])
def test_20_missing_chunks_refused(road, by):
    from zarr.errors import ChunkNotFoundError

    if by == "open" and Version("3.4") > ZARR:
        pytest.skip("zarr's open_array drops the setting")
    a = arange((6,), "i4")
    inner_absent = pack_shard([a[4:5].tobytes(), None])
    stored = store(a, (2,), [shard((1,), [le()])], fill=-1, missing={(1,)})
    stored.objects["c/2"] = inner_absent
    options = {"array.read_missing_chunks": False} if by == "config" else {}
    with zarr.config.set(options):
        config = None if by == "config" else {"read_missing_chunks": False}
        array = zarr.open_array(road.put(stored), mode="r", config=config)
    assert_same_values(array[0:2], a[0:2])
    assert list(array[4:6]) == [4, -1]
    for selection in [FULL, np.s_[1:3], np.s_[2], np.s_[[0, 3]]]:
        with pytest.raises(ChunkNotFoundError):
            array[selection]


@pytest.mark.parametrize("key", [np.s_[0:1000], np.s_[list(range(1000))]], ids=["slice", "list"])
@zarr_differs("zarr needs more")
def test_23_memory(road, key):
    """A read needs at most the output and as much again (and the interpreter's small change)."""
    if by_codecs_alone(road.door):
        pytest.skip("zarr's own pipeline holds the chunks here")
    a = arange((2000, 400), "f8")
    array = road.open(store(a, (1000, 100), [shard((1000, 20), [le()])]))
    array[0, 0]
    tracemalloc.start()
    try:
        got = array[key]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert_same_values(got, a[:1000])
    assert peak <= 2 * got.nbytes + 256 * 1024


@pytest.mark.skipif(Version("3.3") > ZARR, reason="zarr has no subchunk_write_order")
@pytest.mark.parametrize("order", ["morton", "unordered", "lexicographic", "colexicographic"])
def test_25_orders_in_which_zarr_writes(road, order):
    from zarr.codecs import BytesCodec, ShardingCodec

    a = arange((8, 12), "i4")
    with plain_zarr():
        serializer = ShardingCodec(chunk_shape=(2, 3), codecs=[BytesCodec()], subchunk_write_order=order)
        made = zarr.create_array(
            zarr.storage.MemoryStore(),
            shape=a.shape,
            chunks=(4, 12),
            dtype=a.dtype,
            serializer=serializer,
            compressors=None,
            filters=None,
        )
        made[...] = a
    stored = Stored({key: value.to_bytes() for key, value in made.store._store_dict.items()})
    array = road.open(stored)
    for selection in [FULL, np.s_[3:7, 2:5], np.s_[7, 11]]:
        assert_same_values(array[selection], a[selection])


def test_doors_are_distinct():
    """A guard of the tests themselves: each door names the roads that it allows."""
    assert set(DIRECT.roads) != set(PIPELINE.roads) != set(CODECS.roads)
