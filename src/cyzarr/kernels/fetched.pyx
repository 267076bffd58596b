"""What was fetched of a stored object: its parts in the order of their offsets, and its index."""

import operator

import numpy as np

cimport numpy as cnp
from libc.stdlib cimport calloc, free

cnp.import_array()

cdef Py_ssize_t FAR = <Py_ssize_t> 1 << 62


cdef class Fetched:
    """Parts, [(offset, 1-D uint8 array)], as merged_parts orders them."""

    def __cinit__(self, list held not None):
        cdef Py_ssize_t i
        cdef cnp.ndarray view
        self.segments = <Segment*> calloc(max(len(held), 1), sizeof(Segment))
        if self.segments == NULL:
            raise MemoryError
        for i in range(len(held)):
            offset, view = held[i]
            if cnp.PyArray_TYPE(view) != cnp.NPY_UINT8 or view.ndim != 1 or not cnp.PyArray_IS_C_CONTIGUOUS(view):
                raise TypeError("expected contiguous arrays of bytes")
            self.segments[i].offset = offset
            self.segments[i].nbytes = view.size
            self.segments[i].data = <const char*> cnp.PyArray_DATA(view)
        self.n = len(held)
        self.held = list(held)

    def __dealloc__(self):
        free(self.segments)


cdef class CheckedIndex:
    """A shard's index that was verified, in place of its bytes."""

    def __reduce__(self):
        raise TypeError("a checked index can't be pickled")


def checked_offset(offset, data):
    """An offset at which `data` can lie."""
    offset = operator.index(offset)
    if offset < 0 or offset + len(data) > FAR:
        raise ValueError(f"{len(data)} bytes can't lie at offset {offset}")
    return offset


def merged_parts(held, offset, index):
    """The parts with the index among them, so that each byte is found in the part that starts last before it."""
    cut = []
    for start, view in held:
        stop = start + view.size
        if stop <= offset or start >= offset + index.size:
            cut.append((start, view))
        else:
            # A chunk that reaches into the index is legal to a reader: both stand in one part.
            low, high = min(start, offset), max(stop, offset + index.size)
            joined = np.empty(high - low, dtype=np.uint8)
            joined[offset - low:offset - low + index.size] = index
            joined[start - low:stop - low] = view
            cut.append((low, joined))
    cut.append((offset, index))
    # Of parts that start together the longest stands last, where it is found.
    return sorted(cut, key=lambda part: (part[0], part[1].size))
