from typing import Any

import numpy as np
import zarr

def basic_entries(selection: Any, shape: tuple[int, ...]) -> tuple[int | range, ...] | None:
    """An entry per axis, an int or an ascending range, of integers and slices within `shape`; None of anything else."""

def read_windows(array: zarr.Array[Any], windows: list[tuple[Any, ...]], slots: list[np.ndarray[Any, Any]]) -> bool:
    """Read windows, each of which is not empty, into writable arrays of their shapes and of the array's dtype."""
