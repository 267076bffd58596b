# Bytes of stored objects, wherever these are, and the shard indexes among them.
from cyzarr.kernels.indexcache cimport CachedIndex
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.types cimport Segment, Source, Target
from cyzarr.kernels.workers cimport Buffer, Worker

# Read exactly nbytes at offset of an open file into dst.
cdef int fetch(Worker* worker, const Target* target, const Source* source, Py_ssize_t offset,
               Py_ssize_t nbytes, char* dst) noexcept nogil

# The segment that holds a range, or NULL.
cdef const Segment* find_segment(const Source* source, Py_ssize_t offset, Py_ssize_t nbytes) noexcept nogil

# Make the range readable at data[0]: in place where it is in memory, else read into buffer.
cdef int look(Worker* worker, const Target* target, const Source* source, Py_ssize_t offset,
              Py_ssize_t nbytes, Buffer* buffer, const char** data) noexcept nogil

# Have a shard's index at hand, verified, at raw[0]: in held[0], which the caller lets go of, or else in `buffer`.
cdef int load_index(Worker* worker, const Target* target, const Node* node, const Source* source,
                    Py_ssize_t offset, Py_ssize_t nbytes, Buffer* buffer, const char** raw,
                    CachedIndex** held) noexcept nogil
