"""The progress bar: on standard error, where somebody watches or asks for it, and the work takes over a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Work of less than so many seconds needs no bar.
PATIENCE = 1.0

# What --progress and --no-progress say; None: a bar where standard error is a terminal.
_asked: list[bool | None] = [None]


def ask(shown: bool | None) -> None:
    """Take over what the command line says."""
    _asked[0] = shown


@contextmanager
def progress(total: int | None, what: str) -> Iterator[Callable[[], None]]:
    """Show a bar of ``total`` steps (None: nobody knows); yields the function that takes one.

    None is shown without tqdm (extra `cli`).
    """
    try:
        from tqdm import tqdm
    except ImportError:
        if _asked[0]:
            print("cyzarr: no progress bar without tqdm (pip install 'cyzarr[cli]')", file=sys.stderr)
        yield _no_step
        return
    hidden = None if _asked[0] is None else not _asked[0]
    delay = 0 if _asked[0] else PATIENCE
    bar = tqdm(total=total, desc=what, file=sys.stderr, leave=False, disable=hidden, delay=delay)
    with bar, _ticking(bar):

        def step() -> None:
            bar.update()

        yield step


@contextmanager
def _ticking(bar: Any) -> Iterator[None]:
    """Show the time that passes, also within one long step."""
    over = threading.Event()

    def tick() -> None:
        while not over.wait(PATIENCE):
            bar.refresh()

    if bar.disable:
        yield
        return
    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _no_step() -> None:
    pass
