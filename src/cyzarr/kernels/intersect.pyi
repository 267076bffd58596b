from collections.abc import Sequence
from typing import Any, NamedTuple, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

# What picks from one axis: an integer, a slice or a 1-D integer array.
_Key: TypeAlias = SupportsIndex | slice | Sequence[int] | npt.NDArray[np.integer[Any]]

class AxisTable(NamedTuple):
    """Which positions of which chunks one axis of a selection touches."""

    entries: npt.NDArray[np.int64]
    index: npt.NDArray[np.intp] | None  # type: ignore[assignment]  # takes the place of tuple.index
    place: npt.NDArray[np.intp] | None

def intersections(selection: Sequence[_Key], shape: Sequence[int], chunk_shape: Sequence[int]) -> tuple[AxisTable, ...]:
    """Cut a selection along a regular grid: one table per axis."""

def axis_table(axis: int, key: _Key, extent: int, chunk: int) -> AxisTable: ...
def checked_positions(axis: int, key: npt.ArrayLike, extent: int) -> npt.NDArray[np.intp]: ...
