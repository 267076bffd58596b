"""What the tests of lazy views share: keys written as JSON, and a source that records what it is asked."""

import numpy as np
from zarr.storage import MemoryStore

from cyzarr import IndexDomain, IndexTransform


def key_of(entry):
    """An entry of a key; see cases.json."""
    if not isinstance(entry, dict):
        return Ellipsis if entry == "..." else entry
    if "slice" in entry:
        return slice(*entry["slice"])
    if "array" in entry:
        return np.array(entry["array"], entry["dtype"])
    return np.array(entry["mask"], bool) if "mask" in entry else entry["bool"]


def apply_steps(view, steps):
    for step in steps:
        if step["op"] == "domain":
            view = view[IndexDomain(step["min"], step["max"])]
        elif step["op"] == "transform":
            view = view[IndexTransform.from_json(step["json"])]
        else:
            key = tuple(key_of(entry) for entry in step["key"])
            view = view[key] if step["op"] == "basic" else getattr(view, step["op"])[key]
    return view


class Recorder:
    """A source that takes integers and slices with positive steps, and records each call."""

    def __init__(self, array, chunks=None, write_chunk_sizes=None, readable=True):
        self.array = array
        self.shape, self.dtype = array.shape, array.dtype
        self.calls = []
        self.fails_at = None
        if chunks is not None:
            self.chunks = tuple(chunks)
        if write_chunk_sizes is not None:
            self.write_chunk_sizes = tuple(tuple(one) for one in write_chunk_sizes)
        if not readable:
            self.__class__ = WriteOnly

    def note(self, name, key, *value):
        key = key if isinstance(key, tuple) else (key,)
        assert len(key) == len(self.shape)
        for one in key:
            assert type(one) in (int, slice)
            assert type(one) is int or one.step is None or one.step > 0
        key = [[one.start, one.stop, one.step or 1] if isinstance(one, slice) else one for one in key]
        self.calls.append([name, key, *value])

    def __getitem__(self, key):
        self.note("get", key)
        return self.array[key]

    def __setitem__(self, key, value):
        if self.fails_at is not None and len([call for call in self.calls if call[0] == "set"]) == self.fails_at:
            raise OSError("the disk is full")
        self.note("set", key, np.asarray(value).tolist())
        self.array[key] = value


class WriteOnly:
    """The same without reading."""

    note, __setitem__ = Recorder.note, Recorder.__setitem__


class CountingStore(MemoryStore):
    """A store in memory that counts reads and writes of chunks; `refused` keys can't be written."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.reads, self.writes, self.refused = [], [], ()

    def _note(self, log, key):
        if not key.endswith(".json"):
            if log is self.writes and key in self.refused:
                raise OSError(f"{key} can't be written")
            log.append(key)

    async def get(self, key, prototype=None, byte_range=None):
        self._note(self.reads, key)
        return await super().get(key, prototype, byte_range)

    def get_sync(self, key, *, prototype=None, byte_range=None):
        self._note(self.reads, key)
        return super().get_sync(key, prototype=prototype, byte_range=byte_range)

    async def set(self, key, value, byte_range=None):
        self._note(self.writes, key)
        await super().set(key, value, byte_range)

    def set_sync(self, key, value):
        self._note(self.writes, key)
        super().set_sync(key, value)
