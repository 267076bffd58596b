"""Stores in memory that write down what they are asked, take their time, and may answer wrongly."""

from __future__ import annotations

import asyncio
import time

from zarr.abc.store import Store
from zarr.storage import MemoryStore

from support.handmade import Stored

DOCUMENTS = (".json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")


class AskedStore(MemoryStore):
    """A store that logs (key, byte range) for each question about a chunk.

    `edit(key, byte_range, answer)` may change an answer; it may raise. `rounds` is the length of the longest chain of
    requests each of which was made after the one before it had been answered; `peak` how many were under way at once.
    """

    def __init__(self, store_dict=None, *, read_only=True, latency=0.0, edit=None):
        super().__init__(store_dict, read_only=read_only)
        self.latency, self.edit = latency, edit or (lambda key, byte_range, answer: answer)
        self.reset()

    def reset(self):
        self.log, self.under, self.peak, self.rounds = [], 0, 0, 0

    @classmethod
    def of(cls, stored: Stored, **options):
        return cls(stored.memory()._store_dict, **options)

    def _begin(self, key, asked):
        self.log.append((key, asked))
        self.under += 1
        self.peak = max(self.peak, self.under)
        return self.rounds + 1

    def _end(self, began):
        self.under -= 1
        self.rounds = max(self.rounds, began)

    async def get(self, key, prototype=None, byte_range=None):
        if key.endswith(DOCUMENTS):
            return await super().get(key, prototype, byte_range)
        began = self._begin(key, byte_range)
        try:
            await asyncio.sleep(self.latency)
            return self.edit(key, byte_range, await super().get(key, prototype, byte_range))
        finally:
            self._end(began)

    def get_sync(self, key, *, prototype=None, byte_range=None):
        began = self._begin(key, byte_range)
        try:
            time.sleep(self.latency)
            return self.edit(key, byte_range, super().get_sync(key, prototype=prototype, byte_range=byte_range))
        finally:
            self._end(began)


class SizedStore(AskedStore):
    """One that tells lengths without reading; logged as (key, "size")."""

    async def getsize(self, key):
        began = self._begin(key, "size")
        try:
            await asyncio.sleep(self.latency)
            found = self.edit(key, "size", self._store_dict.get(key))
            if found is None:
                raise FileNotFoundError(key)
            return len(found)
        finally:
            self._end(began)


class RangesStore(AskedStore):
    """One with a `get_ranges` of its own, made of its `get`; `limits` are those that it was told."""

    limits = None

    if hasattr(Store, "get_ranges"):

        async def get_ranges(self, key, byte_ranges, *, prototype, **limits):
            self.limits = [*(self.limits or []), limits["max_concurrency"]]
            async for group in Store.get_ranges(self, key, byte_ranges, prototype=prototype, **limits):
                yield group


class TellingStore(AskedStore):
    """It tells lengths without reading, and that is not in its log."""

    async def getsize(self, key):
        if key not in self._store_dict:
            raise FileNotFoundError(key)
        return len(self._store_dict[key])
