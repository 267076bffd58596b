"""Other readers of Zarr, where they are installed: zarrs, zarrista and tensorstore."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from zarr.storage import LocalStore, StorePath

from cyzarr.cli.ending import one_line, reason
from cyzarr.cli.engines import Engine

LONG = 160


class CannotError(Exception):
    """A peer doesn't read such an array, or such a selection. The message is one line."""


@dataclass(frozen=True)
class Peer:
    """A reader that isn't built on zarr-python; what it opens is indexed like an array."""

    name: str
    opener: Callable[[StorePath], Any]

    def open(self, source: StorePath) -> Any:
        """Open the array for reading."""
        return self.opener(source)

    def active(self) -> AbstractContextManager[Any]:
        """Reads need nothing around them."""
        return nullcontext()


def available() -> list[Engine | Peer]:
    """The peers that are installed."""
    peers: list[Engine | Peer] = [
        Engine("zarrs", "zarrs.ZarrsCodecPipeline", is_peer=True),
        Peer("zarrista", Zarrista),
        Peer("tensorstore", TensorStore),
    ]
    return [peer for peer in peers if find_spec(peer.name) is not None]


def why_not(error: Exception) -> str:
    """What keeps a peer from reading, in one line that is no longer than it must be."""
    text = one_line(error) if isinstance(error, CannotError) else reason(error)
    return text if len(text) <= LONG else f"{text[: LONG - 3]}..."


def folder(source: StorePath) -> str:
    """Where an array's store is on this machine."""
    if type(source.store) is not LocalStore:
        raise CannotError(f"reads folders here, not a {type(source.store).__name__}")
    return str(source.store.root)


def basic(key: tuple[Any, ...], one_step: bool = False) -> tuple[Any, ...]:
    """A key of integers and slices."""
    if any(isinstance(one, np.ndarray) for one in key):
        raise CannotError("takes integers and slices alone")
    if one_step and any(isinstance(one, slice) and one.step not in (None, 1) for one in key):
        raise CannotError("takes slices of step 1 alone")
    return key


class Zarrista:
    """zarrista's array. It keeps the axes of integers; these are dropped here."""

    def __init__(self, source: StorePath) -> None:
        stores = import_module("zarrista.store")
        self.array: Any = import_module("zarrista").Array.open(
            stores.FilesystemStore(folder(source)), f"/{source.path}"
        )

    def __getitem__(self, key: tuple[Any, ...]) -> np.ndarray:
        found: np.ndarray = self.array.retrieve_array_subset(basic(key, one_step=True)).to_numpy()
        return found[tuple(0 if isinstance(one, int) else slice(None) for one in key)]


class TensorStore:
    """tensorstore's array, without a cache."""

    def __init__(self, source: StorePath) -> None:
        tensorstore = import_module("tensorstore")
        path = f"{folder(source)}/{source.path}"
        driver = "zarr3" if Path(path, "zarr.json").is_file() else "zarr"
        spec = {"driver": driver, "kvstore": {"driver": "file", "path": path}}
        self.array: Any = tensorstore.open(spec, open=True, read=True).result()

    def __getitem__(self, key: tuple[Any, ...]) -> np.ndarray:
        found: np.ndarray = self.array[key].read().result()
        return found
