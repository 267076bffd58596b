from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

@disjoint_base
class Plan:
    """Owns what takes items of one dtype to another of another byte order."""

    def __new__(cls, stored: np.dtype[Any], out: np.dtype[Any]) -> Self: ...

def swap_components(stored: npt.DTypeLike, out: npt.DTypeLike) -> list[tuple[int, int, int]]:
    """The (offset, width, repeat) runs to swap between two dtypes."""

def collect_swaps(
    stored: np.dtype[Any], out: np.dtype[Any], offset: int, repeat: int, found: list[tuple[int, int, int]]
) -> None: ...
def check_apart(src: np.ndarray[Any, Any], dst: np.ndarray[Any, Any]) -> None: ...
def copy_block(src: np.ndarray[Any, Any], dst: np.ndarray[Any, Any]) -> None:
    """Copy `src` into `dst`, byte-swapping where their dtypes differ in byte order."""

def fill_block(dst: np.ndarray[Any, Any], value: Any) -> None:
    """Set every item of `dst` to one value, given as an item's bytes or as anything that NumPy stores in one."""

def gather(src: np.ndarray[Any, Any], indices: Sequence[npt.ArrayLike], dst: np.ndarray[Any, Any]) -> None:
    """Copy the open mesh of index arrays: dst[i, j, ...] = src[indices[0][i], indices[1][j], ...]."""

def checked_indices(
    shape: Sequence[int], indices: Sequence[npt.ArrayLike], lengths: Sequence[int]
) -> list[npt.NDArray[np.intp]]: ...
