"""Decode and check a shard's index.

An index holds, for each inner chunk in C order, the offset and the length of its bytes in the
shard, both 2^64 - 1 where the chunk is absent (Zarr v3 specification, sharding codec). It is
itself encoded: numbers of either byte order, perhaps transposed, perhaps followed by crc32c.
"""

import math
import operator

import numpy as np

cimport numpy as cnp
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from cyzarr.kernels.checksum cimport check_crc32c
from cyzarr.kernels.status cimport (
    E_ENTRY,
    E_ENTRY_SIZE,
    E_INDEX_CHECKSUM,
    E_INDEX_SHORT,
    E_STORED_SIZE,
    OK,
    Failure,
    failure_clear,
    raise_failure,
)
from cyzarr.kernels.types cimport MAX_NDIM

cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    #define CYZARR_HOST_BIG 1
    #else
    #define CYZARR_HOST_BIG 0
    #endif
    """
    bint HOST_BIG "CYZARR_HOST_BIG"
    uint64_t bswap8 "__builtin_bswap64"(uint64_t x) noexcept nogil

cnp.import_array()

cdef uint64_t ABSENT = <uint64_t> -1


cdef int index_verify(const IndexSpec* spec, const char* raw) noexcept nogil:
    cdef int i
    for i in range(spec.checksums):
        if check_crc32c(raw, spec.nbytes - 4 * i) != OK:
            return E_INDEX_CHECKSUM
    return OK


cdef void index_entry(const IndexSpec* spec, const char* raw, Py_ssize_t number,
                      uint64_t* offset, uint64_t* nbytes) noexcept nogil:
    memcpy(offset, raw + 8 * number, 8)
    memcpy(nbytes, raw + 8 * (number + spec.pair), 8)
    if spec.big != HOST_BIG:
        offset[0] = bswap8(offset[0])
        nbytes[0] = bswap8(nbytes[0])


cdef int check_entry(uint64_t offset, uint64_t nbytes, uint64_t size, Py_ssize_t fixed, bint* absent) noexcept nogil:
    absent[0] = offset == ABSENT and nbytes == ABSENT
    if absent[0]:
        return OK
    # By comparison with what remains: offset + nbytes may wrap.
    if offset > size or nbytes > size - offset:
        return E_ENTRY
    if fixed >= 0 and nbytes != <uint64_t> fixed:
        return E_ENTRY_SIZE
    return OK


cdef enum:
    # Fewer bytes are checked before the GIL could be had back.
    RELEASE_NBYTES = 1 << 14


def index_spec(grid, byteorder="little", checksums=1, order=None, location="end"):
    """Check an index's description; the strides of its numbers along each axis and of a pair.

    Returns (entries, encoded nbytes, strides, pair stride), strides in numbers of 8 bytes.
    """
    grid = tuple(operator.index(n) for n in grid)
    if any(n < 1 for n in grid) or len(grid) > MAX_NDIM - 1:
        raise ValueError(f"inner chunks per shard {grid}: expected at most {MAX_NDIM - 1} axes, each at least 1")
    if byteorder not in ("little", "big") or location not in ("start", "end") or checksums < 0:
        raise ValueError(f"byteorder {byteorder!r}, location {location!r}, checksums {checksums}")
    shape = (*grid, 2)
    order = tuple(range(len(shape))) if order is None else tuple(operator.index(i) for i in order)
    if sorted(order) != list(range(len(shape))):
        raise ValueError(f"order {order} is no permutation of the index's {len(shape)} axes")
    entries = math.prod(grid)
    if entries > (1 << 59):
        raise ValueError(f"{entries} inner chunks per shard are more than an index can hold")
    strides, along = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = along
        along *= shape[axis]
    pair = strides.pop()
    return entries, 16 * entries + 4 * checksums, tuple(strides), pair


def decode_index(data, chunks_per_shard, *, byteorder="little", checksums=1, order=None, size=None,
                 chunk_nbytes=None):
    """Decode an encoded shard index.

    Parameters
    ----------
    data : bytes-like
        The encoded index, no more and no less: 16 bytes per inner chunk and 4 per checksum.
    chunks_per_shard : tuple of int
        The inner chunks of the shard along each axis.
    byteorder : {"little", "big"}
    checksums : int
        How many crc32c follow the numbers.
    order : tuple of int, optional
        A transposition that the index was encoded through (of its len(chunks_per_shard) + 1 axes).
    size : int, optional
        The shard's size in bytes. Given, every entry is checked to lie within it.
    chunk_nbytes : int, optional
        The stored length of every inner chunk, where it is fixed. Given, every entry is held to it.

    Returns
    -------
    uint64 array of shape chunks_per_shard + (2,)
        (offset, nbytes) in bytes; both 2^64 - 1 where the inner chunk is absent.

    Raises
    ------
    CorruptChunkError
        The data is too short or too long, a checksum does not match, or an entry is wrong.

    Notes
    -----
    Without `size` and `chunk_nbytes` the entries are given as they are stored. Two entries may
    overlap or point into the index: that cannot be told from a legal shard.

    Releases the GIL while it checks more than RELEASE_NBYTES.
    """
    entries, nbytes, strides, pair = index_spec(chunks_per_shard, byteorder, checksums, order)
    view = memoryview(data)
    cdef Failure failure
    cdef IndexSpec spec
    failure_clear(&failure)
    failure.length, failure.expected, failure.found = view.nbytes, nbytes, view.nbytes
    if view.nbytes != nbytes:
        failure.code = E_INDEX_SHORT if view.nbytes < nbytes else E_STORED_SIZE
        raise_failure(&failure, "<shard index>", None)
    # Copied before it is checked: the caller's buffer may change.
    raw = bytes(view)
    spec.entries, spec.nbytes, spec.checksums, spec.pair = entries, nbytes, checksums, pair
    spec.big = byteorder == "big"
    if verify(&spec, raw) != OK:
        failure.code = E_INDEX_CHECKSUM
        raise_failure(&failure, "<shard index>", None)
    numbers = np.frombuffer(raw, dtype=">u8" if byteorder == "big" else "<u8", count=2 * entries)
    table = np.lib.stride_tricks.as_strided(numbers, (*chunks_per_shard, 2), [8 * s for s in (*strides, pair)])
    table = table.astype(np.uint64, order="C")
    if size is not None or chunk_nbytes is not None:
        limit = (1 << 63) - 1 if size is None else size
        check_table(table.reshape(-1, 2), limit, chunk_nbytes, tuple(chunks_per_shard))
    return table


cdef int verify(const IndexSpec* spec, const char* raw) noexcept:
    cdef int code
    if spec.nbytes <= RELEASE_NBYTES:
        return index_verify(spec, raw)
    with nogil:
        code = index_verify(spec, raw)
    return code


def check_table(table, size, chunk_nbytes, grid):
    """Hold every entry to the object's size and the fixed length; raise for the first that fails."""
    if not 0 <= size <= (1 << 63) - 1:
        raise ValueError(f"size {size} is no size of an object")
    if chunk_nbytes is not None and chunk_nbytes < 0:
        raise ValueError(f"chunk_nbytes {chunk_nbytes} is no length")
    cdef const uint64_t[:, ::1] rows = table
    cdef uint64_t limit = size
    cdef Py_ssize_t fixed = -1 if chunk_nbytes is None else chunk_nbytes
    cdef Py_ssize_t i = 0
    cdef int code
    cdef Failure failure
    if table.nbytes > RELEASE_NBYTES:
        with nogil:
            code = check_rows(rows, limit, fixed, &i)
    else:
        code = check_rows(rows, limit, fixed, &i)
    if code != OK:
        failure_clear(&failure)
        failure.code = code
        failure.offset, failure.length = <Py_ssize_t> rows[i, 0], <Py_ssize_t> rows[i, 1]
        failure.expected = <Py_ssize_t> (limit if code == E_ENTRY else <uint64_t> fixed)
        failure.found = failure.length
        raise_failure(&failure, "<shard index>", tuple(int(n) for n in np.unravel_index(i, grid)))


cdef int check_rows(const uint64_t[:, ::1] rows, uint64_t limit, Py_ssize_t fixed, Py_ssize_t* at) noexcept nogil:
    """The status of the first entry that fails, and which that is; OK where none does."""
    cdef bint absent
    cdef int code
    for at[0] in range(rows.shape[0]):
        code = check_entry(rows[at[0], 0], rows[at[0], 1], limit, fixed, &absent)
        if code != OK:
            return code
    return OK
