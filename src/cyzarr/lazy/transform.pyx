"""Index transforms: a domain, and for each axis of a source the map that says which coordinate a cell addresses.

Basic keys on transforms without index arrays are the hot path: they are composed axis by axis, without a transform
between.
"""

import numpy as np

cimport cython
from cpython.long cimport PyLong_CheckExact
from cpython.slice cimport PySlice_AdjustIndices, PySlice_Check, PySlice_Unpack

from cyzarr.errors import BoundsCheckError
from cyzarr.lazy import documents, keys, maps
from cyzarr.lazy.inverse import inverse
from cyzarr.lazy.maps import stretched
from cyzarr.lazy.maps cimport (
    ArrayMap, ConstantMap, DimensionMap, IndexDomain, affine, check_once, constant, domain_of, exact, indexed,
    refuse_far, sealed,
)

cdef enum:
    MAX_RANK = 64

cdef Py_ssize_t FAR = maps.FARTHEST

# The domain of a transform whose __init__ was never called.
cdef IndexDomain NO_AXES = IndexDomain((), ())

# What a basic key does with one axis: drops it at a coordinate, or keeps it, at coordinates start + step * input.
cdef struct Pick:
    bint kept
    int place                     # then, among the new axes
    Py_ssize_t first              # position of the first picked
    Py_ssize_t count
    Py_ssize_t start              # coordinate; of an input of 0
    Py_ssize_t step


@cython.final
cdef class IndexTransform:
    """Which source coordinates the cells of a domain address.

    Parameters
    ----------
    domain : IndexDomain
    output : sequence of ConstantMap, DimensionMap or ArrayMap
        One per axis of the source.

    Raises
    ------
    ValueError
        Where a map doesn't fit the domain.
    """

    def __cinit__(self):
        self.domain = NO_AXES
        self.output = ()
        self.affine = True

    def __init__(self, IndexDomain domain not None, output):
        output = tuple([fitting(one, domain, axis) for axis, one in enumerate(output)])
        check_once(self.made, "transform")
        self.made = True
        self.domain = domain
        self.output = output
        self.affine = is_affine(output)

    @classmethod
    def from_shape(cls, shape):
        """Each cell of a domain of this shape addresses its own coordinates."""
        return cls.identity(IndexDomain.from_shape(tuple(shape)))

    @classmethod
    def identity(cls, IndexDomain domain not None):
        """Each cell of the domain addresses its own coordinates."""
        return transform_of(domain, tuple([affine(axis, 0, 1) for axis in range(len(domain.inclusive_min))]), True)

    @property
    def input_rank(self):
        return len(self.domain.inclusive_min)

    @property
    def output_rank(self):
        return len(self.output)

    @property
    def is_box(self):
        """Whether no map holds an index array."""
        return self.affine

    # --- keys

    def __getitem__(self, key):
        """Integers, slices, Ellipsis and None; integers and bounds are coordinates, never wrapped nor clamped."""
        return pick_basic(self, key, True)

    @property
    def oindex(self):
        """Index arrays and masks, each taken with every position of the others; literal coordinates."""
        return ArrayKeys(self, False)

    @property
    def vindex(self):
        """Index arrays and masks that are taken together; literal coordinates."""
        return ArrayKeys(self, True)

    def select(self, selection, str mode="basic"):
        """A key of mode "basic", "orthogonal" or "vectorized", in coordinates, as `[]`, `oindex` and `vindex` take it.

        Raises
        ------
        IndexError
        """
        return selected(self, selection, mode, True)

    def select_positions(self, selection, str mode="basic"):
        """The same in positions: 0 is the first on an axis and -1 the last, and slices are clamped."""
        return selected(self, selection, mode, False)

    def compose(self, IndexTransform inner not None):
        """The transform that takes each cell of this domain to what `inner` makes of where this one takes it.

        Raises
        ------
        ValueError
            Where this output rank is not the other's input rank.
        BoundsCheckError
            Where a cell is taken to a coordinate outside of the other's domain.
        """
        if len(self.output) != len(inner.domain.inclusive_min):
            raise ValueError(
                f"output rank {len(self.output)} doesn't match input rank {len(inner.domain.inclusive_min)}")
        if 0 not in self.domain.shape:
            for axis, bounds in enumerate(self.output_ranges()):
                check_within(bounds, inner.domain.inclusive_min[axis], inner.domain.exclusive_max[axis], axis)
        return composed(self, inner)

    def output_ranges(self):
        """Per output the least and the largest coordinate; of an empty domain, None."""
        if 0 in self.domain.shape:
            return (None,) * len(self.output)
        return tuple([range_of(one, self.domain) for one in self.output])

    def apply(self, point):
        """The source coordinates that one point of the domain addresses, a tuple of int.

        Raises
        ------
        ValueError
            Where the point has another rank.
        BoundsCheckError
            Where it lies outside of the domain.
        """
        point = [exact(one) for one in point]
        if len(point) != len(self.domain.inclusive_min):
            raise ValueError(
                f"a point of {len(point)} coordinates for a domain of rank {len(self.domain.inclusive_min)}")
        for axis, at in enumerate(point):
            check_within((at, at), self.domain.inclusive_min[axis], self.domain.exclusive_max[axis], axis)
        return tuple([applied(one, point, self.domain) for one in self.output])

    def apply_many(self, points):
        """The same for an array of points, (..., input rank) integers; gives (..., output rank) intp.

        Raises
        ------
        OverflowError
            Where a coordinate doesn't fit.
        """
        given = np.asarray(points)
        if given.dtype.kind not in "iu" and given.size:
            raise TypeError(f"points must be integers, found {given.dtype}")
        if given.ndim == 0 or given.shape[given.ndim - 1] != len(self.domain.inclusive_min):
            raise ValueError(f"points of shape {given.shape} for a domain of rank {len(self.domain.inclusive_min)}")
        for axis in range(given.shape[given.ndim - 1]):
            along = given[..., axis]
            if along.size:
                check_within((int(along.min()), int(along.max())), self.domain.inclusive_min[axis],
                             self.domain.exclusive_max[axis], axis)
        found = np.empty((*given.shape[:given.ndim - 1], len(self.output)), np.intp)
        given = given.astype(np.intp)
        for axis, one in enumerate(self.output):
            found[..., axis] = applied_many(one, given, self.domain)
        return found

    def translate(self, shift):
        """Each output moved by an offset."""
        shift = [exact(one) for one in shift]
        if len(shift) != len(self.output):
            raise ValueError(f"{len(shift)} offsets for {len(self.output)} outputs")
        moved = tuple([scaled(one, 1, by) for one, by in zip(self.output, shift)])
        return transform_of(self.domain, moved, self.affine)

    def translate_domain_by(self, shift):
        """The domain moved by an offset per axis; each cell addresses what it did."""
        shift = [exact(one) for one in shift]
        moved = self.domain.translate(shift)
        return transform_of(moved, tuple([shifted(one, shift) for one in self.output]), self.affine)

    def translate_domain_to(self, origins):
        """The domain moved to an origin; each cell addresses what it did."""
        origins = [exact(one) for one in origins]
        if len(origins) != len(self.domain.inclusive_min):
            raise ValueError(f"{len(origins)} origins for a domain of rank {len(self.domain.inclusive_min)}")
        return self.translate_domain_by([to - lo for to, lo in zip(origins, self.domain.inclusive_min)])

    def inverted(self):
        """The transform that leads back.

        Raises
        ------
        ValueError
            Where outputs are not the axes, each once, with strides of 1 or -1; an axis of one coordinate may be unread.
        """
        domain, output = inverse(self.domain, self.output)
        return transform_of(domain, output, True)

    # --- forms

    def to_json(self):
        """TensorStore's JSON of this transform, a dict."""
        return {"input_rank": len(self.domain.inclusive_min), **self.domain.to_json(),
                "output": [one.to_json() for one in self.output]}

    @classmethod
    def from_json(cls, data):
        """The transform that TensorStore's JSON, a dict, describes; the identity where it names no output.

        Raises
        ------
        ValueError
            Where it is not one, or not finite; the message names the member.
        """
        domain = IndexDomain.from_json(data)
        if "output" not in data:
            return cls.identity(domain)
        output = documents.sequence_of(data["output"], "output")
        return cls(domain, [map_from_json(member, at, len(domain.shape)) for at, member in enumerate(output)])

    def __eq__(self, other):
        if type(other) is not IndexTransform:
            return NotImplemented
        return self.domain == (<IndexTransform> other).domain and self.output == (<IndexTransform> other).output

    def __hash__(self):
        if self.digest is None:
            self.digest = hash((self.domain, self.output))
        return self.digest

    def __reduce__(self):
        return IndexTransform, (self.domain, self.output)

    def __repr__(self):
        return f"<IndexTransform {self.domain!r} -> {', '.join(map(repr, self.output)) or '()'}>"


@cython.final
cdef class ArrayKeys:
    """What `oindex` and `vindex` of a transform are."""
    cdef IndexTransform transform
    cdef bint together

    def __cinit__(self, IndexTransform transform, bint together):
        self.transform = transform
        self.together = together

    def __getitem__(self, key):
        return pick_arrays(self.transform, key, self.together, True)


# --- making

cdef IndexTransform transform_of(IndexDomain domain, tuple output, bint is_box):
    """Checks nothing."""
    cdef IndexTransform made = IndexTransform.__new__(IndexTransform)
    made.made = True
    made.domain = domain
    made.output = output
    made.affine = is_box
    return made


cdef bint is_affine(tuple output):
    return not any([type(one) is ArrayMap for one in output])


cdef object fitting(object one, IndexDomain domain, Py_ssize_t axis):
    """A map as it is kept: of one coordinate or none, a constant."""
    if type(one) is DimensionMap:
        if one.input_dimension >= len(domain.inclusive_min):
            raise ValueError(
                f"output {axis}: no axis {one.input_dimension} in a domain of rank {len(domain.inclusive_min)}")
    elif type(one) is ArrayMap:
        shape = one.index_array.shape
        if len(shape) != len(domain.inclusive_min) or any([
                has != 1 and has != extent for has, extent in zip(shape, domain.shape)]):
            raise ValueError(f"output {axis}: an index array of shape {shape} for a domain of shape {domain.shape}")
        return array_map(one.index_array, one.offset, one.stride)
    elif type(one) is not ConstantMap:
        raise TypeError(f"output {axis}: a {type(one).__name__} is no map")
    return one


cdef object array_map(object index_array, object offset, object stride):
    """The map of an intp array; of one coordinate a constant, and of none, since only an empty domain has it."""
    if index_array.size <= 1:
        return constant(offset + stride * int(index_array.item()) if index_array.size else 0)
    owned = index_array.flags.c_contiguous and not index_array.flags.writeable
    return indexed(index_array if owned else sealed(index_array), offset, stride)


cdef object map_from_json(object member, Py_ssize_t at, Py_ssize_t rank):
    kind, what, offset, stride = documents.map_from(member, at, rank)
    if kind == "array":
        return ArrayMap(what, offset, stride)
    return DimensionMap(what, offset, stride) if kind == "dimension" else ConstantMap(offset)


def straight(IndexTransform transform not None):
    """Per output an int or an ascending range, where these give a domain that is not empty as it is; else None.

    That is so where each axis is read once and in order, upwards.
    """
    cdef list entries = []
    cdef Py_ssize_t axis = 0
    cdef DimensionMap along
    cdef IndexDomain domain = transform.domain
    for one in transform.output:
        if type(one) is ConstantMap:
            entries.append((<ConstantMap> one).offset)
            continue
        if type(one) is not DimensionMap:
            return None
        along = <DimensionMap> one
        lo, hi = domain.inclusive_min[along.input_dimension], domain.exclusive_max[along.input_dimension]
        if along.input_dimension != axis or along.stride <= 0 or lo == hi:
            return None
        first, last = along.offset + along.stride * lo, along.offset + along.stride * (hi - 1)
        entries.append(range(first, last + 1, along.stride))
        axis += 1
    return tuple(entries) if axis == len(domain.inclusive_min) else None


cdef IndexTransform selected(IndexTransform self, object key, str mode, bint literal):
    if mode == "basic":
        return pick_basic(self, key, literal)
    if mode not in ("orthogonal", "vectorized"):
        raise ValueError(f"expected the mode basic, orthogonal or vectorized, found {mode!r}")
    return pick_arrays(self, key, mode == "vectorized", literal)


# --- basic keys

cdef IndexTransform pick_basic(IndexTransform self, object key, bint literal):
    cdef Pick picks[MAX_RANK]
    cdef list news = []                # positions of new axes among the domain's
    cdef IndexDomain domain = self.domain
    cdef Py_ssize_t rank = len(domain.inclusive_min)
    if rank > MAX_RANK:
        raise IndexError(f"more than {MAX_RANK} axes")
    parse_basic(domain, key if isinstance(key, tuple) else (key,), literal, picks, news, rank)
    made = new_domain(domain, picks, news, rank)
    output = new_output(self, picks, news, rank)
    return transform_of(made, output, True) if self.affine else settled(made, output)


cdef IndexTransform settled(IndexDomain domain, tuple output):
    return transform_of(domain, output, is_affine(output))


cdef int parse_basic(IndexDomain domain, tuple items, bint literal, Pick* picks, list news, Py_ssize_t rank) except -1:
    """One Pick per axis of the domain, and where new axes stand among those that are made."""
    cdef Py_ssize_t axis = 0, taken = 0, skip
    cdef int places = 0
    cdef bint dots = False
    for item in items:
        if item is not None and item is not Ellipsis:
            taken += 1
    if taken > rank:
        raise IndexError(f"too many indices: {taken} for {rank} axes")
    for item in items:
        if item is Ellipsis:
            if dots:
                raise IndexError("an index can have only one ellipsis")
            dots = True
            skip = rank - taken
            while skip > 0:
                take_whole(domain, axis, &picks[axis], &places)
                axis += 1
                skip -= 1
        elif item is None:
            news.append(places)
            places += 1
        else:
            if PySlice_Check(item):
                if literal:
                    take_literal(domain, axis, item, &picks[axis])
                else:
                    take_slice(domain, axis, item, &picks[axis])
                picks[axis].place = places
                places += 1
            else:
                take_integer(domain, axis, item, literal, &picks[axis])
            axis += 1
    while axis < rank:
        take_whole(domain, axis, &picks[axis], &places)
        axis += 1
    if places > MAX_RANK:
        raise IndexError(f"more than {MAX_RANK} axes")
    return 0


cdef int take_whole(IndexDomain domain, Py_ssize_t axis, Pick* pick, int* places) except -1:
    pick.kept = True
    pick.place = places[0]
    places[0] += 1
    pick.first = pick.start = 0
    pick.step = 1
    pick.count = domain.exclusive_max[axis] - domain.inclusive_min[axis]
    return 0


cdef int take_slice(IndexDomain domain, Py_ssize_t axis, object item, Pick* pick) except -1:
    """A slice of positions, clamped as Python's."""
    cdef Py_ssize_t lo = domain.inclusive_min[axis], extent = domain.exclusive_max[axis] - lo
    cdef Py_ssize_t start = 0, stop = 0, step = 1
    PySlice_Unpack(item, &start, &stop, &step)
    pick.count = PySlice_AdjustIndices(extent, &start, &stop, step)
    pick.kept = True
    pick.first = start
    pick.step = step
    # The new origin is what the division leaves, rounded toward zero; new_domain has it again.
    pick.start = (lo + start) - cdiv(lo + start, step) * step
    return 0


cdef int take_literal(IndexDomain domain, Py_ssize_t axis, object item, Pick* pick) except -1:
    """A slice of coordinates, which must be there."""
    cdef object step = 1 if item.step is None else exact(item.step)
    cdef object lo = domain.inclusive_min[axis], hi = domain.exclusive_max[axis]
    if step == 0:
        raise IndexError(f"axis {axis}: a step of 0")
    start = (lo if step > 0 else hi - 1) if item.start is None else exact(item.start)
    stop = (hi if step > 0 else lo - 1) if item.stop is None else exact(item.stop)
    least, beyond = (start, stop) if step > 0 else (stop + 1, start + 1)
    if beyond < least:
        raise IndexError(f"axis {axis}: from {start} to {stop} a step of {step} leads away")
    if beyond > least and (least < lo or beyond > hi):
        raise BoundsCheckError(f"axis {axis}: [{least}, {beyond}) is not within [{lo}, {hi})")
    if abs(start) > FAR:
        # Nothing but an empty interval may lie outside of the domain.
        refuse_far(axis, start, start)
    if abs(step) >= 1 << 63:
        # Of such a step there is but one coordinate.
        step = max(min(step, (1 << 63) - 1), 1 - (1 << 63))
    pick.kept = True
    pick.step = step
    pick.count = -(-(beyond - least) // abs(step))
    pick.first = start - lo
    pick.start = start - cdiv(start, step) * pick.step
    return 0


cdef inline Py_ssize_t cdiv(Py_ssize_t a, Py_ssize_t b) noexcept:
    """a / b, rounded toward zero."""
    with cython.cdivision(True):
        return a / b


cdef int take_integer(IndexDomain domain, Py_ssize_t axis, object item, bint literal, Pick* pick) except -1:
    cdef object at = item
    cdef object lo = domain.inclusive_min[axis], extent = domain.exclusive_max[axis] - lo
    if not PyLong_CheckExact(item):
        if isinstance(item, (bool, np.bool_)):
            raise IndexError("a boolean is no index; masks are arrays, for oindex and vindex")
        try:
            if getattr(item, "ndim", 0):
                # Some arrays of one item pass for integers.
                raise TypeError
            at = exact(item)
        except TypeError:
            raise IndexError(f"a {type(item).__name__} is no basic index; arrays and masks: oindex, vindex") from None
    if literal:
        check_within((at, at), lo, lo + extent, axis)
        at -= lo
    else:
        if not -extent <= at < extent:
            raise IndexError(f"index {at} is out of bounds for axis {axis} with size {extent}")
        if at < 0:
            at += extent
    pick.kept = False
    pick.first = at
    pick.count = pick.step = 1
    pick.start = at + lo
    return 0


cdef IndexDomain new_domain(IndexDomain domain, const Pick* picks, list news, Py_ssize_t rank):
    cdef list least = [], beyond = [], labels = None
    cdef Py_ssize_t axis, lo, origin
    if domain.labels is not None:
        labels = []
    for axis in range(rank):
        if not picks[axis].kept:
            continue
        lo = domain.inclusive_min[axis]
        origin = cdiv(lo + picks[axis].first, picks[axis].step)
        if origin < -FAR or origin > FAR - picks[axis].count:
            refuse_far(axis, origin, origin + <object> picks[axis].count)
        least.append(origin)
        beyond.append(origin + picks[axis].count)
        if labels is not None:
            labels.append(domain.labels[axis])
    for place in news:
        # Ascending, so that each is put where it is to be.
        least.insert(place, 0)
        beyond.insert(place, 1)
        if labels is not None:
            labels.insert(place, "")
    return domain_of(tuple(least), tuple(beyond), tuple(labels) if labels and any(labels) else None)


cdef tuple new_output(IndexTransform self, const Pick* picks, list news, Py_ssize_t rank):
    cdef list output = []
    cdef DimensionMap along
    cdef const Pick* pick
    for one in self.output:
        if type(one) is DimensionMap:
            along = <DimensionMap> one
            pick = &picks[along.input_dimension]
            if not pick.kept:
                output.append(constant(along.offset + along.stride * pick.start))
            else:
                output.append(affine(pick.place, along.offset + along.stride * pick.start, along.stride * pick.step))
        elif type(one) is ArrayMap:
            output.append(picked_array(<ArrayMap> one, picks, news, rank))
        else:
            output.append(one)
    return tuple(output)


cdef object picked_array(ArrayMap one, const Pick* picks, list news, Py_ssize_t rank):
    """An index array, picked like the domain that it belongs to."""
    cdef Py_ssize_t axis, last
    cdef list key = []
    shape = one.index_array.shape
    for axis in range(rank):
        if shape[axis] == 1:
            # It doesn't depend on this axis, whatever is left of that; an empty one leaves nothing to look up.
            key.append(slice(None) if picks[axis].kept else 0)
        elif not picks[axis].kept:
            key.append(picks[axis].first)
        elif picks[axis].count == 0:
            key.append(slice(0, 0))
        else:
            last = picks[axis].first + (picks[axis].count - 1) * picks[axis].step
            if picks[axis].step > 0:
                key.append(slice(picks[axis].first, last + 1, picks[axis].step))
            else:
                key.append(slice(picks[axis].first, last - 1 if last else None, picks[axis].step))
    picked = one.index_array[tuple(key)]
    for place in news:
        picked = np.expand_dims(picked, place)
    return array_map(sealed(picked), one.offset, one.stride)


# --- keys with arrays

cdef IndexTransform pick_arrays(IndexTransform self, object key, bint together, bint literal):
    entries = keys.entries_of(key, len(self.domain.inclusive_min), together)
    basic, arrays = keys.basic_part(entries, together)
    # Integers come first, so that they have no part in where the arrays' axes go.
    cdef IndexTransform inner = pick_basic(self, basic, literal)
    if all([one is None for one in arrays]):
        return inner
    domain, output = (keys.joint if together else keys.outer)(inner.domain, arrays, literal)
    return composed(settled(domain, output), inner)


# --- composing

cdef IndexTransform composed(IndexTransform outer, IndexTransform inner):
    """Of an outer whose coordinates lie in the inner's domain."""
    cdef bint empty = 0 in outer.domain.shape
    return settled(outer.domain, tuple([compose_map(outer, one, inner.domain, empty) for one in inner.output]))


cdef object compose_map(IndexTransform outer, object one, IndexDomain middle, bint empty):
    if type(one) is ConstantMap:
        return one
    if type(one) is DimensionMap:
        return scaled(outer.output[one.input_dimension], one.stride, one.offset)
    if empty:
        return constant(0)
    index = compose_array(outer, one.index_array, middle)
    return array_map(index, one.offset, one.stride)


cdef object compose_array(IndexTransform outer, object index, IndexDomain middle):
    """The index array over the outer domain, with axes of 1 where it doesn't depend."""
    cdef list at = []
    cdef Py_ssize_t axis
    for axis in range(index.ndim):
        if index.shape[axis] == 1:
            at.append(0)
        else:
            at.append(coordinates(outer.output[axis], outer.domain) - middle.inclusive_min[axis])
    found = index[tuple(at)]
    rank = len(outer.domain.inclusive_min)
    if found.ndim < rank:
        found = found.reshape((1,) * rank)
    return found


def coordinates(one, IndexDomain domain not None):
    """Where a map leads, an intp array with an axis for each of the domain: of its extent, or of 1."""
    rank = len(domain.inclusive_min)
    if type(one) is ArrayMap:
        return one.coordinates()
    if type(one) is ConstantMap:
        return np.full((1,) * rank, one.offset, np.intp)
    lo, hi = domain.inclusive_min[one.input_dimension], domain.exclusive_max[one.input_dimension]
    along = np.arange(hi - lo, dtype=np.intp) * (one.stride if hi - lo > 1 else 1) + (one.offset + one.stride * lo)
    return along.reshape([-1 if axis == one.input_dimension else 1 for axis in range(rank)])


cdef object scaled(object one, object stride, object offset):
    """offset + stride * a map."""
    if stride == 1 and offset == 0:
        return one
    if type(one) is ConstantMap:
        return constant(offset + stride * one.offset)
    if type(one) is DimensionMap:
        return affine(one.input_dimension, offset + stride * one.offset, stride * one.stride)
    return indexed(one.index_array, offset + stride * one.offset, stride * one.stride)


cdef object shifted(object one, object shift):
    """A map as it is over the domain moved by `shift`."""
    if type(one) is not DimensionMap:
        return one
    return affine(one.input_dimension, one.offset - one.stride * shift[one.input_dimension], one.stride)


cdef object range_of(object one, IndexDomain domain):
    """The least and the largest coordinate that a map of a domain that is not empty leads to."""
    if type(one) is ConstantMap:
        return one.offset, one.offset
    if type(one) is DimensionMap:
        ends = domain.inclusive_min[one.input_dimension], domain.exclusive_max[one.input_dimension] - 1
    else:
        ends = one.index_range
    ends = one.offset + one.stride * ends[0], one.offset + one.stride * ends[1]
    return min(ends), max(ends)


cdef int check_within(object bounds, object lo, object hi, Py_ssize_t axis) except -1:
    if bounds[0] < lo or bounds[1] >= hi:
        reach = bounds[0] if bounds[0] == bounds[1] else f"{bounds[0]} to {bounds[1]}"
        raise BoundsCheckError(f"axis {axis}: {reach} is not within [{lo}, {hi}); these are coordinates, not positions")
    return 0


cdef object applied(object one, object point, IndexDomain domain):
    if type(one) is ConstantMap:
        return one.offset
    if type(one) is DimensionMap:
        return one.offset + one.stride * point[one.input_dimension]
    at = tuple([0 if extent == 1 else at - lo for extent, at, lo in zip(
        one.index_array.shape, point, domain.inclusive_min)])
    return one.offset + one.stride * int(one.index_array[at])


cdef object applied_many(object one, object points, IndexDomain domain):
    if type(one) is ConstantMap:
        return one.offset
    if type(one) is DimensionMap:
        return applied_along(points[..., one.input_dimension], one)
    at = tuple([0 * points[..., axis] if extent == 1 else points[..., axis] - domain.inclusive_min[axis]
                for axis, extent in enumerate(one.index_array.shape)])
    return applied_along(one.index_array[at], one)


cdef object applied_along(object values, object one):
    if values.size == 0:
        return values
    return stretched(values, one.offset, one.stride, (int(values.min()), int(values.max())))
