# Index transforms: which source coordinate each cell of a domain addresses.
cimport cython

from cyzarr.lazy.maps cimport IndexDomain


@cython.final
cdef class IndexTransform:
    cdef readonly IndexDomain domain
    cdef readonly tuple output
    cdef bint affine              # no index arrays
    cdef bint made                # once
    cdef object digest
