"""One read through every engine: compare the results, count the bytes, take the times."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import zarr
from zarr.storage import StorePath

from cyzarr.cli.engines import Engine, Traffic, counted_read
from cyzarr.cli.reads import Key, Read

LEAST_ROUNDS = 3
BURST_SECONDS = 0.01


class ReadError(Exception):
    """An engine raised. The message names the engine and the read."""


@dataclass
class Row:
    """What came of one read: per engine name its least time in seconds, and its traffic."""

    read: Read
    nbytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    traffic: dict[str, Traffic] = field(default_factory=dict)
    differs: dict[str, str] = field(default_factory=dict)


def difference(expected: Any, found: Any) -> str:
    """Say in what two results differ; empty where they are the same, bit for bit."""
    if type(expected) is not type(found):
        return f"type {type(found).__name__} for {type(expected).__name__}"
    expected, found = np.asarray(expected), np.asarray(found)
    if expected.dtype != found.dtype:
        return f"dtype {found.dtype} for {expected.dtype}"
    if expected.shape != found.shape:
        return f"shape {found.shape} for {expected.shape}"
    if expected.dtype.hasobject or expected.dtype.kind == "T":  # no bytes of their own
        return "" if np.array_equal(expected, found) else "values"
    same = np.array_equal(_as_bytes(expected), _as_bytes(found))
    return "" if same else "values"


def _as_bytes(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


@contextmanager
def blame(engine: Engine, read: Read) -> Iterator[None]:
    """Turn a failure into one error that says where it happened."""
    try:
        yield
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise ReadError(f"{read.label} {read} through {engine.name}: {what}") from error


def compare(
    source: StorePath,
    arrays: dict[Engine, zarr.Array[Any]],
    read: Read,
    seconds: float,
    deadline: float,
    step: Callable[[], None],
) -> Row:
    """Compare all engines on one read; the first one's result is the one to match.

    Each reads once for the count and once for the comparison, then all are timed for about
    ``seconds``, but not past ``deadline`` (of ``time.monotonic``).
    """
    row = Row(read)
    expected = None
    for engine, array in arrays.items():
        with blame(engine, read):
            counted, row.traffic[engine.name] = counted_read(engine, source, read.key)
            with engine.active():
                plain = array[read.key]
        expected = plain if expected is None else expected
        found = difference(expected, plain) or difference(expected, counted)
        if found:
            row.differs[engine.name] = found
        step()
    row.nbytes = np.asarray(expected).nbytes
    del expected, plain, counted  # up to a whole array each: not to be held while timing
    row.seconds = least_times(arrays, read.key, seconds, deadline)
    step()
    return row


def least_times(arrays: dict[Engine, zarr.Array[Any]], key: Key, seconds: float, deadline: float) -> dict[str, float]:
    """The least time of a read, in seconds, of each engine.

    They take turns of a few milliseconds, so that what slows the machine slows all alike.
    """
    least = dict.fromkeys((engine.name for engine in arrays), math.inf)
    start, rounds = time.monotonic(), 0
    turns = list(arrays.items())
    while rounds < LEAST_ROUNDS or time.monotonic() - start < seconds:
        if rounds and time.monotonic() > deadline:
            break
        for engine, array in turns:
            with engine.active():
                least[engine.name] = min(least[engine.name], _burst(array, key))
        turns.append(turns.pop(0))  # nobody always follows the same neighbour
        rounds += 1
    return least


def _burst(array: zarr.Array[Any], key: Key) -> float:
    """The least time of one read, of as many as fit into a turn (one at least)."""
    least, spent, clock = math.inf, 0.0, time.perf_counter
    while spent < BURST_SECONDS:
        begin = clock()
        array[key]
        took = clock() - begin
        least, spent = min(least, took), spent + took
    return least
