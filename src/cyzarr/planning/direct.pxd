# What is known of an array on the direct road, and reads of entries, for the modules beside it.
cimport numpy as cnp

from cyzarr.kernels.program cimport Program
from cyzarr.kernels.readplan cimport Read
from cyzarr.kernels.types cimport MAX_NDIM, Source, Span
from cyzarr.planning.basic cimport Key

cdef enum StoreKind:
    LOCAL = 1
    MEMORY = 2

cdef class Compiled:
    cdef object metadata, config, store_path, store, path, root, pipeline
    cdef Py_ssize_t n_attributes      # of the store's instance
    cdef readonly Program program     # None: zarr's own code
    cdef object grid                  # where chunks differ in shape; else None
    cdef readonly object reason       # why, then
    cdef StoreKind kind
    cdef int ndim
    cdef Py_ssize_t shape[MAX_NDIM]
    cdef bytes prefix                 # of file paths
    cdef str key_prefix               # of keys
    cdef bint lead, fortran, fill_missing
    cdef bint chosen                  # by the user, another pipeline: no read of ours
    cdef bint needs_loop              # a codec is a coroutine on zarr's loop
    cdef bint may_be_brief            # all of its reads are kernels' work alone, of buffers in memory
    cdef bint simple                  # the dtype is known by its number alone
    cdef char separator

cdef double HOLD_NS                   # a read that takes less keeps the GIL

# The array's program where a direct read may be made, else None.
cdef Compiled native(object array)
# Entries within the array, into `out` where there is one; None: zarr's own code must say what this is.
cdef object read_entries(Compiled made, tuple entries, bint points, bint field, bint brief, object out=*)
# Entries as spans and a key; gives what the spans point to besides the entries.
cdef object entry_spans(Compiled made, tuple entries, bint points, Span* spans, Key* key)
# Plan the read of what a key picks into an array, and look up its objects in a MemoryStore; NULL: not to be had there.
cdef Read* new_read(Compiled made, const Span* spans, const Key* key, cnp.ndarray out, bint points) except NULL
cdef Source* look_up(Compiled made, Read* read, list held) except? NULL
# Whether integers and ranges lie within the array (index arrays are looked at by entry_spans), and whether a target has
# room for exactly what entries make: IndexError, TypeError, ValueError.
cdef int check_entries(tuple entries, Compiled made) except -1
cdef int check_target(object out, tuple entries, bint points, Compiled made) except -1
# One more read by the direct road.
cdef void count_served() noexcept
