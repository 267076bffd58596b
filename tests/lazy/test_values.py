"""Domains, maps and transforms are values: of Python's integers, never changed, and read back as they were."""

import copy
import enum
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cyzarr import ArrayMap, BoundsCheckError, ConstantMap, DimensionMap, IndexDomain, IndexTransform, LazyArray

KINDS = (IndexDomain, ConstantMap, DimensionMap, ArrayMap, IndexTransform)
AGAIN = {
    IndexDomain: ((0,), (9,)),
    ConstantMap: (7,),
    DimensionMap: (10**9,),
    ArrayMap: ([[5, 6]],),
    IndexTransform: (IndexDomain((0,), (5,)), [DimensionMap(0)]),
}
FAR = (1 << 62) - 1


class Three(enum.IntEnum):
    THREE = 3


@pytest.mark.parametrize("kind", KINDS)
def test_never_initialised(kind):
    """One that was made without `__init__` is whole: it has no axes, or leads to 0."""
    made = kind.__new__(kind)
    for name in dir(kind):
        attribute = None if name.startswith("_") else getattr(made, name)
        if callable(attribute) and name in ("to_json", "inverted", "coordinates"):
            attribute()
    assert repr(made)
    assert made == kind.__new__(kind)
    assert hash(pickle.loads(pickle.dumps(made))) == hash(copy.copy(made)) == hash(made)
    made.__init__(*AGAIN[kind])
    assert made == kind(*AGAIN[kind])
    with pytest.raises(TypeError):
        type("Other", (kind,), {})


def test_transforms_of_the_never_initialised():
    nothing = IndexTransform.__new__(IndexTransform)
    line = IndexTransform.from_shape((3,))
    assert (nothing.input_rank, nothing.apply(()), nothing[...]) == (0, (), nothing)
    assert nothing.compose(nothing) == nothing
    for wrong in (lambda: line.compose(nothing), lambda: nothing.compose(line)):
        with pytest.raises(ValueError, match="rank"):
            wrong()
    for key in (0, slice(None)):
        with pytest.raises(IndexError, match="too many"):
            nothing[key]
    domain = IndexDomain.__new__(IndexDomain)
    assert IndexTransform.identity(domain) == nothing
    assert IndexTransform(domain, [ConstantMap.__new__(ConstantMap)])[...].apply(()) == (0,)
    assert IndexTransform(domain, [ArrayMap.__new__(ArrayMap)]).output == (ConstantMap(0),)
    with pytest.raises(ValueError):
        IndexTransform(domain, [DimensionMap.__new__(DimensionMap)])
    with pytest.raises(ValueError, match="rank"):
        LazyArray(np.arange(3))[domain]


@pytest.mark.parametrize("kind", KINDS)
def test_initialised_once(kind):
    made = IndexTransform(IndexDomain((0, 0), (3, 2)), [DimensionMap(0), ArrayMap([[0, 1]])])
    parts = {type(one): one for one in (made, made.domain, *made.output)}
    one = parts.get(kind, ConstantMap(3))
    before = repr(made), hash(one), one.to_json(), made.domain.shape
    with pytest.raises(TypeError, match="immutable"):
        one.__init__(*AGAIN[kind])
    assert (repr(made), hash(one), one.to_json(), made.domain.shape) == before
    assert made[1:].apply((2, 1)) == (2, 1)


def test_a_failed_init_leaves_it_whole():
    domain = IndexDomain.__new__(IndexDomain)
    for wrong in (((0, 0, 0), (1,)), ((3,), (1,)), ((0,), (1,), (7,)), ((0,), (FAR + 1,))):
        with pytest.raises((TypeError, ValueError)):
            domain.__init__(*wrong)
        assert domain == IndexDomain((), ())


def test_index_arrays_stay():
    views = LazyArray(np.arange(90).reshape(9, 10))
    made = views.oindex[[1, 2, 3], [4, 5]].transform
    maps = [ArrayMap([1, 2, 3]), *made.output, *made[1:].output, *made.translate((1, 1)).output]
    maps += [*made[:, None].output, *views.vindex[[1, 2], [3, 4]][::-1].transform.output]
    maps += [*IndexTransform.from_json(made.to_json()).output, pickle.loads(pickle.dumps(maps[0]))]
    for one in maps:
        for array in (one.index_array, one.coordinates()):
            before = array.tolist()
            while isinstance(array, np.ndarray) and array.base is not None:
                with pytest.raises(ValueError):
                    array.flags.writeable = True
                array = array.base
            # A product may be fresh; the index itself is that of bytes.
            assert isinstance(array, bytes) or array is not one.index_array
            assert one.index_array.tolist() == before or one.coordinates().tolist() == before
    mine = np.array([1, 2, 3])
    mine.flags.writeable = False
    one = ArrayMap(mine)
    mine.flags.writeable = True
    mine[:] = 0
    assert one.index_array.tolist() == [1, 2, 3]


def numbers_of(made):
    """Every number that a transform holds."""
    found = [*made.domain.inclusive_min, *made.domain.exclusive_max, *made.domain.shape]
    for one in made.output:
        found += [one.offset, *([] if isinstance(one, ConstantMap) else [one.stride])]
    return found


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.array, Three, bool])
def test_whatever_stands_for_integers(kind):
    one = kind(3) if kind is Three else kind(1)
    twice = (one, one)
    plain = IndexTransform.from_shape((5, 6))
    beyond = IndexDomain(twice, (7, 8))
    mades = [
        plain.translate_domain_by(twice),
        plain.translate_domain_by(iter(twice)),
        plain.translate_domain_to(twice),
        plain.translate(twice),
        IndexTransform.identity(beyond.translate(twice)),
        IndexTransform.identity(IndexDomain((0, 0), (9, 9)).narrow(twice)),
        IndexTransform.identity(IndexDomain((0, 0), (9, 9)).narrow((slice(one, None), slice(None, one)))),
        IndexTransform(beyond, [ConstantMap(one), DimensionMap(one * 0, one, one), ArrayMap([[0]], one, one)]),
    ]
    if kind is not bool:
        mades += [plain[twice], plain[one:, one:4:one], plain.select_positions((one, slice(one, None)))]
    for made in mades:
        again = IndexTransform.from_json(made.to_json())
        assert {type(number) for number in numbers_of(made)} == {int}
        assert again == made
        assert repr(again) == repr(made)
    assert {type(at) for at in plain.apply((one, one))} == {int}


@pytest.mark.parametrize("kind", [tuple, np.array, lambda shift: [np.int32(one) for one in shift]])
def test_domains_moved_by_numpys_integers(kind):
    """What was a constant made of one of these, was no integer to what reads and writes."""
    values = np.arange(48).reshape(3, 4, 4)
    for key in (
        IndexTransform.from_shape(values.shape).translate_domain_by(kind([1, 1, 1])),
        IndexTransform.from_shape(values.shape).translate_domain_to(kind([-2, 5, 1])),
    ):
        view = LazyArray(values)[key]
        assert np.array_equal(view[1].oindex[[3, 2, 1, 0]].result(), values[1][[3, 2, 1, 0]])
        assert np.array_equal(view[:, 1].oindex[:, [3, 0, 3]].result(), values[:, 1][:, [3, 0, 3]])
        written = values.copy()
        LazyArray(written)[key][1].oindex[[3, 2, 1, 0]].write(values[0])
        assert np.array_equal(written[1], values[0][::-1])


# --- far coordinates


@pytest.mark.parametrize(("offset", "stride"), [(0, 1 << 62), ((1 << 63) - 1, 1), (-(1 << 63), -1), (1, 1 << 63)])
def test_points_that_dont_fit(offset, stride):
    for made in (DimensionMap(0, offset, stride), ArrayMap(np.arange(4), offset, stride)):
        transform = IndexTransform(IndexDomain((0,), (4,)), [made])
        assert transform.apply((3,)) == (offset + 3 * stride,)
        with pytest.raises(OverflowError):
            transform.apply_many([[0], [3]])


# Near 0 and near the ends of what an intp holds.
NUMBERS = st.builds(
    lambda sign, far, near: sign * far + near,
    st.sampled_from([-1, 1]),
    st.sampled_from([0, 1 << 61, 1 << 62, 1 << 63, 1 << 64]),
    st.integers(-9, 9),
)


@given(
    offset=NUMBERS,
    stride=NUMBERS,
    least=st.integers(-FAR, FAR - 4),
    points=st.lists(st.integers(0, 3), max_size=3),
)
def test_many_points_as_each(offset, stride, least, points):
    domain = IndexDomain((least,), (least + 4,))
    for one in (DimensionMap(0, offset, stride), ArrayMap([least, 1, -2, 3], offset, stride), ConstantMap(offset)):
        made = IndexTransform(domain, [one])
        wanted = [made.apply((least + at,)) for at in points]
        given = np.array([[least + at] for at in points], np.intp).reshape(-1, 1)
        if all(-(1 << 63) <= at[0] < 1 << 63 for at in wanted):
            assert made.apply_many(given).tolist() == [list(at) for at in wanted]
        else:
            with pytest.raises(OverflowError):
                made.apply_many(given)


def test_domains_that_reach_too_far():
    """A key is refused as the domain is that it would make."""
    view = LazyArray(np.arange(5))[IndexTransform(IndexDomain((-FAR,), (1 - FAR,)), [DimensionMap(0, FAR)])]
    plain = IndexTransform.from_shape((5,))
    far = [1 << 62, 1 << 63, 1 << 70, -(1 << 62), -(1 << 70)]
    for wrong in (
        lambda: view[::-1],
        lambda: view.transform[::-1],
        lambda: view.oindex[::-1],
        *[lambda at=at, by=by: plain[at:at:by] for at, by in itertools.product(far, (1, 3, -1))],
        lambda: plain.translate_domain_to((FAR - 4,)),
    ):
        with pytest.raises(ValueError, match="reaches beyond"):
            wrong()
    assert view[::1].result().tolist() == [0]
    assert plain[FAR:FAR].domain == IndexDomain((FAR,), (FAR,))
    assert plain[-FAR:-FAR:-1].domain == IndexDomain((FAR,), (FAR,))


@given(lo=st.integers(-FAR, FAR), extent=st.integers(0, 5), step=st.integers(-3, 3), at=st.integers(-6, 6))
def test_what_keys_make_is_read_back(lo, extent, step, at):
    if lo + extent > FAR:
        return
    made = IndexTransform(IndexDomain((lo,), (lo + extent,)), [DimensionMap(0, -lo)])
    for select in (made.select, made.select_positions):
        try:
            found = select(slice(at, None, step))
        except (IndexError, ValueError):
            continue
        assert pickle.loads(pickle.dumps(found)) == found
        assert IndexTransform.from_json(found.to_json()) == found


# --- as zarr-indexing


@pytest.mark.parametrize("mask", list(itertools.product((False, True), repeat=3)))
@pytest.mark.parametrize("origin", [0, 1, -1, 2])
@pytest.mark.parametrize("mode", ["oindex", "vindex"])
def test_literal_masks(mask, origin, mode):
    """The numbers of the True cells are coordinates, as in TensorStore and zarr-indexing."""
    made = IndexTransform.identity(IndexDomain((origin,), (origin + 3,)))
    there = np.flatnonzero(mask)
    if ((there < origin) | (there >= origin + 3)).any():
        with pytest.raises(BoundsCheckError):
            getattr(made, mode)[np.array(mask)]
        return
    found = getattr(made, mode)[np.array(mask)]
    assert found == getattr(made, mode)[there]
    tensorstore = pytest.importorskip("tensorstore")
    theirs = getattr(tensorstore.IndexTransform(json=made.to_json()), mode)[list(mask)]
    assert IndexTransform.from_json(theirs.to_json()) == found
    assert LazyArray(np.arange(3)).oindex[list(mask)].result().tolist() == there.tolist()


def test_select_takes_coordinates():
    made = IndexTransform.from_shape((10,))[4:9]
    assert made.select(slice(4, 6)) == made[4:6]
    assert made.select(selection=([5, 4],), mode="orthogonal") == made.oindex[[5, 4]]
    assert made.select(([5, 4],), "vectorized") == made.vindex[[5, 4]]
    for wrong in (lambda: made.select(slice(-3, None)), lambda: made.select(([4, 3],), "orthogonal")):
        with pytest.raises(BoundsCheckError):
            wrong()
    assert made.select_positions(slice(-3, None)) == made[6:]
    with pytest.raises(ValueError, match="expected the mode"):
        made.select(0, "outer")


def test_small_things_of_zarr_indexing():
    assert IndexDomain((3,), (6,)).narrow(slice(5, 4)) == IndexDomain((5,), (5,))
    for wrong in (slice(5, 2), slice(7, 4), 6, 2):
        with pytest.raises(BoundsCheckError):
            IndexDomain((3,), (6,)).narrow(wrong)
    assert LazyArray(array=np.arange(3)).with_parts(parts=(2,)).shape == (3,)
    assert [ArrayMap(one).dependent_axis for one in ([0, 1], [[0], [1]], [[7]])] == [0, 0, None]
    with pytest.raises(ValueError, match="several"):
        ArrayMap([[0, 1], [2, 3]]).dependent_axis  # noqa: B018


@given(data=st.data(), rank=st.integers(0, 3))
def test_inverses(data, rank):
    least = [data.draw(st.integers(-5, 5)) for _ in range(rank)]
    domain = IndexDomain(least, [lo + data.draw(st.sampled_from([1, 0, 4])) for lo in least])
    axis = st.integers(0, rank - 1) if rank else st.nothing()
    maps = st.one_of(
        st.builds(ConstantMap, st.integers(-9, 9)),
        st.builds(DimensionMap, axis, st.integers(-9, 9), st.sampled_from([1, -1, 1, -1, 2, 0]))
        if rank
        else st.nothing(),
    )
    made = IndexTransform(domain, [data.draw(maps) for _ in range(rank)])
    theirs = pytest.importorskip("zarr_indexing").IndexTransform.from_json(made.to_json())
    try:
        wanted = theirs.inverted()
    except ValueError:
        with pytest.raises(ValueError):
            made.inverted()
        return
    back = made.inverted()
    assert back == IndexTransform.from_json(wanted.to_json())
    if 0 not in domain.shape:
        assert made.compose(back) == IndexTransform.identity(domain) or 1 in domain.shape
        point = tuple(domain.inclusive_min)
        assert back.apply(made.apply(point)) == point
