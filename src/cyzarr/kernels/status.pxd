# What a kernel returns, and where in the stored data it happened.

cdef enum Status:
    OK = 0
    E_NOMEM = 1        # malloc failed
    E_DECODE = 2       # a decoder refused the bytes
    E_SIZE = 3         # decoded to another length than the chunk's
    E_LIMIT = 4        # decoded beyond the limit
    E_NATIVE = 5       # no native decoder
    E_OS = 6           # a system call failed: os_errno
    E_AGAIN = 7        # the data is not in memory and we may not wait for it
    E_NOT_REGULAR = 8  # a FIFO, a device or a socket in a chunk's place
    E_SHORT = 9        # the object ends before what was asked of it
    E_CHECKSUM = 10    # a crc32c does not match
    E_INDEX_SHORT = 11     # the object is shorter than its shard index
    E_INDEX_CHECKSUM = 12  # the shard index's crc32c does not match
    E_ENTRY = 13       # an index entry points outside the object
    E_ENTRY_SIZE = 14  # an index entry's length is not the chunk's fixed length
    E_STORED_SIZE = 15  # a stored chunk of fixed length has another length
    E_PYTHON = 16      # a Python codec raised; the exception is kept
    E_CANCELLED = 17   # the read was given up (Ctrl-C, or another task's failure)
    E_SEGMENT = 18     # bytes were needed that no fetched segment holds

cdef enum:
    MAX_DEPTH = 8      # shards within shards

cdef struct Failure:
    int code
    int decoder            # which decoder, for E_DECODE, E_SIZE, E_LIMIT
    int os_errno
    int depth              # how many entries of inner[] are set
    Py_ssize_t object      # number of the stored object within the read
    Py_ssize_t inner[8]    # number of the inner chunk in its shard's index, outermost first
    Py_ssize_t offset      # of the bytes at fault in the stored object
    Py_ssize_t length      # of the bytes at fault
    Py_ssize_t expected
    Py_ssize_t found

cdef void failure_clear(Failure* failure) noexcept nogil
cdef object failure_message(const Failure* failure)
cdef int raise_failure(const Failure* failure, object key, object inner) except -1
