from typing import Any

import numpy as np

def native_dtype(array: Any) -> np.dtype[Any] | None:
    """The data type that a direct read of this array gives; None where there is none."""

def read_fresh(array: Any, entries: tuple[Any, ...]) -> np.ndarray[Any, Any] | None:
    """Read ints and ascending ranges into a fresh C-contiguous array; None where that isn't possible."""

def read_view(array: Any, entries: tuple[Any, ...], points: bool, out: np.ndarray[Any, Any]) -> bool:
    """Read entries, or points, into `out`; False where zarr's own code must say what this is."""
