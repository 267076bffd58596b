"""`cyzarr.read_many`: many windows of one array by one plan."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import zarr

from cyzarr import _zarr, observe
from cyzarr.kernels.chunks import ChunkRead
from cyzarr.kernels.runs import run_reads
from cyzarr.planning import byhand, grids, windows
from cyzarr.planning.chunkreads import decode
from cyzarr.planning.program import NotNativeError, grid_of
from cyzarr.stores import fetch, plain, tasks
from cyzarr.stores.getters import key_of
from cyzarr.stores.ranges import merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]


def read_many(array: zarr.Array[Any], selections: Sequence[Any], out: Any = None) -> Any:
    """Read many windows of one array, each touched chunk or inner chunk fetched and decoded once.

    Parameters
    ----------
    array : zarr.Array
    selections : sequence
        Each as for `array.oindex`: integers, slices with positive steps, Ellipsis, index arrays.
    out : writable array or sequence of them, optional
        For windows of one shape an array of shape ``(n, *window)``; for unlike ones an array for each. Of the array's
        dtype, of any strides, also those that offer DLPack or the buffer protocol. They must not overlap. Else new ones
        are made.

    Returns
    -------
    ndarray or list of ndarray
        One array where `out` is one, or where none is given and all windows have one shape; else one for each.

    Raises
    ------
    BoundsCheckError, IndexError
        A selection is outside of the array, or of another form. These are zarr's, too.
    CorruptChunkError
        What is stored is not what the metadata says.
    TypeError, ValueError
        `out` does not fit, or `array` is none of zarr's.

    Notes
    -----
    Works whether or not cyzarr is switched on. Releases the GIL while it reads and decodes. What the kernels can't
    read, zarr reads, window by window.
    """
    if not isinstance(array, zarr.Array):
        raise TypeError(f"expected a zarr.Array, found {type(array).__name__}")
    if isinstance(selections, str | bytes) or not isinstance(selections, Iterable):
        raise TypeError(f"expected a sequence of selections, one for each window, found {type(selections).__name__}")
    shape = array.shape
    entries = [windows.basic_entries(one, shape) or byhand.product_entries(one, shape) for one in selections]
    shapes = [tuple(len(entry) for entry in one if not isinstance(entry, int)) for one in entries]
    result, slots = _slots(out, shapes, _zarr.native_dtype(array))
    wanted = [at for at, one in enumerate(shapes) if 0 not in one]
    if wanted:
        _read(array, [entries[at] for at in wanted], [slots[at] for at in wanted])
    return result


def _read(array: Any, entries: list[tuple[Any, ...]], slots: list[Array]) -> None:
    """By the direct road, through the store's own methods, or by zarr."""
    if windows.read_windows(array, entries, slots) or _read_by_store(array, entries, slots):
        return
    for one, slot in zip(entries, slots, strict=True):
        selection = tuple(slice(e.start, e.stop, e.step) if isinstance(e, range) else e for e in one)
        slot[...] = array.get_orthogonal_selection(selection)


def _slots(out: Any, shapes: list[tuple[int, ...]], dtype: Any) -> tuple[Any, list[Array]]:
    """What is returned, and the array that takes each window."""
    alike = len(set(shapes)) == 1
    if out is None and not alike:
        slots = [_zarr.empty(shape, dtype) for shape in shapes]
        return slots, slots
    if isinstance(out, list | tuple):
        if len(out) != len(shapes):
            raise ValueError(f"expected {len(shapes)} arrays in out, found {len(out)}")
        slots = [byhand.as_writable(one) for one in out]
        for at, (slot, shape) in enumerate(zip(slots, shapes, strict=True)):
            _check(f"out[{at}]", slot, shape, dtype)
        return out, slots
    if not alike and shapes:
        raise ValueError(f"windows of unlike shapes need an array for each; found the shapes {sorted(set(shapes))}")
    whole = (len(shapes), *shapes[0]) if shapes else (0,)
    target = _zarr.empty(whole, dtype) if out is None else byhand.as_writable(out)
    if shapes:
        _check("out", target, whole, dtype)
    # Views also where a window is a single item.
    return target if out is None else out, [target[at, ...] for at in range(len(shapes))]


def _check(name: str, slot: Array, shape: tuple[int, ...], dtype: Any) -> None:
    if slot.dtype != dtype:
        raise TypeError(f"{name} must be of dtype {dtype}, found {slot.dtype}")
    if slot.shape != shape:
        raise ValueError(f"{name} must be of shape {shape}, found {slot.shape}")


# --- through a store's own methods


class Placed(NamedTuple):
    """A read of what one window picks from one object, and where in its slot that goes where it is not in place."""

    read: ChunkRead
    slot: Array
    place: Any


class Limits(NamedTuple):
    """What `fetch` takes from a specification."""

    config: Any


class Shared:
    """The reads that several windows need of one stored object; it is asked for what all of them need together.

    It has what `fetch.requests_of` calls of a ChunkRead.
    """

    def __init__(self, label: int, getter: Any) -> None:
        self.label, self.getter, self.key = label, getter, key_of(getter)
        self.placed: list[Placed] = []

    @property
    def reads(self) -> list[ChunkRead]:
        return [one.read for one in self.placed]

    @property
    def whole(self) -> bool:
        return self.reads[0].whole

    @property
    def index_request(self) -> Any:
        return self.reads[0].index_request

    @property
    def stored_nbytes(self) -> int | None:
        return self.reads[0].stored_nbytes

    @property
    def touches_all(self) -> bool:
        return any(read.touches_all for read in self.reads)

    @property
    def windowed(self) -> bool:
        return self.reads[0].windowed

    def spared(self, *limits: int) -> int:
        return min(read.spared(*limits) for read in self.reads if read.touches_all)

    def chunk_requests(self, *limits: int) -> list[tuple[int, int]]:
        """The ranges that any of them needs."""
        return _union(one for read in self.reads for one in read.chunk_requests(*limits))

    def window_requests(self, index: Any, *limits: int) -> tuple[list[tuple[int, int]], int]:
        # Verified once for all.
        index = self.reads[0].checked_index(index)
        found = [read.window_requests(index, *limits) for read in self.reads]
        return _union(one for ranges, _ in found for one in ranges), max(end for _, end in found)

    def inner_requests(self, index: Any, size: int | None = None) -> list[tuple[int, int]]:
        """Each touched inner chunk once."""
        index = self.reads[0].checked_index(index, size)
        return sorted({one for read in self.reads for one in read.inner_requests(index, size)})

    def set_missing(self) -> None:
        for read in self.reads:
            read.set_missing()

    def set_object(self, data: Any) -> None:
        for read in self.reads:
            read.set_object(data)

    def set_parts(self, parts: Any, size: int | None = None, index: Any = None, end: int = 0) -> None:
        first, *others = self.reads
        first.set_parts(parts, size=size, index=index, end=end)
        for read in others:
            read.set_as(first)


def _union(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same bytes as ascending ranges, none of which meets another."""
    return [(start, stop - start) for start, stop in merge(sorted(ranges), 0, sys.maxsize)]


def _read_by_store(array: Any, entries: list[tuple[Any, ...]], slots: list[Array]) -> bool:
    """Whether the array could be read through its store's methods; what the slots hold is undefined otherwise."""
    inner = _zarr.parts_of(array)
    if type(array) is not zarr.Array or inner is None or not _zarr.is_default_pipeline(inner.pipeline):
        return False
    try:
        shared = _cut(array, inner.store_path, entries, slots)
    except NotNativeError as error:
        observe.note_fallback(str(error))
        return False
    if shared is None:
        return False
    totals: dict[str, int] = {}
    _zarr.run(_fetch_and_decode(shared, Limits(inner.config), totals))
    if any(read.missing for one in shared for read in one.reads) and not _zarr.reads_missing(inner.config):
        return False
    for one in shared:
        for read, slot, place in one.placed:
            if place is not None:
                slot[place] = read.out
    observe.record("pipeline", totals)
    return True


def _cut(array: Any, path: Any, entries: list[tuple[Any, ...]], slots: list[Array]) -> list[Shared] | None:
    """The touched objects; None where their chunks can't be shared."""
    metadata = array.metadata
    grid = grid_of(metadata)
    found: dict[tuple[int, ...], Shared] = {}
    for one, slot in zip(entries, slots, strict=True):
        view = slot[(*[None if isinstance(entry, int) else slice(None) for entry in one], ...)]
        along = tuple(range(entry, entry + 1) if isinstance(entry, int) else entry for entry in one)
        for part in grids.parts(grid, along, False):
            if part.program.objects or part.program.chain["needs_loop"]:
                return None
            shared = found.get(part.chunks)
            if shared is None:
                shared = found[part.chunks] = Shared(len(found), path / metadata.encode_chunk_key(part.chunks))
            target, place = part.target(view)
            shared.placed.append(Placed(ChunkRead(part.program, part.picked, target, shared.key), view, place))
    return list(found.values())


async def _fetch_and_decode(shared: list[Shared], limits: Limits, totals: dict[str, int]) -> None:
    """Objects as they arrive; what was fetched and is not yet decoded is bounded."""
    asker = fetch.Asker(totals)
    fetchers = min(len(shared), asker.limit or len(shared))
    left = iter(shared)

    async def work() -> None:
        for one in left:
            at_hand = _at_hand(one)
            if not at_hand:
                await asker.fetch(one, one.getter, limits)  # type: ignore[arg-type]
            run = functools.partial(run_reads, labels=[one.label] * len(one.reads))
            await decode(one.reads, totals, fetched=not at_hand, run=run)

    await tasks.all_of([asyncio.ensure_future(work()) for _ in range(fetchers)])


def _at_hand(one: Shared) -> bool:
    """Whether the object is a local file or in memory, which happens where chunks differ in shape."""
    return all(plain.set_at_hand(read, one.getter) for read in one.reads)
