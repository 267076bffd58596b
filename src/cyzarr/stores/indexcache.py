"""Shard indexes of stores whose objects don't change, kept for the whole process.

    claim ──► an index that is kept            (a hit)
          ──► a Flight that someone else leads  (wait for it: a hit)
          ──► a Flight of one's own             (ask the store, settle it)

A lock is held for dict operations alone, never while a store is asked. Nobody waits for a flight for long, and whoever
waits for one that fails asks for itself. Imports nothing compiled, so that a writer can look in without a cost.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict, deque
from concurrent.futures import Future
from typing import Any

# What an entry costs besides its index: the key, and its places in the tables (measured: 380 to 620).
ENTRY_NBYTES = 512
# (store's token, key, position of the index and its length)
Entry = tuple[int, str, Any]


class FailedError(Exception):
    """The flight that one waited for brought nothing; not seen outside."""


class Flight:
    """One index that is being asked for."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.landed: Future[bytes | None] = Future()
        # Now a waiter that is cancelled can't cancel it for the others.
        self.landed.set_running_or_notify_cancel()


class IndexCache:
    """Indexes by store, key and position; the least recently used go first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Entry, bytes] = OrderedDict()
        self._nbytes = 0
        # By the last part of the key, for writers, who may know an object by another path.
        self._by_name: dict[str, set[Entry]] = {}
        self._flights: dict[Entry, Flight] = {}
        # Stores can't be hashed, and an id is given anew: a token stands for a store as long as it lives.
        self._tokens: dict[int, tuple[Any, int]] = {}
        self._next = 0
        # Filled by the garbage collector, which may come while the lock is held.
        self._dead: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        """The bytes of all indexes that are kept, their entries included."""
        return self._nbytes

    @property
    def used(self) -> bool:
        """Whether a writer has anything to tell."""
        return bool(self._kept or self._flights)

    def claim(
        self, store: Any, key: str, position: Any, anew: bool = False
    ) -> tuple[bytes | None, Flight | None, bool]:
        """(index, flight, whether one leads it): an index that is kept, or the flight that brings it.

        `anew`: one that is kept is of no use.

        Raises
        ------
        TypeError
            Nothing tells when this store dies.
        """
        with self._lock:
            self._bury()
            entry = (self._token(store), key, position)
            if anew:
                self._drop(entry)
            elif entry in self._kept:
                self._kept.move_to_end(entry)
                return self._kept[entry], None, False
            flight = self._flights.get(entry)
            if flight is not None:
                return None, flight, False
            flight = self._flights[entry] = Flight(entry)
            return None, flight, True

    def land(self, flight: Flight, index: bytes | None, limit: int) -> None:
        """The leader has the index, checked; it is kept unless a writer came by meanwhile. None: no such object."""
        with self._lock:
            if self._flights.get(flight.entry) is flight:
                del self._flights[flight.entry]
                if index is not None and len(index) + ENTRY_NBYTES <= limit:
                    self._keep(flight.entry, index, limit)
        flight.landed.set_result(index)

    def fail(self, flight: Flight) -> None:
        """The leader has nothing: whoever waits asks for itself."""
        with self._lock:
            if self._flights.get(flight.entry) is flight:
                del self._flights[flight.entry]
        flight.landed.set_exception(FailedError())

    def invalidate(self, key: str) -> None:
        """An object was written: forget its index, in whichever store, under a shorter or longer path, too."""
        with self._lock:
            for entry in list(self._by_name.get(_name(key), ())):
                if _same(entry[1], key):
                    self._drop(entry)
            for entry in [one for one in self._flights if _same(one[1], key)]:
                del self._flights[entry]

    def trim(self, limit: int) -> None:
        """Keep no more than `limit` bytes; 0: forget all, and what is under way, too."""
        with self._lock:
            while self._kept and self._nbytes > limit:
                self._drop(next(iter(self._kept)))
            if limit == 0:
                self._flights.clear()

    def clear(self) -> None:
        """Forget all."""
        self.trim(0)

    def _token(self, store: Any) -> int:
        known = self._tokens.get(id(store))
        if known is not None and known[0]() is store:
            return known[1]
        self._next += 1
        dead, token = self._dead, self._next
        self._tokens[id(store)] = (weakref.ref(store, lambda _: dead.append(token)), token)
        return token

    def _bury(self) -> None:
        """Forget what belongs to stores that have died."""
        gone = set()
        while self._dead:
            gone.add(self._dead.popleft())
        if gone:
            for entry in [one for one in self._kept if one[0] in gone]:
                self._drop(entry)
            for number in [one for one, (_, token) in self._tokens.items() if token in gone]:
                del self._tokens[number]

    def _keep(self, entry: Entry, index: bytes, limit: int) -> None:
        self._kept[entry] = index
        self._nbytes += len(index) + ENTRY_NBYTES
        self._by_name.setdefault(_name(entry[1]), set()).add(entry)
        while self._nbytes > limit:
            self._drop(next(iter(self._kept)))

    def _drop(self, entry: Entry) -> None:
        index = self._kept.pop(entry, None)
        if index is not None:
            self._nbytes -= len(index) + ENTRY_NBYTES
            name = _name(entry[1])
            self._by_name[name].discard(entry)
            if not self._by_name[name]:
                del self._by_name[name]


def _name(key: str) -> str:
    return key.rpartition("/")[2]


def _same(one: str, other: str) -> bool:
    """Whether two keys may be paths to one object, from different roots."""
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


cache = IndexCache()


def _after_fork() -> None:
    """The leaders of flights are in the parent, and so may be the holder of the lock."""
    global cache
    cache = IndexCache()


os.register_at_fork(after_in_child=_after_fork)
