"""Somebody else's script: it calls cyzarr's leaves by their addresses, through ctypes and through cffi."""

import ctypes

import numpy as np
from cffi import FFI

from cyzarr.kernels import c_table


def by_ctypes(source: np.ndarray, target: np.ndarray) -> None:
    """Write source.T to target."""
    numbers = ctypes.POINTER(ctypes.c_ssize_t)
    bytes_ = ctypes.c_void_p
    copy_nd = ctypes.CFUNCTYPE(None, ctypes.c_int, numbers, bytes_, numbers, ctypes.c_ssize_t, bytes_, numbers)(
        c_table.FUNCTIONS["copy_nd"].address
    )
    pair = ctypes.c_ssize_t * 2
    into = target.T
    copy_nd(
        2,
        pair(*source.shape),
        source.ctypes.data,
        pair(*source.strides),
        source.itemsize,
        into.ctypes.data,
        pair(*into.strides),
    )


def by_cffi(start: int, count: int, chunk: int) -> list[tuple[int, int, int]]:
    """(chunk, start, count) of a range, cut along chunks."""
    ffi = FFI()
    ffi.cdef(c_table.HEADER)
    cut_affine = ffi.cast("cut_affine_t", c_table.FUNCTIONS["cut_affine"].address)
    touched_bound = ffi.cast("touched_bound_t", c_table.FUNCTIONS["touched_bound"].address)
    span = ffi.new("Span *", {"start": start, "step": 1, "count": count})
    out = ffi.new("Span[]", touched_bound(span, chunk))
    n = cut_affine(span, chunk, out)
    return [(one.chunk, one.start, one.count) for one in out[0:n]]


source = np.arange(35, dtype="u2").reshape(5, 7)
target = np.zeros((7, 5), "u2")
by_ctypes(source, target)
assert (target == source.T).all()
assert by_cffi(8, 7, 5) == [(1, 3, 2), (2, 0, 5)]
print(len(c_table.FUNCTIONS), "leaves by address")
