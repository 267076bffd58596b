# Open, measure and read files at an offset.
from libc.stdint cimport int64_t

from cyzarr.kernels.types cimport Identity

# Open a stored object for reading. OK: *fd is its descriptor, *size its size in bytes and *identity its identity,
# or *fd is -1 where there is no such object (no file, or a directory in its place). E_OS: errno is in *os_errno.
# E_NOT_REGULAR: neither a file nor a directory.
cdef int object_open(const char* path, int* fd, Py_ssize_t* size, Identity* identity, int* os_errno) noexcept nogil

# The time of day, as change times are told in: nanoseconds since 1970.
cdef int64_t clock_ns() noexcept nogil

# Whether the system can say that data is not in memory. False once a file system could not: then a read with
# nowait always gives E_AGAIN.
cdef bint nowait_works() noexcept nogil

cdef void object_close(int fd) noexcept nogil

# Read exactly nbytes at offset. E_SHORT: the file ends before; *got says how many there were.
# With nowait: E_AGAIN where the data is not in memory.
cdef int object_read(int fd, char* dst, Py_ssize_t nbytes, Py_ssize_t offset, bint nowait,
                     Py_ssize_t* got, int* os_errno) noexcept nogil
