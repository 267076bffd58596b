"""What a read would ask of a store, without reading any data: the plan is made and asked, its answers are made up.

zarr cuts a selection by chunks and hands them to a pipeline, which plans them as ever; the plan's requests are then
counted instead of being sent. Only what the plan itself depends on is fetched: shard indexes, and objects' lengths.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import re
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr

from cyzarr import _zarr
from cyzarr.codecs.pipeline import CodecPipeline
from cyzarr.planning.chunkreads import NotNativeError, normalize, plan_batch
from cyzarr.stores import fetch
from cyzarr.stores.getters import Source
from cyzarr.stores.ranges import HELD, UNTOLD, Parts, Ranges, Request
from cyzarr.stores.tasks import together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cyzarr.kernels.chunks import ChunkRead

Coordinates = tuple[int, ...]


@dataclass
class Wanted:
    """What a read needs, from its plan.

    Attributes
    ----------
    nbytes : int
        Of the result.
    objects : list of tuple
        The grid positions of the touched chunks (shards, where the array has them).
    missing : int
        How many of them are not stored.
    inner : int or None
        How many inner chunks are decoded; None where the chunks are no shards.
    first_inner : list of tuple
        The positions, within the first touched shard, of those that are decoded there.
    index_requests, index_nbytes : int
        For shard indexes. Those of remote stores that are kept cost nothing.
    size_requests : int
        For objects' lengths.
    data_requests, data_nbytes : int
        For data, neighbours together.
    ranges : int
        The pieces that are wanted, before neighbours are joined; whole objects count, too.
    pieces_nbytes : int
        Their bytes; the data has the gaps between neighbours besides.
    whole : int
        How many touched objects are fetched whole.
    stored_nbytes : int
        The lengths of all touched objects: what reading them whole would fetch.
    unknown : int
        Objects whose length the store doesn't tell; they count nowhere.
    fallback : str
        Why zarr's own code would read this; then nothing else but the objects is known.
    """

    nbytes: int = 0
    objects: list[Coordinates] = field(default_factory=list)
    missing: int = 0
    inner: int | None = None
    first_inner: list[Coordinates] = field(default_factory=list)
    index_requests: int = 0
    index_nbytes: int = 0
    size_requests: int = 0
    data_requests: int = 0
    data_nbytes: int = 0
    ranges: int = 0
    pieces_nbytes: int = 0
    whole: int = 0
    stored_nbytes: int = 0
    unknown: int = 0
    fallback: str = ""

    @property
    def requests(self) -> int:
        """All requests."""
        return self.index_requests + self.size_requests + self.data_requests

    @property
    def fetched_nbytes(self) -> int:
        """The bytes of all answers."""
        return self.index_nbytes + self.data_nbytes


def dry_run(array: zarr.Array[Any], key: Any, step: Callable[[], None] = lambda: None) -> Wanted:
    """Plan `array[key]`, and count what it would ask of the array's store.

    Parameters
    ----------
    array : zarr.Array
        It is not changed.
    key : any key that ``array[...]`` takes
    step : callable
        Called after each touched object.

    Returns
    -------
    Wanted

    Raises
    ------
    IndexError, ValueError, TypeError
        zarr's own, of keys that can't be.

    Notes
    -----
    Local files and memory are planned here as any other store: read directly, they are asked for less.
    """
    wanted = Wanted()
    twin = None
    if codecs := tuple(_zarr.pipeline_of(array)):
        with warnings.catch_warnings():
            # Of chains that the array has already.
            warnings.simplefilter("ignore")
            pipeline = DryPipeline.from_codecs(codecs)
        object.__setattr__(pipeline, "_run", _Run(wanted, array, step))
        twin = _zarr.without_output(array, pipeline)
    if twin is None:
        wanted.fallback = _zarr.OTHER_PARTS
    else:
        wanted.nbytes = np.asarray(twin[key]).nbytes
    return wanted


@dataclass
class _Run:
    wanted: Wanted
    array: zarr.Array[Any]
    step: Callable[[], None]

    async def plan(self, pipeline: Any, batch: list[Any], out: Any, drop_axes: tuple[int, ...]) -> list[bool]:
        """Plan a batch, and ask for nothing; per chunk whether it is not stored."""
        self.wanted.objects += [self.position(getter.path) for getter, *_ in batch]
        try:
            plan = plan_batch(pipeline, batch, out, drop_axes)
        except NotNativeError as error:
            self.wanted.fallback = str(error)
            return [False] * len(batch)
        for read, (_, _, selection, *_) in zip(plan.reads, batch, strict=True):
            self.count_inner(read, selection, drop_axes)
        asker = DryAsker(self.wanted)

        gate = asyncio.Semaphore(asker.limit or max(len(plan.reads), 1))

        async def one(each: tuple[ChunkRead, Any, Any]) -> bool:
            read, getter, spec = each
            async with gate:
                await asker.fetch(read, getter, spec)
                size = await asker.size(Source.of(getter, read.key))
            # What was made up is of no more use.
            read.set_missing()
            self.step()
            return size is None

        return await together(one, list(zip(plan.reads, plan.getters, plan.specs, strict=True)))

    def position(self, path: str) -> Coordinates:
        """The grid position of a chunk's key."""
        relative = path[len(self.array.path) :].removeprefix("/")
        return tuple(int(number) for number in re.findall("[0-9]+", relative))[: self.array.ndim]

    def count_inner(self, read: ChunkRead, selection: Any, drop_axes: tuple[int, ...]) -> None:
        """The inner chunks that are decoded for a read."""
        inner = inner_shape(read.program.chain)
        if inner is None:
            return
        entries, points = normalize(selection, drop_axes)
        along, points = decoded(read.program, entries, points)
        cells = [one // length for one, length in zip(along, inner, strict=True)]
        if points:
            found = np.unique(np.stack(cells), axis=1)
            count, first = found.shape[1], found.T.tolist()
        else:
            axes = [np.unique(one) for one in cells]
            count = math.prod(len(one) for one in axes)
            first = itertools.product(*(one.tolist() for one in axes))
        if self.wanted.inner is None:
            self.wanted.inner = 0
            self.wanted.first_inner = [tuple(at) for at in first]
        self.wanted.inner += count


class DryPipeline(CodecPipeline):
    """zarr hands it what is to be read; it plans, and leaves the output as it is."""

    _run: _Run

    async def read(self, batch_info: Iterable[Any], out: Any, drop_axes: tuple[int, ...] = ()) -> Any:
        """Plan the batch."""
        missing = await self._run.plan(self, list(batch_info), out, tuple(drop_axes))
        # An array may refuse missing chunks; they are counted, and none is told.
        return _zarr.results([False] * len(missing))


class DryAsker(fetch.Asker):
    """Answers requests for data by as many bytes of nothing, and counts them; asks for indexes and lengths."""

    def __init__(self, wanted: Wanted) -> None:
        super().__init__({})
        self.wanted = wanted
        self.sizes: dict[str, int | None] = {}
        self.nothing = np.zeros(1 << 20, np.uint8)

    async def ask(self, source: Source, request: Request | Ranges | fetch.Index) -> Any:
        """The answer to one request, made up where it would be data."""
        if isinstance(request, fetch.Index):
            return await self.real_index(source, request)
        size = await self.size(source)
        if isinstance(request, Ranges):
            return self.parts(request, size)
        if request is HELD:
            return size
        if request.size:
            self.wanted.size_requests += 1
            return size
        self.wanted.data_requests += 1
        self.wanted.ranges += 1
        if size is None:
            return None
        is_whole = request.stop is None and request.last is None
        if is_whole:
            self.wanted.whole += 1
        stop = request.stop if request.stop is not None and (size == UNTOLD or request.stop < size) else max(size, 0)
        nbytes = max(stop - request.start, 0)
        self.wanted.pieces_nbytes += nbytes
        return self.counted(nbytes)

    async def real_index(self, source: Source, index: fetch.Index) -> Any:
        """A shard's index, from where a read would have it."""
        totals: dict[str, int] = {}
        found = await fetch.Asker(totals).ask_index(source, index)
        self.wanted.index_requests += totals.get("requests", 0)
        self.wanted.index_nbytes += totals.get("bytes_read", 0)
        return found

    async def size(self, source: Source) -> int | None:
        """An object's length, asked for once; UNTOLD where the store doesn't tell it."""
        if source.key not in self.sizes:
            found = source.kind.size_at_hand(source.store, source.key)
            if found == UNTOLD:
                found = await fetch.size_or_untold(source)
            if found == 0 and await source.kind.read(source.store, source.key) is None:
                found = None
            self.sizes[source.key] = found
            self.wanted.missing += found is None
            self.wanted.unknown += found == UNTOLD
            self.wanted.stored_nbytes += max(found or 0, 0)
        return self.sizes[source.key]

    def parts(self, request: Ranges, size: int | None) -> Parts:
        """The answer to ranges: neighbours together, as the store is asked."""
        merged = request.merged()
        self.wanted.data_requests += len(merged)
        self.wanted.ranges += len(request.ranges)
        if size is not None:
            self.wanted.pieces_nbytes += sum(nbytes for _, nbytes in request.ranges)
        spans = [(one.start, one.stop or 0) for one in merged]
        parts = Parts((start, stop, None if size is None else self.counted(stop - start)) for start, stop in spans)
        parts.requests = len(merged)
        return parts

    def counted(self, nbytes: int) -> np.ndarray[Any, Any]:
        """So many bytes of nothing: all answers share them, and nobody looks at them."""
        self.wanted.data_nbytes += nbytes
        if nbytes > self.nothing.size:
            self.nothing = np.zeros(2 * nbytes, np.uint8)
        return self.nothing[:nbytes]


def inner_shape(chain: Any) -> Coordinates | None:
    """The shape of a shard's inner chunks, in the axes of the chunk that the chain is handed; None: no shard."""
    order = chain.get("order") or tuple(range(len(chain["shape"])))
    if "shard" in chain:
        inner = tuple(chain["shard"]["chunk_shape"])
    elif "hull" in chain:
        below = inner_shape(chain["hull"]["program"].chain)
        if below is None:
            return None
        inner = below
    else:
        return None
    return tuple(inner[order.index(axis)] for axis in range(len(order)))


def decoded(program: Any, entries: tuple[Any, ...], points: bool) -> tuple[list[Any], bool]:
    """The positions along each axis that are decoded, and whether they are points.

    A codec that works item by item takes a block; any other takes the chunk.
    """
    shape, hull = program.shape, program.chain.get("hull")
    along = []
    for entry, extent in zip(entries, shape, strict=True):
        if isinstance(entry, slice):
            found = np.arange(extent)[entry]
        else:
            found = np.atleast_1d(np.asarray(entry)) % extent
        if hull is not None and not hull["elementwise"]:
            found = np.arange(extent)
        elif hull is not None and found.size:
            found = np.arange(found.min(), found.max() + 1)
        along.append(found)
    return along, points and hull is None
