"""Reading a view: in one go where the source takes any selection, else part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cyzarr.lazy import grid, lowering, parts, sources
from cyzarr.lazy.transform import straight

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cyzarr.lazy.transform import IndexTransform
    from cyzarr.lazy.view import LazyArray, Partition


class Context(NamedTuple):
    """What a reader is to read.

    Attributes
    ----------
    transform : IndexTransform
        From a domain of the output's shape that starts at 0 to coordinates of the source.
    projection : Projection
        How the part lies in its cell and in the view.
    """

    transform: IndexTransform
    projection: parts.Projection


class Part(NamedTuple):
    """A piece of a view, what it addresses of the source, and the grid it is cut by."""

    piece: parts.Piece
    transform: IndexTransform
    view: IndexTransform
    cells: grid.Grid

    @property
    def projection(self) -> parts.Projection:
        return parts.project(self.view, self.transform, self.piece, self.cells)


class DefaultReader:
    """Reads zarr and NumPy arrays in one go, and asks anything else for slices with positive steps."""

    def read_into(self, source: Any, context: Context, out: Any) -> None:
        out[...] = read_transform(source, sources.kind_of(source), context.transform)


DEFAULT = DefaultReader()


def parts_of(view: LazyArray) -> Iterator[Part]:
    """The parts of a view by its grid, or the one by none."""
    transform = view.transform
    cells = sources.grid_now(view.array, view._grid)
    for piece in parts.pieces(transform, cells):
        yield Part(piece, piece.key.compose(transform), transform, cells)


def read(view: LazyArray) -> Any:
    """The view's values."""
    transform = view._transform
    shape = transform.domain.shape
    if 0 in shape:
        return sources.empty(shape, view.dtype, view._source)
    if view._reader is None:
        if view._kind == "zarr":
            entries = straight(transform)
            found = None if entries is None else sources.read_straight(view._source, entries)
            return sources.read_zarr(view._source, lowering.lower(transform), shape) if found is None else found
        if view._kind != "other" or view._grid is None:
            return read_transform(view._source, view._kind, transform)
        return _assembled(view, ((part, _default(view, part)) for part in parts_of(view)))
    out = sources.empty(shape, view.dtype, view._source)
    for part in parts_of(view):
        read_part(view, part, out)
    return out


def _default(view: LazyArray, part: Part) -> Any:
    return read_transform(view._source, view._kind, part.transform)


def _assembled(view: LazyArray, found: Iterator[tuple[Part, Any]]) -> Any:
    out: Any = None
    for part, values in found:
        if values.shape == view.shape and part.piece.is_box:
            # It is all of the view.
            return values
        if out is None:
            make = np.ma.empty if isinstance(values, np.ma.MaskedArray) else np.empty
            out = make(view.shape, view.dtype)
        out[part.piece.out_selection] = values
    return out


def read_part(view: LazyArray, part: Part, out: Any) -> None:
    """Have the view's reader put a part where it goes."""
    selection = part.piece.out_selection
    direct = part.piece.is_box
    shape = part.transform.domain.shape
    into = out[selection] if direct and selection else sources.empty(shape, view.dtype, view._source)
    context = Context(part.transform.translate_domain_to((0,) * len(shape)), part.projection)
    answer = view.reader.read_into(view._source, context, into)
    if answer is not None:
        raise TypeError(
            f"read_into of {type(view.reader).__name__} gave a {type(answer).__name__}; it is to fill `out`"
        )
    if not (direct and selection):
        out[selection] = into


def read_parts(view: LazyArray, given: Sequence[Partition]) -> Any:
    """The view's values from its parts, which must be this view's, and all.

    Raises
    ------
    ValueError
        Where one is of another view, is there twice, or is missing.
    """
    given = list(given)
    if any(part.owner is not view for part in given):
        raise ValueError("a part is of another view; parts come from the view that is read")
    there = [part.base_coords for part in given]
    wanted = [part.piece.cells for part in parts_of(view)]
    if sorted(there) != sorted(wanted):
        raise ValueError("the parts don't make up the view: one is missing, or there twice")
    out = sources.empty(view.shape, view.dtype, view._source)
    for part in given:
        read_part(view, part._piece, out)
    return out


def read_transform(source: Any, kind: str, transform: IndexTransform) -> Any:
    """What the cells of a domain that is not empty address, a fresh array."""
    shape = transform.domain.shape
    plan = lowering.lower(transform)
    if kind == "zarr":
        return sources.read_zarr(source, plan, shape)
    sources.check_range(plan, source)
    if kind == "numpy":
        return sources.fresh(lowering.take(source, plan, shape))
    cover, within = lowering.hull(plan)
    block = source[cover]
    if not isinstance(block, np.ndarray):
        block = np.asarray(block)
    return sources.fresh(lowering.take(block, within, shape))
