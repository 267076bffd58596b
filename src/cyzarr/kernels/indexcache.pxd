# Shard indexes of files, kept from read to read.
from libc.stdint cimport int64_t

from cyzarr.kernels.types cimport Identity

# Which bytes of which file an index is. All of `identity` must be as it was, `size` too.
cdef struct IndexKey:
    Identity identity
    Py_ssize_t size              # of the file
    Py_ssize_t at                # where the index starts in the file
    Py_ssize_t nbytes            # of the encoded index
    int checksums                # how many of its own were verified

# An encoded index, verified. Freed when the last of those who hold it lets go; the table is one of them.
cdef struct CachedIndex:
    IndexKey key
    char* data                   # key.nbytes, behind the struct
    int holders
    CachedIndex* next            # in its bucket
    CachedIndex* newer           # by last use
    CachedIndex* older

# Whether an index of so many bytes is looked up and kept at all.
cdef bint index_cacheable(Py_ssize_t nbytes) noexcept nogil

# Look an index up. False: the table was busy, and we may not wait. Else found[0] is the index, held for the caller,
# or NULL. An index of the same place in an earlier state of the file is dropped.
cdef bint index_find(const IndexKey* key, bint wait, CachedIndex** found) noexcept nogil

# Room for an index, held for the caller; NULL where memory ran out.
cdef CachedIndex* index_new(const IndexKey* key) noexcept nogil

# Keep an index that was read and verified. `read_ns`: the time of day before it was read.
cdef void index_store(CachedIndex* index, int fd, int64_t read_ns, bint wait) noexcept nogil

# Let go of an index (or of NULL).
cdef void index_release(CachedIndex* index) noexcept nogil
