"""Large blosc containers cut by their blocks for several threads: equal to decoding them whole, whatever they are."""

import itertools
import random
import struct

import google_crc32c
import numcodecs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyzarr import kernels
from cyzarr.errors import CorruptChunkError
from cyzarr.kernels import decompress
from support.compare import Outcome
from support.kernel_strategies import random_items

CNAMES = ("blosclz", "lz4", "lz4hc", "zlib", "zstd")
# Offsets in blosc's header.
FLAGS, TYPESIZE, NBYTES, BLOCKSIZE, CBYTES, STARTS = 2, 3, 4, 8, 12, 16
LEAST = 2 << 20
HEAD = 2048


@pytest.fixture(autouse=True)
def blosc_in_one_thread(monkeypatch):
    monkeypatch.setattr(numcodecs.blosc, "use_threads", False)


def program(nbytes, dtype="u1", more=()):
    filters = [{"name": "blosc", "codec": numcodecs.Blosc()}, *more]
    chain = {
        "shape": (nbytes // np.dtype(dtype).itemsize,),
        "order": None,
        "filters": filters,
        "bytes": {"dtype": np.dtype(dtype)},
    }
    return kernels.Program(chain, np.dtype(dtype).newbyteorder("="), bytes(np.dtype(dtype).itemsize))


def encode(values, cname="lz4", shuffle=1, typesize=4, blocksize=0, clevel=5):
    return numcodecs.blosc.compress(
        values.tobytes(), cname.encode(), clevel, shuffle, blocksize=blocksize, typesize=typesize
    )


def give_memory(one, data, tmp_path):
    one.set_object(data)


def give_file(one, data, tmp_path):
    path = tmp_path / "chunk"
    path.write_bytes(data)
    one.set_file(bytes(path))


def give_fetched(one, data, tmp_path):
    one.set_parts([(0, data)])


def read(data, threads, give=give_memory, tmp_path=None, chain=None, nbytes=LEAST):
    """(values, counts) of a read of all of a chunk."""
    chain = chain or program(nbytes)
    out = np.full(chain.shape, 77, chain.dtype)
    one = kernels.ChunkRead(chain, (slice(None),), out, "key")
    give(one, data, tmp_path)
    counts = kernels.run_reads([one], threads)
    return out, counts


def starts(data):
    nbytes, blocksize = struct.unpack_from("<ii", data, NBYTES)
    return list(struct.unpack_from(f"<{-(-nbytes // blocksize)}i", data, STARTS))


def was_cut(counts):
    """The head, and what each part has; of one that can't be cut, the head and all."""
    return counts["requests"] > 2


def values_of(nbytes, seed, quiet):
    values = random_items((nbytes,), "u1", seed)
    values[: int(nbytes * quiet)] = 3
    return values


@settings(max_examples=40)
@given(data=st.data())
def test_any_container(tmp_path_factory, data):
    nbytes = LEAST + data.draw(st.sampled_from([0, 4, 1000, 100_000, 524_288, 524_292, 1 << 20]))
    values = values_of(nbytes, data.draw(st.integers(0, 99)), data.draw(st.sampled_from([0, 0.3, 0.97])))
    typesize = data.draw(st.sampled_from([1, 2, 4, 7, 8, 16, 17]))
    how = {
        "cname": data.draw(st.sampled_from(CNAMES)),
        "shuffle": data.draw(st.integers(0, 2)),
        "typesize": typesize,
        "blocksize": data.draw(st.sampled_from([0, 4096, 10_000, 65_536, 300_000, 524_288])),
        "clevel": data.draw(st.sampled_from([0, 1, 5])),
    }
    stored = encode(values, **how)
    threads = data.draw(st.integers(2, 5))
    give = data.draw(st.sampled_from([give_memory, give_file, give_fetched]))
    out, counts = read(stored, threads, give, tmp_path_factory.mktemp("split"), nbytes=nbytes)
    assert out.tobytes() == values.tobytes()
    assert counts["chunks_decoded"] == 1
    blocksize = struct.unpack_from("<i", stored, BLOCKSIZE)[0]
    raw = bool(stored[FLAGS] & 2)
    known = raw or STARTS + 4 * -(-nbytes // blocksize) <= HEAD
    if give is give_file:
        assert was_cut(counts) == (nbytes // blocksize >= 2 and known)


def test_what_each_thread_reads(tmp_path):
    values = values_of(LEAST, 1, 0.5)
    data = encode(values, typesize=1, blocksize=524_288)
    assert len(starts(data)) == 8
    for threads, requests in [(1, 1), (2, 3), (3, 4), (5, 6)]:
        out, counts = read(data, threads, give_file, tmp_path)
        assert out.tobytes() == values.tobytes()
        assert counts["requests"] == requests
        # The head is read twice over, and what stands before the blocks not again.
        assert counts["bytes_read"] == len(data) + (HEAD - STARTS - 4 * 8) * (threads > 1)
        assert counts["bytes_needed"] == len(data) - (STARTS + 4 * 8) * (threads > 1)


def test_small_ones_are_decoded_whole(tmp_path):
    values = values_of(LEAST - 4, 1, 0)
    out, counts = read(encode(values, blocksize=65_536), 2, give_file, tmp_path, nbytes=LEAST - 4)
    assert out.tobytes() == values.tobytes()
    assert counts["requests"] == 1


@pytest.mark.parametrize("dtype", ["<i4", ">i4"])
def test_items(tmp_path, dtype):
    """Of a foreign byte order, items aren't decoded into their places: then no part can be."""
    values = values_of(LEAST, 5, 0.5).view(dtype)
    out, counts = read(encode(values), 2, give_file, tmp_path, program(LEAST, dtype))
    assert np.array_equal(out, values)
    assert was_cut(counts) == values.dtype.isnative


def test_a_checksum_outside_is_not_cut_through(tmp_path):
    values = values_of(LEAST, 5, 0.5)
    data = encode(values)
    data += google_crc32c.value(data).to_bytes(4, "little")
    chain = program(LEAST, more=[{"name": "crc32c", "codec": None}])
    assert read(data, 2, give_file, tmp_path, chain)[0].tobytes() == values.tobytes()
    with pytest.raises(CorruptChunkError, match="checksum"):
        read(data[:-1] + bytes([data[-1] ^ 1]), 2, give_file, tmp_path, chain)


def test_a_missing_file(tmp_path):
    chain = program(LEAST, "<i4")
    out = np.full(chain.shape, 77, "<i4")
    one = kernels.ChunkRead(chain, (slice(None),), out, "key")
    one.set_file(bytes(tmp_path / "none"))
    counts = kernels.run_reads([one], 2)
    assert not out.any()
    assert one.missing
    assert counts["chunks_missing"] == 1


def test_read_again(tmp_path):
    """What the head said is forgotten."""
    first, second = values_of(LEAST, 1, 0), values_of(LEAST, 2, 0.5)
    out = np.zeros(LEAST, "u1")
    one = kernels.ChunkRead(program(LEAST), (slice(None),), out, "key")
    for values in (first, second, first):
        give_file(one, encode(values), tmp_path)
        assert kernels.run_reads([one], 2)["chunks_decoded"] == 1
        assert out.tobytes() == values.tobytes()


def test_several_objects_at_once(tmp_path):
    """Three chunks for two threads, each of them cut."""
    chain = program(LEAST)
    values = [values_of(LEAST, seed, 0.2) for seed in range(3)]
    out = np.zeros(3 * LEAST, "u1")
    reads = []
    for i, one in enumerate(values):
        read_ = kernels.ChunkRead(chain, (slice(None),), out[i * LEAST : (i + 1) * LEAST], f"key{i}")
        (tmp_path / str(i)).mkdir()
        give_file(read_, encode(one), tmp_path / str(i))
        reads.append(read_)
    counts = kernels.run_reads(reads, 2)
    assert counts["chunks_decoded"] == 3
    assert out.tobytes() == b"".join(one.tobytes() for one in values)


def test_table_off():
    values = values_of(LEAST, 1, 0.5)
    decompress.set_native(False)
    try:
        assert read(encode(values), 2)[0].tobytes() == values.tobytes()
    finally:
        decompress.set_native(True)


# Containers that c-blosc doesn't write, but reads


def assembled(data, blocks, order=None, junk=0):
    """The container with its blocks stored in another order, and bytes of no meaning between them."""
    bounds = [*starts(data), len(data)]
    stored = [data[a:b] for a, b in itertools.pairwise(bounds)]
    assert len(stored) == blocks
    at, table, body = STARTS + 4 * blocks, [0] * blocks, b""
    for block in order or range(blocks):
        body += bytes(junk)
        table[block] = at + len(body)
        body += stored[block]
    head = bytearray(data[:STARTS])
    struct.pack_into("<i", head, CBYTES, at + len(body))
    return bytes(head) + struct.pack(f"<{blocks}i", *table) + body


@pytest.mark.parametrize(
    ("order", "junk", "cut"), [(None, 5, True), ([1, 0, *range(2, 8)], 0, False), (range(7, -1, -1), 9, False)]
)
def test_blocks_elsewhere(tmp_path, order, junk, cut):
    values = values_of(LEAST, 1, 0.2)
    data = assembled(encode(values, typesize=1, blocksize=LEAST // 8), 8, order, junk)
    assert numcodecs.blosc.decompress(data) == values.tobytes()
    out, counts = read(data, 2, give_file, tmp_path)
    assert out.tobytes() == values.tobytes()
    assert was_cut(counts) == cut


def test_a_block_within_another(tmp_path):
    """The second block stands among the bytes of the first, which is stored as it is."""
    half = LEAST // 2
    second = np.full(half, 9, "u1")
    inner = numcodecs.lz4.compress(second)[4:]
    inner = len(inner).to_bytes(4, "little") + inner
    first = bytearray(values_of(half, 1, 0).tobytes())
    first[1000 : 1000 + len(inner)] = inner
    body = half.to_bytes(4, "little") + first
    head = struct.pack("<BBBBiii", 2, 1, 1 << 5 | 0x10, 1, LEAST, half, STARTS + 8 + len(body))
    data = head + struct.pack("<ii", STARTS + 8, STARTS + 8 + 4 + 1000) + body
    want = bytes(first) + second.tobytes()
    assert numcodecs.blosc.decompress(data) == want
    out, counts = read(data, 2, give_file, tmp_path)
    assert out.tobytes() == want
    assert was_cut(counts)


# Bytes that lie


def outcome(data, threads):
    return Outcome.of(lambda: read(data, threads)[0].tobytes())


def check_hostile(data):
    """The same values on two threads as on one, or the same error."""
    alone, cut = outcome(data, 1), outcome(data, 2)
    assert (alone.error is None) == (cut.error is None), (alone.error, cut.error)
    if alone.error is None:
        assert cut.value == alone.value
    else:
        assert type(cut.error) is CorruptChunkError
        assert str(cut.error) == str(alone.error)


SOURCES = [
    encode(values_of(LEAST, 1, 0.9)),
    encode(values_of(LEAST, 2, 0.9), "zstd", blocksize=100_000),
    encode(values_of(LEAST, 3, 0.95), "blosclz", 2, 8, blocksize=262_144),
    encode(values_of(LEAST, 4, 0), clevel=0),
]


@pytest.mark.parametrize("data", SOURCES, ids=range(len(SOURCES)))
def test_every_flip_of_the_head(data):
    for at in range(STARTS + 12):
        for bit in (0, 3, 7, None):
            flipped = bytearray(data)
            flipped[at] ^= 255 if bit is None else 1 << bit
            check_hostile(bytes(flipped))


def test_random_damage():
    rng = random.Random(5)
    for _ in range(300):
        data = bytearray(rng.choice(SOURCES))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(min(len(data), rng.choice((16, 80, len(data)))))
            data[at] = rng.choice((0, 255, 127, 128, rng.randrange(256)))
        check_hostile(bytes(data[: rng.choice((len(data), len(data), rng.randrange(len(data) + 1)))]))


def test_no_bytes_at_all():
    for nbytes in (0, 1, 15, 16, 20):
        check_hostile(SOURCES[0][:nbytes])
