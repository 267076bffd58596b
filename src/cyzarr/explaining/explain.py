"""How an array is read, and what one selection of it would cost."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import zarr
from zarr.storage import LocalStore, MemoryStore

from cyzarr import _zarr
from cyzarr.explaining.advice import advise
from cyzarr.explaining.dryrun import Wanted, dry_run
from cyzarr.explaining.layout import Layout, layout_of
from cyzarr.explaining.stages import Stage, stages_of
from cyzarr.planning.grids import Axis
from cyzarr.planning.program import NotNativeError, compile_array, compile_grid
from cyzarr.stores.plain import is_plain

if TYPE_CHECKING:
    from collections.abc import Callable

# "No selection" is not None, which is a key.
NOTHING = object()


@dataclass
class Explanation:
    """How an array is read, and what a selection of it needs.

    Attributes
    ----------
    shape, dtype, zarr_format, itemsize, nbytes
        The array's.
    store : str
        The store's class.
    is_direct : bool
        Whether reads go straight to local files or memory; otherwise the store's methods are asked.
    grid : tuple of int or None
        How many chunks (shards) there are along each axis; None on a grid that is not zarr's.
    fallback : str
        Why zarr's own code reads the array; empty where cyzarr does.
    stages : list of Stage
        The codec chain.
    layout : Layout or None
        Which parts of an object can be read; None where zarr's own code reads.
    wanted : Wanted or None
        What the selection needs; None without one.
    advice : list of str
    """

    shape: tuple[int, ...]
    dtype: str
    zarr_format: int
    itemsize: int
    nbytes: int
    store: str
    is_direct: bool
    grid: tuple[int, ...] | None = None
    fallback: str = ""
    stages: list[Stage] = field(default_factory=list)
    layout: Layout | None = None
    wanted: Wanted | None = None
    advice: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The same in plain types; of the positions of touched chunks, how many there are."""
        found = asdict(self)
        if self.layout is not None:
            found["layout"] |= {"said": self.layout.said, "is_partial": self.layout.is_partial}
        if self.wanted is not None:
            del found["wanted"]["first_inner"]
            found["wanted"]["objects"] = len(self.wanted.objects)
            found["wanted"] |= {"requests": self.wanted.requests, "fetched_nbytes": self.wanted.fetched_nbytes}
        return found


def explain(
    array: zarr.Array[Any], selection: Any = NOTHING, *, step: Callable[[], None] = lambda: None
) -> Explanation:
    """Say how an array is read: its codecs, the parts that can be read, and what a selection would cost.

    Parameters
    ----------
    array : zarr.Array
    selection : any key that ``array[...]`` takes, optional
        Its plan is made and asked for what it needs. No data is read: shard indexes and the lengths of objects are
        (the latter by reading the objects, from stores that tell them in no other way).
    step : callable
        Called after each touched object, for progress.

    Returns
    -------
    Explanation

    Raises
    ------
    TypeError
        It is no zarr.Array, or the selection is written as a text.
    IndexError, ValueError, TypeError
        zarr's own, of selections that can't be.
    """
    if not isinstance(array, zarr.Array):
        hint = "; open a path with zarr.open_array" if isinstance(array, str | os.PathLike) else ""
        raise TypeError(f"expected a zarr.Array, found {type(array).__name__}{hint}")
    if isinstance(selection, str) and (array.dtype.names is None or selection not in array.dtype.names):
        raise TypeError(f"expected what stands between brackets, as (3, slice(100, 300)), found a text: {selection!r}")
    dtype, store = array.dtype, array.store
    found = Explanation(
        shape=array.shape,
        dtype=str(dtype),
        zarr_format=array.metadata.zarr_format,
        itemsize=dtype.itemsize,
        nbytes=array.nbytes,
        store=type(store).__name__,
        is_direct=type(store) in (LocalStore, MemoryStore) and is_plain(store),
        grid=grid_of(array.metadata),
        stages=stages_of(_zarr.pipeline_of(array)),
    )
    try:
        found.layout = layout_of(program_of(array).chain)
    except NotNativeError as error:
        found.fallback = str(error)
    if selection is not NOTHING:
        found.wanted = dry_run(array, selection, step)
        found.fallback = found.fallback or found.wanted.fallback
    found.advice = advise(found)
    return found


def grid_of(metadata: Any) -> tuple[int, ...] | None:
    """How many chunks there are along each axis."""
    edges = _zarr.chunk_shape(metadata) or _zarr.chunk_edges(metadata)
    if edges is None:
        # An array of no axes has one chunk.
        return None if metadata.shape else ()
    return tuple(Axis(along, extent).count for along, extent in zip(edges, metadata.shape, strict=True))


def program_of(array: zarr.Array[Any]) -> Any:
    """The program of an array's chunks; of those of several shapes, of the first."""
    parts = _zarr.parts_of(array)
    if parts is None:
        raise NotNativeError(_zarr.OTHER_PARTS)
    if not _zarr.is_default_pipeline(parts.pipeline):
        raise NotNativeError(f"pipeline {type(parts.pipeline).__name__} was chosen")
    async_array = array._async_array
    grid = compile_grid(async_array)
    return compile_array(async_array) if grid is None else grid.program(grid.chunk_shape((0,) * array.ndim))
