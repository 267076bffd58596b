"""The direct road for lazy views, whether cyzarr is switched on or not: entries, or points, read into any array."""

from cyzarr.planning.direct cimport Compiled, check_entries, check_target, count_served, native, read_entries


def native_dtype(array):
    """The data type that a direct read of this array gives; None where there is none."""
    cdef Compiled made = native(array)
    return None if made is None else made.program.dtype


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
