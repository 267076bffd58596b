"""Run a coroutine to its end from synchronous code, on an event loop that is nobody else's.

Loops are kept for the next coroutine: to make one takes longer than most chunks. In a forked child they are neither
used nor closed, because they share their selectors with the parent's.
"""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import contextvars
import os
from typing import Any


class _Inline(concurrent.futures.ThreadPoolExecutor):
    """An executor that calls at once, in the calling thread."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        done: concurrent.futures.Future[Any] = concurrent.futures.Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except BaseException as error:
            done.set_exception(error)
        return done


# At rest: loops, each for one coroutine at a time, and threads for callers that are in the midst of a loop, each for
# one of them. One pool for all would come to a stop where what it runs has to run another.
_loops: collections.deque[asyncio.AbstractEventLoop] = collections.deque()
_threads: collections.deque[concurrent.futures.ThreadPoolExecutor] = collections.deque()
# The parent's loops, in a child: to be collected would take them out of the parent's selectors.
_parents_loops: list[asyncio.AbstractEventLoop] = []


def _after_fork() -> None:
    _parents_loops.extend(_loops)
    _loops.clear()
    _threads.clear()


os.register_at_fork(after_in_child=_after_fork)


def in_a_loop() -> bool:
    """Whether this thread is in the midst of an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run_coroutine(coroutine: Any) -> Any:
    """Run a coroutine to its end; what it hands to other threads is run at once, too.

    It runs in this thread, or in another where this one is in the midst of a loop, since no thread can run two.
    """
    if not in_a_loop():
        return _run_here(coroutine)
    try:
        thread = _threads.pop()
    except IndexError:
        thread = concurrent.futures.ThreadPoolExecutor(1, "cyzarr-loop")
    running = thread.submit(contextvars.copy_context().run, _run_here, coroutine)
    try:
        return running.result()
    finally:
        if running.done():
            _threads.append(thread)
        else:
            # Interrupted: the thread ends when it has done this.
            thread.shutdown(wait=False)


def _run_here(coroutine: Any) -> Any:
    process = os.getpid()
    try:
        loop = _loops.pop()
    except IndexError:
        loop = asyncio.new_event_loop()
        loop.set_default_executor(_Inline(1))
    at_rest = False
    try:
        result = loop.run_until_complete(coroutine)
        at_rest = True
        return result
    except Exception:
        # The coroutine's own, which has ended.
        at_rest = True
        raise
    finally:
        _put_away(loop, process, at_rest)


def _put_away(loop: asyncio.AbstractEventLoop, process: int, at_rest: bool) -> None:
    """Keep a loop, unless something like KeyboardInterrupt has left it, or a fork has made it the parent's."""
    if process != os.getpid():
        _parents_loops.append(loop)
    elif at_rest:
        _loops.append(loop)
    else:
        loop.close()
