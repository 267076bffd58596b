# Decode a part of a compressed chunk alone.
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.types cimport Span, Target
from cyzarr.kernels.workers cimport Buffer, Worker

# Place what spans pick from a leaf's stored bytes, where decoding only a part of them pays. done[0]: whether it did;
# else (and where the header already shows that something is wrong) the chunk has to be decoded whole. `stored` must
# not change meanwhile. Codes as for decoding whole.
cdef int decode_part(Worker* worker, const Target* target, const Node* node, const char* stored, Py_ssize_t nbytes,
                     const Span* spans, Buffer* scratch, bint* done) noexcept nogil
