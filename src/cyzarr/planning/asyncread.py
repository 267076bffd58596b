"""`zarr.AsyncArray` on the direct road: `getitem` and its `get_*_selection`.

These coroutine functions take the place of zarr's own. A read is handed to one thread, whole, so that the event loop
it was awaited on goes on; only what lies in memory and takes less than the handing over is read at once. The thread
owns what it reads into: a task that is cancelled meanwhile doesn't take that away from it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from cyzarr.planning import direct
from cyzarr.planning.fancy import normalize_coordinates, normalize_mask, normalize_orthogonal

# zarr's own coroutine functions, by name; set by activate.
_zarr: dict[str, Any] = {}
# Selections of more items than this are looked at in the other thread, too.
MAX_ITEMS = 1000


def set_zarr_function(name: str, function: Any) -> None:
    """zarr's own function of this name, for what the direct road doesn't take."""
    _zarr[name] = function


async def getitem(self: Any, selection: Any, *, prototype: Any = None) -> Any:
    """`zarr.AsyncArray.getitem`: see zarr's documentation."""
    found = direct.read_basic(self, selection, prototype, True)
    if found is direct.LATER:
        found = await asyncio.to_thread(direct.read_basic, self, selection, prototype, False)
    elif found is not None:
        # As zarr's own does, an awaited read lets others have their turn.
        await asyncio.sleep(0)
    if found is None:
        return await _zarr["getitem"](self, selection, prototype=prototype)
    return found


async def get_orthogonal_selection(
    self: Any, selection: Any, *, out: Any = None, fields: Any = None, prototype: Any = None
) -> Any:
    """`zarr.AsyncArray.get_orthogonal_selection`: see zarr's documentation."""
    return await _pick("get_orthogonal_selection", normalize_orthogonal, self, selection, out, fields, prototype)


async def get_mask_selection(
    self: Any, mask: Any, *, out: Any = None, fields: Any = None, prototype: Any = None
) -> Any:
    """`zarr.AsyncArray.get_mask_selection`: see zarr's documentation."""
    return await _pick("get_mask_selection", normalize_mask, self, mask, out, fields, prototype)


async def get_coordinate_selection(
    self: Any, selection: Any, *, out: Any = None, fields: Any = None, prototype: Any = None
) -> Any:
    """`zarr.AsyncArray.get_coordinate_selection`: see zarr's documentation."""
    return await _pick("get_coordinate_selection", normalize_coordinates, self, selection, out, fields, prototype)


async def _pick(name: str, normalize: Any, array: Any, selection: Any, out: Any, fields: Any, prototype: Any) -> Any:
    """The picked items, or what zarr's own function of this name says."""
    points = normalize is not normalize_orthogonal
    found = await _read(array, normalize, selection, points, out, fields, prototype)
    if found is None:
        return await _zarr[name](array, selection, out=out, fields=fields, prototype=prototype)
    return found


async def _read(array: Any, normalize: Any, selection: Any, points: bool, out: Any, fields: Any, prototype: Any) -> Any:
    """The picked items; None: zarr's own code has to say."""
    in_memory = direct.in_memory(array, out, prototype)
    if in_memory is None:
        return None
    if in_memory and _count(selection) <= MAX_ITEMS:
        found = direct.read_picked(array, normalize, selection, points, out, fields, prototype, True)
        if found is not direct.LATER:
            await asyncio.sleep(0)
            return found
    own = _own(selection)
    return await asyncio.to_thread(direct.read_picked, array, normalize, own, points, out, fields, prototype, False)


def _items(selection: Any) -> tuple[Any, ...]:
    return selection if isinstance(selection, tuple) else (selection,)


def _count(selection: Any) -> int:
    """How many items a selection holds, about."""
    return sum(
        one.size if isinstance(one, np.ndarray) else len(one) if isinstance(one, list) else 1
        for one in _items(selection)
    )


def _own(selection: Any) -> Any:
    """A selection that the caller can't change any more while another thread looks at it."""
    copied = [one.copy() if isinstance(one, np.ndarray | list) else one for one in _items(selection)]
    return tuple(copied) if isinstance(selection, tuple) else copied[0]
