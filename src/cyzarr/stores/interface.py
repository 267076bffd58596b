"""What any store can be asked: a part of an object, its length, and whether parts are cheaper than the whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zarr.storage import StorePath

from cyzarr.stores.kinds import kind_of
from cyzarr.stores.ranges import asked_nbytes, telling, wrong_length

if TYPE_CHECKING:
    import numpy as np


def supports_partial_reads(store: Any) -> bool:
    """Whether a range is cheaper than the object.

    Parameters
    ----------
    store : zarr Store or StorePath, mapping, or an object of a registered class

    Returns
    -------
    bool
        True for zarr's stores, False for a mapping, and what a registered class says.
    """
    store, _ = _located(store, "")
    return kind_of(store).supports_partial_reads(store)


def read_range(store: Any, key: str, byte_range: Any = None) -> bytes | None:
    """The bytes of a part of an object, or of all of it.

    Parameters
    ----------
    store : zarr Store or StorePath, mapping, or an object of a registered class
    key : str
    byte_range : RangeByteRequest, OffsetByteRequest or SuffixByteRequest, optional
        One of zarr's byte requests (``zarr.abc.store``); without it the whole object.

    Returns
    -------
    bytes or None
        None where the key is missing. The bytes are a copy: nothing else is kept alive by them.

    Raises
    ------
    CorruptChunkError
        The store answered with more or fewer bytes than it was asked for.
    """
    store, key = _located(store, key)
    with telling(key, byte_range):
        found = kind_of(store).read_sync(store, key, byte_range)
    return _checked(key, byte_range, found)


async def read_range_async(store: Any, key: str, byte_range: Any = None) -> bytes | None:
    """The asynchronous twin of read_range."""
    store, key = _located(store, key)
    with telling(key, byte_range):
        found = await kind_of(store).read(store, key, byte_range)
    return _checked(key, byte_range, found)


def getsize(store: Any, key: str) -> int:
    """The length of an object in bytes.

    Raises
    ------
    KeyError
        There is no such object.
    """
    store, key = _located(store, key)
    kind = kind_of(store)
    size = kind.getsize_sync(store, key)
    # Some stores say 0 of what is not there.
    if size is None or (size == 0 and kind.read_sync(store, key) is None):
        raise KeyError(key)
    return size


async def getsize_async(store: Any, key: str) -> int:
    """The asynchronous twin of getsize."""
    store, key = _located(store, key)
    kind = kind_of(store)
    size = await kind.getsize(store, key)
    if size is None or (size == 0 and await kind.read(store, key) is None):
        raise KeyError(key)
    return size


def _located(store: Any, key: str) -> tuple[Any, str]:
    """A store and a key in it; a StorePath's path is before the key."""
    if isinstance(store, StorePath):
        inner = store / key
        return inner.store, inner.path
    return store, key


def _checked(key: str, byte_range: Any, found: np.ndarray[Any, Any] | None) -> bytes | None:
    if found is None:
        return None
    expected = asked_nbytes(byte_range)
    if expected is not None and found.size != expected:
        raise wrong_length(key, byte_range, expected, found.size)
    return found.tobytes()
