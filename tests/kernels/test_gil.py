"""Public kernels give up the GIL: another Python thread gets on while one is at work."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest
import zarr
from numcodecs import Zstd

import cyzarr
from cyzarr import kernels

N = 1 << 23


@pytest.fixture
def counted():
    """A function that calls another, and says how far a thread that needs the GIL again and again got meanwhile.

    Nobody is asked to give the GIL up for longer than a test takes, so it can only be got where it is given up.
    """
    interval = sys.getswitchinterval()
    steps, over = [0], threading.Event()

    def step():
        while not over.is_set():
            steps[0] += 1
            time.sleep(0.0002)

    thread = threading.Thread(target=step)
    thread.start()
    sys.setswitchinterval(100)

    def call(function):
        before = steps[0]
        function()
        return steps[0] - before

    yield call
    sys.setswitchinterval(interval)
    over.set()
    thread.join()


def compressed():
    """A chunk and its program: 8 MiB of zstd."""
    values = np.random.default_rng(0).integers(0, 9, N, dtype="u1")
    chain = {
        "shape": (N,),
        "order": (0,),
        "filters": [{"name": "zstd", "codec": Zstd()}],
        "bytes": {"dtype": np.dtype("u1")},
    }
    return Zstd().encode(values), kernels.Program(chain, "u1", b"\0")


def calls():
    """(name, function of nothing)."""
    values = np.arange(N // 4, dtype="u4")
    out = np.zeros((1024, 2048), "u4")
    yield "copy_block", lambda: kernels.copy_block(values.reshape(1024, 2048)[::-1, ::-1], out)
    yield "fill_block", lambda: kernels.fill_block(out[::-1, ::2], 5)
    index = np.random.default_rng(0).permutation(2048)
    yield "gather", lambda: kernels.gather(values.reshape(1024, 2048), (index[:1024] % 1024, index), out)
    data, program = compressed()
    whole = np.zeros(N, "u1")
    yield "decode_chunk", lambda: kernels.decode_chunk(data, program, whole)
    yield "decode_shard", lambda: kernels.decode_shard(data, program, (slice(5, None),), whole[5:])

    def run():
        read = kernels.ChunkRead(program, (slice(None),), whole)
        read.set_object(data)
        kernels.run_reads([read])

    yield "run_reads", run
    table = np.zeros((1 << 20, 2), "<u8").tobytes()
    yield "decode_index", lambda: kernels.decode_index(table, (1 << 20,), checksums=0, size=1 << 30)
    array = zarr.create_array({}, shape=(N,), chunks=(N // 4,), dtype="u1")
    array[...] = np.random.default_rng(0).integers(0, 9, N, dtype="u1")
    plan = cyzarr.plan(array)
    buffers = [array.store._store_dict[one.key].as_numpy_array() for one in plan.requests()]
    yield "ReadPlan.decode", lambda: plan.decode(buffers, whole)
    yield "read_many", lambda: cyzarr.read_many(array, [slice(0, N // 2), slice(N // 4, 3 * N // 4)])
    far = np.random.default_rng(0).integers(0, 1 << 20, 1 << 21)
    yield "intersections", lambda: kernels.intersections((far,), (1 << 20,), (1 << 19,))


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no GIL")
def test_another_thread_gets_on(counted):
    for name, function in calls():
        steps, deadline = 0, time.monotonic() + 20
        # On a busy machine the other thread may not get a processor for a while.
        while steps < 3 and time.monotonic() < deadline:
            steps += counted(function)
        assert steps >= 3, name


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no GIL")
def test_requests_of_many_inner_chunks_give_up_the_gil_once():
    """Where another thread is busy, each time may cost it the 50 ms that that one keeps it."""
    n, over, interval = 64, [], sys.getswitchinterval()
    chain = {
        "shape": (8 * n, 8 * n),
        "shard": {
            "chunk_shape": (8, 8),
            "chain": {"shape": (8, 8), "bytes": {"dtype": np.dtype("u1")}},
            "index": {"location": "end", "byteorder": "little", "checksums": 0, "order": None},
        },
    }
    index = np.array([[64 * k, 64] for k in range(n * n)], "<u8").tobytes()
    program = kernels.Program(chain, "u1", b"\0")
    read = kernels.ChunkRead(program, (slice(None), slice(4, None)), np.zeros((8 * n, 8 * n - 4), "u1"))

    def spin():
        while not over:
            pass

    thread = threading.Thread(target=spin)
    sys.setswitchinterval(0.05)
    thread.start()
    try:
        start = time.perf_counter()
        read.window_requests(index)
        taken = time.perf_counter() - start
    finally:
        over.append(True)
        sys.setswitchinterval(interval)
        thread.join()
    assert taken < 0.5


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no GIL")
@pytest.mark.parametrize("kind", ["memory", "file"])
def test_a_small_batch_keeps_the_gil(counted, kind, tmp_path):
    if kind == "file" and not sys.platform.startswith("linux"):
        pytest.skip("only Linux reads files without waiting")
    store = {} if kind == "memory" else tmp_path / "array"
    array = zarr.create_array(store, shape=(64,), chunks=(4,), shards=(32,), dtype="u1")
    array[...] = np.arange(64)
    array = zarr.open_array(array.store, mode="r")
    cyzarr.read_many(array, [1, 2])

    def read():
        for _ in range(3000):
            cyzarr.read_many(array, [slice(3, 20), slice(8, 60), 5])

    assert counted(read) < 3


@pytest.mark.skipif(not getattr(sys, "_is_gil_enabled", lambda: True)(), reason="there is no GIL")
def test_a_call_that_keeps_the_gil_is_seen(counted):
    values = list(range(3_000_000))
    assert counted(lambda: sorted(values, key=lambda one: -one)) < 3
