# Decode and check a shard's index.
from libc.stdint cimport uint64_t

from cyzarr.kernels.types cimport MAX_NDIM

cdef struct IndexSpec:
    Py_ssize_t entries               # inner chunks per shard
    Py_ssize_t nbytes                # of the encoded index: 16 * entries + 4 * checksums
    int checksums                    # how many crc32c follow one another
    bint big                         # byte order of the numbers
    bint at_start                    # else at the end of the shard
    Py_ssize_t pair                  # from an entry's offset to its length, in numbers
    Py_ssize_t strides[MAX_NDIM]     # from one inner chunk to the next along each axis, in numbers

# Verify the checksums of an encoded index of spec.nbytes bytes: OK or E_INDEX_CHECKSUM.
cdef int index_verify(const IndexSpec* spec, const char* raw) noexcept nogil

# Read one entry; `number` is the sum of position * stride over the axes.
cdef void index_entry(const IndexSpec* spec, const char* raw, Py_ssize_t number,
                      uint64_t* offset, uint64_t* nbytes) noexcept nogil

# Judge one entry against the object's size and the chunk's fixed stored size (-1: not fixed).
# OK, E_ENTRY or E_ENTRY_SIZE; absent[0] tells whether the chunk is absent.
cdef int check_entry(uint64_t offset, uint64_t nbytes, uint64_t size, Py_ssize_t fixed, bint* absent) noexcept nogil
