"""Copy, fill, byte-swap and gather N-d blocks between strided layouts.

Each leaf runs without the GIL, allocates nothing and checks nothing: the wrappers at the end
of this file, or the caller's plan, have checked shapes, strides and bounds. All of them first
reduce the block to the fewest axes (length-1 axes go, neighbours that run on in both layouts
are merged), then walk it with a loop chosen once by item size.
"""

import numpy as np

cimport numpy as cnp
from libc.stdint cimport uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from cyzarr.kernels.types cimport MAX_NDIM, Component, ItemPlan, Span

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>
    typedef struct { uint64_t low, high; } cyzarr_u16;
    typedef uint8_t cyzarr_u1;
    typedef uint16_t cyzarr_u2;
    typedef uint32_t cyzarr_u4;
    typedef uint64_t cyzarr_u8;
    /* n items along one axis. Written in C for `restrict`: without it the compiler can't tell that source and
       destination are apart, and makes no wide loads and stores. Units go by memcpy: nothing is aligned. */
    #define CYZARR_LOOP(N, SS, DS, CHANGE) \
        for (i = 0; i < n; i++) { memcpy(&unit, src + i * (SS), N); CHANGE; memcpy(dst + i * (DS), &unit, N); }
    #define CYZARR_RUN(NAME, N, CHANGE) \
        static void NAME##N(ptrdiff_t n, const char* restrict src, ptrdiff_t ss, ptrdiff_t size, \
                            char* restrict dst, ptrdiff_t ds) { \
            cyzarr_u##N unit; ptrdiff_t i; (void) size; \
            if (ss == N && ds == N) { CYZARR_LOOP(N, N, N, CHANGE) } \
            else if (ds == N && ss == 0) { \
                memcpy(&unit, src, N); CHANGE; \
                for (i = 0; i < n; i++) memcpy(dst + i * N, &unit, N); } \
            else if (ds == N) { CYZARR_LOOP(N, ss, N, CHANGE) } \
            else { CYZARR_LOOP(N, ss, ds, CHANGE) } }
    #define CYZARR_GATHER(N) \
        static void cyzarr_gather_##N(ptrdiff_t n, const char* restrict src, const ptrdiff_t* restrict from, \
                                      ptrdiff_t ss, char* restrict dst, const ptrdiff_t* restrict to, ptrdiff_t ds) { \
            cyzarr_u##N unit; ptrdiff_t i; \
            for (i = 0; i < n; i++) { memcpy(&unit, src + from[i] * ss, N); memcpy(dst + to[i] * ds, &unit, N); } }
    CYZARR_RUN(cyzarr_copy_, 1, ) CYZARR_RUN(cyzarr_copy_, 2, ) CYZARR_RUN(cyzarr_copy_, 4, )
    CYZARR_RUN(cyzarr_copy_, 8, ) CYZARR_RUN(cyzarr_copy_, 16, )
    CYZARR_RUN(cyzarr_swap_, 2, unit = __builtin_bswap16(unit))
    CYZARR_RUN(cyzarr_swap_, 4, unit = __builtin_bswap32(unit))
    CYZARR_RUN(cyzarr_swap_, 8, unit = __builtin_bswap64(unit))
    CYZARR_GATHER(1) CYZARR_GATHER(2) CYZARR_GATHER(4) CYZARR_GATHER(8) CYZARR_GATHER(16)
    """
    void copy_1 "cyzarr_copy_1"(Py_ssize_t, const char*, Py_ssize_t, Py_ssize_t, char*, Py_ssize_t) noexcept nogil
    void copy_2 "cyzarr_copy_2"(Py_ssize_t, const char*, Py_ssize_t, Py_ssize_t, char*, Py_ssize_t) noexcept nogil
    void copy_4 "cyzarr_copy_4"(Py_ssize_t, const char*, Py_ssize_t, Py_ssize_t, char*, Py_ssize_t) noexcept nogil
    void copy_8 "cyzarr_copy_8"(Py_ssize_t, const char*, Py_ssize_t, Py_ssize_t, char*, Py_ssize_t) noexcept nogil
    void copy_16 "cyzarr_copy_16"(Py_ssize_t, const char*, Py_ssize_t, Py_ssize_t, char*, Py_ssize_t) noexcept nogil
    void swap_2 "cyzarr_swap_2"(Py_ssize_t, const char*, Py_ssize_t, Py_ssize_t, char*, Py_ssize_t) noexcept nogil
    void swap_4 "cyzarr_swap_4"(Py_ssize_t, const char*, Py_ssize_t, Py_ssize_t, char*, Py_ssize_t) noexcept nogil
    void swap_8 "cyzarr_swap_8"(Py_ssize_t, const char*, Py_ssize_t, Py_ssize_t, char*, Py_ssize_t) noexcept nogil
    void gather_1 "cyzarr_gather_1"(
        Py_ssize_t, const char*, const Py_ssize_t*, Py_ssize_t, char*, const Py_ssize_t*, Py_ssize_t) noexcept nogil
    void gather_2 "cyzarr_gather_2"(
        Py_ssize_t, const char*, const Py_ssize_t*, Py_ssize_t, char*, const Py_ssize_t*, Py_ssize_t) noexcept nogil
    void gather_4 "cyzarr_gather_4"(
        Py_ssize_t, const char*, const Py_ssize_t*, Py_ssize_t, char*, const Py_ssize_t*, Py_ssize_t) noexcept nogil
    void gather_8 "cyzarr_gather_8"(
        Py_ssize_t, const char*, const Py_ssize_t*, Py_ssize_t, char*, const Py_ssize_t*, Py_ssize_t) noexcept nogil
    void gather_16 "cyzarr_gather_16"(
        Py_ssize_t, const char*, const Py_ssize_t*, Py_ssize_t, char*, const Py_ssize_t*, Py_ssize_t) noexcept nogil

cnp.import_array()

ctypedef void (*Run)(Py_ssize_t n, const char* src, Py_ssize_t src_stride, Py_ssize_t itemsize,
                     char* dst, Py_ssize_t dst_stride) noexcept nogil
ctypedef void (*Gather)(Py_ssize_t n, const char* src, const Py_ssize_t* index, Py_ssize_t src_stride,
                        char* dst, const Py_ssize_t* place, Py_ssize_t dst_stride) noexcept nogil

# A block reduced to its walk: the innermost axis is a run, the others are counted through.
cdef struct Walk:
    int ndim
    Py_ssize_t counts[MAX_NDIM + 1]
    Py_ssize_t src_strides[MAX_NDIM + 1]
    Py_ssize_t dst_strides[MAX_NDIM + 1]


# --- runs: n items along one axis

cdef void run_any(Py_ssize_t n, const char* src, Py_ssize_t src_stride, Py_ssize_t itemsize,
                  char* dst, Py_ssize_t dst_stride) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        memcpy(dst + i * dst_stride, src + i * src_stride, itemsize)


cdef void run_dense(Py_ssize_t n, const char* src, Py_ssize_t src_stride, Py_ssize_t itemsize,
                    char* dst, Py_ssize_t dst_stride) noexcept nogil:
    memcpy(dst, src, n * itemsize)


cdef void run_bytes(Py_ssize_t n, const char* src, Py_ssize_t src_stride, Py_ssize_t itemsize,
                    char* dst, Py_ssize_t dst_stride) noexcept nogil:
    # Fill with an item whose bytes are all the same, densely.
    memset(dst, (<const uint8_t*> src)[0], n * itemsize)


cdef Run choose_run(Py_ssize_t itemsize) noexcept nogil:
    if itemsize == 1:
        return copy_1
    if itemsize == 2:
        return copy_2
    if itemsize == 4:
        return copy_4
    if itemsize == 8:
        return copy_8
    if itemsize == 16:
        return copy_16
    return run_any


cdef Gather choose_gather(Py_ssize_t itemsize) noexcept nogil:
    if itemsize == 1:
        return gather_1
    if itemsize == 2:
        return gather_2
    if itemsize == 4:
        return gather_4
    if itemsize == 8:
        return gather_8
    if itemsize == 16:
        return gather_16
    return NULL


cdef void swap_any(Py_ssize_t n, const char* src, Py_ssize_t src_stride, Py_ssize_t itemsize,
                   char* dst, Py_ssize_t dst_stride) noexcept nogil:
    cdef Py_ssize_t i, k
    for i in range(n):
        for k in range(itemsize):
            dst[i * dst_stride + k] = src[i * src_stride + itemsize - 1 - k]


cdef Run choose_swap(Py_ssize_t itemsize) noexcept nogil:
    if itemsize == 2:
        return swap_2
    if itemsize == 4:
        return swap_4
    if itemsize == 8:
        return swap_8
    return swap_any


# --- walks

cdef Py_ssize_t magnitude(Py_ssize_t x) noexcept nogil:
    return -x if x < 0 else x


cdef bint walk_prepare(Walk* walk, int ndim, const Py_ssize_t* counts, const Py_ssize_t* src_strides,
                       const Py_ssize_t* dst_strides) noexcept nogil:
    """Reduce the block to its walk; False when it is empty.

    Axes are ordered by the destination's stride, widest first, so that writes run on.
    """
    cdef int axis, at, n = 0
    for axis in range(ndim):
        if counts[axis] <= 0:
            return False
        if counts[axis] == 1:
            continue
        at = n
        while at > 0 and magnitude(walk.dst_strides[at - 1]) < magnitude(dst_strides[axis]):
            walk.counts[at] = walk.counts[at - 1]
            walk.src_strides[at] = walk.src_strides[at - 1]
            walk.dst_strides[at] = walk.dst_strides[at - 1]
            at -= 1
        walk.counts[at] = counts[axis]
        walk.src_strides[at] = src_strides[axis]
        walk.dst_strides[at] = dst_strides[axis]
        n += 1
    walk.ndim = n
    walk_merge(walk)
    return True


cdef void walk_merge(Walk* walk) noexcept nogil:
    """Merge each axis into the one before it where both layouts run on from one to the other."""
    cdef int axis, last = 0
    for axis in range(1, walk.ndim):
        if (walk.src_strides[last] == walk.src_strides[axis] * walk.counts[axis]
                and walk.dst_strides[last] == walk.dst_strides[axis] * walk.counts[axis]):
            walk.counts[last] *= walk.counts[axis]
        else:
            last += 1
            walk.counts[last] = walk.counts[axis]
        walk.src_strides[last] = walk.src_strides[axis]
        walk.dst_strides[last] = walk.dst_strides[axis]
    if walk.ndim > 0:
        walk.ndim = last + 1


cdef void walk_run(const Walk* walk, Run run, const char* src, Py_ssize_t itemsize, char* dst) noexcept nogil:
    """Run over the innermost axis for every position of the others."""
    cdef int outer = walk.ndim - 2
    cdef int axis
    cdef Py_ssize_t i, n, rows, row_src, row_dst, src_stride, dst_stride
    cdef Py_ssize_t at[MAX_NDIM + 1]
    if walk.ndim == 0:
        run(1, src, 0, itemsize, dst, 0)
        return
    n = walk.counts[walk.ndim - 1]
    src_stride = walk.src_strides[walk.ndim - 1]
    dst_stride = walk.dst_strides[walk.ndim - 1]
    if outer < 0:
        run(n, src, src_stride, itemsize, dst, dst_stride)
        return
    rows = walk.counts[outer]
    row_src = walk.src_strides[outer]
    row_dst = walk.dst_strides[outer]
    for axis in range(outer):
        at[axis] = 0
    while True:
        for i in range(rows):
            run(n, src + i * row_src, src_stride, itemsize, dst + i * row_dst, dst_stride)
        axis = outer - 1
        while axis >= 0:
            at[axis] += 1
            src += walk.src_strides[axis]
            dst += walk.dst_strides[axis]
            if at[axis] < walk.counts[axis]:
                break
            src -= walk.src_strides[axis] * walk.counts[axis]
            dst -= walk.dst_strides[axis] * walk.counts[axis]
            at[axis] = 0
            axis -= 1
        if axis < 0:
            return


cdef Run dense_or(const Walk* walk, Py_ssize_t itemsize, Run run) noexcept nogil:
    """run_dense where the innermost axis is dense on both sides, else `run`."""
    cdef int last = walk.ndim - 1
    if last >= 0 and walk.src_strides[last] == itemsize and walk.dst_strides[last] == itemsize:
        return run_dense
    return run


cdef void copy_nd(int ndim, const Py_ssize_t* counts, const char* src, const Py_ssize_t* src_strides,
                  Py_ssize_t itemsize, char* dst, const Py_ssize_t* dst_strides) noexcept nogil:
    cdef Walk walk
    if walk_prepare(&walk, ndim, counts, src_strides, dst_strides):
        walk_run(&walk, dense_or(&walk, itemsize, choose_run(itemsize)), src, itemsize, dst)


cdef void swap_nd(int ndim, const Py_ssize_t* counts, const char* src, const Py_ssize_t* src_strides,
                  Py_ssize_t itemsize, char* dst, const Py_ssize_t* dst_strides) noexcept nogil:
    cdef Walk walk
    if walk_prepare(&walk, ndim, counts, src_strides, dst_strides):
        walk_run(&walk, choose_swap(itemsize), src, itemsize, dst)


cdef bint same_bytes(const char* item, Py_ssize_t itemsize) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(1, itemsize):
        if item[i] != item[0]:
            return False
    return True


cdef void fill_nd(int ndim, const Py_ssize_t* counts, const char* item, Py_ssize_t itemsize,
                  char* dst, const Py_ssize_t* dst_strides) noexcept nogil:
    cdef Walk walk
    cdef Py_ssize_t zeros[MAX_NDIM]
    cdef Run run = choose_run(itemsize)
    memset(zeros, 0, sizeof(zeros))
    if not walk_prepare(&walk, ndim, counts, zeros, dst_strides):
        return
    if walk.ndim > 0 and walk.dst_strides[walk.ndim - 1] == itemsize and same_bytes(item, itemsize):
        run = run_bytes
    walk_run(&walk, run, item, itemsize, dst)


# --- copies in the output's byte order

cdef void copy_items(const ItemPlan* plan, int ndim, const Py_ssize_t* counts, const char* src,
                     const Py_ssize_t* src_strides, char* dst, const Py_ssize_t* dst_strides) noexcept nogil:
    """Copy a block, swapping the bytes of the plan's components."""
    cdef int i
    cdef const Component* part
    cdef Py_ssize_t more_counts[MAX_NDIM + 1]
    cdef Py_ssize_t more_src[MAX_NDIM + 1]
    cdef Py_ssize_t more_dst[MAX_NDIM + 1]
    if plan.n_swaps == 0:
        copy_nd(ndim, counts, src, src_strides, plan.itemsize, dst, dst_strides)
        return
    if plan.n_swaps != 1 or plan.swaps[0].width * plan.swaps[0].repeat != plan.itemsize:
        copy_nd(ndim, counts, src, src_strides, plan.itemsize, dst, dst_strides)
    if ndim:
        memcpy(more_counts, counts, ndim * sizeof(Py_ssize_t))
        memcpy(more_src, src_strides, ndim * sizeof(Py_ssize_t))
        memcpy(more_dst, dst_strides, ndim * sizeof(Py_ssize_t))
    for i in range(plan.n_swaps):
        part = &plan.swaps[i]
        more_counts[ndim] = part.repeat
        more_src[ndim] = more_dst[ndim] = part.width
        swap_nd(ndim + 1, more_counts, src + part.offset, more_src, part.width, dst + part.offset, more_dst)


cdef int affine_part(int ndim, const Span* spans, const Py_ssize_t* src_strides, const Py_ssize_t* dst_strides,
                     const char** src, char** dst, Py_ssize_t* counts, Py_ssize_t* src_steps,
                     Py_ssize_t* dst_steps, int* indexed) noexcept nogil:
    """Move src and dst to the first item of the spans; list the affine axes' counts and strides.

    Returns how many axes are affine; indexed[] lists the others, indexed[MAX_NDIM] counts them.
    """
    cdef int axis, n = 0, others = 0
    for axis in range(ndim):
        if spans[axis].index != NULL:
            indexed[others] = axis
            others += 1
            continue
        if src != NULL:
            src[0] += spans[axis].start * src_strides[axis]
            src_steps[n] = spans[axis].step * src_strides[axis]
        dst[0] += spans[axis].out * dst_strides[axis]
        counts[n] = spans[axis].count
        dst_steps[n] = dst_strides[axis]
        n += 1
    indexed[MAX_NDIM] = others
    return n


cdef void place_spans(const ItemPlan* plan, int ndim, const Span* spans, const char* src,
                      const Py_ssize_t* src_strides, char* dst, const Py_ssize_t* dst_strides) noexcept nogil:
    cdef Py_ssize_t counts[MAX_NDIM]
    cdef Py_ssize_t src_steps[MAX_NDIM]
    cdef Py_ssize_t dst_steps[MAX_NDIM]
    cdef Py_ssize_t at[MAX_NDIM]
    cdef int indexed[MAX_NDIM + 1]
    cdef int i, axis, n
    cdef int last = 0
    cdef Gather single
    cdef const char* from_
    cdef char* to
    n = affine_part(ndim, spans, src_strides, dst_strides, &src, &dst, counts, src_steps, dst_steps, indexed)
    if indexed[MAX_NDIM] == 0:
        copy_items(plan, n, counts, src, src_steps, dst, dst_steps)
        return
    for i in range(indexed[MAX_NDIM]):
        if spans[indexed[i]].count <= 0:
            return
        at[i] = 0
    single = choose_gather(plan.itemsize) if plan.n_swaps == 0 else NULL
    for i in range(n):
        if counts[i] != 1:
            single = NULL
    if single != NULL:
        # Single items: the last indexed axis is the loop.
        indexed[MAX_NDIM] -= 1
        last = indexed[indexed[MAX_NDIM]]
    while True:
        from_ = src
        to = dst
        for i in range(indexed[MAX_NDIM]):
            axis = indexed[i]
            from_ += spans[axis].index[at[i]] * src_strides[axis]
            to += spans[axis].place[at[i]] * dst_strides[axis]
        if single == NULL:
            copy_items(plan, n, counts, from_, src_steps, to, dst_steps)
        else:
            single(spans[last].count, from_, spans[last].index, src_strides[last],
                   to, spans[last].place, dst_strides[last])
        if not next_position(indexed, spans, at):
            return


cdef bint next_position(const int* indexed, const Span* spans, Py_ssize_t* at) noexcept nogil:
    """Step to the next position of the indexed axes; False past the last."""
    cdef int i = indexed[MAX_NDIM] - 1
    while i >= 0:
        at[i] += 1
        if at[i] < spans[indexed[i]].count:
            return True
        at[i] = 0
        i -= 1
    return False


cdef void fill_spans(Py_ssize_t itemsize, const char* item, int ndim, const Span* spans,
                     char* dst, const Py_ssize_t* dst_strides) noexcept nogil:
    cdef Py_ssize_t counts[MAX_NDIM]
    cdef Py_ssize_t dst_steps[MAX_NDIM]
    cdef Py_ssize_t at[MAX_NDIM]
    cdef int indexed[MAX_NDIM + 1]
    cdef int i, n
    cdef char* to
    n = affine_part(ndim, spans, NULL, dst_strides, NULL, &dst, counts, NULL, dst_steps, indexed)
    for i in range(indexed[MAX_NDIM]):
        if spans[indexed[i]].count <= 0:
            return
        at[i] = 0
    while True:
        to = dst
        for i in range(indexed[MAX_NDIM]):
            to += spans[indexed[i]].place[at[i]] * dst_strides[indexed[i]]
        fill_nd(n, counts, item, itemsize, to, dst_steps)
        if not next_position(indexed, spans, at):
            return


cdef void place_points(const ItemPlan* plan, int ndim, const Span* spans, const char* src,
                       const Py_ssize_t* src_strides, char* dst, Py_ssize_t dst_stride) noexcept nogil:
    cdef Py_ssize_t k, n = spans[0].count
    cdef Py_ssize_t offset
    cdef int axis
    for k in range(n):
        offset = 0
        for axis in range(ndim):
            offset += spans[axis].index[k] * src_strides[axis]
        copy_items(plan, 0, NULL, src + offset, NULL, dst + spans[0].place[k] * dst_stride, NULL)


cdef void fill_points(Py_ssize_t itemsize, const char* item, const Span* spans,
                      char* dst, Py_ssize_t dst_stride) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(spans[0].count):
        memcpy(dst + spans[0].place[k] * dst_stride, item, itemsize)


# --- wrappers

cdef class Plan:
    """Owns the ItemPlan that takes items of one dtype to another of another byte order."""

    def __cinit__(self, stored, out):
        parts = swap_components(stored, out)
        self.n = len(parts)
        self.plan.itemsize = stored.itemsize
        self.plan.n_swaps = self.n
        self.plan.swaps = <Component*> calloc(self.n or 1, sizeof(Component))
        if self.plan.swaps == NULL:
            raise MemoryError
        for i, (offset, width, repeat) in enumerate(parts):
            self.plan.swaps[i] = Component(offset, width, repeat)

    def __dealloc__(self):
        free(self.plan.swaps)


def swap_components(stored, out):
    """The (offset, width, repeat) runs to swap between two dtypes that differ in byte order only.

    Raises TypeError where they differ in more. A complex number is two numbers, a unicode
    string a run of 4-byte characters, a struct its fields.
    """
    stored, out = np.dtype(stored), np.dtype(out)
    if stored.newbyteorder("=") != out.newbyteorder("=") or stored.hasobject:
        raise TypeError(f"items of {stored} can't be copied to items of {out}: they differ in more than byte order")
    found = []
    collect_swaps(stored, out, 0, 1, found)
    return found


def collect_swaps(stored, out, offset, repeat, found):
    """Append the runs of one (sub)dtype that starts at `offset` of its item."""
    if stored.subdtype is not None:
        base, shape = stored.subdtype
        inner = int(np.prod(shape))
        if base.names is None:
            collect_swaps(base, out.subdtype[0], offset, repeat * inner, found)
        else:
            for i in range(inner):
                collect_swaps(base, out.subdtype[0], offset + i * base.itemsize, 1, found)
    elif stored.names is not None:
        for name in stored.names:
            field, at = stored.fields[name][:2]
            other, at_out = out.fields[name][:2]
            if at != at_out:
                raise TypeError(f"field {name!r} lies at byte {at} in one dtype and at {at_out} in the other")
            collect_swaps(field, other, offset + at, 1, found)
    elif stored.isnative != out.isnative and stored.itemsize:
        width = {"c": stored.itemsize // 2, "U": 4}.get(stored.kind, stored.itemsize)
        found.append((offset, width, repeat * (stored.itemsize // width)))


cdef int block_arguments(cnp.ndarray src, cnp.ndarray dst) except -1:
    """Check what the copying leaves rely on."""
    if not cnp.PyArray_ISWRITEABLE(dst):
        raise ValueError("dst is read-only")
    if src.ndim != dst.ndim:
        raise ValueError(f"src has {src.ndim} axes, dst has {dst.ndim}")
    if dst.ndim > MAX_NDIM:
        raise ValueError(f"at most {MAX_NDIM} axes, found {dst.ndim}")
    for axis in range(dst.ndim):
        if src.shape[axis] != dst.shape[axis]:
            raise ValueError(f"axis {axis}: src has {src.shape[axis]} items, dst has {dst.shape[axis]}")
    return 0


def check_apart(src, dst):
    """Refuse arrays that share memory, or of which that can't be told with little work."""
    if not np.may_share_memory(src, dst):
        return
    try:
        shared = np.shares_memory(src, dst, max_work=10_000)
    except np.exceptions.TooHardError:
        shared = True
    if shared:
        raise ValueError("src and dst share memory")


cdef void copy_numbers(Py_ssize_t* to, const cnp.npy_intp* numbers, int n) noexcept nogil:
    """A shape or strides; of no axes NumPy has NULL, which memcpy may not be given."""
    cdef int i
    for i in range(n):
        to[i] = numbers[i]


def copy_block(src not None, dst not None):
    """Copy `src` into `dst`, byte-swapping where their dtypes differ in byte order.

    Parameters
    ----------
    src : ndarray of shape (n0, n1, ...)
        Any strides, of any sign.
    dst : writable ndarray of the same shape
        Any strides; its dtype is that of `src` up to byte order. Wholly written.

    Raises
    ------
    ValueError
        Shapes differ, `dst` is read-only, or the two may share memory.
    TypeError
        Either is no ndarray, or the dtypes differ in more than byte order.

    Notes
    -----
    Releases the GIL while it copies. Costs one pass over the items; runs that are dense on
    both sides are copied by memcpy.
    """
    if not isinstance(src, np.ndarray) or not isinstance(dst, np.ndarray):
        raise TypeError(f"src and dst must be ndarrays, found {type(src).__name__} and {type(dst).__name__}")
    cdef cnp.ndarray a = src
    cdef cnp.ndarray b = dst
    block_arguments(a, b)
    if a.size == 0:
        return
    check_apart(src, dst)
    cdef Plan plan = Plan(src.dtype, dst.dtype)
    cdef int ndim = a.ndim
    cdef const char* from_ = <const char*> cnp.PyArray_DATA(a)
    cdef char* to = <char*> cnp.PyArray_DATA(b)
    # Copied: another thread may give an array another shape meanwhile.
    cdef Py_ssize_t counts[MAX_NDIM]
    cdef Py_ssize_t src_strides[MAX_NDIM]
    cdef Py_ssize_t dst_strides[MAX_NDIM]
    copy_numbers(counts, a.shape, ndim)
    copy_numbers(src_strides, a.strides, ndim)
    copy_numbers(dst_strides, b.strides, ndim)
    with nogil:
        copy_items(&plan.plan, ndim, counts, from_, src_strides, to, dst_strides)


def fill_block(dst not None, value):
    """Set every item of `dst` to one value, bit for bit.

    Parameters
    ----------
    dst : writable ndarray
        Any shape and strides.
    value : bytes of one item, or anything that NumPy stores in an item of `dst.dtype`

    Raises
    ------
    ValueError
        `dst` is read-only, or `value` is bytes of another length than an item's.
    TypeError
        `dst` is no ndarray, or its items hold Python objects.

    Notes
    -----
    Releases the GIL while it fills.
    """
    if not isinstance(dst, np.ndarray):
        raise TypeError(f"dst must be an ndarray, found {type(dst).__name__}")
    cdef cnp.ndarray b = dst
    block_arguments(b, b)
    if dst.dtype.hasobject:
        raise TypeError(f"items of {dst.dtype} hold Python objects")
    if not (isinstance(value, bytes) and dst.dtype.kind != "S"):
        value = np.full((), value, dtype=dst.dtype).tobytes()
    if len(value) != dst.dtype.itemsize:
        raise ValueError(f"value has {len(value)} bytes, an item of {dst.dtype} has {dst.dtype.itemsize}")
    cdef const char* item = value
    cdef Py_ssize_t itemsize = dst.dtype.itemsize
    cdef char* to = <char*> cnp.PyArray_DATA(b)
    cdef int ndim = b.ndim
    cdef Py_ssize_t counts[MAX_NDIM]
    cdef Py_ssize_t strides[MAX_NDIM]
    copy_numbers(counts, b.shape, ndim)
    copy_numbers(strides, b.strides, ndim)
    if b.size and itemsize:
        with nogil:
            fill_nd(ndim, counts, item, itemsize, to, strides)


def gather(src not None, indices, dst not None):
    """Copy the open mesh of index arrays: dst[i, j, ...] = src[indices[0][i], indices[1][j], ...].

    Parameters
    ----------
    src : ndarray of n axes
    indices : sequence of n 1-D integer arrays
        Each within 0 .. src.shape[axis] - 1; negative positions are not wrapped.
    dst : writable ndarray of shape (len(indices[0]), len(indices[1]), ...)
        Its dtype is that of `src` up to byte order. Wholly written.

    Raises
    ------
    IndexError
        An index lies outside its axis; nothing is written.
    ValueError, TypeError
        As for `copy_block`.

    Notes
    -----
    Releases the GIL while it copies.
    """
    if not isinstance(src, np.ndarray) or not isinstance(dst, np.ndarray):
        raise TypeError(f"src and dst must be ndarrays, found {type(src).__name__} and {type(dst).__name__}")
    cdef cnp.ndarray a = src
    cdef cnp.ndarray b = dst
    cdef int axis, ndim = a.ndim
    block_arguments(b, b)
    if ndim > MAX_NDIM:
        raise ValueError(f"at most {MAX_NDIM} axes, found {ndim}")
    kept = checked_indices(src.shape, indices, dst.shape)
    if b.size == 0:
        return
    check_apart(src, dst)
    cdef Plan plan = Plan(src.dtype, dst.dtype)
    cdef Span spans[MAX_NDIM]
    cdef cnp.ndarray index
    places = [np.arange(n, dtype=np.intp) for n in dst.shape]
    for axis in range(ndim):
        index = kept[axis]
        spans[axis].count = index.size
        spans[axis].index = <const Py_ssize_t*> cnp.PyArray_DATA(index)
        index = places[axis]
        spans[axis].place = <const Py_ssize_t*> cnp.PyArray_DATA(index)
    cdef const char* from_ = <const char*> cnp.PyArray_DATA(a)
    cdef char* to = <char*> cnp.PyArray_DATA(b)
    cdef Py_ssize_t src_strides[MAX_NDIM]
    cdef Py_ssize_t dst_strides[MAX_NDIM]
    copy_numbers(src_strides, a.strides, ndim)
    copy_numbers(dst_strides, b.strides, ndim)
    with nogil:
        place_spans(&plan.plan, ndim, spans, from_, src_strides, to, dst_strides)


def checked_indices(shape, indices, lengths):
    """The index arrays as private contiguous intp arrays, each within its axis."""
    if len(indices) != len(shape) or len(lengths) != len(shape):
        raise ValueError(f"src has {len(shape)} axes, indices has {len(indices)}, dst has {len(lengths)}")
    kept = []
    for axis, (extent, given, length) in enumerate(zip(shape, indices, lengths)):
        # Copied first: the caller's array may change while it is checked.
        given = np.array(given)
        if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
            raise ValueError(f"axis {axis}: expected a 1-D integer array, found {given.ndim}-D {given.dtype}")
        if given.size != length:
            raise ValueError(f"axis {axis}: {given.size} indices, dst has {length} items")
        if given.size and (given.min() < 0 or given.max() >= extent):
            raise IndexError(f"axis {axis}: indices from {given.min()} to {given.max()}, expected 0 to {extent - 1}")
        kept.append(np.array(given, dtype=np.intp, order="C"))
    return kept
