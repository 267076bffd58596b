"""What reads cost and which road they took: trace() and the counts behind status()."""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@dataclass
class Trace:
    """Counts of the reads of this process while a trace is on.

    Attributes
    ----------
    requests : int
        Reads asked of the file system or of a store.
    bytes_read : int
        What came back. From memory: the bytes that were looked at.
    bytes_needed : int
        The part of them that the selections need: shard indexes, stored inner chunks, windows of uncompressed chunks.
    chunks_decoded : int
        Innermost chunks decoded, in whole or in part.
    chunks_missing : int
        Stored objects that were not there and became fill values.
    inner_missing : int
        Inner chunks that are absent from their shard.
    index_hits, index_misses : int
        Shard indexes that the index cache held, and that were looked up there and had to be read.
    reads : dict
        Reads by road: "direct", "pipeline", "codec", and "zarr" for those that zarr's own code served.
    fallbacks : dict
        Why reads went to zarr's own code, and how often.
    note : str
        Why nothing could be counted; empty where something was, or where nothing was read.
    """

    requests: int = 0
    bytes_read: int = 0
    bytes_needed: int = 0
    chunks_decoded: int = 0
    chunks_missing: int = 0
    inner_missing: int = 0
    index_hits: int = 0
    index_misses: int = 0
    reads: Counter[str] = field(default_factory=Counter)
    fallbacks: Counter[str] = field(default_factory=Counter)
    note: str = ""

    def add(self, road: str, stats: Mapping[str, int]) -> None:
        """Add one read's counts."""
        self.reads[road] += 1
        for name, count in stats.items():
            setattr(self, name, getattr(self, name) + count)


_lock = threading.Lock()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


# Another thread may have held it.
os.register_at_fork(after_in_child=_after_fork)
_traces: list[Trace] = []
# Since the process started; the direct road counts its own reads.
_reads: Counter[str] = Counter()
_fallbacks: Counter[str] = Counter()
# Whether enable() has cyzarr on; it is told.
_switched_on = False

OFF = (
    "nothing was traced: cyzarr is off, and zarr reads by itself; switch it on by cyzarr.enable(), or read inside"
    " cyzarr.enabled()"
)


@contextmanager
def trace() -> Iterator[Trace]:
    """Count what the reads of this process cost, whichever thread they run in.

    Reads that come through none of cyzarr's doors aren't seen: while it is off, and zarr's configuration names none of
    its classes, all counts stay 0. A RuntimeWarning tells of that at the end, and the trace's `note`.

    Examples
    --------
    >>> with cyzarr.trace() as t:
    ...     array[0]
    >>> t.requests, t.bytes_read
    """
    mine = Trace()
    with _lock:
        _traces.append(mine)
        _tell_direct()
    try:
        yield mine
    finally:
        with _lock:
            _traces[:] = [one for one in _traces if one is not mine]
            _tell_direct()
    if not mine.reads and not _can_see():
        mine.note = OFF
        warnings.warn(OFF, RuntimeWarning, stacklevel=3)


def switched(on: bool) -> None:
    """enable() and disable() make themselves known."""
    global _switched_on
    _switched_on = on


def _can_see() -> bool:
    """Whether zarr's arrays may read through cyzarr."""
    if _switched_on:
        return True
    zarr = sys.modules.get("zarr")
    if zarr is None:
        return False
    named = [zarr.config.get(section, None) for section in ("codec_pipeline", "codecs")]
    return "cyzarr." in str(named)


class DirectRoad(NamedTuple):
    """How the compiled direct road, which counts by itself, is told and asked."""

    served: Callable[[], int]
    set_tracing: Callable[[bool], None]


_direct: list[DirectRoad] = []


def register_direct(served: Callable[[], int], set_tracing: Callable[[bool], None]) -> None:
    """The direct road makes itself known."""
    _direct[:] = [DirectRoad(served, set_tracing)]
    _tell_direct()


def _tell_direct() -> None:
    for road in _direct:
        road.set_tracing(bool(_traces))


def record(road: str, stats: Mapping[str, int]) -> None:
    """Count a read that the kernels served."""
    with _lock:
        if road != "direct":
            _reads[road] += 1
        for one in _traces:
            one.add(road, stats)


def note_fallback(reason: str) -> None:
    """Count a read that zarr's own code serves, and why."""
    with _lock:
        _reads["zarr"] += 1
        _fallbacks[reason] += 1
        for one in _traces:
            one.reads["zarr"] += 1
            one.fallbacks[reason] += 1


def counts() -> tuple[Counter[str], Counter[str]]:
    """(reads by road, fallbacks by reason) since the process started."""
    with _lock:
        reads = Counter(_reads)
        for road in _direct:
            reads["direct"] = road.served()
        return reads, Counter(_fallbacks)
