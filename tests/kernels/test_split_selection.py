"""One large uncompressed chunk, or inner chunk, read by several threads: each takes a part of the selection."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from cyzarr import kernels
from cyzarr.errors import CorruptChunkError
from support.kernel_strategies import placed, plain, random_items, same_items, shard

# Enough bytes for a second thread to pay, in most selections.
SHAPE = (5, 60, 1000)
VALUES = random_items(SHAPE, "<u2", 1)
FILL = b"\x07\x00"
CHAINS = {
    "plain": plain(SHAPE, "<u2"),
    "swapped": plain(SHAPE, ">u2"),
    "transposed": plain(SHAPE, "<u2", order=(2, 0, 1)),
    "shard of one": shard(SHAPE, plain(SHAPE, "<u2")),
    "shard of two": shard(SHAPE, plain((5, 30, 1000), "<u2")),
}


def stored(chain):
    return reference.encode_shard(VALUES, reference.Program(chain, np.dtype("<u2"), FILL))


STORED = {name: stored(chain) for name, chain in CHAINS.items()}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("split") / "object"


def chunk_read(name, selection, out, points=False, path=None, data=None):
    data = STORED[name] if data is None else data
    one = kernels.ChunkRead(kernels.Program(CHAINS[name], "u2", FILL), selection, out, "key", points)
    if path is None:
        one.set_object(data)
    else:
        path.write_bytes(data)
        one.set_file(bytes(path))
    return one


def keys(size):
    """One axis of a selection that picks many items, or one."""
    step = st.sampled_from([None, 1, 2, 3, -1, -3])
    chosen = st.integers(0, 99).map(lambda seed: np.random.default_rng(seed).integers(0, size, size))
    return st.one_of(st.builds(slice, st.none(), st.none(), step), chosen, st.integers(0, size - 1))


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(sorted(CHAINS)),
    st.tuples(*map(keys, SHAPE)),
    st.integers(2, 6),
    st.booleans(),
    st.data(),
)
def test_any_selection(path, name, selection, threads, in_file, data):
    expected = reference.pick(VALUES, selection)
    out = data.draw(placed(expected.shape, np.dtype("u2")))
    kernels.run_reads([chunk_read(name, selection, out.view, path=path if in_file else None)], threads)
    assert same_items(out.view, expected)
    assert out.untouched()


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(sorted(CHAINS)), st.integers(1, 3_000), st.integers(2, 6), st.integers(0, 99))
def test_any_points(path, name, n, threads, seed):
    rng = np.random.default_rng(seed)
    selection = tuple(rng.integers(0, size, n) for size in SHAPE)
    out = np.full(n, 77, "u2")
    kernels.run_reads([chunk_read(name, selection, out, True, path)], threads)
    assert np.array_equal(out, VALUES[selection])


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_parts_are_made(name, path):
    """All of a chunk: a part for each of twice as many threads, where the first axis that allows it has so many."""
    everything = (slice(None),) * 3
    requests = []
    for threads in (1, 2):
        out = np.zeros(SHAPE, "u2")
        requests.append(kernels.run_reads([chunk_read(name, everything, out, path=path)], threads)["requests"])
        assert np.array_equal(out, VALUES)
    assert requests[1] > requests[0]


@pytest.mark.parametrize("name", ["shard of one", "shard of two"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_damage_is_found_whichever_part_finds_it(name, threads, path):
    damaged = bytearray(STORED[name])
    damaged[-6] ^= 1
    out = np.zeros(SHAPE, "u2")
    with pytest.raises(CorruptChunkError, match="checksum"):
        kernels.run_reads([chunk_read(name, (slice(None),) * 3, out, path=path, data=bytes(damaged))], threads)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_chunk_cut_short(threads, path):
    out = np.zeros(SHAPE, "u2")
    with pytest.raises(CorruptChunkError, match=f"{2 * VALUES.size} bytes"):
        kernels.run_reads([chunk_read("plain", (slice(None),) * 3, out, path=path, data=STORED["plain"][:-2])], threads)
