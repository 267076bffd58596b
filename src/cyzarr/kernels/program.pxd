# A codec chain, compiled: what the stored bytes of a chunk are and how they are undone.
from cyzarr.kernels.shardindex cimport IndexSpec
from cyzarr.kernels.types cimport MAX_NDIM, ItemPlan

cdef enum:
    MAX_FILTERS = 8

cdef enum:
    DECODE_PYTHON = 100    # beside natives.Decoder: a codec that only Python has

cdef enum NodeKind:
    NODE_BYTES = 0
    NODE_SHARD = 1
    NODE_PYTHON = 2        # a leaf that a Python codec decodes
    NODE_HULL = 3          # what another program decodes, handed through a Python codec

cdef struct Filter:
    int decoder            # of natives.Decoder
    void* codec            # PyObject*: its Python twin, called where the decoder is not native

# Everything stands in the axes of the array: transposes are strides only. A leaf's stride[a] is
# the distance in bytes between neighbours along the array's axis a; a shard's index strides alike.
cdef struct Node:
    int kind
    int ndim
    int n_filters
    Filter filters[MAX_FILTERS]      # bytes to bytes, in the order of encoding
    Py_ssize_t shape[MAX_NDIM]       # of the chunk
    int axes[MAX_NDIM]               # the array's axes in the order of the encoded frame
    Py_ssize_t nbytes                # of the chunk decoded (for a shard: its items, without index)
    Py_ssize_t bound                 # what it may be stored in, gaps apart
    Py_ssize_t limit                 # no intermediate stage may decode to more bytes
    Py_ssize_t stored                # stored length where it is fixed, else -1
    Py_ssize_t strides[MAX_NDIM]     # leaf
    Py_ssize_t inner[MAX_NDIM]       # shard: shape of an inner chunk
    IndexSpec index                  # shard
    Node* child                      # shard: what an inner chunk is
    void* codec                      # Python leaf, hull: PyObject*
    bint elementwise                 # hull: the codec takes any block of the chunk alone
    const Node* below                # hull: what it is decoded by, a program of its own with
    const ItemPlan* items            # its items,
    const char* fill                 # its fill
    void* dtype                      # and its dtype (PyObject*)

cdef class Program:
    cdef Node* root
    cdef ItemPlan items
    cdef readonly object dtype       # of the output
    cdef readonly object chain       # the description
    cdef readonly tuple shape        # of the chunk
    cdef object _fill
    cdef const char* fill            # one item of the output's dtype
    cdef readonly object fill_object  # what absent chunks hold, where items are objects; else None
    cdef readonly bint objects       # items are Python objects or NumPy's strings, placed by NumPy
    cdef object _keep                # the Python objects that nodes point to
    cdef Program below               # where the outermost node is a hull: what it is decoded by
    cdef object _plan
    cdef bint runs_python            # a codec is called that only Python has
    cdef int depth                   # of the innermost shard's chunks
    cdef bint compressed             # a decoder has to run for the innermost chunks
    cdef Node* _node(self, object chain, list axis_of, object leaf_dtypes, int depth) except NULL

# Where axes stand (axes[k]: that of the array's axis k), below a hull that may have transposed them.
cdef list axes_below(const Node* hull, list axes)

# The grid position, in the order of axes, of the inner chunk with this number in a shard's index.
cdef tuple grid_position(const Node* shard, Py_ssize_t number, list axes)
