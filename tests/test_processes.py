"""Threads, fork, spawn, interruption: a reader with a pool of its own must bear them."""

from __future__ import annotations

import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import zarr

from support.compare import assert_same_values
from support.doors import PLAIN, doors
from support.handmade import le, shard, store, zstd
from support.process import read_in_child, run_python

LAYOUTS = {"plain": [le(), zstd()], "sharded": [shard((8, 8), [le(), zstd()])]}


def example(codecs):
    a = np.arange(64 * 64, dtype="i2").reshape(64, 64)
    return store(a, (32, 32) if codecs is LAYOUTS["sharded"] else (8, 8), codecs), a


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS)
def made(request):
    return example(request.param)


def test_threads(door, put, made):
    """Many threads read one array object, and others of the same store."""
    stored, a = made
    opened = put(stored)
    array = zarr.open_array(opened, mode="r")
    keys = [np.s_[...], np.s_[3:50, 9:11], np.s_[17], np.s_[:, 63], np.s_[::5, ::7], np.s_[20:21, 30:40]]
    start = threading.Barrier(8)

    def work(k):
        mine = array if k % 2 else zarr.open_array(opened, mode="r")
        start.wait()
        for turn in range(12):
            key = keys[(k + turn) % len(keys)]
            assert_same_values(mine[key], a[key])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_threads_and_writes(door, put, made):
    """Reading while another thread writes other chunks."""
    stored, a = made
    opened = put(stored)
    reader, writer = zarr.open_array(opened, mode="r"), zarr.open_array(opened, mode="r+")
    done = threading.Event()

    def write():
        for step in range(20):
            writer[32:, :] = step
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    while not done.is_set():
        assert_same_values(reader[:32], a[:32])
    thread.join()
    assert (reader[32:] == 19).all()


READER = """
    import sys, os, threading
    import zarr
    from support.doors import doors
    door = {d.name: d for d in doors()}[sys.argv[2]]

    def read(array=None):
        array = array if array is not None else zarr.open_array(sys.argv[1], mode="r")
        values = array[...]
        assert (values.ravel() == range(64 * 64)).all()
        assert (array[3:50, 9] == values[3:50, 9]).all()
        return array
"""


@pytest.mark.parametrize("door", doors(), ids=repr)
@pytest.mark.parametrize("reopen", [True, False], ids=["reopened", "inherited"])
def test_fork_after_use(door, made, tmp_path, reopen):
    """The parent reads, forks; the child reads, and the parent after it."""
    if not reopen and (PLAIN or not door.patch):
        pytest.skip("an array that zarr's event loop has served isn't for a forked child")
    made[0].local(tmp_path)
    code = (
        READER
        + f"""
    with door.through():
        array = read()
        child = os.fork()
        if child == 0:
            try:
                read({"None" if reopen else "array"})
            except BaseException:
                import traceback
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        read(array)
    """
    )
    run_python(code, tmp_path, door.name, timeout=20)


@pytest.mark.parametrize("door", doors(), ids=repr)
def test_fork_while_others_read(door, made, tmp_path):
    """A fork at any moment, with threads of the parent in the midst of reads."""
    made[0].local(tmp_path)
    code = (
        READER
        + """
    with door.through():
        array = read()
        stop = threading.Event()

        def busy():
            while not stop.is_set():
                read(array)

        threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(5):
            child = os.fork()
            if child == 0:
                try:
                    read()
                except BaseException:
                    os._exit(1)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
        stop.set()
        for thread in threads:
            thread.join()
    """
    )
    if PLAIN:
        pytest.skip("zarr's own event loop may be caught in the fork")
    run_python(code, tmp_path, door.name, timeout=20)


@pytest.mark.parametrize("door", doors(), ids=repr)
def test_spawn(door, made, tmp_path):
    stored, a = made
    stored.local(tmp_path)
    with door.through():
        zarr.open_array(tmp_path, mode="r")[...]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        got = pool.apply_async(read_in_child, (str(tmp_path), door.name)).get(timeout=60)
    assert got == a[3:50, 9].sum()


@pytest.mark.skipif(PLAIN, reason="about cyzarr's pool")
def test_process_ends_while_the_pool_is_alive(tmp_path):
    """Threads that wait in C don't hold the interpreter's end, also in a daemon thread's read."""
    example(LAYOUTS["sharded"])[0].local(tmp_path)
    code = """
        import sys, threading
        import zarr, cyzarr
        cyzarr.enable()
        array = zarr.open_array(sys.argv[1], mode="r")

        def forever():
            while True:
                array[...]

        for _ in range(2):
            threading.Thread(target=forever, daemon=True).start()
        array[...]
    """
    run_python(code, tmp_path, timeout=20)


@pytest.mark.skipif(PLAIN, reason="about cyzarr's pool")
def test_no_thread_to_be_had(tmp_path):
    """Then the calling thread reads alone."""
    a = np.arange(1 << 20, dtype="i4").reshape(1024, 1024)
    store(a, (1024, 1024), [shard((64, 64), [le(), zstd()])]).local(tmp_path)
    code = """
        import sys, threading
        import zarr, cyzarr
        cyzarr.enable()
        zarr.config.set({"threading.max_workers": 3})
        array = zarr.open_array(sys.argv[1], mode="r")
        asked = []

        def start(thread):
            asked.append(thread.name)
            raise RuntimeError("can't start new thread")

        threading.Thread.start = start
        for _ in range(2):
            assert (array[...].ravel() == range(1 << 20)).all()
        # Each read asks anew, once.
        assert asked == ["cyzarr-1", "cyzarr-1"], asked
    """
    run_python(code, tmp_path, timeout=60)


@pytest.mark.skipif(PLAIN, reason="about cyzarr's pool")
def test_interrupt(tmp_path):
    """Ctrl-C answers, and reading goes on afterwards."""
    a = np.arange(1 << 21, dtype="i4").reshape(2048, 1024)
    store(a, (2048, 1024), [shard((64, 64), [le(), zstd()])]).local(tmp_path)
    code = """
        import os, signal, sys, threading, time
        import zarr, cyzarr
        # A shell's background jobs, which a test run may be one of, ignore interrupts, and hand that down.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cyzarr.enable()
        array = zarr.open_array(sys.argv[1], mode="r")
        for delay in (0.005, 0.02, 0.05):
            begin = time.perf_counter()
            try:
                # A slow machine may send it before start() is back.
                threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT)).start()
                while time.perf_counter() - begin < 10:
                    array[...]
            except KeyboardInterrupt:
                pass
            assert time.perf_counter() - begin < 5
            assert array[5, 7] == 5 * 1024 + 7
        assert (array[...].ravel() == range(1 << 21)).all()
    """
    run_python(code, tmp_path, timeout=60)


def test_many_processes_one_store(tmp_path, made):
    """A pool of forked readers, as data loaders make it."""
    if PLAIN:
        pytest.skip("zarr's own event loop may be caught in the fork")
    stored, _ = made
    stored.local(tmp_path)
    code = (
        READER
        + """
    import multiprocessing

    def work(_):
        read()
        return os.getpid()

    with door.through():
        read()
        with multiprocessing.get_context("fork").Pool(3) as pool:
            assert len(pool.map(work, range(12))) == 12
    """
    )
    run_python(code, tmp_path, "direct", timeout=30)
