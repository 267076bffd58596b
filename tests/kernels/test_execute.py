"""decode_shard against its twin, and on arguments and stored bytes that don't fit."""

import contextlib
import gc
import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from cyzarr import kernels
from cyzarr.errors import CorruptChunkError
from support.kernel_strategies import (
    Placed,
    filters,
    placed,
    plain,
    random_items,
    same_items,
    selections,
    shard,
    stored_chunks,
)

REFUSED = (TypeError, ValueError, IndexError, OverflowError)
ALL = slice(None)
I4 = np.dtype("i4")
FILL = np.int32(-7).tobytes()
ABSENT = reference.ABSENT


@st.composite
def reads(draw):
    """A stored chunk, a selection of it, and a place for the result."""
    stored = draw(stored_chunks(min_depth=0))
    shape, dtype = stored[0]["shape"], stored[1]
    selection = draw(selections(shape, falling=True))
    out = draw(placed(reference.selected_shape(selection, shape), dtype))
    return stored, selection, out


@settings(deadline=None)
@given(reads())
def test_equals_twin(arguments):
    (chain, dtype, fill, values, layout), selection, out = arguments
    spec = reference.Program(chain, dtype, fill)
    data = reference.encode_shard(values, spec, layout)
    expected = np.empty_like(out.view)
    reference.decode_shard(data, spec, selection, expected)
    kernels.decode_shard(data, kernels.Program(chain, dtype, fill), selection, out.view)
    assert same_items(out.view, expected)
    assert same_items(expected, reference.pick(values, selection))
    assert out.untouched()


@settings(deadline=None)
@given(stored_chunks(), st.data())
def test_one_program_serves_many_reads(stored, data):
    chain, dtype, fill, values, layout = stored
    spec = reference.Program(chain, dtype, fill)
    stored_bytes = reference.encode_shard(values, spec, layout)
    program = kernels.Program(chain, dtype, fill)
    for _ in range(3):
        selection = data.draw(selections(chain["shape"]))
        expected = reference.pick(values, selection)
        out = np.empty(np.shape(expected), dtype=dtype)
        kernels.decode_shard(stored_bytes, program, selection, out)
        assert same_items(out, np.asarray(expected))


# One small shard, for what follows


CHAIN = shard((4, 6), plain((2, 3), "<i4"))
VALUES = np.arange(24, dtype="i4").reshape(4, 6)
SPEC = reference.Program(CHAIN, I4, FILL)
DATA = reference.encode_shard(VALUES, SPEC)


def read(data, chain=CHAIN, selection=None):
    """What the kernel reads of a chunk of int32."""
    selection = selection or (ALL,) * len(chain["shape"])
    out = np.full(reference.selected_shape(selection, chain["shape"]), 99, dtype="i4")
    kernels.decode_shard(data, kernels.Program(chain, I4, FILL), selection, out)
    return out


def test_examples():
    assert np.array_equal(read(DATA), VALUES)
    assert read(DATA, selection=(3, 5)).tolist() == 23
    assert read(DATA, selection=(1, slice(1, 5))).tolist() == [7, 8, 9, 10]
    assert read(DATA, selection=(slice(0, 4, 3), 2)).tolist() == [2, 20]
    picked = read(DATA, selection=(np.array([3, 0, 3]), np.array([5, 5])))
    assert picked.tolist() == [[23, 23], [5, 5], [23, 23]]


CODEC_NAMES = ("zstd", "blosc", "lz4", "gzip", "zlib", "crc32c")
PAIRS = [(), *((name,) for name in CODEC_NAMES), *itertools.product(CODEC_NAMES, repeat=2)]


@pytest.mark.parametrize("outer", PAIRS, ids=" ".join)
def test_filters_around_filters(outer, native):
    """What an outer chain was undone into must outlive the undoing of the inner chains."""
    for inner in PAIRS:
        chain = shard((2, 4), plain((2, 2), "<i4", *inner), *outer)
        values = np.arange(8, dtype="i4").reshape(2, 4)
        data = reference.encode_shard(values, reference.Program(chain, I4, FILL))
        assert np.array_equal(read(data, chain), values), inner


@pytest.mark.parametrize("around", ["zstd", "gzip", "blosc"])
def test_containers_larger_than_what_they_hold(around):
    """Inner chunks of one byte in 20 bytes of gzip each: far more than the items, and legal."""
    n = 200_000
    payload = filters("gzip")[0]["codec"].encode(b"\7")
    offsets = np.arange(n, dtype=np.uint64) * len(payload)
    index = np.stack([offsets, np.full(n, len(payload), dtype=np.uint64)], axis=1)
    stored = payload * n + reference.encode_index(index, checksums=0)
    chain = shard((n,), plain((1,), "u1", "gzip"), around, checksums=0)
    out = np.zeros(3, dtype="u1")
    program = kernels.Program(chain, np.dtype("u1"), b"\0")
    data = bytes(filters(around)[0]["codec"].encode(stored))
    kernels.decode_shard(data, program, (slice(5, None, n // 3),), out)
    assert out.tolist() == [7, 7, 7]


def test_absent_chunks_are_fill_bit_for_bit():
    for bits in (0x7FF8000000000123, 1 << 63):
        fill = bits.to_bytes(8, "little")
        for stored in ("<f8", ">f8"):
            chain = shard((4,), plain((2,), stored))
            spec = reference.Program(chain, np.dtype("f8"), fill)
            values = np.array([1.0, 2.0, 0.0, 0.0])
            values[2:] = np.frombuffer(fill, "f8")
            data = reference.encode_shard(values, spec)
            out = np.empty(4)
            kernels.decode_shard(data, kernels.Program(chain, np.dtype("f8"), fill), (ALL,), out)
            assert out.tobytes() == values.tobytes()


def test_shard_of_absent_chunks_only():
    data = reference.encode_shard(np.full((4, 6), -7, dtype="i4"), SPEC)
    assert len(data) == 4 * 16 + 4
    assert (read(data) == -7).all()
    assert read(data, selection=(2, slice(1, 3))).tolist() == [-7, -7]


def test_two_entries_can_share_one_payload():
    payload = np.array([5, 6], dtype="i4").tobytes()
    data = payload + reference.encode_index([[0, 8], [0, 8]])
    assert read(data, shard((4,), plain((2,), "<i4"))).tolist() == [5, 6, 5, 6]


@pytest.mark.parametrize("start", [0, 1, 2, 3, 5])
def test_misaligned_payloads(start):
    chain = shard((6,), plain((2,), "<u8", "crc32c"), location="start")
    values = np.arange(6, dtype="u8") * 2**40
    spec = reference.Program(chain, np.dtype("u8"), bytes(8))
    stored = bytes(start) + reference.encode_shard(values, spec)
    out = np.zeros(4, dtype="u8")
    program = kernels.Program(chain, np.dtype("u8"), bytes(8))
    kernels.decode_shard(memoryview(stored)[start:], program, (slice(1, 5),), out)
    assert out.tolist() == values[1:5].tolist()


# Stored bytes that can't be right


TINY = plain((2,), "<i4")
HOSTILE = {
    "raw": shard((4,), TINY),
    "raw, no checksum": shard((4,), TINY, checksums=0),
    "big index at the start": shard((4,), TINY, checksums=0, byteorder="big", location="start"),
    "crc32c": shard((4,), plain((2,), "<i4", "crc32c"), checksums=0),
    "zstd": shard((4,), plain((2,), "<i4", "zstd"), checksums=0),
    "blosc": shard((4,), plain((2,), "<i4", "blosc"), checksums=0),
    "lz4": shard((4,), plain((2,), "<i4", "lz4"), checksums=0),
    "gzip": shard((4,), plain((2,), "<i4", "gzip"), checksums=0),
    "zlib": shard((4,), plain((2,), "<i4", "zlib"), checksums=0),
    "zstd in zlib": shard((4,), plain((2,), "<i4", "zstd", "zlib"), checksums=0),
    "crc32c around": shard((4,), TINY, "crc32c"),
    "nested": shard((8,), shard((4,), TINY, checksums=0), checksums=0),
    "nested in zstd": shard((8,), shard((4,), TINY, "zstd", location="start"), checksums=0),
}


def hostile_example(name):
    """Stored bytes with one absent inner chunk, and what they hold."""
    chain = HOSTILE[name]
    values = np.arange(100, 100 + chain["shape"][0], dtype="i4")
    values[2:4] = -7
    return chain, reference.encode_shard(values, reference.Program(chain, I4, FILL))


def check_hostile(chain, data, selection):
    """The kernel reads what the twin reads, or tells that the bytes are corrupt.

    Where the twin finds them corrupt, so must the kernel. It may see more than the twin: damage
    in what wasn't asked for, or in a container that a lenient decoder would pass.
    """
    spec = reference.Program(chain, I4, FILL)
    expected = np.empty(reference.selected_shape(selection, chain["shape"]), dtype="i4")
    try:
        reference.decode_shard(data, spec, selection, expected)
    except reference.CorruptChunkError:
        with pytest.raises(CorruptChunkError):
            read(data, chain, selection)
        return
    try:
        found = read(data, chain, selection)
    except CorruptChunkError:
        return
    assert np.array_equal(found, expected)


SELECTIONS = [(ALL,), (slice(0, 1),), (slice(2, 4),)]


@pytest.mark.parametrize("name", HOSTILE)
def test_every_truncation(name, native):
    chain, data = hostile_example(name)
    for n in range(len(data)):
        for selection in SELECTIONS:
            check_hostile(chain, data[:n], selection)


@pytest.mark.parametrize("name", HOSTILE)
def test_every_flipped_byte(name, native):
    chain, data = hostile_example(name)
    for position in range(len(data)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= flip
            for selection in SELECTIONS:
                check_hostile(chain, bytes(damaged), selection)


@pytest.mark.parametrize("name", HOSTILE)
def test_longer_objects(name, native):
    chain, data = hostile_example(name)
    for extra in (b"\0", b"\xff" * 4, bytes(16)):
        for longer in (data + extra, extra + data):
            for selection in SELECTIONS:
                check_hostile(chain, longer, selection)


def test_raw_damage_reads_as_written():
    """Without a checksum any payload is legal: no error where the twin has none."""
    chain, data = hostile_example("raw")
    damaged = bytes([data[0] ^ 0xFF]) + data[1:]
    assert read(damaged, chain)[0] == np.frombuffer(damaged[:4], "<i4")[0]


def test_damage_elsewhere_does_no_harm():
    chain, data = hostile_example("crc32c")
    damaged = bytes([data[0] ^ 0xFF]) + data[1:]
    assert read(damaged, chain, (slice(2, 4),)).tolist() == [-7, -7]
    for selection in [(ALL,), (slice(0, 1),), (slice(1, 2),)]:
        with pytest.raises(CorruptChunkError):
            read(damaged, chain, selection)


LIES = [
    (1000, 8), (41, 8), (2**63, 8), (2**64 - 8, 16), (2**64 - 8, 8), (ABSENT, 8), (0, ABSENT),
    (ABSENT, 0), (ABSENT - 1, ABSENT - 1), (0, 16), (0, 4), (0, 0), (0, 2**63), (2**63, 2**63),
]  # fmt: skip


@pytest.mark.parametrize("lie", LIES, ids=str)
@pytest.mark.parametrize("location", ["start", "end"])
def test_lying_index(lie, location):
    chain = shard((8,), TINY, checksums=0, location=location)
    base = 64 if location == "start" else 0
    body = np.arange(8, dtype="<i4").tobytes()
    entries = [(base + 8 * i, 8) for i in range(4)]
    entries[1] = lie if lie[0] >= 100 else (lie[0] + (base and lie[0] and 64), lie[1])
    index = reference.encode_index(entries, checksums=0)
    data = index + body if base else body + index
    if lie == (41, 8):
        # In reach of the end with the index behind it: cut so that it isn't.
        entries[1] = (len(data) - 7, 8)
        index = reference.encode_index(entries, checksums=0)
        data = index + body if base else body + index
    for selection in [(ALL,), (slice(2, 4),), (3,), (np.array([2]),)]:
        with pytest.raises(CorruptChunkError):
            read(data, chain, selection)
    assert read(data, chain, (slice(6, 8),)).tolist() == [6, 7]


def test_decoded_length_is_checked(native):
    """Containers that decode well, to another length than the inner chunk's."""
    for name in ("zstd", "blosc", "lz4", "gzip", "zlib"):
        chain = shard((2,), plain((2,), "<i4", name))
        codec = filters(name)[0]["codec"]
        for nbytes in (0, 4, 7, 9, 12, 100_000):
            payload = bytes(codec.encode(bytes(nbytes)))
            data = payload + reference.encode_index([[0, len(payload)]])
            for selection in [(ALL,), (slice(0, 1),)]:
                with pytest.raises(CorruptChunkError):
                    read(data, chain, selection)


# Arguments that don't fit


def decode(data=DATA, program=None, selection=(ALL, ALL), out=None):
    program = program or kernels.Program(CHAIN, I4, FILL)
    kernels.decode_shard(data, program, selection, out)


@pytest.mark.parametrize("shape", [(), (24,), (6, 4), (4, 5), (4, 7), (3, 6), (5, 6), (4, 6, 1), (1, 4, 6), (0, 0)])
def test_out_of_other_shape_is_refused(shape):
    out = np.full(shape, 5, dtype="i4")
    with pytest.raises(ValueError):
        decode(out=out)
    assert (out == 5).all()


@pytest.mark.parametrize("dtype", ["i2", "i8", "f4", "u4", "S4", "V4", "?", object])
def test_out_of_other_dtype_is_refused(dtype):
    out = np.zeros((4, 6), dtype=dtype)
    before = out.tobytes()
    with pytest.raises((TypeError, ValueError)):
        decode(out=out)
    assert out.tobytes() == before


def test_out_of_other_byte_order_is_right_or_refused():
    out = np.zeros((4, 6), dtype=">i4")
    try:
        decode(out=out)
    except (TypeError, ValueError):
        assert not out.any()
    else:
        assert np.array_equal(out, VALUES)


def test_read_only_out_is_refused():
    out = np.zeros((4, 6), dtype="i4")
    out.flags.writeable = False
    with pytest.raises((TypeError, ValueError)):
        decode(out=out)
    assert not out.any()


@pytest.mark.parametrize("out", [None, b"\0" * 96, [[0] * 6] * 4, 5], ids=lambda x: str(type(x)))
def test_out_that_is_no_array_is_refused(out):
    with pytest.raises(REFUSED):
        decode(out=out)


@pytest.mark.parametrize("data", [None, 5, "text", [1, 2], object(), 10**6], ids=repr)
def test_data_that_is_no_buffer_is_refused(data):
    with pytest.raises(TypeError):
        decode(data=data, out=np.zeros((4, 6), "i4"))


@pytest.mark.parametrize("spec", [5, "text", SPEC, CHAIN, object()], ids=lambda x: type(x).__name__)
def test_spec_that_is_no_program_is_refused(spec):
    with pytest.raises(TypeError):
        kernels.decode_shard(DATA, spec, (ALL, ALL), np.zeros((4, 6), "i4"))
    with pytest.raises(TypeError):
        kernels.decode_shard(DATA, None, (ALL, ALL), np.zeros((4, 6), "i4"))


@pytest.mark.parametrize(
    "selection",
    [(), (ALL,), (ALL,) * 3, (4, ALL), (-5, ALL), (2**63, ALL), (-(2**70), ALL), (ALL, None),
     (ALL, 1.5), (ALL, "1"), (ALL, slice(0, 6, 0)), (ALL, np.array([0, 6])),
     (ALL, np.array([-7])), (ALL, np.array([2**62])), (ALL, np.array([1.0])),
     (ALL, np.zeros((1, 6), int)), (ALL, np.array([None] * 6)), 5, None],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("shape", [(4, 6), (6,), (4, 1), (4, 2)])
def test_other_selections_are_refused(selection, shape):
    out = np.full(shape, 5, dtype="i4")
    with pytest.raises(REFUSED):
        decode(selection=selection, out=out)
    assert (out == 5).all()


@pytest.mark.parametrize("entry", [-1, np.array([-1, 0])], ids=repr)
def test_negative_index_is_numpys_or_refused(entry):
    expected = VALUES[entry]
    out = np.zeros(expected.shape, dtype="i4")
    try:
        decode(selection=(entry, ALL), out=out)
    except IndexError:
        return
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("entry", [slice(None, None, -1), slice(3, 0, -2)], ids=repr)
def test_falling_slice_is_numpys_or_refused(entry):
    expected = VALUES[entry]
    out = np.zeros(expected.shape, dtype="i4")
    try:
        decode(selection=(entry, ALL), out=out)
    except REFUSED:
        return
    assert np.array_equal(out, expected)


def test_empty_selection():
    out = np.zeros((0, 6), dtype="i4")
    decode(selection=(slice(2, 2), ALL), out=out)
    decode(selection=(np.zeros(0, int), ALL), out=out)


@pytest.mark.parametrize(
    "cut",
    [lambda base: base[2:6, 3:9], lambda base: base[2:6, 9:3:-1], lambda base: base[1:9:2, 0:12:2],
     lambda base: base[5:1:-1, 3:9], lambda base: base[:6, :4].T],
    ids=["inside", "falling", "stepped", "upside down", "transposed"],
)  # fmt: skip
def test_the_rest_of_a_larger_base_is_untouched(cut):
    out = Placed(random_items((10, 12), "i4", 1), cut)
    decode(out=out.view)
    assert np.array_equal(out.view, VALUES)
    assert out.untouched()


def test_chunk_dense_in_out():
    """Whole chunks whose place is contiguous may be decoded into it; their guards must hold."""
    for name in ("zstd", "blosc", "lz4", "gzip", "zlib", "crc32c"):
        chain = shard((6, 4), plain((2, 4), "<i4", name))
        values = np.arange(24, dtype="i4").reshape(6, 4)
        data = reference.encode_shard(values, reference.Program(chain, I4, FILL))
        base = np.full(24 + 16, 77, dtype="i4")
        out = base[8:-8].reshape(6, 4)
        kernels.decode_shard(data, kernels.Program(chain, I4, FILL), (ALL, ALL), out)
        assert np.array_equal(out, values)
        assert (base[:8] == 77).all()
        assert (base[-8:] == 77).all()


def test_out_over_its_own_data():
    """The shard's bytes change while they are read: refused, or no crash and no stray write."""
    data = bytearray(DATA) + bytearray(400)
    out = np.frombuffer(data, dtype="i4", count=24, offset=0).reshape(4, 6)
    with contextlib.suppress(ValueError):
        decode(data=memoryview(data)[: len(DATA)], out=out)
    assert not any(data[len(DATA) :])


# Buffers

BUFFERS = {
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "array": lambda data: np.frombuffer(data, dtype="u1"),
    "array of pairs": lambda data: np.frombuffer(data, dtype="u1").reshape(-1, 2),
    "array of int32": lambda data: np.frombuffer(data, dtype="i4"),
    "unaligned": lambda data: memoryview(b"x" + data)[1:],
}


@pytest.mark.parametrize("kind", BUFFERS)
def test_any_contiguous_buffer(kind):
    out = np.zeros((4, 6), dtype="i4")
    decode(data=BUFFERS[kind](DATA), out=out)
    assert np.array_equal(out, VALUES)


@pytest.mark.parametrize("step", [2, -1])
def test_strided_buffer_is_read_right_or_refused(step):
    doubled = np.repeat(np.frombuffer(DATA, "u1"), 2)[::2]
    view = doubled if step == 2 else np.frombuffer(DATA[::-1], "u1")[::-1]
    out = np.zeros((4, 6), dtype="i4")
    try:
        decode(data=view, out=out)
    except (*REFUSED, BufferError):
        assert not out.any()
    else:
        assert np.array_equal(out, VALUES)


def test_empty_buffer():
    for empty in (b"", bytearray(), np.zeros(0, "u1")):
        with pytest.raises(CorruptChunkError):
            decode(data=empty, out=np.zeros((4, 6), "i4"))


def test_released_memory_is_refused():
    view = memoryview(DATA)
    view.release()
    with pytest.raises(ValueError):
        decode(data=view, out=np.zeros((4, 6), "i4"))


def test_buffer_is_given_back():
    data = bytearray(DATA)
    decode(data=data, out=np.zeros((4, 6), "i4"))
    with pytest.raises(CorruptChunkError):
        decode(data=memoryview(data)[:-1], out=np.zeros((4, 6), "i4"))
    with pytest.raises(ValueError):
        decode(data=data, out=np.zeros((4, 5), "i4"))
    gc.collect()
    data.clear()


def test_program_outlives_its_description():
    chain = shard((4, 6), plain((2, 3), "<i4", "zstd"))
    data = reference.encode_shard(VALUES, reference.Program(chain, I4, FILL))
    program = kernels.Program(chain, I4, bytes(bytearray(FILL)))
    chain["shard"]["chain"]["filters"].clear()
    chain.clear()
    gc.collect()
    out = np.zeros((4, 6), dtype="i4")
    decode(data=data, program=program, out=out)
    assert np.array_equal(out, VALUES)


def test_many_threads_share_a_program(native):
    chain = shard((32, 32), plain((8, 8), "<i4", "zstd", "crc32c"))
    values = np.arange(1024, dtype="i4").reshape(32, 32)
    data = reference.encode_shard(values, reference.Program(chain, I4, FILL))
    program = kernels.Program(chain, I4, FILL)
    wrong = []

    def work():
        for i in range(50):
            out = np.zeros((32, 31), dtype="i4")
            kernels.decode_shard(data, program, (ALL, slice(i % 2, i % 2 + 31)), out)
            if not np.array_equal(out, values[:, i % 2 : i % 2 + 31]):
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


# Programs


BAD_CHAINS = {
    "no shape": {"order": None, "filters": [], "bytes": {"dtype": I4}},
    "neither": {"shape": (4,), "order": None, "filters": []},
    "both": {**shard((4,), TINY), "bytes": {"dtype": I4}},
    "negative side": plain((-4,), "<i4"),
    "inner does not divide": shard((5,), TINY),
    "inner larger": shard((2,), plain((4,), "<i4")),
    "other rank inside": shard((4, 4), TINY),
    "inner chain of other shape": {
        **shard((4,), TINY),
        "shard": {**shard((4,), TINY)["shard"], "chunk_shape": (4,)},
    },
    "inner of length 0": shard((4,), plain((0,), "<i4")),
    "inner not in the transposed frame": shard((4, 8), plain((4, 8), "<i4"), order=(1, 0)),
    "order of other rank": plain((4,), "<i4", order=(0, 1)),
    "order repeats": plain((4, 4), "<i4", order=(0, 0)),
    "order out of range": plain((4, 4), "<i4", order=(0, 2)),
    "order negative": plain((4, 4), "<i4", order=(0, -1)),
    "stored dtype of other size": shard((4,), plain((2,), "<i8")),
    "stored dtype of other kind": shard((4,), plain((2,), "<f4")),
    "unknown filter": {**plain((4,), "<i4"), "filters": [{"name": "rot13", "codec": None}]},
    "location": shard((4,), TINY, location="middle"),
    "byteorder": shard((4,), TINY, byteorder="pdp"),
    "checksums": shard((4,), TINY, checksums=-1),
    "index order": shard((4,), TINY, index_order=(0, 2)),
    "too large": shard((2**40, 2**40), plain((2**39, 2**39), "<i4")),
    "product wraps to small": shard((2**32, 2**32), plain((1, 1), "<i4")),
}


@pytest.mark.parametrize("name", BAD_CHAINS)
def test_bad_chains_are_refused(name):
    with pytest.raises((*REFUSED, KeyError)):
        kernels.Program(BAD_CHAINS[name], I4, FILL)


@pytest.mark.parametrize("fill", [b"", b"\0" * 3, b"\0" * 5, None, "abcd"], ids=repr)
def test_bad_fill_is_refused(fill):
    with pytest.raises(REFUSED):
        kernels.Program(CHAIN, I4, fill)


@pytest.mark.parametrize("dtype", [object, np.dtypes.StringDType(), "V0"], ids=str)
def test_bad_dtype_is_refused(dtype):
    dtype = np.dtype(dtype)
    with pytest.raises(REFUSED):
        kernels.Program(plain((4,), dtype), dtype, bytes(dtype.itemsize))


def test_items_whose_product_wraps():
    """2**66 bytes of chunk: each factor is harmless alone."""
    dtype = np.dtype("V65536")
    chain = shard((2**50,), plain((1,), dtype), checksums=0)
    with pytest.raises(REFUSED):
        program = kernels.Program(chain, dtype, bytes(65536))
        kernels.decode_shard(bytes(1024), program, (0,), np.zeros((), dtype=dtype))


def test_giant_chunk_of_absent_inner_chunks():
    """Nothing is allocated for what isn't there."""
    chain = shard((2**30, 2**20), plain((2**29, 2**19), "<i4"))
    data = reference.encode_index(np.full((2, 2, 2), ABSENT, dtype=np.uint64))
    try:
        found = read(data, chain, (2**30 - 1, slice(2**19 - 1, 2**19 + 1)))
    except (ValueError, MemoryError):
        return
    assert found.tolist() == [-7, -7]


def test_giant_inner_chunk_of_few_bytes():
    """A length that no memory holds is told by comparison, before anything is allocated."""
    chain = shard((2**30, 2**20), plain((2**29, 2**19), "<i4"))
    entries = np.full((2, 2, 2), ABSENT, dtype=np.uint64)
    entries[0, 0] = 0, 8
    data = bytes(8) + reference.encode_index(entries)
    with pytest.raises((ValueError, MemoryError)):
        read(data, chain, (0, 0))


def test_giant_compressed_inner_chunk_of_few_bytes(native):
    for name in ("zstd", "blosc", "lz4", "gzip", "zlib"):
        chain = shard((2**30, 2**20), plain((2**29, 2**19), "<i4", name))
        payload = bytes(filters(name)[0]["codec"].encode(bytes(64)))
        entries = np.full((2, 2, 2), ABSENT, dtype=np.uint64)
        entries[0, 0] = 0, len(payload)
        with pytest.raises((ValueError, MemoryError)):
            read(payload + reference.encode_index(entries), chain, (0, 0))
