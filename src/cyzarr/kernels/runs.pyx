"""Decode reads whose bytes are at hand, over the pool: any number of them, or one stored chunk."""

import numpy as np

cimport numpy as cnp
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from cyzarr.kernels.batch cimport reads_run_batch
from cyzarr.kernels.chunks cimport ChunkRead
from cyzarr.kernels.execute cimport left_running, read_raise, read_reset, reads_run
from cyzarr.kernels.program cimport Program
from cyzarr.kernels.readplan cimport Read
from cyzarr.kernels.split cimport read_split
from cyzarr.kernels.status cimport OK
from cyzarr.kernels.workers cimport Stats

cnp.import_array()


def run_reads(reads, threads=1, labels=None):
    """Decode reads whose bytes are at hand, over the calling thread and the pool.

    Parameters
    ----------
    reads : sequence of ChunkRead
        Each with its object set; their outputs must not overlap.
    threads : int
        How many may work, this one included.
    labels : sequence of int, optional
        Reads of equal labels are of the same object, by the same program: what several of them need of it is decoded
        once. None of them may be of points, nor of Python objects (ValueError).

    Returns
    -------
    dict
        The counts of `workers.Stats`, by name.

    Raises
    ------
    CorruptChunkError, OSError, MemoryError
        Of the first read that failed. What the outputs hold is then unspecified.

    Notes
    -----
    Releases the GIL while it works. Ctrl-C raises KeyboardInterrupt within a tenth of a second.
    """
    cdef Py_ssize_t i, n = 0
    cdef ChunkRead one
    cdef Read** group
    cdef Stats nothing
    memset(&nothing, 0, sizeof(Stats))
    if labels is not None:
        labels = checked_labels(reads, labels)
    reads = [read for read in reads if (<ChunkRead?> read).read.n_tasks > 0]
    over = True
    group = <Read**> calloc(max(len(reads), 1), sizeof(void*))
    if group == NULL:
        raise MemoryError
    try:
        for one in reads:
            prepare(one, threads if labels is None and len(reads) < 2 * threads else 1)
            group[n] = one.read
            n += 1
        run_group(group, n, reads, threads, labels)
        return group[0].stats if n else nothing
    except BaseException:
        # An exception of a signal's handler leaves helpers at work on them.
        over = not left_running(reads)
        raise
    finally:
        for i in range(n):
            (<ChunkRead> reads[i]).running = not over
            (<ChunkRead> reads[i])._left = None if over else reads
        free(group)


cdef int prepare(ChunkRead one, int threads) except -1:
    """Mark a read as running; where threads are to share it, cut it into parts."""
    if one.read.memory == NULL and one.read.prefix == NULL:
        raise ValueError(f"the bytes of {one.key!r} were not set")
    if one._is_running():
        raise RuntimeError(f"the read of {one.key!r} is running already")
    one.running = True
    read_reset(one.read)
    if one.read.parts == 1:
        read_split(one.read, threads)
    return 0


cdef int run_group(Read** group, Py_ssize_t n, list reads, int threads, cnp.ndarray labels) except -1:
    """Run prepared reads, by their labels where there are any, and raise what the first that failed has found."""
    cdef int status = OK
    cdef Py_ssize_t i
    if labels is not None:
        status = reads_run_batch(group, <const Py_ssize_t*> cnp.PyArray_DATA(labels), n, threads, reads, 0)
    elif n:
        status = reads_run(group, n, threads, reads)
    if status == OK:
        return 0
    for i in range(n):
        read_raise(group[i], (<ChunkRead> reads[i]).key)
    raise MemoryError("a read was given up")


cdef cnp.ndarray checked_labels(reads, labels):
    """The labels of those reads that have anything to do, where equal ones may share a task."""
    cdef ChunkRead one
    first = {}
    kept = []
    for one, label in zip(reads, labels, strict=True):
        other = first.setdefault(label, one)
        if (<ChunkRead> other).program is not one.program:
            raise ValueError(f"label {label}: {other.key!r} and {one.key!r} are read by different programs")
        if one.points or one.program.objects or one.read.parts > 1:
            raise ValueError(f"the read of {one.key!r} can't share a task: it is of points, of objects or in parts")
        if one.read.n_tasks > 0:
            kept.append(label)
    return np.array(kept, dtype=np.intp)


def decode_shard(data, Program spec not None, selection, out):
    """Decode what a selection picks from a stored chunk's bytes, into `out`.

    Parameters
    ----------
    data : contiguous buffer
        The whole stored object: a shard, or any chunk that `spec` describes.
    spec : Program
    selection : tuple, one entry per axis of the chunk
        An integer, a slice (any step) or a 1-D integer array.
    out : writable ndarray of spec.dtype
        Of the selection's shape, integers' axes dropped; any strides. Wholly written.

    Returns
    -------
    ndarray
        `out`.

    Raises
    ------
    CorruptChunkError
        The bytes are not what `spec` says: names the inner chunk, offset and length.
    IndexError, ValueError, TypeError
        The selection or `out` does not fit.

    Notes
    -----
    Only the touched inner chunks are decoded. Releases the GIL. `data` must not change meanwhile, nor share
    memory with `out` (ValueError).
    """
    read = ChunkRead(spec, selection, out, "<bytes>")
    # A buffer that doesn't let itself be viewed as bytes says so here.
    stored = np.frombuffer(data, dtype=np.uint8)
    if np.may_share_memory(stored, out):
        raise ValueError("data and out share memory")
    read.set_object(stored)
    run_reads([read])
    return out


def decode_chunk(data, Program spec not None, out=None):
    """Decode all of a stored chunk.

    Parameters
    ----------
    data : contiguous buffer
        The whole stored object: a chunk, or a shard with all its inner chunks.
    spec : Program
    out : writable ndarray of spec.shape and spec.dtype, optional
        Any strides. Wholly written. Else a new one in C order.

    Returns
    -------
    ndarray
        `out`.

    Raises
    ------
    CorruptChunkError, ValueError, TypeError
        As for `decode_shard`.

    Notes
    -----
    Releases the GIL, as `decode_shard`.
    """
    if out is None:
        out = np.empty(spec.shape, spec.dtype)
    return decode_shard(data, spec, (slice(None),) * len(spec.shape), out)
