# Run reads that share stored objects: each touched chunk is fetched and decoded once for all of them.
from cyzarr.kernels.readplan cimport Read

# As execute's reads_run. Reads of equal labels are of one array: where they touch the same object, it is opened once.
# None reads points, or items that are objects; none is in parts. What is expected to take less than hold_ns keeps the
# GIL, unless a file's data is not in memory.
cdef int reads_run_batch(Read** reads, const Py_ssize_t* labels, Py_ssize_t n, int threads, object keep,
                         double hold_ns) except? -1
