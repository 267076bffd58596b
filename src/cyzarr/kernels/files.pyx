"""Open, measure and read files at an offset: everything POSIX that cyzarr needs of files."""

from libc.errno cimport EAGAIN, EINTR, EISDIR, ENOENT, ENOTDIR, errno
from posix.fcntl cimport O_CLOEXEC, O_NONBLOCK, O_RDONLY, open
from posix.stat cimport S_ISDIR, S_ISREG, fstat, struct_stat
from posix.unistd cimport close

from cyzarr.kernels.status cimport E_AGAIN, E_NOT_REGULAR, E_OS, E_SHORT, OK

cdef extern from *:
    """
    #include <errno.h>
    #include <stdint.h>
    #include <sys/stat.h>
    #include <sys/types.h>
    #include <sys/uio.h>
    #include <time.h>
    #include <unistd.h>
    /* Linux can say "not in memory" instead of waiting for the disk. Elsewhere, and on file
       systems that can't, "would block" is the safe answer: the caller then reads without the GIL. */
    #ifdef RWF_NOWAIT
    static int cyzarr_nowait_works = 1;
    #else
    static int cyzarr_nowait_works = 0;
    #endif
    static ssize_t cyzarr_pread(int fd, void* dst, size_t n, off_t offset, int nowait) {
        if (!nowait) return pread(fd, dst, n, offset);
    #ifdef RWF_NOWAIT
        if (cyzarr_nowait_works) {
            struct iovec part = {dst, n};
            ssize_t got = preadv2(fd, &part, 1, offset, RWF_NOWAIT);
            if (got >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)) return got;
            cyzarr_nowait_works = 0;
        }
    #endif
        errno = EAGAIN;
        return -1;
    }
    static int64_t cyzarr_ns(const struct timespec* at) {
        return (int64_t) at->tv_sec * 1000000000 + at->tv_nsec;
    }
    static int64_t cyzarr_change_ns(const struct stat* found) {
    #ifdef __APPLE__
        return cyzarr_ns(&found->st_ctimespec);
    #else
        return cyzarr_ns(&found->st_ctim);
    #endif
    }
    static int64_t cyzarr_clock_ns(void) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        return cyzarr_ns(&now);
    }
    """
    int NOWAIT_WORKS "cyzarr_nowait_works"
    Py_ssize_t pread_nowait "cyzarr_pread"(int fd, void* dst, size_t n, Py_ssize_t offset, int nowait) noexcept nogil
    int64_t change_ns "cyzarr_change_ns"(const struct_stat* found) noexcept nogil
    int64_t now_ns "cyzarr_clock_ns"() noexcept nogil


cdef int object_open(const char* path, int* fd, Py_ssize_t* size, Identity* identity, int* os_errno) noexcept nogil:
    cdef struct_stat found
    # Non-blocking, so that a FIFO in a chunk's place answers at once.
    fd[0] = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    while fd[0] < 0 and errno == EINTR:
        fd[0] = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    if fd[0] < 0:
        os_errno[0] = errno
        if errno == ENOENT or errno == ENOTDIR or errno == EISDIR:
            return OK
        return E_OS
    if fstat(fd[0], &found) != 0:
        os_errno[0] = errno
        object_close(fd[0])
        fd[0] = -1
        return E_OS
    if S_ISREG(found.st_mode):
        size[0] = found.st_size
        identity[0] = Identity(found.st_dev, found.st_ino, change_ns(&found))
        return OK
    object_close(fd[0])
    fd[0] = -1
    return OK if S_ISDIR(found.st_mode) else E_NOT_REGULAR


cdef int64_t clock_ns() noexcept nogil:
    return now_ns()


cdef bint nowait_works() noexcept nogil:
    return NOWAIT_WORKS


cdef void object_close(int fd) noexcept nogil:
    if fd >= 0:
        close(fd)


cdef int object_read(int fd, char* dst, Py_ssize_t nbytes, Py_ssize_t offset, bint nowait,
                     Py_ssize_t* got, int* os_errno) noexcept nogil:
    cdef Py_ssize_t n
    got[0] = 0
    while got[0] < nbytes:
        n = pread_nowait(fd, dst + got[0], nbytes - got[0], offset + got[0], nowait)
        if n > 0:
            got[0] += n
        elif n == 0:
            return E_SHORT
        elif errno == EAGAIN and nowait:
            return E_AGAIN
        elif errno != EINTR:
            os_errno[0] = errno
            return E_OS
    return OK
