"""The container of c-blosc 1."""

# Whether a blosc container's header and block table lie within its bytes: OK, or a code. A decoder of blosc that
# is given no length, as numcodecs' own, must not be called before.
cdef int check_blosc(const char* src, Py_ssize_t src_nbytes) noexcept nogil

# The same; then *nbytes is the decoded length.
cdef int blosc_nbytes(const char* src, Py_ssize_t src_nbytes, Py_ssize_t* nbytes) noexcept nogil

# Of a container whose bytes can be decoded in parts.
cdef struct BloscLayout:
    Py_ssize_t nbytes          # decoded
    Py_ssize_t blocksize       # decoded bytes of a block, which is what a part costs at least
    Py_ssize_t typesize        # a part starts and ends at multiples of it
    bint memcpyed              # not compressed

# Whether a container of `nbytes` decoded bytes, by its header alone, may be decoded in parts.
cdef bint blosc_layout(const char* src, Py_ssize_t src_nbytes, Py_ssize_t nbytes, BloscLayout* layout) noexcept nogil

# Decode nbytes bytes from `first` on. Checks nothing: both are multiples of layout.typesize and within
# layout.nbytes, and check_blosc found the container good after blosc_layout did.
cdef int blosc_part(const char* src, const BloscLayout* layout, Py_ssize_t first, Py_ssize_t nbytes,
                    char* dst) noexcept nogil

# Decode where the decoder is native; as decompress.decode_exact.
cdef int blosc_exact(
    const char* src, Py_ssize_t src_nbytes, char* dst, Py_ssize_t dst_nbytes, Py_ssize_t* found
) noexcept nogil

# Some of a container's blocks, as a container of their own.
cdef struct BloscCut:
    Py_ssize_t first           # what they decode to: where it lies in the chunk
    Py_ssize_t decoded         # and how long it is
    Py_ssize_t blocks          # how many; 0: none, and nothing else is set
    Py_ssize_t block           # the first of them
    Py_ssize_t offset          # where they lie in the container
    Py_ssize_t nbytes
    Py_ssize_t head_nbytes     # what stands before them in one of their own
    Py_ssize_t end             # of the whole container

# Whether a container of `stored` bytes and `decoded` decoded ones, of which `nbytes` are at hand, can be cut: it
# has several full blocks, all of the table is at hand, and they lie in their order.
cdef bint blosc_head(const char* src, Py_ssize_t nbytes, Py_ssize_t stored, Py_ssize_t decoded) noexcept nogil

# Of `parts` shares of the blocks of a container with a good head the one with number `part`.
cdef void blosc_cut(const char* head, Py_ssize_t part, Py_ssize_t parts, BloscCut* cut) noexcept nogil

# Write the cut.head_nbytes that stand before cut.nbytes of a container of their own.
cdef void blosc_write_head(const char* head, const BloscCut* cut, char* dst) noexcept nogil
