# Cut the tasks of a read into parts where there are too few of them for the threads.
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.readplan cimport Read
from cyzarr.kernels.types cimport Source, Span, Target
from cyzarr.kernels.workers cimport Buffer, Worker

# Set read.parts and what belongs to them, where a part is no more work than its share. Not for a read that has run.
cdef void read_split(Read* read, int threads) noexcept nogil

# Read a container's head into the buffer; head[0]: it, or NULL where the container is to be decoded whole.
cdef int load_head(Worker* worker, const Target* target, const Node* node, const Source* source, Buffer* buffer,
                   const char** head) noexcept nogil

# Decode a part of a container with this head into its place. spans pick the whole chunk.
cdef int decode_cut(Worker* worker, const Target* target, const Node* node, const Source* source, const char* head,
                    const Span* spans, Py_ssize_t part, Py_ssize_t parts) noexcept nogil
