"""Shard indexes of files, kept from read to read: one cache for the process, bounded in bytes.

An index is used only while the file, as the descriptor shows that the data is read from, is what it
was: device, inode, size and change time. Change times are coarse (a tick of 4 to 10 ms on many
systems), so a file may change and look the same if it was young when its index was read: such an
index isn't kept.

All indexes are held in one table under one lock, which is held for a few pointers' worth of work. A
reader holds the index that it uses by a count of its own, so it can be dropped meanwhile.
"""

import os
from collections import namedtuple

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc

from cyzarr.kernels.pthread cimport (
    pthread_mutex_init,
    pthread_mutex_lock,
    pthread_mutex_t,
    pthread_mutex_trylock,
    pthread_mutex_unlock,
)

cdef extern from *:
    """
    static void cyzarr_hold(int* holders) { __atomic_add_fetch(holders, 1, __ATOMIC_RELAXED); }
    static int cyzarr_let_go(int* holders) { return __atomic_sub_fetch(holders, 1, __ATOMIC_ACQ_REL); }

    #ifdef __linux__
    #include <sys/vfs.h>
    /* Whether a file system keeps change times by this machine's own clock, as those listed do: ext2 to ext4, XFS,
       Btrfs, tmpfs, overlayfs, ZFS, F2FS, bcachefs. Network file systems do not, and others may not. */
    static int cyzarr_local_clock(int fd) {
        static const unsigned long known[] = {
            0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0x794C7630, 0x2FC12FC1, 0xF2F52010, 0xCA451A4E};
        struct statfs found;
        unsigned i;
        if (fstatfs(fd, &found) != 0) return 0;
        for (i = 0; i < sizeof known / sizeof known[0]; i++)
            if (((unsigned long) found.f_type & 0xFFFFFFFFul) == known[i]) return 1;
        return 0;
    }
    #else
    static int cyzarr_local_clock(int fd) { (void) fd; return 0; }
    #endif
    """
    void hold "cyzarr_hold"(int* holders) noexcept nogil
    int let_go "cyzarr_let_go"(int* holders) noexcept nogil
    bint local_clock "cyzarr_local_clock"(int fd) noexcept nogil

cdef enum:
    BUCKETS = 1 << 14
    # A file that changed less than this before its index was read may change again and look the same.
    LOCAL_AGE_NS = 20_000_000
    OTHER_AGE_NS = 2_000_000_000

# The smallest index that is kept. Reading one item of a shard, in us, warm page cache, least of many:
#
#     index, bytes    68   516  1028  4100  12292  65540  262148  1638404
#     read again    4.65  4.63  4.75  4.79   5.29   7.13   15.68    84.38
#     looked up     4.18  4.17  4.24  4.22   4.15   4.15    4.14     4.26
#     missed        4.73  4.73  4.73  4.99   5.39   7.30   15.60    84.69
#
# So looking up always pays, by a system call at least: the file's state is known from opening it. But a small index
# saves no more than that, and takes the room of its entry and a call of malloc.
cdef Py_ssize_t least_nbytes = 1024

cdef CachedIndex* buckets[BUCKETS]
cdef CachedIndex* newest = NULL
cdef CachedIndex* oldest = NULL
cdef Py_ssize_t limit_nbytes = 0
cdef Py_ssize_t held_nbytes = 0
cdef Py_ssize_t n_indexes = 0
# Guards all of the above but the first and `limit_nbytes`, which may be read without it.
cdef pthread_mutex_t lock
pthread_mutex_init(&lock, NULL)


cdef Py_ssize_t cost_nbytes(Py_ssize_t nbytes) noexcept nogil:
    """What keeping an index takes, of the bound."""
    return nbytes + <Py_ssize_t> sizeof(CachedIndex)


cdef bint index_cacheable(Py_ssize_t nbytes) noexcept nogil:
    return nbytes >= least_nbytes and cost_nbytes(nbytes) <= limit_nbytes


# --- the table, with the lock held

cdef CachedIndex** bucket_of(const IndexKey* key) noexcept nogil:
    cdef uint64_t mixed = key.identity.ino * <uint64_t> 0x9E3779B97F4A7C15
    mixed ^= (key.identity.dev + <uint64_t> key.at) * <uint64_t> 0xC2B2AE3D27D4EB4F
    mixed ^= mixed >> 29
    return &buckets[mixed % BUCKETS]


cdef bint same_place(const IndexKey* a, const IndexKey* b) noexcept nogil:
    return (a.identity.ino == b.identity.ino and a.identity.dev == b.identity.dev and a.at == b.at
            and a.nbytes == b.nbytes and a.checksums == b.checksums)


cdef bint same_state(const IndexKey* a, const IndexKey* b) noexcept nogil:
    return a.identity.ctime_ns == b.identity.ctime_ns and a.size == b.size


cdef CachedIndex* seek(const IndexKey* key) noexcept nogil:
    """The index at the key's place, whatever the file's state; or NULL."""
    cdef CachedIndex* index = bucket_of(key)[0]
    while index != NULL and not same_place(&index.key, key):
        index = index.next
    return index


cdef void unlink_age(CachedIndex* index) noexcept nogil:
    global newest, oldest
    if index.newer != NULL:
        index.newer.older = index.older
    else:
        newest = index.older
    if index.older != NULL:
        index.older.newer = index.newer
    else:
        oldest = index.newer


cdef void link_newest(CachedIndex* index) noexcept nogil:
    global newest, oldest
    index.newer = NULL
    index.older = newest
    if newest != NULL:
        newest.newer = index
    else:
        oldest = index
    newest = index


cdef void drop(CachedIndex* index) noexcept nogil:
    """Take an index from the table."""
    global held_nbytes, n_indexes
    cdef CachedIndex** at = bucket_of(&index.key)
    while at[0] != index:
        at = &(at[0].next)
    at[0] = index.next
    unlink_age(index)
    held_nbytes -= cost_nbytes(index.key.nbytes)
    n_indexes -= 1
    index_release(index)


cdef void insert(CachedIndex* index) noexcept nogil:
    """Put an index into the table, which holds it from now on; the least lately used make room."""
    global held_nbytes, n_indexes
    cdef CachedIndex** at
    cdef CachedIndex* present = seek(&index.key)
    if present != NULL:
        drop(present)
    if cost_nbytes(index.key.nbytes) > limit_nbytes:
        return
    while oldest != NULL and held_nbytes > limit_nbytes - cost_nbytes(index.key.nbytes):
        drop(oldest)
    hold(&index.holders)
    at = bucket_of(&index.key)
    index.next = at[0]
    at[0] = index
    link_newest(index)
    held_nbytes += cost_nbytes(index.key.nbytes)
    n_indexes += 1


# --- for readers

cdef bint enter(bint wait) noexcept nogil:
    """Take the lock; without `wait` (the caller holds the GIL) only where it is free."""
    if wait:
        pthread_mutex_lock(&lock)
        return True
    return pthread_mutex_trylock(&lock) == 0


cdef bint index_find(const IndexKey* key, bint wait, CachedIndex** found) noexcept nogil:
    cdef CachedIndex* index
    found[0] = NULL
    if not enter(wait):
        return False
    index = seek(key)
    if index != NULL and not same_state(&index.key, key):
        drop(index)
        index = NULL
    if index != NULL:
        hold(&index.holders)
        if index != newest:
            unlink_age(index)
            link_newest(index)
    pthread_mutex_unlock(&lock)
    found[0] = index
    return True


cdef CachedIndex* index_new(const IndexKey* key) noexcept nogil:
    cdef CachedIndex* index = <CachedIndex*> malloc(sizeof(CachedIndex) + key.nbytes)
    if index == NULL:
        return NULL
    index.key = key[0]
    index.data = <char*> (index + 1)
    index.holders = 1
    index.next = index.newer = index.older = NULL
    return index


cdef void index_store(CachedIndex* index, int fd, int64_t read_ns, bint wait) noexcept nogil:
    cdef int64_t age = read_ns - index.key.identity.ctime_ns
    if age <= LOCAL_AGE_NS or (age <= OTHER_AGE_NS and not local_clock(fd)):
        return
    if enter(wait):
        insert(index)
        pthread_mutex_unlock(&lock)


cdef void index_release(CachedIndex* index) noexcept nogil:
    if index != NULL and let_go(&index.holders) == 0:
        free(index)


# --- for Python

IndexCache = namedtuple("IndexCache", "limit nbytes indexes")
IndexCache.__doc__ = "What the cache holds: its bound and its size in bytes, and how many indexes."


def set_index_cache(nbytes):
    """Bound the cache of shard indexes of this process, in bytes; 0 empties it and turns it off."""
    cdef Py_ssize_t limit = nbytes
    global limit_nbytes
    if limit < 0:
        raise ValueError(f"nbytes must not be negative, found {nbytes}")
    with nogil:
        pthread_mutex_lock(&lock)
        limit_nbytes = limit
        while oldest != NULL and held_nbytes > limit:
            drop(oldest)
        pthread_mutex_unlock(&lock)


def index_cache_nbytes():
    """The cache's bound in bytes; 0: off."""
    return limit_nbytes


def index_cache():
    """What the cache holds now."""
    cdef Py_ssize_t nbytes, indexes
    with nogil:
        pthread_mutex_lock(&lock)
        nbytes, indexes = held_nbytes, n_indexes
        pthread_mutex_unlock(&lock)
    return IndexCache(limit_nbytes, nbytes, indexes)


def _set_least_nbytes(Py_ssize_t nbytes):
    """For tests: keep smaller indexes too. Gives what it was."""
    global least_nbytes
    cdef Py_ssize_t before = least_nbytes
    least_nbytes = nbytes
    return before


def before_fork():
    """Hold the table while the process forks, so that the child finds it whole."""
    with nogil:
        pthread_mutex_lock(&lock)


def after_fork_in_parent():
    pthread_mutex_unlock(&lock)


def after_fork_in_child():
    """The table stays as it was; what other threads of the parent held is never let go of here."""
    pthread_mutex_init(&lock, NULL)


os.register_at_fork(before=before_fork, after_in_parent=after_fork_in_parent, after_in_child=after_fork_in_child)
