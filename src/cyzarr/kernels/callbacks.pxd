# What only Python can do for a read: codecs without a kernel, and items that are objects.
from cyzarr.kernels.program cimport Node
from cyzarr.kernels.types cimport Span, Target
from cyzarr.kernels.workers cimport Buffer, Worker

# Decode bytes by a Python codec's decode(); the result is copied to buffer.
cdef int call_filter(Worker* worker, const Target* target, void* codec, bint ours, const char* src, Py_ssize_t nbytes,
                     Buffer* buffer, Py_ssize_t* found) noexcept with gil

# Decode a leaf's bytes by its Python codec, and place what spans pick.
cdef int call_leaf(Worker* worker, const Target* target, const Node* node, const char* src, Py_ssize_t nbytes,
                   const Span* spans) noexcept with gil

# A hull: fresh memory for `counts` items of what lies below (array[0] becomes the ndarray, data[0] its memory), then
# that ndarray through the codec, and what spans pick, less the hull's start `first`, placed. It steals the array.
cdef int hull_new(Worker* worker, const Node* node, const Py_ssize_t* counts, void** array,
                  char** data) noexcept with gil
cdef int call_hull(Worker* worker, const Target* target, const Node* node, void* array, const Span* spans,
                   const Py_ssize_t* first) noexcept with gil
cdef void hull_free(void* array) noexcept with gil

# Forget a worker's error.
cdef void drop_error(Worker* worker) noexcept with gil

# Fill the places of spans with target.fill_object.
cdef int fill_objects(Worker* worker, const Target* target, const Span* spans) noexcept with gil
