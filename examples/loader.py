"""Batches for training: random windows of a sharded array, filled ahead by threads.

Each batch is one preallocated array (a tensor where torch is there), which `cyzarr.read_many` fills in one go: an inner
chunk that several windows touch is read and decoded once, without the GIL, so that threads fill the next batches while
the training step runs.
"""

from __future__ import annotations

import tempfile
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gain
import numpy as np
import zarr

import cyzarr

try:
    import torch
except ImportError:
    torch = None

if TYPE_CHECKING:
    from collections.abc import Iterator


class WindowLoader:
    """Iterates over batches of random windows; each pass gives others.

    Parameters
    ----------
    array : zarr.Array
    window : tuple of int
        The shape of a window.
    batch_size, batches : int
        Windows in a batch, and batches in a pass.
    ahead : int
        How many batches are filled while one is used, each by a thread.
    seed : int

    Notes
    -----
    A batch is overwritten after the next one was taken: copy what is to be kept.
    """

    def __init__(
        self, array: Any, window: tuple[int, ...], batch_size: int, batches: int, ahead: int = 2, seed: int = 0
    ) -> None:
        self.array, self.window, self.batches, self.ahead = array, window, batches, ahead
        self.rng = np.random.default_rng(seed)
        self.room = np.array(array.shape) - window + 1
        # One that is used, one that was used last, and those that are filled.
        shape = (batch_size, *window)
        self.buffers = [self._empty(shape) for _ in range(ahead + 2)]

    def _empty(self, shape: tuple[int, ...]) -> Any:
        values = np.empty(shape, self.array.dtype)
        return values if torch is None else torch.from_numpy(values)

    def windows(self) -> list[tuple[slice, ...]]:
        """Where the next batch lies."""
        starts = self.rng.integers(0, self.room, (len(self.buffers[0]), len(self.window)))
        return [tuple(slice(int(at), int(at) + n) for at, n in zip(one, self.window, strict=True)) for one in starts]

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[Any]:
        filling: deque[Any] = deque()
        with ThreadPoolExecutor(self.ahead) as threads:
            for number in range(self.batches + self.ahead):
                if number < self.batches:
                    buffer = self.buffers[number % len(self.buffers)]
                    filling.append(threads.submit(cyzarr.read_many, self.array, self.windows(), buffer))
                if number >= self.ahead:
                    yield filling.popleft().result()


def make(folder: Path, edge: int = 256) -> Any:
    """A volume of smooth noise, in shards of 128 cubed, inner chunks of 32 cubed."""
    rng = np.random.default_rng(0)
    shards = tuple(min(128, edge) for _ in range(3))
    array = zarr.create_array(folder, shape=(edge,) * 3, shards=shards, chunks=(32, 32, 32), dtype="u2")
    array[...] = rng.integers(0, 40, (edge,) * 3, dtype="u2") + np.arange(edge, dtype="u2")
    return zarr.open_array(folder, mode="r")


def plain_batches(loader: WindowLoader) -> Iterator[Any]:
    """The same by zarr alone, window by window."""
    for _ in range(loader.batches):
        batch = np.empty(tuple(loader.buffers[0].shape), loader.array.dtype)
        for slot, key in zip(batch, loader.windows(), strict=True):
            slot[...] = loader.array[key]
        yield batch


def main(edge: int = 256, window: int = 48, batch_size: int = 32, batches: int = 8) -> dict[str, float]:
    """Compare passes through the same volume."""
    with tempfile.TemporaryDirectory() as folder:
        array = make(Path(folder), edge)

        def a_pass(of: Any) -> float:
            # What stands for the training step.
            return float(sum(np.asarray(batch).mean() for batch in of))

        def loader() -> WindowLoader:
            return WindowLoader(array, (window,) * 3, batch_size, batches)

        assert a_pass(loader()) == a_pass(plain_batches(loader()))
        return gain.table(
            f"{batches} batches of {batch_size} windows of {window} cubed",
            {"zarr, window by window": lambda: a_pass(plain_batches(loader())), "loader": lambda: a_pass(loader())},
        )


if __name__ == "__main__":
    main()
