"""The grid that a source is divided by, as parts of a view and writes follow it."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


class GridAxis:
    """One axis: cells of one size, the last clipped, or cells between edges."""

    __slots__ = ("count", "edges", "extent", "size")

    def __init__(self, extent: int, size: int = 0, sizes: Sequence[int] | None = None) -> None:
        self.extent = extent = operator.index(extent)
        self.edges: np.ndarray[Any, Any] | None = None
        self.size = size
        if sizes is None:
            self.count = -(-extent // size)
        else:
            self.edges = np.cumsum([0, *[one for one in sizes if one]], dtype=np.intp)
            self.count = len(self.edges) - 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GridAxis) or (self.extent, self.count) != (other.extent, other.count):
            return False
        if self.edges is None and other.edges is None:
            return self.count <= 1 or self.size == other.size
        return all(self.bounds(one) == other.bounds(one) for one in range(self.count))

    def __hash__(self) -> int:
        return hash((self.extent, self.count))

    @property
    def least(self) -> int:
        """The smallest cell."""
        if self.edges is not None:
            return int(np.diff(self.edges).min()) if self.count else 0
        return self.extent - (self.count - 1) * self.size if self.count else 0

    def cell(self, at: Any) -> Any:
        """The cell of a coordinate, or of an array of them."""
        if self.edges is None:
            return at // self.size
        return np.searchsorted(self.edges, at, side="right") - 1

    def bounds(self, cell: int) -> tuple[int, int]:
        """The first coordinate of a cell, and the one after its last."""
        if self.edges is None:
            return cell * self.size, min((cell + 1) * self.size, self.extent)
        return int(self.edges[cell]), int(self.edges[cell + 1])

    def sizes(self, cells: Any) -> Any:
        """The sizes of an array of cells."""
        if self.edges is None:
            return np.minimum((cells + 1) * self.size, self.extent) - cells * self.size
        return np.diff(self.edges)[cells]


Grid = tuple[GridAxis, ...]


class Found(tuple[GridAxis, ...]):
    """A grid that a source says it has."""

    __slots__ = ()


def uniform(shape: tuple[int, ...], sizes: Any) -> Grid:
    """Cells of one size per axis, a positive int.

    Raises
    ------
    ValueError
    """
    sizes = _per_axis(shape, sizes)
    found = []
    for axis, (extent, size) in enumerate(zip(shape, sizes, strict=True)):
        if not _is_int(size) or size < 1:
            raise ValueError(f"axis {axis}: expected a positive int as size of the cells, found {size!r}")
        found.append(GridAxis(extent, int(size)))
    return tuple(found)


def per_axis(shape: tuple[int, ...], sizes: Any) -> Grid:
    """Per axis the sizes of its cells, which sum to its extent.

    Raises
    ------
    ValueError
    """
    found = []
    for axis, (extent, along) in enumerate(zip(shape, _per_axis(shape, sizes), strict=True)):
        along = along if isinstance(along, str) or not hasattr(along, "__iter__") else list(along)
        if not isinstance(along, list) or not all(_is_int(one) for one in along):
            raise ValueError(f"axis {axis}: expected the sizes of its cells, found {along!r}")
        if any(one < (extent > 0) for one in along) or sum(along) != extent:
            raise ValueError(f"axis {axis}: cells of sizes {along} don't make up an extent of {extent}")
        found.append(GridAxis(extent, sizes=[int(one) for one in along]))
    return tuple(found)


def found(shape: tuple[int, ...], sizes: Any) -> Found | None:
    """The grid of whatever a source says of its chunks; None where that is no grid."""
    try:
        sizes = tuple(sizes)
        if all(_is_int(one) for one in sizes):
            return Found(uniform(shape, sizes))
        return Found(per_axis(shape, sizes))
    except Exception:
        return None


def whole(shape: tuple[int, ...]) -> Grid:
    """One cell."""
    return tuple(GridAxis(extent, max(extent, 1)) for extent in shape)


def clipped(cells: Grid, shape: tuple[int, ...]) -> Grid:
    """The same cells over a source that is of this shape by now: those of one size go on, or end, where it does."""
    if tuple(axis.extent for axis in cells) == shape or len(cells) != len(shape):
        return cells
    return tuple(
        axis if axis.edges is not None else GridAxis(extent, axis.size)
        for axis, extent in zip(cells, shape, strict=True)
    )


def _is_int(one: Any) -> bool:
    if isinstance(one, bool | np.bool_ | float):
        return False
    try:
        operator.index(one)
    except TypeError:
        return False
    return True


def _per_axis(shape: tuple[int, ...], sizes: Any) -> tuple[Any, ...]:
    sizes = tuple(sizes)
    if len(sizes) != len(shape):
        raise ValueError(f"{len(sizes)} entries for an array of {len(shape)} axes")
    return sizes
