"""The progress bar: on standard error, and only where somebody watches."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm


@contextmanager
def progress(total: int, what: str) -> Iterator[Callable[[], None]]:
    """Show a bar of ``total`` steps; yields the function that takes one."""
    bar = tqdm(total=total, desc=what, file=sys.stderr, leave=False, disable=None)
    with bar:

        def step() -> None:
            bar.update()

        yield step
