from collections.abc import Sequence, Sized
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt

# What picks from one axis: an integer, a slice or a 1-D integer array.
_Key: TypeAlias = SupportsIndex | slice | Sequence[int] | npt.NDArray[np.integer[Any]]

MAX_ITEMS: int

def touched(axis: int, key: _Key, extent: int) -> tuple[int, int] | None: ...
def wrapped(axis: int, key: npt.ArrayLike, extent: int) -> npt.NDArray[np.int64]: ...
def shifted_key(axis: int, key: _Key, extent: int, first: int) -> int | slice | npt.NDArray[np.int64]: ...
def checked_shape(selection: Sized, chunk_shape: Sequence[SupportsIndex]) -> tuple[int, ...]: ...
def block_window(
    selection: Sequence[_Key], chunk_shape: Sequence[SupportsIndex]
) -> tuple[int, tuple[int, ...], tuple[int | slice | npt.NDArray[np.int64], ...]]:
    """The one contiguous block of an uncompressed chunk that holds a selection: (offset in items, shape, shifted)."""

def block_windows(
    selection: Sequence[_Key], chunk_shape: Sequence[SupportsIndex], *, itemsize: int = 1, max_gap_nbytes: int = 0
) -> npt.NDArray[np.int64]:
    """The contiguous ranges of an uncompressed chunk that hold a selection: rows (offset, count) in items."""

def touched_positions(axis: int, key: _Key, extent: int) -> npt.NDArray[np.int64]: ...
def merged_ranges(
    starts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], max_gap: int
) -> npt.NDArray[np.int64]: ...
