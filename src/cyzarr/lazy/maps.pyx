"""Index domains, and the three maps from their coordinates to those of a source.

All are immutable, hashable by value and picklable. Coordinates, offsets and strides are Python's integers, which
don't overflow; index arrays hold intp.
"""

import operator

import numpy as np

from cyzarr.errors import BoundsCheckError

# Coordinates of a domain lie between this and its negative, as TensorStore's: their sums and differences fit.
FARTHEST = (1 << 62) - 1


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

    def __init__(self, inclusive_min, exclusive_max, labels=None):
        self.inclusive_min = tuple([operator.index(one) for one in inclusive_min])
        self.exclusive_max = tuple([operator.index(one) for one in exclusive_max])
        if len(self.inclusive_min) != len(self.exclusive_max):
            raise ValueError(f"{len(self.inclusive_min)} minima and {len(self.exclusive_max)} maxima")
        for axis, (least, beyond) in enumerate(zip(self.inclusive_min, self.exclusive_max)):
            if least > beyond:
                raise ValueError(f"axis {axis}: inclusive_min {least} exceeds exclusive_max {beyond}")
            if least < -FARTHEST or beyond > FARTHEST:
                raise ValueError(f"axis {axis}: [{least}, {beyond}) reaches beyond {FARTHEST}")
        self.labels = checked_labels(labels, len(self.inclusive_min))

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
        offset = [operator.index(one) for one in offset]
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
    def from_json(cls, document):
        """The domain that the members of TensorStore's JSON describe; other members than a domain's are ignored."""
        least = [finite(one) for one in document.get("input_inclusive_min", ())]
        if "input_exclusive_max" in document:
            beyond = [finite(one) for one in document["input_exclusive_max"]]
        elif "input_inclusive_max" in document:
            beyond = [finite(one) + 1 for one in document["input_inclusive_max"]]
        elif "input_shape" in document:
            extents = [finite(one) for one in document["input_shape"]]
            least = least or [0] * len(extents)
            beyond = [lo + extent for lo, extent in zip(least, extents)]
        else:
            beyond = []
        if "input_inclusive_min" not in document:
            least = [0] * len(beyond)
        if document.get("input_rank", len(least)) != len(least):
            raise ValueError(f"input_rank {document['input_rank']} for {len(least)} axes")
        return cls(least, beyond, document.get("input_labels"))

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
        item = operator.index(item)
        item = slice(item, item + 1)
    if item.step is not None and operator.index(item.step) != 1:
        raise ValueError(f"axis {axis}: step {item.step}; a domain is narrowed by step 1 only")
    start = lo if item.start is None else operator.index(item.start)
    stop = hi if item.stop is None else operator.index(item.stop)
    if start > stop or start < lo or stop > hi:
        raise BoundsCheckError(f"axis {axis}: [{start}, {stop}) is not within [{lo}, {hi})")
    return start, stop


cdef object finite(object bound):
    """A bound of TensorStore's JSON, where an implicit one stands in a list of one."""
    bound = bound[0] if isinstance(bound, list) and len(bound) == 1 else bound
    if isinstance(bound, (str, bool)):
        raise ValueError(f"a domain needs finite bounds, found {bound!r}")
    return operator.index(bound)


cdef class ConstantMap:
    """Every cell addresses the source coordinate `offset`."""

    def __init__(self, offset=0):
        self.offset = operator.index(offset)

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


cdef class DimensionMap:
    """A cell addresses the source coordinate offset + stride * its coordinate on the axis `input_dimension`."""

    def __init__(self, input_dimension, offset=0, stride=1):
        if operator.index(input_dimension) < 0:
            raise ValueError(f"input_dimension {input_dimension} is negative")
        self.input_dimension = input_dimension
        self.offset = operator.index(offset)
        self.stride = operator.index(stride)

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


cdef class ArrayMap:
    """A cell addresses offset + stride * index_array[its position].

    Parameters
    ----------
    index_array : array of integers
        An axis for each axis of the input, of its extent, or of 1 where the index doesn't depend on it. Copied and
        frozen, as intp.
    """

    def __init__(self, index_array, offset=0, stride=1):
        given = np.asarray(index_array)
        if given.size == 0 and not isinstance(index_array, np.ndarray):
            given = given.astype(np.intp)
        if given.dtype.kind not in "iu":
            raise TypeError(f"index_array must hold integers, found {given.dtype}")
        if given.dtype.kind == "u" and given.size and given.max() > np.iinfo(np.intp).max:
            raise OverflowError(f"index {given.max()} is too large")
        self.index_array = np.array(given, dtype=np.intp, order="C")
        self.index_array.flags.writeable = False
        self.offset = operator.index(offset)
        self.stride = operator.index(stride)

    @property
    def dependency_axes(self):
        """The axes that the index depends on: those longer than 1."""
        return tuple([axis for axis, extent in enumerate(self.index_array.shape) if extent > 1])

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
        if bounds is None:
            return self.index_array
        # Each number on the way must fit, not only the last.
        reach = [self.stride, self.offset, *[self.stride * one for one in bounds],
                 *[self.offset + self.stride * one for one in bounds]]
        if max(reach) > np.iinfo(np.intp).max or min(reach) < np.iinfo(np.intp).min:
            raise OverflowError("a coordinate is too large")
        return self.index_array * self.stride + self.offset

    def to_json(self):
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


# --- for the modules above; these check nothing

def adopted(index_array, offset=0, stride=1):
    """An ArrayMap of a contiguous intp array that is nobody else's; it is frozen, not copied."""
    return indexed(index_array, offset, stride)


cdef IndexDomain domain_of(tuple least, tuple beyond, tuple labels):
    cdef IndexDomain made = IndexDomain.__new__(IndexDomain)
    made.inclusive_min = least
    made.exclusive_max = beyond
    made.labels = labels
    return made


cdef ConstantMap constant(object offset):
    cdef ConstantMap made = ConstantMap.__new__(ConstantMap)
    made.offset = offset
    return made


cdef DimensionMap affine(Py_ssize_t dimension, object offset, object stride):
    cdef DimensionMap made = DimensionMap.__new__(DimensionMap)
    made.input_dimension = dimension
    made.offset = offset
    made.stride = stride
    return made


cdef ArrayMap indexed(object index_array, object offset, object stride):
    """`index_array` is intp, contiguous, and nobody else's, or frozen already."""
    cdef ArrayMap made = ArrayMap.__new__(ArrayMap)
    index_array.flags.writeable = False
    made.index_array = index_array
    made.offset = offset
    made.stride = stride
    return made
