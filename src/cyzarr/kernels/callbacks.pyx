"""What only Python can do for a read: codecs without a kernel, and items that are objects.

Every function here holds the GIL. An exception is kept in the worker, goes with its failure to the read, and is raised
when that ends, with the key and the inner chunk as a note.
"""

import numpy as np

cimport numpy as cnp
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.string cimport memcpy

from cyzarr.kernels.blocks cimport place_points, place_spans
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.status cimport E_DECODE, E_PYTHON, OK
from cyzarr.kernels.types cimport MAX_NDIM, Span, Target
from cyzarr.kernels.workers cimport Buffer, Worker, reserve

cnp.import_array()


cdef object decoded(const Target* target, void* codec, object given):
    """What a codec's `decode` gives, called in the contextvars of who asked for the read."""
    decode = (<object> codec).decode
    if target.context == NULL:
        return decode(given)
    # A copy: a context can't be entered by two threads at once.
    return (<object> target.context).copy().run(decode, given)


cdef int keep(Worker* worker, object error) noexcept:
    """Keep the exception of a task."""
    if isinstance(error, StopIteration):
        # As a coroutine does with one that comes out of it: no future can hold it.
        stopped, error = error, RuntimeError("a codec raised StopIteration")
        error.__cause__ = stopped
    if worker.error == NULL:
        Py_INCREF(error)
        worker.error = <void*> error
    return E_PYTHON


cdef void drop_error(Worker* worker) noexcept with gil:
    if worker.error != NULL:
        Py_DECREF(<object> worker.error)
        worker.error = NULL


cdef int call_filter(Worker* worker, const Target* target, void* codec, bint ours, const char* src, Py_ssize_t nbytes,
                     Buffer* buffer, Py_ssize_t* found) noexcept with gil:
    """Decode by a codec's Python function.

    `ours`: it stands for a C decoder, and what it refuses is said as that decoder would. Others raise what they raise.
    """
    cdef const unsigned char[::1] view
    try:
        result = decoded(target, codec, PyBytes_FromStringAndSize(src, nbytes))
        view = memoryview(result).cast("B")
        found[0] = view.shape[0]
        if reserve(buffer, found[0]) != OK:
            raise MemoryError(f"no memory for {found[0]} bytes")
        if found[0]:
            memcpy(buffer.data, &view[0], found[0])
        return OK
    except BaseException as error:
        keep(worker, error)
        # A codec that refuses bytes says so by an exception of any kind; the rest is not about the bytes.
        refused = isinstance(error, Exception) and not isinstance(error, MemoryError)
        return E_DECODE if ours and refused else E_PYTHON


cdef int call_leaf(Worker* worker, const Target* target, const Node* node, const char* src, Py_ssize_t nbytes,
                   const Span* spans) noexcept with gil:
    cdef Py_ssize_t first[MAX_NDIM]
    cdef int axis
    try:
        values = decoded(target, node.codec, PyBytes_FromStringAndSize(src, nbytes))
        for axis in range(node.ndim):
            first[axis] = 0
        place_values(target, node, spans, checked(target, node, values, node.shape), first)
        return OK
    except BaseException as error:
        return keep(worker, error)


cdef int hull_new(Worker* worker, const Node* node, const Py_ssize_t* counts, void** array,
                  char** data) noexcept with gil:
    cdef cnp.ndarray made
    cdef int i
    try:
        made = np.empty([counts[i] for i in range(node.below.ndim)], dtype=<object> node.dtype)
        Py_INCREF(made)
        array[0] = <void*> made
        data[0] = <char*> cnp.PyArray_DATA(made)
        return OK
    except BaseException as error:
        return keep(worker, error)


cdef int call_hull(Worker* worker, const Target* target, const Node* node, void* array, const Span* spans,
                   const Py_ssize_t* first) noexcept with gil:
    cdef Py_ssize_t shape[MAX_NDIM]
    cdef Py_ssize_t start[MAX_NDIM]
    cdef int i
    given = <object> array
    Py_DECREF(given)
    try:
        for i in range(node.ndim):
            shape[node.axes[i]] = given.shape[i] if node.elementwise else node.shape[node.axes[i]]
            start[node.axes[i]] = first[i] if node.elementwise else 0
        values = decoded(target, node.codec, given)
        place_values(target, node, spans, checked(target, node, values, shape), start)
        return OK
    except BaseException as error:
        return keep(worker, error)


cdef void hull_free(void* array) noexcept with gil:
    Py_DECREF(<object> array)


cdef cnp.ndarray checked(const Target* target, const Node* node, object values, const Py_ssize_t* shape):
    """What a codec gave, as an array of the output's dtype in the array's axes; ValueError for another shape."""
    expected = tuple(shape[node.axes[i]] for i in range(node.ndim))
    values = np.asarray(values)
    if values.shape != expected:
        raise ValueError(f"the codec gave an array of another shape: expected {expected}, found {values.shape}")
    # As zarr's own assignment to the output would convert it.
    values = values.astype(<object> target.dtype, copy=False)
    axes = [0] * node.ndim
    for i in range(node.ndim):
        axes[node.axes[i]] = i
    return values.transpose(axes)


cdef int place_values(const Target* target, const Node* node, const Span* spans, cnp.ndarray values,
                      const Py_ssize_t* first) except -1:
    """Place what spans, less `first`, pick from values in the array's axes."""
    cdef Py_ssize_t strides[MAX_NDIM]
    cdef const char* data = <const char*> cnp.PyArray_DATA(values)
    cdef int axis
    if target.objects != NULL:
        return place_objects(target, node, spans, values, first)
    for axis in range(node.ndim):
        strides[axis] = values.strides[axis]
        data -= first[axis] * strides[axis]
    with nogil:
        if target.points:
            place_points(target.items, node.ndim, spans, data, strides, target.out, target.strides[0])
        else:
            place_spans(target.items, node.ndim, spans, data, strides, target.out, target.strides)
    return 0


# --- items that are objects

cdef object numbers(const Py_ssize_t* values, Py_ssize_t count):
    """A copy of an index array."""
    cdef cnp.npy_intp n = count
    return cnp.PyArray_SimpleNewFromData(1, &n, cnp.NPY_INTP, <void*> values).copy()


cdef object run_of(Py_ssize_t start, Py_ssize_t step, Py_ssize_t count):
    """count positions from start on, as a slice."""
    cdef Py_ssize_t stop = start + step * count
    return slice(start, stop if stop >= 0 else None, step)


cdef tuple keys_of(const Span* spans, int ndim, const Py_ssize_t* first):
    """(what is picked from a chunk, where it goes), as NumPy takes them: slices, or open meshes."""
    cdef int axis
    picked, places = [], []
    meshed = any([spans[axis].index != NULL for axis in range(ndim)])
    for axis in range(ndim):
        if spans[axis].index != NULL:
            picked.append(numbers(spans[axis].index, spans[axis].count) - first[axis])
            places.append(numbers(spans[axis].place, spans[axis].count))
        elif meshed:
            picked.append(spans[axis].start - first[axis] + spans[axis].step * np.arange(spans[axis].count))
            places.append(spans[axis].out + np.arange(spans[axis].count))
        else:
            picked.append(run_of(spans[axis].start - first[axis], spans[axis].step, spans[axis].count))
            places.append(run_of(spans[axis].out, 1, spans[axis].count))
    if meshed:
        return np.ix_(*picked), np.ix_(*places)
    return tuple(picked), tuple(places)


cdef int place_objects(const Target* target, const Node* node, const Span* spans, object values,
                       const Py_ssize_t* first) except -1:
    cdef int axis
    out = <object> target.objects
    if target.points:
        places = numbers(spans[0].place, spans[0].count)
        out[places] = values[tuple([numbers(spans[axis].index, spans[axis].count) - first[axis]
                                    for axis in range(node.ndim)])]
        return 0
    picked, places = keys_of(spans, node.ndim, first)
    # The Ellipsis keeps an array of no axes an array.
    out[places if places else ...] = values[picked if picked else ...]
    return 0


cdef int fill_objects(Worker* worker, const Target* target, const Span* spans) noexcept with gil:
    cdef Py_ssize_t first[MAX_NDIM]
    cdef int axis
    try:
        out = <object> target.objects
        if target.points:
            out[numbers(spans[0].place, spans[0].count)] = <object> target.fill_object
            return OK
        for axis in range(target.ndim):
            first[axis] = 0
        places = keys_of(spans, target.ndim, first)[1]
        out[places if places else ...] = <object> target.fill_object
        return OK
    except BaseException as error:
        return keep(worker, error)
