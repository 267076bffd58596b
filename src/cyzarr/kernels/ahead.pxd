# Read small inner chunks of a local file together.
from cyzarr.kernels.readplan cimport Object, Read
from cyzarr.kernels.types cimport Source, Span
from cyzarr.kernels.workers cimport Worker

# What is picked of an object's within-th touched inner chunk; returns that one's number in the index.
cdef Py_ssize_t inner_spans(const Read* read, const Py_ssize_t* at, Py_ssize_t within, Span* spans) noexcept nogil

# An object's tasks, each of which is an inner chunk: those of one read, or of the batch that it is run in.
cdef struct Row:
    const Read* read
    const Object* object_
    const Py_ssize_t* at
    Py_ssize_t count

cdef Row row_of(const Read* read, const Object* object_, Py_ssize_t number, const Py_ssize_t* at) noexcept nogil

# The tasks in the order in which their bytes lie in the object's file, to be freed; NULL where they stand so, or where
# it is of no use.
cdef Py_ssize_t* stored_order(Row row) noexcept nogil

# Read a small inner chunk of an open file together with those that the next tasks need and that follow it closely:
# `source` becomes these bytes, which are the worker's, or stays as it is where there is nothing to gain.
cdef int read_ahead(Row row, Worker* worker, Py_ssize_t within, Source* source) noexcept nogil
