"""Twins of the block kernels: NumPy's own assignment, once the arguments are known to fit."""

import numpy as np


def _check_same_items(src, dst):
    if src.dtype.hasobject or dst.dtype.hasobject:
        raise TypeError("Python objects can't be copied as bytes")
    if src.dtype.newbyteorder("=") != dst.dtype.newbyteorder("="):
        raise TypeError(f"{src.dtype} and {dst.dtype} differ by more than byte order")


def copy_block(src, dst):
    """Copy ``src`` to ``dst``: same shape, same dtype up to byte order, any strides."""
    _check_same_items(src, dst)
    if src.shape != dst.shape:
        raise ValueError(f"shapes differ: {src.shape} and {dst.shape}")
    dst[...] = src


def fill_block(dst, value):
    """Set every item of ``dst`` to ``value``: the bytes of one item, or a scalar."""
    if isinstance(value, bytes):
        if len(value) != dst.dtype.itemsize:
            raise ValueError(f"{len(value)} bytes for items of {dst.dtype.itemsize}")
        value = np.frombuffer(value, dtype=dst.dtype)[0]
    dst[...] = value


def gather(src, indices, dst):
    """``dst[i, j, ...] = src[indices[0][i], indices[1][j], ...]``."""
    _check_same_items(src, dst)
    if len(indices) != src.ndim:
        raise ValueError(f"{len(indices)} index arrays for {src.ndim} axes")
    if dst.shape != tuple(len(index) for index in indices):
        raise ValueError("dst does not have one place for each index")
    for index, size in zip(indices, src.shape, strict=True):
        if any(not 0 <= i < size for i in index):
            raise IndexError(f"index out of bounds for an axis of {size} items")
    dst[...] = src[np.ix_(*(np.asarray(index, dtype=np.intp) for index in indices))]
