"""Basic selections, integers, slices with positive steps and Ellipsis, as one span per axis."""

import numpy as np

cimport numpy as cnp
from cpython.long cimport PyLong_AsSsize_t, PyLong_CheckExact
from cpython.slice cimport PySlice_AdjustIndices, PySlice_Check, PySlice_Unpack
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.string cimport memset

from cyzarr.kernels.types cimport Span

cdef extern from "Python.h":
    object PyNumber_Index(object)

cdef extern from "numpy/arrayobject.h":
    bint PyArray_IsIntegerScalar "PyArray_IsIntegerScalar"(object)

cnp.import_array()


cdef bint take_index(object item, Py_ssize_t extent, Span* span, Key* key):
    """An exact int or a NumPy integer within the axis; False for anything else, out of range included."""
    cdef Py_ssize_t at
    if PyLong_CheckExact(item):
        pass
    elif PyArray_IsIntegerScalar(item) and not isinstance(item, (int, np.timedelta64)):
        key.numpy_ints = True
        item = PyNumber_Index(item)
    else:
        return False
    try:
        at = PyLong_AsSsize_t(item)
    except OverflowError:
        return False
    if at < 0:
        at += extent
    if at < 0 or at >= extent:
        return False
    span.start = at
    span.step = span.count = 1
    return True


cdef bint take_slice(object item, Py_ssize_t extent, Span* span):
    """A slice with a positive step; False for any other."""
    cdef Py_ssize_t start = 0, stop = 0, step = 1
    try:
        PySlice_Unpack(item, &start, &stop, &step)
    except (TypeError, ValueError):
        return False
    if step < 1:
        return False
    span.count = PySlice_AdjustIndices(extent, &start, &stop, step)
    span.start = start
    # A step past the end is never taken, and may be too large to be multiplied.
    span.step = step if span.count > 1 else 1
    return True


cdef bint parse(object selection, int ndim, const Py_ssize_t* shape, Span* spans, Key* key):
    """Basic selections to one span per axis; False: zarr's own code says what it is."""
    cdef tuple items = selection if PyTuple_CheckExact(selection) else (selection,)
    cdef Py_ssize_t n = PyTuple_GET_SIZE(items), i
    cdef int axis = 0, skip
    cdef object item
    memset(spans, 0, ndim * sizeof(Span))
    key.ndim = 0
    key.numpy_ints = key.ellipsis = key.empty = key.field = False
    for i in range(n):
        item = <object> PyTuple_GET_ITEM(items, i)
        if item is Ellipsis:
            if key.ellipsis:
                return False
            key.ellipsis = True
            skip = ndim - <int> (n - 1)
            if skip < 0:
                return False
            while skip > 0:
                take_all(shape[axis], spans, key, axis)
                axis += 1
                skip -= 1
            continue
        if axis >= ndim:
            return False
        if PySlice_Check(item):
            if not take_slice(item, shape[axis], &spans[axis]):
                return False
            keep_axis(spans, key, axis)
        elif take_index(item, shape[axis], &spans[axis], key):
            key.drops[axis] = True
        else:
            return False
        axis += 1
    while axis < ndim:
        take_all(shape[axis], spans, key, axis)
        axis += 1
    return True


cdef void take_all(Py_ssize_t extent, Span* spans, Key* key, int axis) noexcept:
    spans[axis].start = 0
    spans[axis].step = 1
    spans[axis].count = extent
    keep_axis(spans, key, axis)


cdef void keep_axis(Span* spans, Key* key, int axis) noexcept:
    key.drops[axis] = False
    key.shape[key.ndim] = spans[axis].count
    key.empty = key.empty or spans[axis].count == 0
    key.ndim += 1
