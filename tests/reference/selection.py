"""What a per-axis selection picks, said once for all twins.

A selection is a tuple with one entry per axis: an int, a slice, or a 1-d integer array. The
entries act on their own axes (an open mesh); an int drops its axis.
"""

import numpy as np


def positions(entry, size):
    """Positions on an axis of ``size`` items that ``entry`` picks, in the order of the output."""
    if isinstance(entry, slice):
        return np.arange(size, dtype=np.int64)[entry]
    picked = np.atleast_1d(np.asarray(entry)).astype(object)
    if any(not 0 <= i < size for i in picked):
        raise IndexError(f"index out of bounds for an axis of {size} items")
    return picked.astype(np.int64)


def is_int(entry):
    """Whether ``entry`` is a single index, which drops its axis."""
    return not isinstance(entry, slice) and np.ndim(entry) == 0


def pick(array, selection):
    """The items of ``array`` that ``selection`` picks, axis by axis."""
    if len(selection) != array.ndim:
        raise ValueError(f"{len(selection)} entries for {array.ndim} axes")
    for axis in reversed(range(array.ndim)):
        # The Ellipsis keeps what is left of no axes an array, in its own byte order.
        array = array[(*(slice(None),) * axis, selection[axis], ...)]
    return array


def selected_shape(selection, shape):
    """Shape of ``pick(array of that shape, selection)``."""
    return tuple(len(positions(entry, size)) for entry, size in zip(selection, shape, strict=True) if not is_int(entry))


def touched(selection, shape):
    """Boolean array of ``shape``: True where ``selection`` picks the item."""
    mask = np.zeros(shape, dtype=bool)
    lists = [positions(entry, size) for entry, size in zip(selection, shape, strict=True)]
    mask[np.ix_(*lists)] = True
    return mask
