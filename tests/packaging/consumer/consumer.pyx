"""Somebody else's module: it calls cyzarr's leaves from C, without the GIL."""

from cyzarr.kernels.blocks cimport copy_nd, fill_nd


def transposed(const unsigned short[:, ::1] source, unsigned short[:, ::1] target):
    """Write source.T to target, after filling target with 0xFFFF."""
    cdef Py_ssize_t[2] counts = [source.shape[0], source.shape[1]]
    cdef Py_ssize_t[2] source_strides = [source.strides[0], source.strides[1]]
    cdef Py_ssize_t[2] target_strides = [target.strides[1], target.strides[0]]
    cdef unsigned short item = 0xFFFF
    if target.shape[0] != source.shape[1] or target.shape[1] != source.shape[0]:
        raise ValueError("target must have the transposed shape")
    if source.shape[0] == 0 or source.shape[1] == 0:
        return
    cdef const char* src = <const char*> &source[0, 0]
    cdef char* dst = <char*> &target[0, 0]
    with nogil:
        fill_nd(2, counts, <const char*> &item, 2, dst, target_strides)
        copy_nd(2, counts, src, source_strides, 2, dst, target_strides)
