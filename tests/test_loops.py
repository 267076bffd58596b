"""Coroutines that are run to their end from synchronous code."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading

import pytest

from support.doors import PLAIN
from support.process import run_python

pytestmark = pytest.mark.skipif(PLAIN, reason="about cyzarr, which this run leaves out")


@pytest.fixture
def run():
    from cyzarr.loops import run_coroutine

    return run_coroutine


async def thread_of(*more):
    """The thread that this runs in, that what it hands to a thread runs in, and what `more` does here."""
    return threading.get_ident(), await asyncio.to_thread(threading.get_ident), *(one() for one in more)


def test_in_the_calling_thread(run):
    assert set(run(thread_of())) == {threading.get_ident()}


def test_inside_a_running_loop(run):
    """In a thread and a loop of its own, as often as one stands inside another; the caller's loop is as it was."""
    given = contextvars.ContextVar("given")

    def nested(depth):
        return run(thread_of(given.get, *([lambda: nested(depth - 1)] if depth else [])))

    async def main():
        given.set(3)
        found = nested(5)
        assert asyncio.current_task() is task
        assert asyncio.get_running_loop() is task.get_loop()
        await asyncio.sleep(0)
        return found

    async def outer():
        nonlocal task
        task = asyncio.ensure_future(main())
        return await task

    task = None
    threads = [threading.get_ident()]
    found = asyncio.run(outer())
    while True:
        ran_in, handed, seen, *found = found
        assert handed == ran_in
        assert seen == 3
        threads.append(ran_in)
        if not found:
            break
        (found,) = found
    assert len(set(threads)) == 7


def test_loops_and_threads_are_kept(run):
    async def loop_of():
        return asyncio.get_running_loop()

    async def inside():
        return [run(thread_of())[0] for _ in range(3)]

    assert run(loop_of()) is run(loop_of())
    assert len(set(asyncio.run(inside()))) == 1


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_after_an_error(run, error, inside):
    """What leaves a loop in the midst of its work closes it; the next coroutine runs all the same."""
    loops = []

    async def failing():
        loops.append(asyncio.get_running_loop())
        raise error

    async def main():
        with pytest.raises(error):
            run(failing())
        return run(thread_of())[0]

    if inside:
        asyncio.run(main())
    else:
        with pytest.raises(error):
            run(failing())
        run(thread_of())
    assert loops[0].is_closed() == (error is KeyboardInterrupt)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fdinfo"), reason="looks at Linux's list of what a selector watches")
def test_fork_leaves_the_parents_loops_alone(run):
    run_python("""
        import asyncio, gc, os
        from cyzarr.loops import run_coroutine

        async def watched():
            selector = asyncio.get_running_loop()._selector.fileno()
            return open(f"/proc/self/fdinfo/{selector}").read().count("tfd")

        async def number():
            return 5

        async def inside():
            return run_coroutine(number())

        async def fork():
            return os.fork()

        assert asyncio.run(inside()) == 5
        before = run_coroutine(watched())
        assert before == 1
        # Beside a loop, and in the midst of it.
        for start in (os.fork, lambda: run_coroutine(fork())):
            child = start()
            if child == 0:
                gc.collect()
                ok = run_coroutine(number()) == 5 and asyncio.run(inside()) == 5 and run_coroutine(watched()) == 1
                gc.collect()
                os._exit(0 if ok else 1)
            assert os.waitpid(child, 0)[1] == 0
            assert run_coroutine(watched()) == before
    """)
