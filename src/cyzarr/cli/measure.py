"""One read through every engine: compare the results, count the bytes, take the times."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from zarr.storage import StorePath

from cyzarr.cli.ending import FailedError, one_line
from cyzarr.cli.engines import Engine, Traffic, counted_read
from cyzarr.cli.peers import Peer, why_not
from cyzarr.cli.reads import Key, Read

LEAST_ROUNDS = 3
BURST_SECONDS = 0.01


# What an engine opened: it is indexed, whatever it is.
Arrays = dict[Engine | Peer, Any]


class ReadError(FailedError):
    """An engine raised. The message names the engine and the read."""


@dataclass(frozen=True)
class Timing:
    """How long each read is timed: so many rounds, or else for about so many seconds.

    Past ``deadline`` (of ``time.monotonic``) seconds don't count any more, and once is enough.
    """

    rounds: int | None = None
    seconds: float = 0.0
    deadline: float = math.inf

    def goes_on(self, done: int, start: float) -> bool:
        """Whether there is to be another round."""
        if self.rounds is not None:
            return done < self.rounds
        if done and time.monotonic() > self.deadline:
            return False
        return done < LEAST_ROUNDS or time.monotonic() - start < self.seconds


@dataclass
class Row:
    """What came of one read: per engine name its least time in seconds, and its traffic.

    ``unable`` says why a peer has neither.
    """

    read: Read
    nbytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    traffic: dict[str, Traffic] = field(default_factory=dict)
    differs: dict[str, str] = field(default_factory=dict)
    unable: dict[str, str] = field(default_factory=dict)


def difference(expected: Any, found: Any, is_peer: bool = False) -> str:
    """Say in what two results differ; empty where they are the same, bit for bit.

    A peer may give another kind of array, its items in another byte order, and strings of another kind.
    """
    if not is_peer and type(expected) is not type(found):
        return f"type {type(found).__name__} for {type(expected).__name__}"
    expected, found = np.asarray(expected), np.asarray(found)
    if is_peer and {expected.dtype.kind, found.dtype.kind} <= set("OTU"):  # strings, however they are held
        expected, found = expected.astype(object), found.astype(object)
    if is_peer and expected.dtype.kind in "iufcmM" and found.dtype == expected.dtype.newbyteorder():
        found = found.astype(expected.dtype)
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
def blame(engine: Engine | Peer, read: Read) -> Iterator[None]:
    """Turn a failure into one error that says where it happened."""
    try:
        yield
    except Exception as error:
        what = one_line(f"{type(error).__name__}: {error}")
        raise ReadError(f"{read.label} {read} through {engine.name}: {what}") from error


def compare(source: StorePath, arrays: Arrays, read: Read, timing: Timing, step: Callable[[], None]) -> Row:
    """Compare all engines on one read; the first one's result is the one to match.

    zarr's and ours read once for the count and once for the comparison, peers once; then all are timed.
    """
    row = Row(read)
    expected = None
    able: Arrays = {}
    for engine, array in arrays.items():
        if isinstance(engine, Peer) or engine.is_peer:
            try:
                row.differs |= _named(engine, difference(expected, array[read.key], is_peer=True))
                able[engine] = array
            except Exception as error:
                row.unable[engine.name] = why_not(error)
        else:
            with blame(engine, read):
                counted, row.traffic[engine.name] = counted_read(engine, source, read.key)
                with engine.active():
                    plain = array[read.key]
            expected = plain if expected is None else expected
            row.differs |= _named(engine, difference(expected, plain) or difference(expected, counted))
            able[engine] = array
        step()
    row.nbytes = np.asarray(expected).nbytes
    del expected, plain, counted  # up to a whole array each: not to be held while timing
    row.seconds = least_times(able, read.key, timing)
    step()
    return row


def _named(engine: Engine | Peer, found: str) -> dict[str, str]:
    return {engine.name: found} if found else {}


def least_times(arrays: Arrays, key: Key, timing: Timing) -> dict[str, float]:
    """The least time of a read, in seconds, of each engine.

    They take turns of a few milliseconds, so that what slows the machine slows all alike.
    """
    least = dict.fromkeys((engine.name for engine in arrays), math.inf)
    start, rounds = time.monotonic(), 0
    turns = list(arrays.items())
    while timing.goes_on(rounds, start):
        for engine, array in turns:
            with engine.active():
                least[engine.name] = min(least[engine.name], _burst(array, key))
        turns.append(turns.pop(0))  # nobody always follows the same neighbour
        rounds += 1
    return least


def _burst(array: Any, key: Key) -> float:
    """The least time of one read, of as many as fit into a turn (one at least)."""
    least, spent, clock = math.inf, 0.0, time.perf_counter
    while spent < BURST_SECONDS:
        begin = clock()
        array[key]
        took = clock() - begin
        least, spent = min(least, took), spent + took
    return least
