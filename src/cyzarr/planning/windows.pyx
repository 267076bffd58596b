"""The direct road for many windows of one array: one plan, in which windows share the chunks that they touch."""

import numpy as np

cimport numpy as cnp
from libc.stdlib cimport free, malloc

from cyzarr import _zarr, config, observe
from cyzarr.kernels.batch cimport reads_run_batch
from cyzarr.kernels.execute cimport ReadHolder, read_raise
from cyzarr.kernels.files cimport nowait_works
from cyzarr.kernels.readplan cimport Read
from cyzarr.kernels.status cimport OK
from cyzarr.kernels.types cimport MAX_NDIM, Span
from cyzarr.planning.basic cimport Key, parse
from cyzarr.planning.direct cimport (
    HOLD_NS,
    LOCAL,
    Compiled,
    check_entries,
    check_target,
    count_served,
    entry_spans,
    look_up,
    native,
    new_read,
)

cnp.import_array()


def basic_entries(selection, tuple shape not None):
    """An entry per axis, an int or an ascending range, of integers and slices within `shape`; None of anything else."""
    cdef Span spans[MAX_NDIM]
    cdef Py_ssize_t extents[MAX_NDIM]
    cdef Key key
    cdef int axis, ndim = <int> len(shape)
    if len(shape) > MAX_NDIM:
        return None
    for axis in range(ndim):
        extents[axis] = shape[axis]
    if not parse(selection, ndim, extents, spans, &key):
        return None
    return tuple([
        spans[axis].start if key.drops[axis]
        else range(spans[axis].start, spans[axis].start + spans[axis].count * spans[axis].step, spans[axis].step)
        for axis in range(ndim)
    ])


def read_windows(array, list windows not None, list slots not None):
    """Read windows, each of which is not empty, into writable arrays of their shapes and of the array's dtype.

    Parameters
    ----------
    array : zarr.Array
    windows : list of tuple
        Entries within the array: per axis an int, an ascending range, or an intp array.
    slots : list of ndarray
        Of any strides; they must not overlap.

    Returns
    -------
    bool
        False where another road must be taken; what the slots hold is undefined then.
    """
    cdef Compiled made = native(array)
    if made is None or made.grid is not None or made.program.objects:
        return False
    if made.needs_loop and _zarr.on_zarr_loop():
        return False
    return run_windows(made, windows, slots)


cdef ReadHolder plan_window(Compiled made, tuple entries, object slot):
    """The read of one window; None where one of its objects is not to be had."""
    cdef Span spans[MAX_NDIM]
    cdef Key key
    cdef ReadHolder holder = ReadHolder()
    cdef list held = []
    cdef object place
    check_entries(entries, made)
    check_target(slot, entries, False, made)
    place = entry_spans(made, entries, False, spans, &key)
    holder.uses = (made, slot, held, entries, place)
    holder.read = new_read(made, spans, &key, slot, False)
    if made.kind != LOCAL:
        holder.sources = look_up(made, holder.read, held)
        if holder.sources == NULL:
            return None
        holder.read.memory = holder.sources
    return holder


cdef bint run_windows(Compiled made, list windows, list slots) except -1:
    cdef list holders = [plan_window(made, entries, slot) for entries, slot in zip(windows, slots, strict=True)]
    cdef Py_ssize_t n = len(holders), i
    cdef Read** reads
    cdef cnp.ndarray labels = np.zeros(n, dtype=np.intp)
    cdef int status
    if None in holders:
        return False
    reads = <Read**> malloc(max(n, 1) * sizeof(void*))
    if reads == NULL:
        raise MemoryError
    try:
        for i in range(n):
            reads[i] = (<ReadHolder> holders[i]).read
        status = reads_run_batch(reads, <const Py_ssize_t*> cnp.PyArray_DATA(labels), n, config.threads(), holders,
                                 HOLD_NS if made.kind != LOCAL or nowait_works() else 0)
        if status != OK:
            for i in range(n):
                read_raise(reads[i], made.key_prefix)
            raise MemoryError("a read was given up")
        if not made.fill_missing:
            for i in range(n):
                if reads[i].missing:
                    return False
        if n:
            observe.record("direct", reads[0].stats)
            count_served()
        return True
    finally:
        free(reads)
