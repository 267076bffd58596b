"""What a view may be over: zarr arrays, NumPy arrays, and anything with a shape, a dtype and basic indexing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from cyzarr.errors import BoundsCheckError
from cyzarr.lazy import grid, lowering

if TYPE_CHECKING:
    from cyzarr.lazy.grid import Grid
    from cyzarr.lazy.lowering import Array, Points, Product


def kind_of(source: Any) -> str:
    """ "zarr", "numpy" or "other"."""
    if isinstance(source, np.ndarray):
        return "numpy"
    zarr = sys.modules.get("zarr")
    return "zarr" if zarr is not None and isinstance(source, zarr.Array) else "other"


def is_plain_zarr(source: Any) -> bool:
    """Whether it is exactly zarr's Array, whose ways of writing are known."""
    zarr = sys.modules.get("zarr")
    return zarr is not None and type(source) is zarr.Array


def from_zero(source: Any) -> Any:
    """A source whose coordinates begin at 0: TensorStore's may begin elsewhere, and are moved.

    Raises
    ------
    ValueError
        Where they begin elsewhere and can't be moved.
    """
    least = getattr(getattr(source, "domain", None), "inclusive_min", None)
    if not isinstance(least, tuple) or not any(least):
        return source
    if not hasattr(source, "translate_to"):
        raise ValueError(f"the {type(source).__name__}'s coordinates begin at {least}; a view needs them to begin at 0")
    return source.translate_to[(0,) * len(least)]


def dtype_of(source: Any) -> np.dtype[Any]:
    """A source's data type; TensorStore's says itself which it is of NumPy's."""
    given = source.dtype
    return given if isinstance(given, np.dtype) else np.dtype(getattr(given, "numpy_dtype", given))


def read_grid(source: Any) -> Grid | None:
    """The grid that a source says it can be read by; None where it says none."""
    return _said(source, ("read_chunk_sizes", "chunks"))


def grid_now(source: Any, cells: Grid | None) -> Grid:
    """The grid of a view of a source, which may have been resized since the view was made."""
    shape = tuple(source.shape)
    if isinstance(cells, grid.Found) and tuple(axis.extent for axis in cells) != shape:
        cells = read_grid(source)
    return grid.whole(shape) if cells is None else grid.clipped(cells, shape)


def write_grid(source: Any, kind: str) -> Grid | None:
    """The grid that a source says it can be written by: of a zarr array, its shards, else chunks."""
    # Before zarr has `write_chunk_sizes`, `chunks` are those within shards.
    names = ("write_chunk_sizes", "shards", "chunks") if kind == "zarr" else ("write_chunk_sizes", "chunks")
    return _said(source, names)


def _said(source: Any, names: tuple[str, ...]) -> Grid | None:
    for name in names:
        try:
            sizes = getattr(source, name)
        except Exception:
            continue
        if sizes is not None:
            return grid.found(tuple(source.shape), sizes)
    return None


def takes_masks(source: Any, kind: str) -> bool:
    """Whether a source is handed masked values as they are; what is neither zarr's nor NumPy's may know of masks."""
    return kind == "other" or isinstance(source, np.ma.MaskedArray)


def fresh(array: Any) -> Any:
    """An own array of what was picked; masked where that is."""
    if isinstance(array, np.ma.MaskedArray):
        return array.copy()
    return np.array(array, copy=True, order="C", subok=False)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any], source: Any) -> Any:
    if isinstance(source, np.ma.MaskedArray):
        return np.ma.empty(shape, dtype)
    if dtype.kind in "mM":
        from cyzarr import _zarr

        return _zarr.empty(shape, dtype)
    return np.empty(shape, dtype)


_direct: Any = None


def _load_direct() -> Any:
    """The direct road, which needs zarr: loaded when a zarr array is read."""
    global _direct
    from cyzarr.planning import viewreads

    _direct = viewreads
    return viewreads


def check_range(plan: Product | Points, source: Any) -> None:
    """Raise where a plan reaches beyond a source, which may have been resized since the view was made.

    Raises
    ------
    BoundsCheckError
    """
    bounds = lowering.reach(plan)
    if len(bounds) != len(source.shape):
        raise BoundsCheckError(f"a view of {len(bounds)} axes of a source of {len(source.shape)}")
    for axis, ((low, high), extent) in enumerate(zip(bounds, source.shape, strict=True)):
        if low < 0 or high >= extent:
            raise BoundsCheckError(f"axis {axis}: {low} to {high} is not within the source's extent of {extent}")


def read_straight(source: Any, entries: tuple[Any, ...]) -> Any:
    """Ints and ascending ranges of a zarr array by the direct road; None where it doesn't lead there."""
    return (_direct or _load_direct()).read_fresh(source, entries)


def direct_dtype(source: Any) -> np.dtype[Any] | None:
    """The data type of a zarr array that the direct road reads; None where zarr's own code is to read it."""
    return (_direct or _load_direct()).native_dtype(source)  # type: ignore[no-any-return]


def read_zarr(source: Any, plan: Product | Points, shape: tuple[int, ...]) -> Array:
    """The cells of a zarr array: by the direct road, else by the array's own methods, all at once either way."""
    direct = _direct or _load_direct()
    dtype = direct.native_dtype(source)
    if dtype is not None:
        out = _read_direct(direct, source, plan, shape, dtype)
        if out is not None:
            return out
    check_range(plan, source)
    if isinstance(plan, lowering.Points):
        picked = _as_array(source.get_coordinate_selection(lowering.flat(plan)))
        return fresh(np.broadcast_to(picked.reshape(plan.shape), shape))
    entries = lowering.slices(plan.entries)
    if any(isinstance(one, np.ndarray) for one in entries):
        picked = source.get_orthogonal_selection(entries)
    else:
        picked = source.get_basic_selection(entries)
    picked = _as_array(picked)
    found = lowering.arranged(plan, picked, shape)
    owned = found is picked and picked.flags.writeable and picked.flags.c_contiguous
    return found if owned else fresh(found)


def read_slices(source: Any, box: tuple[slice, ...]) -> Array:
    """What a source that is neither zarr's nor NumPy's gives for slices: of their shape, and of the data type it says.

    Raises
    ------
    ValueError
        Where it gives another shape; it would be cut or repeated.
    TypeError
        Where it gives another data type whose values the one it says can't all hold.
    """
    given = source[box]
    block = given if isinstance(given, np.ndarray) else np.asanyarray(given)
    said = dtype_of(source)
    if block is np.ma.masked:
        # What NumPy gives for a masked item, whatever the array's data type.
        block = np.ma.masked_all((), said)  # type: ignore[no-untyped-call]
    expected = tuple(len(range(one.start, one.stop, one.step or 1)) for one in box)
    name = type(source).__name__
    if block.shape != expected:
        shown = ", ".join(f"{one.start}:{one.stop}:{one.step or 1}" for one in box)
        found = block.shape if hasattr(given, "shape") else f"{block.shape}, a {type(given).__name__}"
        raise ValueError(f"the {name} was asked for [{shown}]: expected the shape {expected}, found {found}")
    if block.dtype == said:
        return block
    if not np.can_cast(block.dtype, said):
        raise TypeError(f"the {name} says that its data type is {said}, but gives {block.dtype}")
    return block.astype(said)


def read_box(source: Any, box: tuple[slice, ...]) -> Array:
    """A box of a zarr array."""
    entries = tuple(range(one.start, one.stop) for one in box)
    plan = lowering.Product(entries, list(range(len(box))), [False] * len(box))
    return read_zarr(source, plan, tuple(len(one) for one in entries))


def _as_array(found: Any) -> Array:
    """What zarr gave; a scalar as an array, be it an object or not."""
    if isinstance(found, np.ndarray):
        return found
    if isinstance(found, np.generic):
        return np.asarray(found)
    made = np.empty((), object)
    made[()] = found
    return made


def _read_direct(
    direct: Any, source: Any, plan: Product | Points, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Array | None:
    out: Array = empty(shape, dtype, None)
    if isinstance(plan, lowering.Points):
        small = out if plan.shape == shape else empty(plan.shape, dtype, None)
        if not direct.read_view(source, lowering.flat(plan), True, small.reshape(-1)):
            return None
        if small is not out:
            out[...] = small
        return out
    into = lowering.target(plan, out)
    if into is not None:
        return out if direct.read_view(source, plan.entries, False, into) else None
    extents = tuple(len(one) for one in plan.entries if not isinstance(one, int))
    small = empty(extents, dtype, None)
    if not direct.read_view(source, plan.entries, False, small):
        return None
    out[...] = lowering.arranged(plan, small, shape)
    return out
