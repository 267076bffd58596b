"""decode_index: every way an index can be stored, and every way it can lie."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from cyzarr import kernels
from cyzarr.errors import CorruptChunkError

ABSENT = reference.ABSENT
REFUSED = (TypeError, ValueError, OverflowError)


def test_crc32c_of_the_twin():
    """The check value of the algorithm's catalogue, and of 32 zeros (RFC 3720)."""
    assert reference.crc32c(b"123456789") == 0xE3069283
    assert reference.crc32c(bytes(32)) == 0x8A9136AA


@st.composite
def indexes(draw):
    """(entries, options, size): an index that tells the truth about an object of ``size``."""
    counts = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
    size = draw(st.integers(0, 2**40))
    entry = st.one_of(
        st.just((ABSENT, ABSENT)),
        st.integers(0, size).flatmap(lambda o: st.tuples(st.just(o), st.integers(0, size - o))),
    )
    n = math.prod(counts)
    pairs = draw(st.lists(entry, min_size=n, max_size=n))
    entries = np.array(pairs, dtype=np.uint64).reshape(*counts, 2)
    options = {
        "byteorder": draw(st.sampled_from(["little", "big"])),
        "checksums": draw(st.integers(0, 3)),
        "order": draw(st.none() | st.permutations(range(len(counts) + 1)).map(tuple)),
    }
    return entries, options, size


@settings(deadline=None)
@given(indexes(), st.booleans())
def test_equals_what_was_written(arguments, checked):
    entries, options, size = arguments
    data = reference.encode_index(entries, **options)
    size = size if checked else None
    found = kernels.decode_index(data, entries.shape[:-1], size=size, **options)
    twin = reference.decode_index(data, entries.shape[:-1], size=size, **options)
    assert found.dtype == np.uint64
    assert found.shape == entries.shape
    assert np.array_equal(found, entries)
    assert np.array_equal(twin, entries)


def test_order_is_no_inverse():
    """An order that isn't its own inverse, so that applying it backwards shows."""
    entries = np.arange(2 * 3 * 2, dtype=np.uint64).reshape(2, 3, 2)
    for order in [(1, 2, 0), (2, 0, 1)]:
        data = entries.transpose(order).astype("<u8").tobytes()
        found = kernels.decode_index(data, (2, 3), checksums=0, order=order)
        assert np.array_equal(found, entries)


def index(*pairs, checksums=0, byteorder="little"):
    entries = np.array(pairs, dtype=np.uint64)
    return reference.encode_index(entries, checksums=checksums, byteorder=byteorder)


LIES = {
    "offset behind the object": (1000, 8),
    "offset at the end": (96, 8),
    "offset one too far": (89, 8),
    "length one too long": (88, 9),
    "offset of 2**63": (2**63, 8),
    "sum wraps": (2**64 - 8, 16),
    "sum wraps to 0": (2**64 - 8, 8),
    "offset absent, length not": (ABSENT, 8),
    "offset absent, length 0": (ABSENT, 0),
    "length absent, offset not": (0, ABSENT),
    "length one below absent": (0, ABSENT - 1),
    "both one below absent": (ABSENT - 1, ABSENT - 1),
    "length of 2**63": (0, 2**63),
    "empty behind the object": (97, 0),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_lies_are_told(lie, place, byteorder):
    pairs = [(64, 8), (72, 8), (ABSENT, ABSENT), (80, 8)]
    pairs[place] = LIES[lie]
    data = index(*pairs, byteorder=byteorder)
    options = {"checksums": 0, "byteorder": byteorder, "size": 96}
    with pytest.raises(CorruptChunkError):
        kernels.decode_index(data, (4,), **options)
    with pytest.raises(reference.CorruptChunkError):
        reference.decode_index(data, (4,), **options)


def test_error_names_the_entry():
    data = index((0, 8), (0, 8), (0, 8), (1000, 24), (0, 8), (0, 8))
    with pytest.raises(CorruptChunkError) as caught:
        kernels.decode_index(data, (2, 3), checksums=0, size=96)
    message = str(caught.value)
    for part in ("(1, 0)", "1000", "24", "96"):
        assert part in message


def test_entries_up_to_the_last_byte():
    data = index((88, 8), (96, 0), (0, 96), (0, 0))
    found = kernels.decode_index(data, (4,), checksums=0, size=96)
    assert found.tolist() == [[88, 8], [96, 0], [0, 96], [0, 0]]


@pytest.mark.parametrize("nbytes", [0, 4, 7, 9, 16])
def test_fixed_length(nbytes):
    data = index((0, 8), (8, nbytes), (ABSENT, ABSENT))
    with pytest.raises(CorruptChunkError):
        kernels.decode_index(data, (3,), checksums=0, size=96, chunk_nbytes=8)
    with pytest.raises(CorruptChunkError):
        kernels.decode_index(data, (3,), checksums=0, chunk_nbytes=8)


def test_fixed_length_and_absent():
    data = index((0, 8), (ABSENT, ABSENT))
    found = kernels.decode_index(data, (2,), checksums=0, size=8, chunk_nbytes=8)
    assert found.tolist() == [[0, 8], [ABSENT, ABSENT]]


def test_empty_object_of_absent_chunks():
    data = index((ABSENT, ABSENT), (ABSENT, ABSENT))
    found = kernels.decode_index(data, (2,), checksums=0, size=0)
    assert found.tolist() == [[ABSENT, ABSENT]] * 2


@pytest.mark.parametrize("checksums", [1, 2])
@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_every_flipped_bit_is_found(checksums, byteorder):
    data = index((0, 8), (8, 8), checksums=checksums, byteorder=byteorder)
    for position in range(8 * len(data)):
        damaged = bytearray(data)
        damaged[position // 8] ^= 1 << position % 8
        with pytest.raises(CorruptChunkError):
            kernels.decode_index(damaged, (2,), checksums=checksums, byteorder=byteorder)


@pytest.mark.parametrize("checksums", [0, 1, 2])
def test_every_other_length_is_refused(checksums):
    data = index((0, 8), (8, 8), checksums=checksums)
    for n in range(len(data)):
        with pytest.raises(CorruptChunkError):
            kernels.decode_index(data[:n], (2,), checksums=checksums)
    for extra in (1, 4, 16):
        with pytest.raises(CorruptChunkError):
            kernels.decode_index(data + bytes(extra), (2,), checksums=checksums)


def test_checksum_is_little_endian_in_a_big_endian_index():
    data = index((0, 8), checksums=1, byteorder="big")
    swapped = data[:-4] + data[:-5:-1]
    kernels.decode_index(data, (1,), byteorder="big")
    with pytest.raises(CorruptChunkError):
        kernels.decode_index(swapped, (1,), byteorder="big")


@pytest.mark.parametrize(
    "counts",
    [(2**32, 2**32), (2**31, 2**31, 4), (2**60,), (2**63,), (2**64,), (2**62, 2**62, 2**62)],
)
def test_product_overflow_is_refused(counts):
    """A product that wraps to the length of what was given must not be believed."""
    for nbytes in (0, 4, 16, 20):
        with pytest.raises(REFUSED):
            kernels.decode_index(bytes(nbytes), counts, checksums=nbytes % 16 // 4)


@pytest.mark.parametrize("counts", [(-1,), (-1, -1), (1.5,), None, "1", 1.0], ids=repr)
def test_bad_counts_are_refused(counts):
    with pytest.raises(REFUSED):
        kernels.decode_index(bytes(16), counts, checksums=0)


def test_no_inner_chunks():
    """No shard is without inner chunks, so this may be refused."""
    for counts in [(0,), (2, 0, 3)]:
        with contextlib.suppress(REFUSED):
            assert kernels.decode_index(b"", counts, checksums=0).shape == (*counts, 2)


@pytest.mark.parametrize(
    "options",
    [{"byteorder": "middle"}, {"byteorder": None}, {"checksums": -1}, {"checksums": 2**62},
     {"checksums": None}, {"order": (0,)}, {"order": (0, 0)}, {"order": (0, 2)},
     {"order": (0, -1)}, {"order": (0, 1, 2)}, {"order": "01"}, {"size": -1}, {"chunk_nbytes": -1},
     {"size": "9"}],
    ids=repr,
)  # fmt: skip
def test_bad_options_are_refused(options):
    with pytest.raises(REFUSED):
        kernels.decode_index(index((0, 8)), (1,), **{"checksums": 0, **options})


BUFFERS = {
    "bytes": bytes,
    "bytearray": bytearray,
    "memoryview": memoryview,
    "uint8 array": lambda data: np.frombuffer(data, dtype="u1"),
    "read-write array": lambda data: np.frombuffer(data, dtype="u1").copy(),
    "unaligned": lambda data: memoryview(b"x" + data)[1:],
}


@pytest.mark.parametrize("kind", BUFFERS)
def test_any_buffer(kind):
    data = index((0, 8), (8, 8), checksums=1)
    found = kernels.decode_index(BUFFERS[kind](data), (2,))
    assert found.tolist() == [[0, 8], [8, 8]]


def test_strided_buffer_is_read_right_or_refused():
    data = index((0, 8), (8, 8), checksums=1)
    doubled = np.repeat(np.frombuffer(data, dtype="u1"), 2)[::2]
    try:
        found = kernels.decode_index(doubled, (2,))
    except (*REFUSED, BufferError):
        return
    assert found.tolist() == [[0, 8], [8, 8]]


@pytest.mark.parametrize("data", [None, 16, "x" * 16, [0] * 16], ids=repr)
def test_what_is_no_buffer_is_refused(data):
    with pytest.raises(REFUSED):
        kernels.decode_index(data, (1,), checksums=0)


def test_released_memory_is_refused():
    view = memoryview(index((0, 8)))
    view.release()
    with pytest.raises(REFUSED):
        kernels.decode_index(view, (1,), checksums=0)


def test_buffer_is_given_back():
    """A held export would forbid to resize the bytearray, after an error too."""
    data = bytearray(index((0, 8)))
    found = kernels.decode_index(data, (1,), checksums=0)
    with pytest.raises(CorruptChunkError):
        kernels.decode_index(data, (1,), checksums=0, size=4)
    data.clear()
    assert found.tolist() == [[0, 8]]


def test_result_is_a_copy():
    data = bytearray(index((0, 8)))
    found = kernels.decode_index(data, (1,), checksums=0)
    data[:] = bytes(len(data))
    assert found.tolist() == [[0, 8]]
    assert found.flags.writeable
