"""Put a decoded chunk's items where they go in the output."""

from cyzarr.kernels.blocks cimport place_points, place_spans
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.types cimport Span, Target


cdef char* whole_place(const Target* target, const Node* node, const Span* spans) noexcept nogil:
    cdef char* at = target.out
    cdef int axis
    if target.points or target.items.n_swaps:
        return NULL
    for axis in range(node.ndim):
        if spans[axis].index != NULL or spans[axis].start != 0 or spans[axis].count != node.shape[axis]:
            return NULL
        if node.shape[axis] > 1 and (spans[axis].step != 1 or target.strides[axis] != node.strides[axis]):
            return NULL
        at += spans[axis].out * target.strides[axis]
    return at


cdef void place(const Target* target, const Node* node, const Span* spans, const char* data) noexcept nogil:
    if target.points:
        place_points(target.items, node.ndim, spans, data, node.strides, target.out, target.strides[0])
    else:
        place_spans(target.items, node.ndim, spans, data, node.strides, target.out, target.strides)
