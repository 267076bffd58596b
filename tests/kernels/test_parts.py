"""Parts of blosc and zstd chunks: equal to decoding all and picking, for any container; bytes that lie do no harm."""

import random
import struct

import google_crc32c
import numcodecs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from cyzarr import kernels
from cyzarr.errors import CorruptChunkError
from cyzarr.kernels import decompress
from support.kernel_strategies import random_items, selections

CNAMES = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
# Offsets in blosc's header.
FLAGS, TYPESIZE, NBYTES, BLOCKSIZE, CBYTES, STARTS = 2, 3, 4, 8, 12, 16


@pytest.fixture(autouse=True)
def blosc_in_one_thread(monkeypatch):
    monkeypatch.setattr(numcodecs.blosc, "use_threads", False)


def program(shape, dtype, checksums=0, order=None):
    filters = [{"name": "blosc", "codec": numcodecs.Blosc()}]
    filters += [{"name": "crc32c", "codec": None}] * checksums
    chain = {"shape": shape, "order": order, "filters": filters, "bytes": {"dtype": np.dtype(dtype)}}
    return kernels.Program(chain, np.dtype(dtype).newbyteorder("="), bytes(np.dtype(dtype).itemsize))


def encode(values, cname="lz4", shuffle=1, typesize=4, blocksize=256, clevel=5, checksums=0):
    data = numcodecs.blosc.compress(
        np.ascontiguousarray(values).tobytes(), cname.encode(), clevel, shuffle, blocksize=blocksize, typesize=typesize
    )
    for _ in range(checksums):
        data += google_crc32c.value(data).to_bytes(4, "little")
    return data


def pick(values, selection, points=False):
    return values[selection] if points else reference.pick(values, selection)


def read(data, chain, selection, points=False, dtype="i4"):
    shape = (len(selection[0]),) if points else reference.selected_shape(selection, chain.shape)
    out = np.full(shape, 77, dtype=dtype)
    one = kernels.ChunkRead(chain, selection, out, "key", points)
    one.set_object(data)
    kernels.run_reads([one])
    return out


@st.composite
def containers(draw):
    """Values that compress or don't, and the settings of the container that holds them."""
    shape = tuple(draw(st.lists(st.integers(1, 24), min_size=1, max_size=3)))
    dtype = draw(st.sampled_from(["u1", "<i2", ">i4", "<f8", "S3", "V17"]))
    values = random_items(shape, dtype, draw(st.integers(0, 2**32 - 1)))
    if draw(st.booleans()):
        values[: shape[0] // 2] = values.flat[0]
    how = {
        "cname": draw(st.sampled_from(CNAMES)),
        "shuffle": draw(st.integers(0, 2)),
        "typesize": draw(st.sampled_from([1, 2, 3, 4, 7, 8, 16, 17, 255, values.itemsize])),
        "blocksize": draw(st.sampled_from([0, 128, 256, 300, 1024, 4096])),
        "clevel": draw(st.sampled_from([0, 1, 5, 9])),
        "checksums": draw(st.integers(0, 2)),
    }
    return values, how


@settings(max_examples=200)
@given(containers(), st.data())
def test_any_selection_of_any_container(container, data):
    values, how = container
    order = tuple(data.draw(st.permutations(range(values.ndim))))
    chain = program(values.shape, values.dtype, how["checksums"], order)
    stored = encode(values.transpose(order), **how)
    native = values.dtype.newbyteorder("=")
    for _ in range(4):
        selection = data.draw(selections(values.shape, falling=True))
        expected = np.asarray(pick(values, selection)).astype(native)
        found = read(stored, chain, selection, dtype=native)
        assert found.tobytes() == expected.tobytes()
    n = data.draw(st.integers(1, 6))
    points = tuple(
        np.array(data.draw(st.lists(st.integers(0, extent - 1), min_size=n, max_size=n))) for extent in values.shape
    )
    found = read(stored, chain, points, points=True, dtype=native)
    assert found.tobytes() == values[points].astype(native).tobytes()


@settings(max_examples=200)
@given(st.integers(1, 5000), st.sampled_from(CNAMES), st.integers(0, 2), st.integers(1, 20), st.data())
def test_any_range(nbytes, cname, shuffle, typesize, data):
    values = random_items((nbytes,), "u1", nbytes) // data.draw(st.sampled_from([1, 64]))
    blocksize = data.draw(st.sampled_from([0, 128, 200, 512, 2000]))
    stored = encode(values, cname, shuffle, typesize, blocksize)
    first = data.draw(st.integers(0, nbytes))
    count = data.draw(st.integers(0, nbytes - first))
    if nbytes % typesize:
        with pytest.raises(RuntimeError):
            decompress.decode_blosc_part(stored, nbytes, first, count)
    else:
        found = decompress.decode_blosc_part(stored, nbytes, first, count)
        assert found == values.tobytes()[first : first + count]


def test_arguments_of_ranges():
    stored = encode(np.arange(100, dtype="i4"))
    for first, count in [(-1, 4), (0, 401), (400, 1), (0, -1), (2**62, 2**62)]:
        with pytest.raises(ValueError):
            decompress.decode_blosc_part(stored, 400, first, count)
    with pytest.raises(RuntimeError):
        decompress.decode_blosc_part(stored, 404, 0, 4)


# What is decoded

VALUES = (np.arange(4096, dtype="i4") // 3).reshape(64, 64)
CHAIN = program(VALUES.shape, "i4")


def damaged_block(data, block):
    """The container with all of a block's payload overwritten, its lengths as they were."""
    data = bytearray(data)
    start, stop = (struct.unpack_from("<i", data, STARTS + 4 * b)[0] for b in (block, block + 1))
    data[start + 4 : stop] = b"\xff" * (stop - start - 4)
    return bytes(data)


@pytest.mark.parametrize(
    ("selection", "points", "touched"),
    [
        ((slice(0, 1), slice(None)), False, {0}),
        ((5, 3), False, {1}),
        ((slice(8, 24), slice(None)), False, {2, 3, 4, 5}),
        ((slice(0, 64, 32), slice(None)), False, {0, 8}),
        ((np.array([0, 63]), slice(0, 9)), False, {0, 15}),
        ((np.array([63, 0]), slice(0, 9)), False, set(range(16))),
        ((np.array([0, 63]), np.array([5, 5])), True, {0, 15}),
        ((np.array([3, 4]), np.array([5, 5])), True, {0, 1}),
        ((slice(None), 5), False, set(range(16))),
        ((slice(0, 52), slice(0, 63)), False, set(range(16))),
    ],
    ids=str,
)
def test_blocks_that_are_decoded(selection, points, touched):
    """Damage is seen in the blocks that are needed alone; sixteen blocks of four rows."""
    stored = encode(VALUES, "zstd", blocksize=1024)
    assert struct.unpack_from("<i", stored, BLOCKSIZE)[0] == 1024
    expected = pick(VALUES, selection, points)
    seen = set()
    for block in range(15):
        try:
            assert np.array_equal(read(damaged_block(stored, block), CHAIN, selection, points), expected)
        except CorruptChunkError:
            seen.add(block)
    assert seen == touched - {15}


def test_lengths_are_always_checked():
    """A start or a length that lies is told, wherever it stands; so is a checksum."""
    stored = encode(VALUES, "zstd", blocksize=1024)
    selection = (slice(0, 1), slice(None))
    for at in (*range(STARTS, STARTS + 64, 4), CBYTES, NBYTES, BLOCKSIZE):
        for lie in (-1, 0, len(stored) + 1, 2**31 - 1):
            with pytest.raises(CorruptChunkError):
                read(stored[:at] + struct.pack("<i", lie) + stored[at + 4 :], CHAIN, selection)
    last = struct.unpack_from("<i", stored, STARTS + 60)[0]
    for lie in (-1, len(stored), 2**31 - 1):
        with pytest.raises(CorruptChunkError):
            read(stored[:last] + struct.pack("<i", lie) + stored[last + 4 :], CHAIN, selection)
    for n in range(0, len(stored), 7):
        with pytest.raises(CorruptChunkError):
            read(stored[:n], CHAIN, selection)
    checked = program(VALUES.shape, "i4", 1)
    summed = encode(VALUES, "zstd", blocksize=1024, checksums=1)
    assert np.array_equal(read(summed, checked, selection), VALUES[:1])
    for at in (len(summed) - 1, len(summed) - 5, len(summed) // 2, 0):
        with pytest.raises(CorruptChunkError):
            read(summed[:at] + bytes([summed[at] ^ 1]) + summed[at + 1 :], checked, selection)


def test_a_checksum_inside_is_not_cut_through():
    filters = [{"name": "crc32c", "codec": None}, {"name": "blosc", "codec": numcodecs.Blosc()}]
    chain = {"shape": (4096,), "order": None, "filters": filters, "bytes": {"dtype": np.dtype("i4")}}
    inside = VALUES.tobytes() + google_crc32c.value(VALUES.tobytes()).to_bytes(4, "little")
    for damage in (False, True):
        data = bytearray(inside)
        data[-9] ^= damage
        stored = encode(np.frombuffer(data, "u1"), "zstd", blocksize=1024)
        out = np.zeros(4, "i4")
        if damage:
            with pytest.raises(CorruptChunkError):
                kernels.decode_shard(stored, kernels.Program(chain, np.dtype("i4"), bytes(4)), (slice(4),), out)
        else:
            kernels.decode_shard(stored, kernels.Program(chain, np.dtype("i4"), bytes(4)), (slice(4),), out)
            assert out.tolist() == VALUES.ravel()[:4].tolist()


def test_table_off():
    decompress.set_native(False)
    try:
        with pytest.raises(RuntimeError):
            decompress.decode_blosc_part(encode(VALUES), VALUES.nbytes, 0, 4)
        assert np.array_equal(read(encode(VALUES), CHAIN, (slice(1), slice(None))), VALUES[:1])
    finally:
        decompress.set_native(True)


# Bytes that lie

SMALL = (np.arange(600, dtype="i4") // 3).reshape(30, 20)
SMALL_CHAIN = program(SMALL.shape, "i4")
SELECTIONS = [((slice(7, 9), slice(None)), False), ((slice(0, 30, 15), 3), False), ((np.array([1, 29]),) * 2, True)]
SELECTIONS[2] = ((np.array([1, 29]), np.array([0, 19])), True)


def check_hostile(data):
    """An error, or what decoding all of it gives where that is right: in the picked items alone."""
    for selection, points in SELECTIONS:
        try:
            found = read(data, SMALL_CHAIN, selection, points)
        except CorruptChunkError:
            continue
        try:
            whole = np.frombuffer(decompress.decode("blosc", data, SMALL.nbytes), "i4").reshape(SMALL.shape)
        except ValueError:
            continue
        assert np.array_equal(found, pick(whole, selection, points))


def hostile_sources():
    for cname in CNAMES:
        for shuffle, typesize, blocksize in [(1, 4, 512), (2, 4, 256), (0, 2, 300), (1, 8, 1024)]:
            yield encode(SMALL, cname, shuffle, typesize, blocksize)
    yield encode(SMALL, clevel=0)
    yield encode(random_items(SMALL.shape, "i4", 1))


def test_every_flip_of_lengths():
    """Header, starts of blocks, and the first length: every bit."""
    for data in hostile_sources():
        starts = STARTS + 4 * (SMALL.nbytes // struct.unpack_from("<i", data, BLOCKSIZE)[0] + 1) + 4
        for at in range(min(starts, len(data))):
            for bit in (*range(8), None):
                flipped = bytearray(data)
                flipped[at] ^= 255 if bit is None else 1 << bit
                check_hostile(bytes(flipped))


def test_random_damage():
    rng = random.Random(3)
    sources = list(hostile_sources())
    for _ in range(4000):
        data = bytearray(rng.choice(sources))
        for _ in range(rng.randint(1, 5)):
            at = rng.randrange(min(len(data), rng.choice((16, 80, 10_000))))
            data[at] = rng.choice((0, 255, 127, 128, rng.randrange(256)))
        check_hostile(bytes(data[: rng.choice((len(data), rng.randrange(len(data) + 1)))]))


# zstd: a frame is decoded until what is picked ends


def zstd_program(shape, dtype="i4", checksums=0, order=None):
    filters = [{"name": "zstd", "codec": numcodecs.Zstd()}] + [{"name": "crc32c", "codec": None}] * checksums
    chain = {"shape": shape, "order": order, "filters": filters, "bytes": {"dtype": np.dtype(dtype)}}
    return kernels.Program(chain, np.dtype(dtype).newbyteorder("="), bytes(np.dtype(dtype).itemsize))


ROWS = random_items((256, 1024), "i4", 3)  # of 8 blocks, of 32 rows each


def frame(values=ROWS, level=1, checksum=False, checksums=0):
    data = numcodecs.Zstd(level, checksum=checksum).encode(np.ascontiguousarray(values))
    for _ in range(checksums):
        data += google_crc32c.value(data).to_bytes(4, "little")
    return bytes(data)


def spoilt(data, last):
    """The frame with the payloads of its last blocks overwritten, its lengths as they were."""
    data, at, blocks = bytearray(data), 4 + 1 + 1 + 4, []
    assert data[4] == 0x80  # of known length, in four bytes; a window, no checksum
    while True:
        header = int.from_bytes(data[at : at + 3], "little")
        kind, nbytes = header >> 1 & 3, header >> 3
        assert kind in (0, 2)
        blocks.append((at + 3, nbytes, kind))
        at += 3 + nbytes
        if header & 1:
            break
    assert at == len(data)
    for start, nbytes, _ in blocks[-last:]:
        data[start : start + nbytes] = b"\xff" * nbytes
    return bytes(data), len(blocks)


COMPRESSIBLE = (np.arange(1 << 18, dtype="i4") // 3).reshape(256, 1024)


@pytest.mark.parametrize(
    ("selection", "points", "first_spoilt"),
    [
        ((slice(0, 1), slice(None)), False, 1),
        ((31, 1023), False, 1),
        ((32, 0), False, 2),
        ((slice(100, 20, -7), slice(5, 6)), False, 4),
        ((np.array([70, 3]), np.array([0, 9])), False, 3),
        ((np.array([70, 3]), np.array([0, 9])), True, 3),
        ((slice(192, 224), slice(None)), False, 7),
        ((slice(224, 225), slice(None)), False, 8),
        ((slice(None), 5), False, 8),
    ],
)
def test_zstd_stops(selection, points, first_spoilt):
    """Blocks after the last that is needed may be anything; all that are needed are decoded."""
    good = frame(COMPRESSIBLE)
    want = pick(COMPRESSIBLE, selection, points)
    chain = zstd_program(COMPRESSIBLE.shape)
    assert np.array_equal(read(good, chain, selection, points), want)
    for last in range(1, 8):
        data, blocks = spoilt(good, last)
        assert blocks == 8
        if 8 - last >= first_spoilt:
            assert np.array_equal(read(data, chain, selection, points), want)
        else:
            with pytest.raises(CorruptChunkError, match="zstd"):
                read(data, chain, selection, points)


@settings(max_examples=60)
@given(st.data())
def test_any_selection_of_any_frame(data):
    shape = data.draw(st.sampled_from([(300_000,), (90, 2000), (2000, 90), (70, 60, 50)]))
    dtype = data.draw(st.sampled_from(["u1", "<i2", ">i4", "<f8", "V3"]))
    values = random_items(shape, dtype, data.draw(st.integers(0, 99)))
    if data.draw(st.booleans()):
        values[: shape[0] // 2] = values.flat[0]
    order = data.draw(st.sampled_from([None, tuple(reversed(range(len(shape))))]))
    checksums = data.draw(st.integers(0, 2))
    stored = values if order is None else values.transpose(order)
    chunk = frame(stored, data.draw(st.sampled_from([-1, 1, 9])), data.draw(st.booleans()), checksums)
    chain = zstd_program(shape, dtype, checksums, order)
    points = data.draw(st.booleans())
    if points:
        count = data.draw(st.integers(1, 6))
        selection = tuple(
            np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=count, max_size=count))) for n in shape
        )
    else:
        selection = data.draw(selections(shape))
    found = read(chunk, chain, selection, points, np.dtype(dtype).newbyteorder("="))
    assert found.tobytes() == pick(values.astype(found.dtype), selection, points).tobytes()


def test_what_zstd_decodes_whole():
    """A checksum of all, several frames, a length that isn't told, bytes that follow: nothing is overlooked."""
    chain, selection = zstd_program(COMPRESSIBLE.shape), (slice(0, 1), slice(None))
    checked = bytearray(frame(COMPRESSIBLE, checksum=True))
    checked[-1] ^= 1
    with pytest.raises(CorruptChunkError, match="zstd"):
        read(bytes(checked), chain, selection)
    two = frame(COMPRESSIBLE[:128]) + frame(COMPRESSIBLE[128:])
    assert np.array_equal(read(two, chain, selection), COMPRESSIBLE[:1])
    with pytest.raises(CorruptChunkError, match="zstd"):
        read(two[:-1], chain, selection)
    good = frame(COMPRESSIBLE)
    for bad in (good[:-1], good + b"\0", good + good, good[: len(good) // 2]):
        with pytest.raises(CorruptChunkError, match=r"zstd|bytes"):
            read(bad, chain, selection)
    with pytest.raises(CorruptChunkError):
        read(frame(COMPRESSIBLE[:-1]), chain, selection)


def test_checksums_around_zstd_are_verified():
    chain = zstd_program(COMPRESSIBLE.shape, checksums=1)
    data = bytearray(frame(COMPRESSIBLE, checksums=1))
    assert np.array_equal(read(bytes(data), chain, (0, slice(None))), COMPRESSIBLE[0])
    data[-2] ^= 1
    with pytest.raises(CorruptChunkError, match="checksum"):
        read(bytes(data), chain, (0, slice(None)))


def test_zstd_with_the_table_off():
    decompress.set_native(False)
    try:
        chain = zstd_program(COMPRESSIBLE.shape)
        assert np.array_equal(read(frame(COMPRESSIBLE), chain, (slice(1), slice(None))), COMPRESSIBLE[:1])
    finally:
        decompress.set_native(True)


def check_hostile_frame(data, chain, selection):
    """As for blosc: an error, or what decoding all of it gives where that is right."""
    try:
        found = read(data, chain, selection)
    except CorruptChunkError:
        return
    try:
        whole = np.frombuffer(decompress.decode("zstd", data, COMPRESSIBLE.nbytes), "i4").reshape(COMPRESSIBLE.shape)
    except ValueError:
        return
    assert np.array_equal(found, pick(whole, selection))


def test_random_damage_of_frames():
    rng = random.Random(7)
    chain = zstd_program(COMPRESSIBLE.shape)
    sources = [frame(COMPRESSIBLE), frame(ROWS), frame(COMPRESSIBLE, 9, True), frame(ROWS // 1000, 3)]
    for _ in range(600):
        data = bytearray(rng.choice(sources))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(min(len(data), rng.choice((12, 200, len(data)))))
            data[at] = rng.choice((0, 255, 127, 128, rng.randrange(256)))
        data = bytes(data[: rng.choice((len(data), len(data), rng.randrange(len(data) + 1)))])
        check_hostile_frame(data, chain, (slice(0, rng.choice((1, 60, 200))), slice(3, 900, 7)))
