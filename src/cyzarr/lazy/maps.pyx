"""Index domains, and the three maps from their coordinates to those of a source.

All are immutable, hashable by value and picklable, and whole at any time: also one whose `__init__` was never called,
a domain without axes or a map that leads to 0. Coordinates, offsets and strides are Python's integers, which don't
overflow; index arrays hold intp.
"""

import operator

import numpy as np

cimport cython
from cpython.long cimport PyLong_CheckExact

from cyzarr.errors import BoundsCheckError
from cyzarr.lazy import documents

# Coordinates of a domain lie between this and its negative, as TensorStore's: their sums and differences fit.
FARTHEST = (1 << 62) - 1

# What an intp holds.
LEAST, MOST = np.iinfo(np.intp).min, np.iinfo(np.intp).max

cdef object NO_INDEX = np.ndarray((), np.intp, bytes(np.intp().itemsize))


@cython.final
cdef class IndexDomain:
    """A box of integer coordinates.

    Parameters
    ----------
    inclusive_min, exclusive_max : sequences of int
        One per axis; the least coordinate and the one after the largest.
    labels : sequence of str, optional
        One per axis, "" for none.

    Raises
    ------
    TypeError
        Where a coordinate is not an integer or a label not a string.
    ValueError
        Where the lengths differ, a minimum exceeds its maximum, or a label occurs twice.
    """

    def __cinit__(self):
        self.inclusive_min = self.exclusive_max = ()

    def __init__(self, inclusive_min, exclusive_max, labels=None):
        minima = tuple([exact(one) for one in inclusive_min])
        maxima = tuple([exact(one) for one in exclusive_max])
        if len(minima) != len(maxima):
            raise ValueError(f"{len(minima)} minima and {len(maxima)} maxima")
        for axis, (least, beyond) in enumerate(zip(minima, maxima)):
            if least > beyond:
                raise ValueError(f"axis {axis}: inclusive_min {least} exceeds exclusive_max {beyond}")
            if least < -FARTHEST or beyond > FARTHEST:
                refuse_far(axis, least, beyond)
        labels = checked_labels(labels, len(minima))
        check_once(self.made, "domain")
        self.made = True
        self.inclusive_min = minima
        self.exclusive_max = maxima
        self.labels = labels

    @classmethod
    def from_shape(cls, shape):
        """The domain of this shape whose axes start at 0."""
        return cls((0,) * len(shape), shape)

    @property
    def ndim(self):
        return len(self.inclusive_min)

    @property
    def origin(self):
        return self.inclusive_min

    @property
    def shape(self):
        if self.extents is None:
            self.extents = tuple([hi - lo for lo, hi in zip(self.inclusive_min, self.exclusive_max)])
        return self.extents

    def contains(self, index):
        """Whether a point lies in this domain; a point of another rank doesn't."""
        return len(index) == len(self.inclusive_min) and all(
            [lo <= at < hi for lo, at, hi in zip(self.inclusive_min, index, self.exclusive_max)])

    def contains_domain(self, IndexDomain other not None):
        """Whether every interval of another domain, empty ones too, lies within this one's."""
        return len(other.inclusive_min) == len(self.inclusive_min) and all(
            [lo <= least and beyond <= hi for lo, least, beyond, hi in zip(
                self.inclusive_min, other.inclusive_min, other.exclusive_max, self.exclusive_max)])

    def intersect(self, IndexDomain other not None):
        """What two domains of one rank share; None where they share no point."""
        check_rank(self, len(other.inclusive_min), "domain")
        least = tuple([max(pair) for pair in zip(self.inclusive_min, other.inclusive_min)])
        beyond = tuple([min(pair) for pair in zip(self.exclusive_max, other.exclusive_max)])
        if any([lo >= hi for lo, hi in zip(least, beyond)]):
            return None
        return domain_of(least, beyond, self.labels)

    def translate(self, offset):
        """The domain moved by an offset per axis."""
        offset = [exact(one) for one in offset]
        check_rank(self, len(offset), "offset")
        return IndexDomain([lo + by for lo, by in zip(self.inclusive_min, offset)],
                           [hi + by for hi, by in zip(self.exclusive_max, offset)], self.labels)

    def narrow(self, selection):
        """The part that integers and slices of step 1, in coordinates of this domain, pick; every axis stays.

        Raises
        ------
        BoundsCheckError
            Where a coordinate lies outside.
        """
        items = list(selection) if isinstance(selection, tuple) else [selection]
        dots = [at for at, item in enumerate(items) if item is Ellipsis]
        missing = len(self.inclusive_min) - (len(items) - len(dots))
        if missing < 0 or len(dots) > 1:
            raise IndexError(f"{len(items)} entries for {len(self.inclusive_min)} axes")
        at = dots[0] if dots else len(items)
        items[at:at + len(dots)] = [slice(None)] * missing
        bounds = [narrowed(item, axis, lo, hi) for axis, (item, lo, hi) in enumerate(
            zip(items, self.inclusive_min, self.exclusive_max))]
        return domain_of(tuple([one[0] for one in bounds]), tuple([one[1] for one in bounds]), self.labels)

    def to_json(self):
        """The members that describe it in TensorStore's JSON."""
        return {
            "input_inclusive_min": list(self.inclusive_min),
            "input_exclusive_max": list(self.exclusive_max),
            "input_labels": list(self.labels or ("",) * len(self.inclusive_min)),
        }

    @classmethod
    def from_json(cls, data):
        """The domain that the members of TensorStore's JSON describe; `output` may be there, and is not looked at.

        Raises
        ------
        ValueError
            Where a member is unknown, wrong or not finite.
        """
        return cls(*documents.domain_from(data))

    def __eq__(self, other):
        if type(other) is not IndexDomain:
            return NotImplemented
        return (self.inclusive_min == (<IndexDomain> other).inclusive_min
                and self.exclusive_max == (<IndexDomain> other).exclusive_max
                and self.labels == (<IndexDomain> other).labels)

    def __hash__(self):
        return hash((self.inclusive_min, self.exclusive_max, self.labels))

    def __reduce__(self):
        return IndexDomain, (self.inclusive_min, self.exclusive_max, self.labels)

    def __repr__(self):
        names = self.labels or ("",) * len(self.inclusive_min)
        axes = [f"{name}{'=' if name else ''}[{lo}, {hi})" for name, lo, hi in zip(
            names, self.inclusive_min, self.exclusive_max)]
        return f"<IndexDomain {' x '.join(axes) or '()'}>"


cdef int check_rank(IndexDomain domain, Py_ssize_t rank, str what) except -1:
    if rank != len(domain.inclusive_min):
        raise ValueError(f"{what} of rank {rank} for a domain of rank {len(domain.inclusive_min)}")
    return 0


cdef tuple checked_labels(object labels, Py_ssize_t rank):
    if labels is None:
        return None
    labels = tuple(labels)
    if len(labels) != rank:
        raise ValueError(f"{len(labels)} labels for {rank} axes")
    for label in labels:
        if not isinstance(label, str):
            raise TypeError(f"expected a string as label, found {label!r}")
    named = [label for label in labels if label]
    if len(set(named)) != len(named):
        raise ValueError(f"a label occurs twice: {labels}")
    return labels if named else None


cdef tuple narrowed(object item, Py_ssize_t axis, object lo, object hi):
    """The bounds of an integer or a slice of step 1 within [lo, hi)."""
    if not isinstance(item, slice):
        item = exact(item)
        if not lo <= item < hi:
            raise BoundsCheckError(f"axis {axis}: {item} is not within [{lo}, {hi})")
        item = slice(item, item + 1)
    if item.step is not None and operator.index(item.step) != 1:
        raise ValueError(f"axis {axis}: step {item.step}; a domain is narrowed by step 1 only")
    start = lo if item.start is None else exact(item.start)
    stop = hi if item.stop is None else exact(item.stop)
    if not lo <= start <= hi or not lo <= stop <= hi:
        raise BoundsCheckError(f"axis {axis}: [{start}, {stop}) is not within [{lo}, {hi})")
    return start, max(start, stop)


cdef object exact(object number):
    """One of Python's own integers, whatever stands for it."""
    number = operator.index(number)
    return number if PyLong_CheckExact(number) else int(number)


cdef int check_once(bint made, str what) except -1:
    if made:
        raise TypeError(f"a {what} is immutable; it is initialised once")
    return 0


cdef int refuse_far(Py_ssize_t axis, object least, object beyond) except -1:
    raise ValueError(f"axis {axis}: [{least}, {beyond}) reaches beyond {FARTHEST}")


@cython.final
cdef class ConstantMap:
    """Every cell addresses the source coordinate `offset`."""

    def __cinit__(self):
        self.offset = 0

    def __init__(self, offset=0):
        offset = exact(offset)
        check_once(self.made, "map")
        self.made = True
        self.offset = offset

    def to_json(self):
        return {"offset": self.offset}

    def __eq__(self, other):
        return self.offset == other.offset if type(other) is ConstantMap else NotImplemented

    def __hash__(self):
        return hash((ConstantMap, self.offset))

    def __reduce__(self):
        return ConstantMap, (self.offset,)

    def __repr__(self):
        return f"ConstantMap({self.offset})"


@cython.final
cdef class DimensionMap:
    """A cell addresses the source coordinate offset + stride * its coordinate on the axis `input_dimension`."""

    def __cinit__(self):
        self.offset = self.stride = 0

    def __init__(self, input_dimension, offset=0, stride=1):
        cdef Py_ssize_t dimension = input_dimension
        if dimension < 0:
            raise ValueError(f"input_dimension {input_dimension} is negative")
        offset, stride = exact(offset), exact(stride)
        check_once(self.made, "map")
        self.made = True
        self.input_dimension = dimension
        self.offset = offset
        self.stride = stride

    def to_json(self):
        return {"offset": self.offset, "stride": self.stride, "input_dimension": self.input_dimension}

    def __eq__(self, other):
        if type(other) is not DimensionMap:
            return NotImplemented
        return (self.input_dimension == (<DimensionMap> other).input_dimension and self.offset == other.offset
                and self.stride == other.stride)

    def __hash__(self):
        return hash((DimensionMap, self.input_dimension, self.offset, self.stride))

    def __reduce__(self):
        return DimensionMap, (self.input_dimension, self.offset, self.stride)

    def __repr__(self):
        return f"DimensionMap({self.input_dimension}, offset={self.offset}, stride={self.stride})"


@cython.final
cdef class ArrayMap:
    """A cell addresses offset + stride * index_array[its position].

    Parameters
    ----------
    index_array : array of integers
        An axis for each axis of the input, of its extent, or of 1 where the index doesn't depend on it. Copied, as
        intp, into memory that nobody can write to.
    """

    def __cinit__(self):
        self.index_array = NO_INDEX
        self.offset = self.stride = 0

    def __init__(self, index_array, offset=0, stride=1):
        given = np.asarray(index_array)
        if given.size == 0 and not isinstance(index_array, np.ndarray):
            given = given.astype(np.intp)
        if given.dtype.kind not in "iu":
            raise TypeError(f"index_array must hold integers, found {given.dtype}")
        if given.dtype.kind == "u" and given.size and given.max() > MOST:
            raise OverflowError(f"index {given.max()} is too large")
        index_array = sealed(np.asarray(given, np.intp))
        offset, stride = exact(offset), exact(stride)
        check_once(self.made, "map")
        self.made = True
        self.index_array = index_array
        self.offset = offset
        self.stride = stride

    @property
    def dependency_axes(self):
        """The axes that the index depends on, which are those longer than 1."""
        return tuple([axis for axis, extent in enumerate(self.index_array.shape) if extent > 1])

    @property
    def dependent_axis(self):
        """The one axis that the index depends on; None for none, ValueError for several."""
        axes = self.dependency_axes
        if len(axes) > 1:
            raise ValueError(f"the index depends on several axes: {axes}")
        return axes[0] if axes else None

    @property
    def index_range(self):
        """The least and the largest index; None for no index."""
        if self.ends is None:
            if self.index_array.size == 0:
                return None
            self.ends = int(self.index_array.min()), int(self.index_array.max())
        return self.ends

    def coordinates(self):
        """offset + stride * index_array, as intp.

        Raises
        ------
        OverflowError
            Where one would not fit.
        """
        if self.offset == 0 and self.stride == 1:
            return self.index_array
        bounds = self.index_range
        return self.index_array if bounds is None else stretched(self.index_array, self.offset, self.stride, bounds)

    def to_json(self):
        if self.index_array.size == 0:
            # Nested lists don't say which axis is empty; the domain does.
            return {"offset": 0}
        return {"offset": self.offset, "stride": self.stride, "index_array": self.index_array.tolist(),
                "index_array_bounds": ["-inf", "+inf"]}

    def __eq__(self, other):
        if type(other) is not ArrayMap:
            return NotImplemented
        return (self.offset == other.offset and self.stride == other.stride
                and np.array_equal(self.index_array, other.index_array))

    def __hash__(self):
        return hash((ArrayMap, self.offset, self.stride, self.index_array.shape, self.index_array.tobytes()))

    def __reduce__(self):
        return ArrayMap, (self.index_array, self.offset, self.stride)

    def __repr__(self):
        return f"ArrayMap(<{'x'.join(map(str, self.index_array.shape))} indices>, {self.offset}, {self.stride})"


cdef object sealed(object array):
    """A C-contiguous copy of an intp array, in memory that can't be written to whatever flags are set."""
    return np.ndarray(array.shape, np.intp, array.tobytes())


def stretched(values, offset, stride, bounds):
    """offset + stride * values, as intp; of values between two bounds.

    Raises
    ------
    OverflowError
        Where one doesn't fit.
    """
    ends = [offset + stride * one for one in bounds]
    if max(ends) > MOST or min(ends) < LEAST:
        raise OverflowError("a coordinate is too large")
    # Each number on the way must fit, too.
    reach = [stride, offset, *[stride * one for one in bounds]]
    if max(reach) > MOST or min(reach) < LEAST:
        return np.asarray(np.asarray(values).astype(object) * stride + offset, dtype=np.intp)
    return values * stride + offset


# --- for the modules above; these check nothing

def adopted(index_array, offset=0, stride=1):
    """An ArrayMap of an intp array."""
    return indexed(sealed(index_array), offset, stride)


cdef IndexDomain domain_of(tuple least, tuple beyond, tuple labels):
    cdef IndexDomain made = IndexDomain.__new__(IndexDomain)
    made.made = True
    made.inclusive_min = least
    made.exclusive_max = beyond
    made.labels = labels
    return made


cdef ConstantMap constant(object offset):
    cdef ConstantMap made = ConstantMap.__new__(ConstantMap)
    made.made = True
    made.offset = offset
    return made


cdef DimensionMap affine(Py_ssize_t dimension, object offset, object stride):
    cdef DimensionMap made = DimensionMap.__new__(DimensionMap)
    made.made = True
    made.input_dimension = dimension
    made.offset = offset
    made.stride = stride
    return made


cdef ArrayMap indexed(object index_array, object offset, object stride):
    """`index_array` is sealed."""
    cdef ArrayMap made = ArrayMap.__new__(ArrayMap)
    made.made = True
    made.index_array = index_array
    made.offset = offset
    made.stride = stride
    return made
