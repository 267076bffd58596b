"""ChunkRead and run_reads: the same read from memory, from a file, and from fetched parts."""

import contextlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from cyzarr import kernels
from cyzarr.errors import CorruptChunkError
from cyzarr.kernels import decompress
from cyzarr.kernels.chunks import ChunkRead
from cyzarr.kernels.program import Program
from cyzarr.kernels.runs import run_reads
from support.kernel_strategies import placed, plain, points, same_items, selections, shard, stored_chunks

ALL = slice(None)
I4 = np.dtype("i4")
FILL = np.int32(-7).tobytes()
CHAIN = shard((4, 6), plain((2, 3), "<i4"))
VALUES = np.arange(24, dtype="i4").reshape(4, 6)
DATA = reference.encode_shard(VALUES, reference.Program(CHAIN, I4, FILL))
PROGRAM = kernels.Program(CHAIN, I4, FILL)


def parts_of(data, requests):
    return [(offset, data[offset : offset + nbytes]) for offset, nbytes in requests]


def give_parts(chunk_read, data, size_known=True):
    """Fetch what the read asks for, as a store would, and hand it over."""
    size = len(data) if size_known else None
    if chunk_read.whole:
        chunk_read.set_object(data)
    elif chunk_read.index_request is None:
        chunk_read.set_parts(parts_of(data, chunk_read.chunk_requests()), size=len(data))
    else:
        place, nbytes = chunk_read.index_request
        index = data[:nbytes] if place == "start" else data[len(data) - nbytes :]
        requests, end = chunk_read.inner_requests(index, size), 0
        if chunk_read.windowed and not size_known:
            requests, end = chunk_read.window_requests(index)
        chunk_read.set_parts(parts_of(data, requests), size=size, index=index, end=end)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("chunks") / "chunk"


def give(chunk_read, data, source, path):
    if source == "memory":
        chunk_read.set_object(data)
    elif source == "file":
        path.write_bytes(data)
        chunk_read.set_file(bytes(path))
    else:
        give_parts(chunk_read, data, source == "parts of known size")


@contextlib.contextmanager
def native_table(on):
    """The table of C decoders on, or off: then the Python codecs of the program decode."""
    decompress.set_native(on)
    try:
        yield
    finally:
        decompress.set_native(True)


SOURCES = ["memory", "file", "parts of known size", "parts"]


@settings(deadline=None)
@given(stored_chunks(min_depth=0), st.data())
def test_every_source_and_kind_of_selection(path, stored, data):
    chain, dtype, fill, values, layout = stored
    stored_bytes = reference.encode_shard(values, reference.Program(chain, dtype, fill), layout)
    program = kernels.Program(chain, dtype, fill)
    together = values.ndim > 0 and data.draw(st.booleans())
    selection = data.draw((points if together else selections)(values.shape))
    expected = values[selection] if together else reference.pick(values, selection)
    for source in SOURCES:
        out = data.draw(placed(expected.shape, dtype))
        chunk_read = kernels.ChunkRead(program, selection, out.view, points=together)
        give(chunk_read, stored_bytes, source, path)
        with native_table(data.draw(st.booleans())):
            kernels.run_reads([chunk_read], threads=data.draw(st.sampled_from([1, 3])))
        assert same_items(out.view, expected), source
        assert out.untouched(), source


@settings(deadline=None, max_examples=50)
@given(stored_chunks(min_depth=0), st.data())
def test_missing_object_is_fill(stored, data):
    chain, dtype, fill, values, _ = stored
    selection = data.draw(selections(values.shape))
    out = data.draw(placed(reference.selected_shape(selection, values.shape), dtype))
    chunk_read = kernels.ChunkRead(kernels.Program(chain, dtype, fill), selection, out.view)
    chunk_read.set_missing()
    kernels.run_reads([chunk_read])
    assert same_items(out.view, reference.Program(chain, dtype, fill).filled(out.view.shape))
    assert out.untouched()


def test_missing_file_is_fill(path):
    out = np.zeros((4, 6), dtype="i4")
    chunk_read = kernels.ChunkRead(PROGRAM, (ALL, ALL), out)
    chunk_read.set_file(bytes(path.with_name("nothing")))
    kernels.run_reads([chunk_read])
    assert (out == -7).all()


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("threads", [1, 2, 8])
def test_many_reads_at_once(source, threads, tmp_path):
    out = np.zeros((4 * 40, 6), dtype="i4")
    reads = []
    for i in range(40):
        data = reference.encode_shard(VALUES + 100 * i, reference.Program(CHAIN, I4, FILL))
        chunk_read = kernels.ChunkRead(PROGRAM, (ALL, ALL), out[4 * i : 4 * i + 4])
        give(chunk_read, data, source, tmp_path / str(i))
        reads.append(chunk_read)
    kernels.run_reads(reads, threads=threads)
    assert np.array_equal(out, np.concatenate([VALUES + 100 * i for i in range(40)]))


@pytest.mark.parametrize("source", SOURCES[:3])
@pytest.mark.parametrize("threads", [1, 4])
def test_one_bad_read_among_many(source, threads, tmp_path):
    """The error names the object at fault, and the reads after it can be made again."""
    damaged = bytearray(DATA)
    damaged[-1] ^= 1
    for bad in (0, 7, 19):
        reads, out = [], np.zeros((20, 4, 6), dtype="i4")
        for i in range(20):
            chunk_read = kernels.ChunkRead(PROGRAM, (ALL, ALL), out[i], key=f"c/{i}/x")
            if i == bad:
                give(chunk_read, bytes(damaged), "memory", None)
            else:
                give(chunk_read, DATA, source, tmp_path / str(i))
            reads.append(chunk_read)
        with pytest.raises(CorruptChunkError, match=f"c/{bad}/x"):
            kernels.run_reads(reads, threads=threads)
    again = np.zeros((4, 6), dtype="i4")
    kernels.decode_shard(DATA, PROGRAM, (ALL, ALL), again)
    assert np.array_equal(again, VALUES)


@pytest.mark.parametrize("source", ["memory", "file", "parts of known size"])
def test_every_truncation_from_every_source(source, path):
    out = np.zeros((4, 6), dtype="i4")
    for n in range(len(DATA)):
        chunk_read = kernels.ChunkRead(PROGRAM, (ALL, ALL), out)
        with pytest.raises(CorruptChunkError):
            give(chunk_read, DATA[:n], source, path)
            kernels.run_reads([chunk_read])


def test_requests_are_the_touched_inner_chunks():
    chunk_read = kernels.ChunkRead(PROGRAM, (1, slice(2, 5)), np.zeros(3, dtype="i4"))
    assert chunk_read.index_request == ("end", 68)
    assert chunk_read.inner_requests(DATA[-68:], len(DATA)) == [(0, 24), (24, 24)]
    assert not chunk_read.whole
    assert chunk_read.stored_nbytes is None


def test_requests_of_an_uncompressed_chunk():
    program = kernels.Program(plain((4, 6), "<i4", order=(1, 0)), I4, FILL)
    chunk_read = kernels.ChunkRead(program, (slice(1, 3), 2), np.zeros(2, dtype="i4"))
    assert chunk_read.index_request is None
    assert chunk_read.stored_nbytes == 96
    assert chunk_read.chunk_requests() == [(4 * (2 * 4 + 1), 8)]


def shard_of(entries, payload):
    """(a shard with a payload and an index at its end, the index)."""
    index = np.array(entries, "<u8").tobytes()
    index += np.uint32(reference.crc32c(index)).tobytes()
    return payload + index, index


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ([(0, 24), (24, 24), (48, 24), (72, 24)], [(0, 8), (24, 8), (48, 8), (72, 8)]),
        # The same bytes twice; one that starts within another; in another order.
        ([(0, 24), (0, 24), (48, 24), (48, 24)], [(0, 8), (48, 8)]),
        ([(0, 24), (4, 24), (48, 24), (10, 24)], [(0, 18), (48, 8)]),
        ([(72, 24), (48, 24), (24, 24), (0, 24)], [(0, 8), (24, 8), (48, 8), (72, 8)]),
    ],
)
def test_requests_of_parts_of_inner_chunks(entries, expected):
    """Items 0 and 1 of the first row of each (2, 3) inner chunk, wherever it lies."""
    payload = np.random.default_rng(0).bytes(96)
    data, index = shard_of(entries, payload)
    for key in [(slice(0, 4, 2), [0, 1, 3, 4]), (slice(0, 4, 2), [4, 0, 3, 1, 1])]:
        out, whole = np.zeros((2, len(key[1])), "i4"), np.zeros((2, len(key[1])), "i4")
        chunk_read = kernels.ChunkRead(PROGRAM, key, out)
        ranges, end = chunk_read.window_requests(index)
        assert ranges == expected
        assert end == max(offset + nbytes for offset, nbytes in entries)
        assert chunk_read.window_requests(index, 40)[0] == [(0, expected[-1][0] + 8)]
        assert chunk_read.window_requests(index, 40, 17)[0] == expected
        chunk_read.set_parts(parts_of(data, ranges), index=index, end=end)
        kernels.run_reads([chunk_read])
        from_all = kernels.ChunkRead(PROGRAM, key, whole)
        from_all.set_object(data)
        kernels.run_reads([from_all])
        assert np.array_equal(out, whole)


def test_what_can_not_be_asked_for():
    chunk_read = kernels.ChunkRead(PROGRAM, (ALL, ALL), np.zeros((4, 6), "i4"))
    with pytest.raises(ValueError, match="without an index"):
        chunk_read.chunk_requests()
    with pytest.raises(ValueError, match="NUL"):
        chunk_read.set_file(b"a\0b")
    chunk_read = kernels.ChunkRead(kernels.Program(plain((4,), "<i4"), I4, FILL), (ALL,), np.zeros(4, "i4"))
    with pytest.raises(ValueError, match="only a shard that nothing stands around"):
        chunk_read.inner_requests(DATA[-68:])


def test_what_can_not_be_asked_for_in_parts():
    compressed = kernels.Program(shard((4, 6), plain((2, 3), "<i4", "crc32c")), I4, FILL)
    chunk_read = kernels.ChunkRead(compressed, (1, ALL), np.zeros(6, "i4"))
    assert not chunk_read.windowed
    assert chunk_read.spared() == 0
    with pytest.raises(ValueError, match="uncompressed"):
        chunk_read.window_requests(DATA[-68:])
    chunk_read = kernels.ChunkRead(PROGRAM, (ALL, 0), np.zeros(4, "i4"))
    for wrong in [(-1,), (0, -1)]:
        with pytest.raises(ValueError, match="negative"):
            chunk_read.window_requests(DATA[-68:], *wrong)


class Kept:
    """A codec that changes nothing."""

    def decode(self, array):
        return array


def under_hulls(program, orders, elementwise):
    """A program of an array in other orders of axes, innermost first: a hull around a hull around a program."""
    for order in orders:
        shape = tuple(program.shape[order.index(axis)] for axis in range(len(order)))
        hull = {"codec": Kept(), "program": program, "elementwise": elementwise}
        program = kernels.Program({"shape": shape, "order": order, "hull": hull}, I4, FILL)
    return program


@pytest.mark.parametrize(
    "orders", [[(0, 1, 2)], [(2, 0, 1)], [(1, 2, 0)], [(2, 0, 1), (1, 0, 2)], [(1, 2, 0), (2, 0, 1), (0, 2, 1)]]
)
@pytest.mark.parametrize("inner_order", [(0, 1, 2), (1, 2, 0)])
@pytest.mark.parametrize("elementwise", [True, False])
def test_inner_chunks_at_fault_have_one_name(orders, inner_order, elementwise):
    """The same whether the index is looked at before its inner chunks are asked for or while it is read; elementwise,
    it is that of the array's axes."""
    counts = (2, 3, 4)
    encoded = tuple(counts[axis] for axis in inner_order)
    inner = kernels.Program(shard(counts, plain((1, 1, 1), "<i4"), order=inner_order), I4, FILL)
    program = under_hulls(inner, orders, elementwise)
    # Axis k of the array is this one below, found by an array that is transposed as the hulls say.
    below = np.empty(program.shape)
    for order in reversed(orders):
        below = below.transpose(order)
    assert below.shape == counts
    axes = [below.strides.index(stride) for stride in np.empty(program.shape).strides]
    if not elementwise:
        axes = [0, 1, 2]
    for at in [(1, 0, 0), (0, 2, 0), (0, 0, 3), (1, 2, 3)]:
        number = np.ravel_multi_index([at[axis] for axis in inner_order], encoded)
        entries = np.stack([4 * np.arange(24), np.full(24, 4)], axis=1).astype("<u8")
        entries[number, 0] = 1000
        index = entries.tobytes()
        index += np.uint32(reference.crc32c(index)).tobytes()
        messages = []
        for ask in (lambda read, index: read.inner_requests(index, 96 + len(index)), None):
            read = kernels.ChunkRead(program, (ALL,) * 3, np.zeros(program.shape, "i4"))
            with pytest.raises(CorruptChunkError) as caught:
                if ask is not None:
                    ask(read, index)
                else:
                    read.set_object(bytes(96) + index)
                    kernels.run_reads([read])
            messages.append(caught.value.inner)
        assert messages == [str(tuple(at[axis] for axis in axes))] * 2


def test_absent_inner_chunks_are_not_asked_for():
    data = reference.encode_shard(np.full((4, 6), -7, "i4"), reference.Program(CHAIN, I4, FILL))
    chunk_read = kernels.ChunkRead(PROGRAM, (ALL, ALL), np.zeros((4, 6), "i4"))
    assert chunk_read.inner_requests(data[-68:], len(data)) == []


@pytest.mark.parametrize("drop", [0, 1, 2, 3])
def test_a_part_that_was_not_fetched_is_an_error(drop):
    out = np.zeros((4, 6), dtype="i4")
    chunk_read = kernels.ChunkRead(PROGRAM, (ALL, ALL), out)
    parts = parts_of(DATA, chunk_read.inner_requests(DATA[-68:], len(DATA)))
    del parts[drop]
    chunk_read.set_parts(parts, size=len(DATA), index=DATA[-68:])
    with pytest.raises(ValueError):
        kernels.run_reads([chunk_read])


@pytest.mark.parametrize("nbytes", [0, 1, 23])
def test_a_short_part_is_an_error(nbytes):
    out = np.zeros((4, 6), dtype="i4")
    chunk_read = kernels.ChunkRead(PROGRAM, (ALL, ALL), out)
    parts = parts_of(DATA, chunk_read.inner_requests(DATA[-68:], len(DATA)))
    parts[-1] = parts[-1][0], parts[-1][1][:nbytes]
    chunk_read.set_parts(parts, size=len(DATA), index=DATA[-68:])
    with pytest.raises(ValueError):
        kernels.run_reads([chunk_read])


@pytest.mark.parametrize(
    "selection",
    [(np.array([0]),), (np.array([0]), np.array([0, 1])), (np.array([0]), ALL), (0, 0), (0, [0]),
     (np.array([4]), np.array([0])), (np.array([-5]), np.array([0])),
     (np.array([0.0]), np.array([0])), (np.zeros((1, 1), int), np.array([0]))],
    ids=repr,
)  # fmt: skip
def test_points_that_do_not_fit_are_refused(selection):
    for shape in [(1,), (2,), (1, 2)]:
        with pytest.raises((IndexError, ValueError, TypeError)):
            kernels.ChunkRead(PROGRAM, selection, np.zeros(shape, dtype="i4"), points=True)


def test_reads_without_bytes_are_refused():
    chunk_read = kernels.ChunkRead(PROGRAM, (ALL, ALL), np.zeros((4, 6), dtype="i4"))
    with pytest.raises(ValueError):
        kernels.run_reads([chunk_read])


@pytest.mark.parametrize("reads", [[None], [5], 5, ["x"], [PROGRAM]], ids=repr)
def test_what_is_no_read_is_refused(reads):
    with pytest.raises(TypeError):
        kernels.run_reads(reads)


def test_no_reads():
    assert not any(kernels.run_reads([]).values())


@pytest.mark.parametrize("threads", [-1, 0, 1000, 2**40])
def test_any_number_of_threads_is_right_or_refused(threads):
    out = np.zeros((4, 6), dtype="i4")
    chunk_read = kernels.ChunkRead(PROGRAM, (ALL, ALL), out)
    chunk_read.set_object(DATA)
    try:
        kernels.run_reads([chunk_read], threads=threads)
    except (ValueError, OverflowError):
        return
    assert np.array_equal(out, VALUES)


def test_counts_are_of_one_run():
    program = kernels.Program(plain((4,), "<i4"), I4, FILL)
    chunk_read = kernels.ChunkRead(program, (ALL,), np.zeros(4, dtype="i4"))
    chunk_read.set_object(bytes(16))
    first = kernels.run_reads([chunk_read])
    assert (first["bytes_needed"], first["chunks_decoded"]) == (16, 1)
    assert kernels.run_reads([chunk_read]) == first


# What could crash runs in a process of its own, so that a crash is one failure.


def run_child(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    run = subprocess.run(command, timeout=60, check=False, capture_output=True, text=True)
    told = (run.returncode, run.stdout[-200:], run.stderr[-2000:])
    assert told[0] == 0, told


REPEATED = """
import sys, threading
import numcodecs
import numpy as np
from cyzarr import kernels

how, threads = sys.argv[1], int(sys.argv[2])
chain = {
    "shape": (4,), "order": None, "filters": [], "shard": {"chunk_shape": (1,), "chain": {
        "shape": (1,), "order": None, "filters": [], "bytes": {"dtype": np.dtype("i4")}},
        "index": {"location": "start", "byteorder": "little", "checksums": 0, "order": None}},
}
program = kernels.Program(chain, np.dtype("i4"), bytes(4))
index = np.array([[64 + 4 * i, 4] for i in range(4)], dtype="<u8")
data = index.tobytes() + np.arange(4, dtype="<i4").tobytes()
out = np.zeros(4, dtype="i4")
read = kernels.ChunkRead(program, (slice(None),), out)
read.set_object(data)

def run(reads):
    try:
        kernels.run_reads(reads, threads=threads)
    except (ValueError, RuntimeError):
        pass

def again():
    for _ in range(200):
        run([read])

if how == "in turn":
    again()
elif how == "in one call":
    out[...] = 0
    run([read] * 2)
    run([read] * 50)
    run([read])
elif how == "after an error":
    short = kernels.ChunkRead(program, (slice(None),), out)
    short.set_object(data[:-1])
    for _ in range(3):
        run([short])
    short.set_object(data)
    run([short])
else:
    workers = [threading.Thread(target=again) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
assert out.tolist() == [0, 1, 2, 3], out
"""


@pytest.mark.parametrize("how", ["in turn", "in one call", "after an error", "from many threads"])
@pytest.mark.parametrize("threads", [1, 4])
def test_the_same_read_again(how, threads):
    """Right, or refused; never a crash."""
    run_child(REPEATED, how, threads)


UNMADE = """
from cyzarr import kernels

for cls in (kernels.ChunkRead, kernels.Program):
    try:
        cls.__new__(cls)
    except TypeError:
        continue
    raise SystemExit(f"an empty {cls.__name__} was made")
"""


def test_objects_that_were_not_made_do_not_crash():
    """``__new__`` without ``__init__``: pickling and subclasses get there."""
    run_child(UNMADE)


class StoppingError(Exception):
    """What a signal's handler raises."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_a_read_that_a_handlers_exception_left_is_still_running():
    """Helpers are at work on it: it takes no other bytes, nor lets go of those that it has."""
    length = 1 << 26
    may_end = threading.Event()

    class Waiting:
        """Takes as long as it is told to, in a helper."""

        here = False

        def decode(self, _):
            self.here = threading.current_thread() is threading.main_thread()
            if not self.here:
                may_end.wait(60)
            return bytes(length)

    codec = Waiting()
    chain = {"shape": (length,), "bytes": {"dtype": "u1"}, "filters": [{"name": "python", "codec": codec}]}
    read = ChunkRead(Program(chain, "u1", b"\0"), (slice(None),), np.ones(length, "u1"))
    read.set_object(b"x")

    def stop(*_):
        raise StoppingError

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(StoppingError):
            run_reads([read], 2)
            time.sleep(1)
        if not codec.here:
            with pytest.raises(RuntimeError, match="running"):
                read.set_missing()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        may_end.set()
    if codec.here:
        pytest.skip("no helper had time for it")
    # Until the helper has left it.
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            read.set_missing()
            break
        except RuntimeError:
            time.sleep(0.01)
    run_reads([read])
    assert not read.out.any()


def test_an_interrupt_out_of_a_codec_leaves_nothing_running():
    class Interrupting:
        def decode(self, _):
            raise KeyboardInterrupt

    chain = {"shape": (4,), "bytes": {"dtype": "u1"}, "filters": [{"name": "python", "codec": Interrupting()}]}
    read = ChunkRead(Program(chain, "u1", b"\0"), (slice(None),), np.ones(4, "u1"))
    read.set_object(b"1234")
    with pytest.raises(KeyboardInterrupt):
        run_reads([read])
    read.set_missing()
    run_reads([read])
    assert not read.out.any()


def test_a_program_doesnt_change_with_its_description():
    class Same:
        def decode(self, values):
            return values

    inner = Program({"shape": (4,), "bytes": {"dtype": "u1"}}, "u1", b"\0")
    chain = {"shape": (4,), "hull": {"codec": Same(), "program": inner, "elementwise": True}}
    program = Program(chain, "u1", b"\0")
    chain["hull"]["program"] = Program({"shape": (), "bytes": {"dtype": "u1"}}, "u1", b"\0")
    read = ChunkRead(program, (slice(1, 3),), np.zeros(2, "u1"))
    read.set_object(b"abcd")
    run_reads([read])
    assert read.out.tobytes() == b"bc"


@pytest.mark.parametrize("key", [(slice(0, 0), ALL), (ALL, np.array([], np.intp)), (2, slice(5, 5))])
def test_requests_of_nothing(key):
    out = np.zeros(VALUES[key].shape, "i4")
    read = kernels.ChunkRead(PROGRAM, key, out)
    _, nbytes = read.index_request
    assert read.window_requests(DATA[-nbytes:]) == ([], 0)
    assert read.inner_requests(DATA[-nbytes:], len(DATA)) == []
    assert read.spared() >= 0
    assert not read.touches_all


def test_what_one_raises_ends_what_another_thread_has_taken_along(tmp_path):
    """Many small inner chunks of a file are read together; those not yet decoded are left where another has failed."""
    n, here = 2000, threading.get_ident()
    helping, calls = threading.Event(), []

    class Codec:
        def decode(self, data):
            if threading.get_ident() == here:
                helping.wait(5)
                raise ZeroDivisionError
            helping.set()
            calls.append(1)
            time.sleep(0.005)
            return data

    chain = shard((n,), plain((1,), "u1"))
    data = reference.encode_shard(np.arange(n).astype("u1"), reference.Program(chain, np.dtype("u1"), b"\0"))
    chain["shard"]["chain"]["filters"] = [{"name": "python", "codec": Codec()}]
    read = kernels.ChunkRead(kernels.Program(chain, "u1", b"\0"), (ALL,), np.zeros(n, "u1"))
    (tmp_path / "shard").write_bytes(data)
    read.set_file(bytes(tmp_path / "shard"))
    with pytest.raises(ZeroDivisionError):
        run_reads([read], 2)
    if not helping.is_set():
        pytest.skip("no helper had time for it")
    assert len(calls) <= 3


def test_a_checked_index_is_not_checked_again():
    reads = [kernels.ChunkRead(PROGRAM, key, np.zeros((4, 6), "i4")[key]) for key in [(ALL, ALL), (1, slice(2, 5))]]
    _, nbytes = reads[0].index_request
    index = DATA[-nbytes:]
    checked = reads[0].checked_index(index, len(DATA))
    assert reads[0].checked_index(checked) is checked
    for read in reads:
        assert read.inner_requests(checked, len(DATA)) == read.inner_requests(index, len(DATA))
        assert read.window_requests(checked) == read.window_requests(index)
    with pytest.raises(CorruptChunkError):
        reads[0].checked_index(index[:-1] + bytes([index[-1] ^ 1]))
    for size in (nbytes - 1, 0):
        with pytest.raises(CorruptChunkError):
            reads[1].inner_requests(checked, size)
    with pytest.raises(CorruptChunkError):
        reads[1].checked_index(index[1:])
    # Nor is it taken by a read of another program, nor one that nobody checked.
    other = kernels.ChunkRead(Program(CHAIN, I4, FILL), (ALL, ALL), np.zeros((4, 6), "i4"))
    for wrong in (checked, type(checked)()):
        with pytest.raises(TypeError):
            other.inner_requests(wrong)
    with pytest.raises(ValueError, match="only a shard that nothing stands around"):
        kernels.ChunkRead(Program(plain((4,), "<i4"), I4, FILL), (ALL,), np.zeros(4, "i4")).checked_index(index)


@pytest.mark.parametrize("how", ["parts", "object", "missing"])
def test_reads_that_are_given_the_same_object(how):
    keys = [(ALL, ALL), (slice(0, 3), slice(2, 5))]
    first, second = (kernels.ChunkRead(PROGRAM, key, np.zeros((4, 6), "i4")[key]) for key in keys)
    with pytest.raises(ValueError, match="not set"):
        second.set_as(first)
    for _ in range(2):
        if how == "parts":
            give_parts(first, DATA, False)
        elif how == "object":
            first.set_object(DATA)
        else:
            first.set_missing()
        second.set_as(first)
        # What the first lets go of, the second keeps.
        first.set_object(b"")
        run_reads([second])
        assert (second.out == (-7 if how == "missing" else VALUES[keys[1]])).all()
    del first
    run_reads([second])
    assert (second.out == (-7 if how == "missing" else VALUES[keys[1]])).all()
