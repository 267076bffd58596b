"""The cache of shard indexes: used while the file is unchanged, never else; bounded; safe across threads and forks."""

import os
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from cyzarr import kernels
from cyzarr.errors import CorruptChunkError
from cyzarr.kernels import indexcache
from support.filesystems import skip_without_local_clock
from support.kernel_strategies import plain, shard

I4 = np.dtype("i4")
FILL = np.int32(-7).tobytes()
INNER = 8
N = 64
CHAIN = shard((N * INNER,), plain((INNER,), "<i4"))
INDEX_NBYTES = 16 * N + 4
MIB = 1 << 20


@pytest.fixture(autouse=True)
def cache():
    """On, empty, and for indexes of any size."""
    least = indexcache._set_least_nbytes(0)
    bound = indexcache.index_cache_nbytes()
    indexcache.set_index_cache(0)
    indexcache.set_index_cache(MIB)
    yield
    indexcache._set_least_nbytes(least)
    indexcache.set_index_cache(bound)


def encoded(first=0, chain=CHAIN, gap=0):
    """A shard of first, first + 1, ..., with a gap before its index."""
    values = np.arange(first, first + chain["shape"][0], dtype="i4")
    data = reference.encode_shard(values, reference.Program(chain, I4, FILL))
    body = 4 * chain["shape"][0]
    return data[:body] + bytes(gap) + data[body:] if gap else data


def settle():
    """Wait until a file that was just written counts as old."""
    time.sleep(0.06)


def write(path, data, settled=True):
    path.write_bytes(data)
    if settled:
        settle()
    return path


def read_at(path, at=0, chain=CHAIN):
    """(item, counts) of one read of the shard in a file."""
    out = np.zeros((), dtype="i4")
    one = kernels.ChunkRead(kernels.Program(chain, I4, FILL), (at,), out, "key")
    one.set_file(os.fsencode(path))
    stats = kernels.run_reads([one])
    return int(out), stats


def hits(stats):
    return stats["index_hits"], stats["index_misses"]


@pytest.fixture
def path(tmp_path):
    skip_without_local_clock(tmp_path)
    return tmp_path / "shard"


def test_second_read_finds_it(path):
    write(path, encoded())
    value, first = read_at(path, 9)
    assert (value, hits(first), first["requests"]) == (9, (0, 1), 2)
    assert first["bytes_needed"] == INDEX_NBYTES + 4
    for at in (0, 9, 500):
        value, again = read_at(path, at)
        assert (value, hits(again), again["requests"]) == (at, (1, 0), 1)
        assert again["bytes_read"] == again["bytes_needed"] == 4
    held = indexcache.index_cache()
    assert held.indexes == 1
    assert INDEX_NBYTES < held.nbytes < INDEX_NBYTES + 500


def test_replaced_by_rename(path):
    write(path, encoded())
    read_at(path)
    other = write(path.with_name("new"), encoded(1000, gap=100))
    os.replace(other, path)
    settle()
    value, stats = read_at(path, 3)
    assert (value, hits(stats)) == (1003, (0, 1))
    assert hits(read_at(path)[1]) == (1, 0)


def test_changed_in_place(path):
    """Same inode, same size: the payloads change places."""
    write(path, encoded())
    read_at(path)
    body = np.frombuffer(encoded()[:-INDEX_NBYTES], "i4").reshape(N, INNER)[::-1]
    index = reference.encode_index([[4 * INNER * (N - 1 - i), 4 * INNER] for i in range(N)])
    with path.open("r+b") as file:
        file.write(body.tobytes() + index)
    for settled in (False, True):
        if settled:
            settle()
        value, stats = read_at(path, 11)
        assert (value, hits(stats)) == (11, (0, 1))
    assert hits(read_at(path)[1]) == (1, 0)


def test_older_time_of_modification_does_not_hide_a_change(path):
    """Change times can't be set, as times of modification can."""
    write(path, encoded())
    read_at(path)
    before = path.stat()
    path.write_bytes(encoded(50))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    value, stats = read_at(path, 3)
    assert (value, hits(stats)) == (53, (0, 1))


def test_young_files_are_not_kept(path):
    for _ in range(3):
        written = time.monotonic()
        write(path, encoded(), settled=False)
        value, stats = read_at(path, 5)
        held = indexcache.index_cache().indexes
        if time.monotonic() - written < 0.015:
            break
    else:
        pytest.skip("too slow a machine to read a file while it is young")
    assert (value, hits(stats), held) == (5, (0, 1), 0)
    settle()
    read_at(path, 5)
    assert hits(read_at(path)[1]) == (1, 0)


def test_off(path):
    write(path, encoded())
    read_at(path)
    indexcache.set_index_cache(0)
    assert indexcache.index_cache() == (0, 0, 0)
    for _ in range(2):
        value, stats = read_at(path, 5)
        assert (value, hits(stats), stats["requests"]) == (5, (0, 0), 2)


def test_small_indexes_are_read_again(path):
    write(path, encoded())
    indexcache._set_least_nbytes(INDEX_NBYTES + 1)
    for _ in range(2):
        assert hits(read_at(path)[1]) == (0, 0)
    indexcache._set_least_nbytes(INDEX_NBYTES)
    read_at(path)
    assert hits(read_at(path)[1]) == (1, 0)


@pytest.mark.parametrize("bound", [-1, -MIB, 2**70, "1", None, 1.5])
def test_bounds_that_are_none(bound):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        indexcache.set_index_cache(bound)
    assert indexcache.index_cache_nbytes() == MIB


def test_bounded_and_the_least_lately_used_go(path):
    files = [path.with_name(str(i)) for i in range(8)]
    for i, file in enumerate(files):
        write(file, encoded(1000 * i), settled=False)
    settle()
    read_at(files[0])
    each = indexcache.index_cache().nbytes
    indexcache.set_index_cache(3 * each + 7)
    for file in files[1:]:
        read_at(file)
        assert hits(read_at(files[0])[1]) == (1, 0), "used all along"
        assert indexcache.index_cache().nbytes <= 3 * each
    assert indexcache.index_cache().indexes == 3
    assert hits(read_at(files[7])[1]) == (1, 0)
    assert hits(read_at(files[6])[1]) == (1, 0)
    assert hits(read_at(files[5])[1]) == (0, 1)
    # A smaller bound takes effect at once, and keeps those that were used last.
    indexcache.set_index_cache(each)
    assert indexcache.index_cache() == (each, each, 1)
    assert hits(read_at(files[5])[1]) == (1, 0)
    # One byte less than one index: none.
    indexcache.set_index_cache(each - 1)
    assert [hits(read_at(files[5])[1]) for _ in range(2)] == [(0, 0)] * 2


def test_corrupt_indexes_are_not_kept(path):
    data = bytearray(encoded())
    data[-3] ^= 1
    write(path, data)
    for _ in range(3):
        with pytest.raises(CorruptChunkError, match="shard index is corrupt"):
            read_at(path)
    assert indexcache.index_cache().indexes == 0


def test_another_program_reads_its_own(path):
    """The same bytes, as shards of other inner chunks and indexes."""
    chains = [
        CHAIN,
        shard((N * INNER,), plain((INNER,), "<i4"), checksums=0),
        shard((4 * INNER,), plain((INNER,), "<i4")),
        shard((4 * INNER,), plain((INNER,), "<i4"), location="start"),
    ]
    write(path, encoded())
    fresh = []
    for chain in chains:
        indexcache.set_index_cache(0)
        fresh.append(outcome(path, chain))
        indexcache.set_index_cache(MIB)
    for _ in range(2):
        assert [outcome(path, chain) for chain in chains] == fresh
    assert fresh[0] == 3


def outcome(path, chain):
    try:
        return read_at(path, 3, chain)[0]
    except CorruptChunkError as error:
        return str(error)


def test_nested_shards(path):
    """Each level's index is found by its place in the file."""
    inner = shard((4,), plain((2,), "<i4"))
    chain = shard((16,), inner)
    write(path, encoded(chain=chain))
    assert hits(read_at(path, 5, chain)[1]) == (0, 2)
    assert hits(read_at(path, 5, chain)[1]) == (2, 0)
    assert hits(read_at(path, 9, chain)[1]) == (1, 1)
    assert [read_at(path, at, chain)[0] for at in range(16)] == list(range(16))


def test_points_and_many_chunks(path):
    write(path, encoded())
    program = kernels.Program(CHAIN, I4, FILL)
    at = np.array([500, 3, 3, 77])
    for turn in range(2):
        for points in (False, True):
            out = np.zeros(4, dtype="i4")
            one = kernels.ChunkRead(program, (at,), out, "key", points)
            one.set_file(os.fsencode(path))
            stats = kernels.run_reads([one], threads=2)
            assert out.tolist() == at.tolist()
            assert hits(stats) == ((1, 0) if turn or points else (0, 1))


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 20), st.booleans()), max_size=12), st.integers(1, 6))
def test_any_history_reads_what_is_there(tmp_path_factory, steps, room):
    """Files written anew in two ways between reads, with room for some of them only."""
    folder = tmp_path_factory.mktemp("history")
    small = shard((8,), plain((2,), "<i4"))
    indexcache.set_index_cache(room * 250)
    firsts = {}
    for k, first, rename in steps:
        file = folder / str(k)
        target = folder / "new" if rename else file
        target.write_bytes(encoded(first, small, 4 * (first % 3)))
        if rename:
            os.replace(target, file)
        firsts[k] = first
        if first % 4 == 0:
            time.sleep(0.03)
        for _ in range(2):
            for one, expected in firsts.items():
                assert read_at(folder / str(one), 6, small)[0] == expected + 6
        assert indexcache.index_cache().nbytes <= room * 250


def test_threads(path):
    """Readers of many files, a bound that changes and files that are replaced."""
    files = [path.with_name(str(i)) for i in range(6)]
    for i, file in enumerate(files):
        write(file, encoded(1000 * i), settled=False)
    settle()
    wrong, stop = [], threading.Event()

    def work(seed):
        rng = np.random.default_rng(seed)
        while not stop.is_set():
            i, at = int(rng.integers(6)), int(rng.integers(N * INNER))
            value, _ = read_at(files[i], at)
            if value % 100_000 != 1000 * i + at:
                wrong.append((i, at, value))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(40):
        indexcache.set_index_cache((0, 2000, 4000, MIB)[turn % 4])
        new = path.with_name("new")
        new.write_bytes(encoded(100_000 * turn + 1000 * (turn % 6), gap=turn))
        os.replace(new, files[turn % 6])
        time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join(60)
    assert not wrong
    assert indexcache.index_cache().nbytes <= MIB


def test_fork(path):
    """A child finds what the parent had, at any moment of the parent's reads, and keeps its own from then on."""
    write(path, encoded())
    read_at(path)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            read_at(path, 5)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                right = read_at(path, 7)[0] == 7 and hits(read_at(path, 8)[1]) == (1, 0)
                indexcache.set_index_cache(0)
                os._exit(0 if right and indexcache.index_cache().indexes == 0 else 1)
            assert os.waitpid(child, 0)[1] == 0
            assert indexcache.index_cache().indexes == 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()
