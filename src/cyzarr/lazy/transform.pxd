# Index transforms: which source coordinate each cell of a domain addresses.
from cyzarr.lazy.maps cimport IndexDomain

cdef class IndexTransform:
    cdef readonly IndexDomain domain
    cdef readonly tuple output
    cdef bint affine              # no index arrays
    cdef object digest
