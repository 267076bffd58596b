"""Selections of a struct's fields, where zarr's reading gives a result for them.

zarr (3.1.6 to 3.4.2) decodes whole items and assigns them to an output of the fields' dtype, as NumPy assigns structs:
by position. So it can give all fields, and the one field of a struct that has no other. For one field of several it
raises a TypeError, and for fields in another order it gives values under each other's names; these are left to it.
So is the one field of a chunk that is missing: a fill value that is an item may or may not become a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def picked_field(fields: Any, dtype: np.dtype[Any]) -> str | None:
    """The name of the field to take from the items read, "" for items as they are; None: zarr's own code has to say."""
    if not isinstance(fields, str | list | tuple):
        return None
    if not fields:
        return ""
    names = dtype.names
    if names is None:
        return None
    if isinstance(fields, str):
        # A struct within is assigned by position again.
        plain = names == (fields,) and dtype[fields].names is None and dtype[fields].itemsize == dtype.itemsize
        return fields if plain else None
    if tuple(fields) != names:
        return None
    return "" if np.dtype([(name, dtype[name]) for name in names]) == dtype else None
