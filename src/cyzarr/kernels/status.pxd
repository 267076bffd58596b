"""Return codes of the kernels that run without the GIL."""

cdef enum Status:
    OK = 0
    E_NOMEM = 1   # no memory
    E_DECODE = 2  # the decoder refused the bytes
    E_SIZE = 3    # decoded to another length than expected
    E_LIMIT = 4   # decodes to more than the limit
    E_NATIVE = 5  # no native decoder
