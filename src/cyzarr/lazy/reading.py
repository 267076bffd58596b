"""Reading a view: in one go where the source takes any selection, else part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cyzarr.lazy import grid, lowering, parts, sources
from cyzarr.lazy.transform import straight

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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


class PlainOutputError(TypeError):
    """Masked values for an `out` that can't hold their mask; the view asks its reader again, with one that can."""


class DefaultReader:
    """Reads zarr and NumPy arrays in one go, and asks anything else for slices with positive steps."""

    def read_into(self, source: Any, context: Context, out: Any) -> None:
        found = read_transform(source, sources.kind_of(source), context.transform)
        if _is_masked(found) and not _is_masked(out):
            raise PlainOutputError("the values are masked, and `out` has no mask")
        out[...] = found


def _is_masked(array: Any) -> bool:
    return isinstance(array, np.ma.MaskedArray)


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
    return _by_parts(view, parts_of(view))


def _default(view: LazyArray, part: Part) -> Any:
    return read_transform(view._source, view._kind, part.transform)


def _assembled(view: LazyArray, found: Iterator[tuple[Part, Any]]) -> Any:
    out: Any = None
    for part, values in found:
        if values.shape == view.shape and part.piece.is_box:
            # It is all of the view.
            return values
        if out is None:
            out = sources.empty(view.shape, view.dtype, view._source)
        if _is_masked(values) and not _is_masked(out):
            # A source may give masked arrays for some parts only.
            out = np.ma.array(out, copy=False, fill_value=values.fill_value)
        out[part.piece.out_selection] = values
    return out


def read_part(view: LazyArray, part: Part, out: Any) -> Any:
    """Have the view's reader put a part where it goes; `out`, masked where it had to be."""
    selection = part.piece.out_selection
    # A part of a masked array need not share its mask.
    direct = part.piece.is_box and selection and not _is_masked(out)
    shape = part.transform.domain.shape
    into = out[selection] if direct else sources.empty(shape, view.dtype, out)
    context = Context(part.transform.translate_domain_to((0,) * len(shape)), part.projection)
    try:
        answer = view.reader.read_into(view._source, context, into)
    except PlainOutputError:
        if _is_masked(out):
            raise
        return read_part(view, part, np.ma.array(out, copy=False))
    if answer is not None:
        raise TypeError(
            f"read_into of {type(view.reader).__name__} gave a {type(answer).__name__}; it is to fill `out`"
        )
    if not direct:
        out[selection] = into
    return out


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
    return _by_parts(view, (part._piece for part in given))


def _by_parts(view: LazyArray, given: Iterable[Part]) -> Any:
    """The values of a view from all its parts, read one by one."""
    if 0 not in view.shape and view._reader is None:
        return _assembled(view, ((part, _default(view, part)) for part in given))
    out = sources.empty(view.shape, view.dtype, view._source)
    for part in given:
        out = read_part(view, part, out)
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
    return sources.fresh(lowering.take(sources.read_slices(source, cover), within, shape))
