"""A plan without I/O: for callers with a transport of their own.

    plan ─► index_requests ─► (the caller fetches) ─► requests(indexes) ─► (fetches) ─► decode(buffers, out)

Cutting is that of planning.grids, and each touched object is a kernels.ChunkRead, as in all other reads.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import zarr.errors

from cyzarr import _zarr
from cyzarr.errors import BoundsCheckError
from cyzarr.kernels.chunks import ChunkRead
from cyzarr.kernels.runs import run_reads
from cyzarr.planning import fancy, grids
from cyzarr.planning.program import NotNativeError, grid_of
from cyzarr.stores.fetch import raise_first
from cyzarr.stores.ranges import Parts, Request, check_length, merge
from cyzarr.words import so_many

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    Array = np.ndarray[Any, Any]

# Ranges up to so far apart are asked for as one, up to so much in all: zarr's own defaults, in bytes.
MAX_GAP, MAX_NBYTES = 1 << 20, 16 << 20


class OutsideError(BoundsCheckError, zarr.errors.BoundsCheckError):
    """A coordinate outside of the array, to those who catch ours and to those who catch zarr's."""


class ByteRange(NamedTuple):
    """Bytes of a stored object, as a slice of them: `data[start:stop]`.

    Attributes
    ----------
    key : str
        The object's key below the array: "c/0/1", in format 2 "0.1".
    start, stop : int or None
        In bytes. A negative start counts from the end, and then stop is None: the last -start bytes. 0 and None: all.
    """

    key: str
    start: int
    stop: int | None


class Touched:
    """One stored object that a plan touches."""

    def __init__(self, part: grids.Part, key: str) -> None:
        self.part, self.key = part, key
        # Where the items go is not known before they are decoded, and doesn't change what is asked for.
        item: Array = np.empty(1, part.program.dtype)
        nowhere = np.lib.stride_tricks.as_strided(item, part.shape, (0,) * (1 if part.points else len(part.places)))
        self.read = ChunkRead(part.program, part.picked, nowhere, key, part.points)
        asked = self.read.index_request
        self.index_request = None if asked is None or self._is_whole() else _index_range(key, *asked)
        self.index: Any = None
        # So long the object must be.
        self.end = 0
        self.ranges: list[ByteRange] = []

    def _is_whole(self) -> bool:
        """Whether a shard is fetched whole: where all of it is touched, unless its index spares more than a gap."""
        return self.read.touches_all and self.read.spared(MAX_GAP, MAX_NBYTES) <= MAX_GAP

    def ask(self, index: Any, max_gap: int, max_nbytes: int) -> list[ByteRange]:
        """The data to fetch, `index` being what was fetched of a shard's; None: there is no shard."""
        self.index, self.end = index, 0
        found: list[tuple[int, int]] = []
        if self.index_request is None:
            if not self.read.whole and self.read.index_request is None and self.read.stored_nbytes is not None:
                found = self.read.chunk_requests(max_gap, max_nbytes)
            if found in ([], [(0, self.read.stored_nbytes)]):
                self.ranges = [ByteRange(self.key, 0, None)]
                return self.ranges
        elif index is not None and self.read.windowed:
            found, self.end = self.read.window_requests(index, max_gap, max_nbytes)
        elif index is not None:
            found = [one for one in self.read.inner_requests(index) if one[1] > 0]
        self.ranges = [ByteRange(self.key, *one) for one in merge(found, max_gap, max_nbytes)]
        return self.ranges

    def read_into(self, out: Array, buffers: list[Array | None]) -> tuple[ChunkRead, Any]:
        """The read into `out` of what was fetched for `ranges`, and where in `out` it goes if that is not a view."""
        target, place = self.part.target(out)
        read = ChunkRead(self.part.program, self.part.picked, target, self.key, self.part.points)
        if self.index_request is not None and self.index is not None:
            read.set_parts(self._checked(buffers), index=self.index, end=self.end)
        elif self.index_request is not None or all(data is None for data in buffers):
            read.set_missing()
        elif self.ranges[0].stop is None and buffers[0] is not None:
            read.set_object(buffers[0])
        else:
            read.set_parts(self._checked(buffers), size=read.stored_nbytes)
        return read, place

    def _checked(self, buffers: list[Array | None]) -> list[tuple[int, Array]]:
        """(offset, bytes) of what was fetched, which is there and as long as was asked for."""
        answers = [(one.start, one.stop, data) for one, data in zip(self.ranges, buffers, strict=True)]
        found = []
        for start, stop, data in answers:
            if data is None:
                raise_first(self.key, Parts(answers))
            else:
                check_length(self.key, Request(start=start, stop=stop), data)
                found.append((start, data))
        return found


class ReadPlan:
    """What to fetch for one selection of one array, and how to decode it. It does no I/O.

    It remembers the indexes that `requests` was given last, and decodes by them, so it is for one read at a time; it
    may be used again and again.

    Attributes
    ----------
    shape : tuple of int
        Of what is read: that of the selection, axes of integers dropped.
    dtype : dtype
    index_requests : list of ByteRange
        The indexes of the touched shards, but of those that are needed whole anyway.
    """

    def __init__(self, parts: Iterable[tuple[grids.Part, str]], shape: tuple[int, ...], dtype: Any, kept: Any) -> None:
        self._touched = [Touched(part, key) for part, key in parts]
        self.shape, self.dtype = shape, dtype
        # How `out` gets an axis for each of the array's; None where points are read, which are a single axis.
        self._kept = kept
        self.index_requests = [one.index_request for one in self._touched if one.index_request is not None]
        self._wanted: list[ByteRange] | None = None

    def __repr__(self) -> str:
        return (
            f"<cyzarr.ReadPlan: {self.dtype} of shape {self.shape} from {so_many(len(self._touched), 'object')},"
            f" {len(self.index_requests):,} shard index{'' if len(self.index_requests) == 1 else 'es'}>"
        )

    def requests(
        self, indexes: Sequence[Any] = (), *, max_gap_nbytes: int = MAX_GAP, max_nbytes: int = MAX_NBYTES
    ) -> list[ByteRange]:
        """The data to fetch.

        Parameters
        ----------
        indexes : sequence of buffers or None
            What was fetched for each of `index_requests`; None: there is no such object.
        max_gap_nbytes, max_nbytes : int
            Ranges of one object up to so far apart are joined, up to so many bytes in all.

        Returns
        -------
        list of ByteRange
            Object by object, ascending.

        Raises
        ------
        CorruptChunkError
            An index is too short, too long or corrupt, or an entry that the selection needs is wrong.
        ValueError
            There are not as many indexes as `index_requests`, or a limit is negative.
        """
        if max_gap_nbytes < 0 or max_nbytes < 0:
            raise ValueError(f"limits must not be negative, found {max_gap_nbytes} and {max_nbytes}")
        if len(indexes) != len(self.index_requests):
            raise ValueError(f"expected {len(self.index_requests)} indexes, found {len(indexes)}")
        left = iter(indexes)
        wanted: list[ByteRange] = []
        self._wanted = None
        for one in self._touched:
            index = None if one.index_request is None else next(left)
            wanted += one.ask(None if index is None else _as_bytes(index, one.key), max_gap_nbytes, max_nbytes)
        self._wanted = wanted
        return list(wanted)

    def decode(self, buffers: Sequence[Any], out: Any = None, *, threads: int = 1) -> Array:
        """Decode what was fetched.

        Parameters
        ----------
        buffers : sequence of buffers or None
            What was fetched for each of the ranges that `requests` gave: bytes, memoryview, mmap, an Arrow buffer, a
            contiguous array. They are used where they lie and must not change meanwhile. None: there is no such object,
            whose part of `out` becomes the fill value.
        out : writable array, optional
            Of `shape` and `dtype`, of any strides; also one that offers DLPack or the buffer protocol. Else a new one.
            After an error its content is unspecified.
        threads : int
            How many may work, this one included.

        Returns
        -------
        ndarray
            `out`, or a view of its memory.

        Raises
        ------
        CorruptChunkError
            The bytes are not what the metadata says: names key, inner chunk, offset and length.
        TypeError, ValueError
            `out` is of another dtype or shape, read-only, or shares memory with a buffer; or there are not as many
            buffers as ranges.
        RuntimeError
            `requests` was not called since the last error of it.

        Notes
        -----
        Releases the GIL while it decodes.
        """
        target = self._target(out)
        held = self._held(buffers, target)
        flat = self._flat(target)
        reads = []
        for touched in self._touched:
            n = len(touched.ranges)
            reads.append(touched.read_into(flat, held[:n]))
            del held[:n]
        run_reads([read for read, _ in reads], threads)
        for read, place in reads:
            if place is not None:
                flat[place] = read.out
        if flat.ndim != target.ndim and self._kept is None:
            target[...] = flat.reshape(self.shape)
        return target

    def _held(self, buffers: Sequence[Any], target: Array) -> list[Array | None]:
        """What was fetched, as arrays of bytes, none of which shares memory with the target."""
        if self._wanted is None and self.index_requests:
            raise RuntimeError("requests(indexes) comes before decode")
        wanted = self.requests() if self._wanted is None else self._wanted
        if len(buffers) != len(wanted):
            raise ValueError(f"expected {len(wanted)} buffers, found {len(buffers)}")
        held = [_as_bytes(data, one.key) for data, one in zip(buffers, wanted, strict=True)]
        for data, one in zip(held, wanted, strict=True):
            if data is not None and np.may_share_memory(data, target):
                raise ValueError(f"the buffer for {one} and out share memory")
        return held

    def _target(self, out: Any) -> Array:
        """The array that is written to."""
        if out is None:
            return _zarr.empty(self.shape, self.dtype)
        target = as_writable(out)
        if target.dtype != self.dtype:
            raise TypeError(f"out must be of dtype {self.dtype}, found {target.dtype}")
        if target.shape != self.shape:
            raise ValueError(f"out must be of shape {self.shape}, found {target.shape}")
        return target

    def _flat(self, target: Array) -> Array:
        """A view with all of the array's axes; for points one with their single axis, be it a copy."""
        if self._kept is not None:
            return target[(*self._kept, ...)]
        return target if target.ndim == 1 else _zarr.empty((target.size,), self.dtype)


def as_writable(out: Any) -> Array:
    """An output that a caller gave, as an array over the same memory.

    Raises
    ------
    TypeError
        It is no array, nor offers DLPack or the buffer protocol.
    ValueError
        It is read-only.
    """
    try:
        # Also of a subclass, such as a memmap, the array below it.
        found = np.asarray(out) if isinstance(out, np.ndarray) else _shared(out)
    except (TypeError, BufferError, RuntimeError) as error:
        raise TypeError(f"out is no array in host memory: {type(out).__name__}: {error}") from error
    if not found.flags.writeable:
        raise ValueError("out is read-only")
    return found


def _shared(out: Any) -> Array:
    """The memory of another library's array."""
    if not hasattr(out, "__dlpack__"):
        return np.asarray(memoryview(out))
    found = np.from_dlpack(out)
    if not found.flags.writeable and hasattr(out, "__array__"):
        # NumPy takes what offers DLPack before its version 1 for read-only. The array's own word counts, if that is no
        # copy.
        shown = out.__array__()
        if type(shown) is np.ndarray and _place(shown) == _place(found):
            return shown
    return found


def _place(array: Array) -> tuple[Any, ...]:
    return array.ctypes.data, array.shape, array.strides, array.dtype


def plan(metadata: Any, selection: Any = ..., *, points: bool = False) -> ReadPlan:
    """Plan a read without I/O: what to fetch, and how to decode it.

    Parameters
    ----------
    metadata : zarr's ArrayMetadata, an array, a dict, or the text or bytes of a zarr.json or .zarray
    selection : integer, slice, Ellipsis, index array, or a tuple of these
        One entry per axis, each taken with every position of the others, as in `array.oindex`. Slices have positive
        steps. With `points`: index arrays that are taken together, one per axis, as in `array.vindex`; or a mask of
        the array's shape.
    points : bool

    Returns
    -------
    ReadPlan

    Raises
    ------
    BoundsCheckError, IndexError
        The selection is outside of the array, or of another form. These are zarr's, too.
    ValueError
        The metadata is none of an array, or of one that the kernels don't read; the text says why.
    """
    found = metadata_of(metadata)
    shape = tuple(found.shape)
    if points:
        entries, made = point_entries(selection, shape)
    else:
        entries = product_entries(selection, shape)
        made = tuple(len(entry) for entry in entries if not isinstance(entry, int))
    kept = None if points else [None if isinstance(one, int) else slice(None) for one in entries]
    entries = tuple(range(one, one + 1) if isinstance(one, int) else one for one in entries)
    try:
        grid = grid_of(found)
        dtype = grid.program(grid.chunk_shape((0,) * len(shape))).dtype
        cut = () if any(len(one) == 0 for one in entries) else grids.parts(grid, entries, points)
        return ReadPlan(((part, found.encode_chunk_key(part.chunks)) for part in cut), made, dtype, kept)
    except NotNativeError as error:
        raise ValueError(f"the kernels don't read this array: {error}") from error


def metadata_of(given: Any) -> Any:
    """zarr's metadata of whatever describes an array."""
    if isinstance(given, Mapping):
        try:
            return _parsed(json.dumps(given))
        except TypeError:
            # It holds what JSON doesn't know.
            return _zarrs_own(dict(given))
    if isinstance(given, str | bytes | bytearray | memoryview):
        return _parsed(given if isinstance(given, str) else bytes(given))
    found = getattr(given, "metadata", given)
    if not hasattr(found, "encode_chunk_key"):
        raise TypeError(
            "expected an array, its metadata, a dict, or the text or bytes of a zarr.json or .zarray, found"
            f" {type(given).__name__}"
        )
    return found


def _zarrs_own(document: dict[str, Any]) -> Any:
    """A document as zarr takes it. It doesn't look for every field that it needs."""
    try:
        return _zarr.parse_metadata(document)
    except (KeyError, TypeError) as error:
        said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"this is no array's metadata: {said}") from error


@functools.lru_cache(maxsize=64)
def _parsed(text: str | bytes) -> Any:
    """Kept: zarr takes longer to parse a document than a small chunk takes to be decoded."""
    try:
        document = json.loads(text)
    except ValueError as error:
        shown = repr(text[:60]) + ("..." if len(text) > 60 else "")
        raise ValueError(
            f"expected the text of a zarr.json or .zarray, or an array, found {shown}: {error}; a plan opens no files"
        ) from error
    if not isinstance(document, dict):
        raise ValueError(f"an array's metadata is an object, found {type(document).__name__}")
    return _zarrs_own(document)


def product_entries(selection: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An entry per axis of the array: an int, an ascending range or an intp array."""
    items = list(selection) if isinstance(selection, tuple) else [selection]
    dots = [at for at, item in enumerate(items) if item is Ellipsis]
    missing = len(shape) - (len(items) - len(dots))
    if len(dots) > 1 or missing < 0:
        raise IndexError(f"{selection!r} is no selection of {len(shape)} axes")
    at = dots[0] if dots else len(items)
    items[at : at + len(dots)] = [slice(None)] * missing
    return tuple(_entry(axis, item, extent) for axis, (item, extent) in enumerate(zip(items, shape, strict=True)))


def _entry(axis: int, item: Any, extent: int) -> Any:
    if isinstance(item, slice) and isinstance(item.step, int | np.integer) and item.step < 1:
        if item.step == 0:
            raise ValueError(f"axis {axis}: slice step cannot be zero")
        raise zarr.errors.NegativeStepError(
            f"axis {axis}: only slices with positive steps are supported, found {item!r}"
        )
    item = np.asarray(item) if isinstance(item, list) else item
    if isinstance(item, np.ndarray) and item.shape == (0,) and item.dtype.kind in "iu":
        return np.empty(0, np.intp)
    entry = fancy.axis_entry(item, extent)
    if entry is not None:
        return entry
    given = item if isinstance(item, np.ndarray | np.integer | int) else None
    if given is not None and np.ndim(given) == (not np.isscalar(given)) and np.asarray(given).dtype.kind in "iu":
        raise OutsideError(f"axis {axis}: {np.min(given)} to {np.max(given)} is not within an extent of {extent}")
    raise IndexError(
        f"axis {axis} of {extent}: expected an integer, a slice with a positive step, a 1-D array of integers"
        f" or a mask, found {item!r}"
    )


def point_entries(selection: Any, shape: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """Index arrays of one length, one per axis, and the shape of what they pick."""
    found = fancy.normalize_mask(selection, shape, ()) or fancy.normalize_coordinates(selection, shape, ())
    if found is None or not shape:
        raise IndexError(
            f"points are {len(shape)} integer arrays that broadcast, each within its axis of {shape}, or a mask of that"
            f" shape; found {selection!r}"
        )
    entries, made = found
    return entries, entries[0].shape if made is None else made


def _index_range(key: str, location: str, nbytes: int) -> ByteRange:
    return ByteRange(key, 0, nbytes) if location == "start" else ByteRange(key, -nbytes, None)


def _as_bytes(data: Any, key: str) -> Array | None:
    """A buffer as an array of bytes over its memory."""
    if data is None:
        return None
    try:
        return np.frombuffer(data, np.uint8) if len(memoryview(data)) else np.empty(0, np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise TypeError(f"the bytes of {key!r}: expected a contiguous buffer, found {type(data).__name__}") from error
