"""From a kernel's return code to one exception with a clear message."""

import os

from cyzarr.errors import CorruptChunkError

DECODERS = ("zstd", "blosc", "lz4", "gzip", "zlib", "crc32c")


cdef void failure_clear(Failure* failure) noexcept nogil:
    cdef int i
    failure.code = OK
    failure.decoder = -1
    failure.os_errno = 0
    failure.depth = 0
    failure.object = 0
    for i in range(MAX_DEPTH):
        failure.inner[i] = -1
    failure.offset = failure.length = failure.expected = failure.found = 0


cdef unsigned64(Py_ssize_t number):
    """An index's number as it is stored: unsigned."""
    return number if number >= 0 else number + (1 << 64)


cdef object failure_message(const Failure* failure):
    """What was expected and what was found; where is said by raise_failure."""
    decoder = DECODERS[failure.decoder] if 0 <= failure.decoder < len(DECODERS) else "codec"
    expected, found = unsigned64(failure.expected), unsigned64(failure.found)
    if failure.found < 0 and failure.code == E_SIZE:
        found = "another number"
    if failure.code == E_DECODE:
        return f"the {decoder} decoder refused the stored bytes"
    if failure.code == E_SIZE:
        return f"{decoder} data decodes to another length than the chunk's: expected {expected} bytes, found {found}"
    if failure.code == E_LIMIT:
        return f"{decoder} data decodes to more than the {expected} bytes that the chunk can hold"
    if failure.code == E_SHORT:
        return f"the stored object ends too early: expected {expected} bytes there, found {found}"
    if failure.code == E_CHECKSUM:
        return "Stored and computed checksum do not match (crc32c): the chunk is corrupt"
    if failure.code == E_INDEX_SHORT:
        return (f"The stored shard is too short to hold its index: expected {expected} bytes of index, found {found}. "
                "The shard is truncated or corrupt")
    if failure.code == E_INDEX_CHECKSUM:
        return "Stored and computed checksum do not match (crc32c): the shard index is corrupt"
    if failure.code == E_ENTRY:
        return f"the shard index points outside the stored object of {expected} bytes"
    if failure.code == E_ENTRY_SIZE:
        return f"the shard index gives a wrong length: expected {expected} bytes, found {found}"
    if failure.code == E_STORED_SIZE:
        return f"the stored chunk has a wrong length: expected {expected} bytes, found {found}"
    if failure.code == E_SEGMENT:
        return "bytes were needed that were not fetched"
    return f"status {failure.code}"


cdef int raise_failure(const Failure* failure, object key, object inner) except -1:
    """Raise the exception of a failure.

    `key` names the stored object, `inner` the inner chunk's grid position (or None).
    """
    if failure.code == E_NOMEM:
        raise MemoryError(f"no memory to read chunk {key!r}")
    if failure.code == E_OS:
        raise OSError(failure.os_errno, os.strerror(failure.os_errno), str(key))
    if failure.code == E_NOT_REGULAR:
        raise OSError(f"{key!r} is neither a file nor a directory")
    where = f"chunk {key!r}" + ("" if inner is None else f", inner chunk {inner}")
    offset, length = unsigned64(failure.offset), unsigned64(failure.length)
    place = f"at offset {offset}, length {length}"
    if failure.offset < 0 and failure.code in (E_INDEX_SHORT, E_INDEX_CHECKSUM):
        # Counted from the end of an object whose length nobody told.
        offset, place = None, f"the last {length} bytes"
    message = f"{where}: {failure_message(failure)} ({place})"
    raise CorruptChunkError(message, str(key), None if inner is None else str(inner), offset, length)
