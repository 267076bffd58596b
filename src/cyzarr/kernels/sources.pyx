"""Bytes of stored objects, wherever these are: in an open file, in memory, or among what was fetched.

Shard indexes go through the index cache where they come from a file.
"""

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from cyzarr.kernels.files cimport clock_ns, object_read
from cyzarr.kernels.indexcache cimport (
    CachedIndex,
    IndexKey,
    index_cacheable,
    index_find,
    index_new,
    index_release,
    index_store,
)
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.shardindex cimport index_verify
from cyzarr.kernels.status cimport E_INDEX_SHORT, E_SEGMENT, E_SHORT, OK
from cyzarr.kernels.types cimport Segment, Source, Target
from cyzarr.kernels.workers cimport fail, reserve


cdef int fetch(Worker* worker, const Target* target, const Source* source, Py_ssize_t offset,
               Py_ssize_t nbytes, char* dst) noexcept nogil:
    cdef Py_ssize_t got = 0
    cdef int code
    worker.stats.requests += 1
    code = object_read(source.fd, dst, nbytes, offset, target.nowait, &got, &worker.failure.os_errno)
    worker.stats.bytes_read += got
    if code != OK:
        return fail(worker, code, offset, nbytes, nbytes, got)
    return OK


cdef const Segment* find_segment(const Source* source, Py_ssize_t offset, Py_ssize_t nbytes) noexcept nogil:
    """The segment that holds the range, or NULL."""
    cdef Py_ssize_t low = 0, high = source.n_segments, middle
    cdef const Segment* found
    while low < high:
        middle = (low + high) // 2
        if source.segments[middle].offset <= offset:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return NULL
    found = &source.segments[low - 1]
    if nbytes > found.nbytes or offset - found.offset > found.nbytes - nbytes:
        return NULL
    return found


cdef int look(Worker* worker, const Target* target, const Source* source, Py_ssize_t offset,
              Py_ssize_t nbytes, Buffer* buffer, const char** data) noexcept nogil:
    cdef const Segment* segment
    cdef int code
    if offset < 0 or nbytes < 0 or offset > source.size or nbytes > source.size - offset:
        return fail(worker, E_SHORT, offset, nbytes, nbytes, max(source.size - offset, 0))
    if source.fd >= 0:
        code = reserve(buffer, nbytes)
        if code != OK:
            return fail(worker, code, offset, nbytes, 0, 0)
        data[0] = buffer.data
        return fetch(worker, target, source, offset, nbytes, buffer.data)
    if source.data != NULL:
        data[0] = source.data + offset
        worker.stats.bytes_read += nbytes
        return OK
    segment = find_segment(source, offset, nbytes)
    if segment == NULL:
        return fail(worker, E_SEGMENT, offset, nbytes, nbytes, 0)
    data[0] = segment.data + (offset - segment.offset)
    return OK


# --- shard indexes

cdef int load_index(Worker* worker, const Target* target, const Node* node, const Source* source,
                    Py_ssize_t offset, Py_ssize_t nbytes, Buffer* buffer, const char** raw,
                    CachedIndex** held) noexcept nogil:
    cdef Py_ssize_t at
    cdef int code
    held[0] = NULL
    if nbytes < node.index.nbytes:
        return fail(worker, E_INDEX_SHORT, offset, nbytes, node.index.nbytes, nbytes)
    at = offset if node.index.at_start else offset + nbytes - node.index.nbytes
    if source.fd >= 0 and index_cacheable(node.index.nbytes):
        code = load_cached(worker, target, node, source, at, held)
        if code != OK or held[0] != NULL:
            raw[0] = held[0].data if code == OK else NULL
            return code
    code = read_index(worker, target, node, source, at, buffer)
    raw[0] = buffer.data
    return code


cdef int load_cached(Worker* worker, const Target* target, const Node* node, const Source* source,
                     Py_ssize_t at, CachedIndex** held) noexcept nogil:
    """Take an index from the cache, or read it and keep it there; held[0] stays NULL where neither can be."""
    cdef IndexKey key = IndexKey(source.identity, source.size, at, node.index.nbytes, node.index.checksums)
    cdef CachedIndex* index
    cdef Buffer buffer
    cdef int64_t read_ns
    cdef int code
    # With the GIL held (nowait) we don't wait for the cache either.
    if not index_find(&key, not target.nowait, held):
        return OK
    if held[0] != NULL:
        worker.stats.index_hits += 1
        return OK
    worker.stats.index_misses += 1
    index = index_new(&key)
    if index == NULL:
        return OK
    read_ns = clock_ns()
    buffer = Buffer(index.data, key.nbytes)
    code = read_index(worker, target, node, source, at, &buffer)
    if code != OK:
        index_release(index)
        return code
    index_store(index, source.fd, read_ns, not target.nowait)
    held[0] = index
    return OK


cdef int read_index(Worker* worker, const Target* target, const Node* node, const Source* source,
                    Py_ssize_t at, Buffer* buffer) noexcept nogil:
    """Read and verify the index at `at` into buffer."""
    cdef const char* data = NULL
    cdef int code
    code = look(worker, target, source, at, node.index.nbytes, buffer, &data)
    if code != OK:
        return code
    worker.stats.bytes_needed += node.index.nbytes
    if data != buffer.data:
        # Copied before it is checked: memory can change under us.
        code = reserve(buffer, node.index.nbytes)
        if code != OK:
            return fail(worker, code, at, node.index.nbytes, 0, 0)
        memcpy(buffer.data, data, node.index.nbytes)
    code = index_verify(&node.index, buffer.data)
    if code != OK:
        return fail(worker, code, at, node.index.nbytes, 0, 0)
    return OK
