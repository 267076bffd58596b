"""The direct road for lazy views, whether cyzarr is switched on or not: entries, or points, read into any array."""

import numpy as np

from cyzarr.planning.direct cimport Compiled, count_served, native, read_entries


def native_dtype(array):
    """The data type that a direct read of this array gives; None where there is none."""
    cdef Compiled made = native(array)
    return None if made is None else made.program.dtype


cdef int check_entries(tuple entries, Compiled made) except -1:
    """Whether integers and ranges lie within the array; index arrays are looked at where they are read."""
    cdef int axis = 0
    cdef Py_ssize_t start, step, n
    if len(entries) != made.ndim:
        raise IndexError(f"{len(entries)} entries for {made.ndim} axes")
    for entry in entries:
        if type(entry) is range:
            start, step, n = entry.start, entry.step, len(entry)
            # Without multiplying, which might overflow.
            if step < 1 or (n > 0 and (start < 0 or start >= made.shape[axis]
                                       or (n - 1) > (made.shape[axis] - 1 - start) // step)):
                raise IndexError(f"axis {axis}: {entry} outside an extent of {made.shape[axis]}")
        elif type(entry) is not np.ndarray and not 0 <= entry < made.shape[axis]:
            raise IndexError(f"axis {axis}: {entry} outside an extent of {made.shape[axis]}")
        axis += 1
    return 0


cdef int check_target(object out, tuple entries, bint points, Compiled made) except -1:
    """Whether `out` has room for exactly what the entries make."""
    cdef list counts = [len(entry) for entry in entries if type(entry) in (range, np.ndarray)]
    if points:
        if not counts or len(counts) != len(entries) or counts.count(counts[0]) != len(counts):
            raise ValueError(f"expected index arrays of one length, found {counts}")
        counts = counts[:1]
    if type(out) is not np.ndarray or out.dtype != made.program.dtype or not out.flags.writeable:
        raise TypeError(f"expected a writable array of {made.program.dtype}")
    if out.shape != tuple(counts):
        raise ValueError(f"an array of shape {out.shape} for {tuple(counts)} positions")
    return 0


def read_fresh(array, tuple entries not None):
    """Read an entry per axis (an int or an ascending range) into a fresh array; None where that isn't C-contiguous.

    None, too, where zarr's own code must say what this is.

    Raises
    ------
    IndexError
        Where a position lies outside of the array.
    """
    cdef Compiled made = native(array)
    cdef object found
    if made is None or made.fortran:
        return None
    check_entries(entries, made)
    found = read_entries(made, entries, False, False, False)
    if found is not None:
        count_served()
    return found


def read_view(array, tuple entries not None, bint points, out not None):
    """Read an entry per axis (an int, an ascending range, an intp array), or points, into `out`, of any strides.

    Returns
    -------
    bool
        False where zarr's own code must say what this is; what `out` holds is undefined then.

    Raises
    ------
    IndexError
        Where a position lies outside of the array.
    """
    cdef Compiled made = native(array)
    if made is None:
        return False
    check_entries(entries, made)
    check_target(out, entries, points, made)
    if read_entries(made, entries, points, False, False, out) is None:
        return False
    count_served()
    return True
