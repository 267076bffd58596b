"""Domains, maps and transforms by themselves."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cyzarr import ArrayMap, BoundsCheckError, ConstantMap, DimensionMap, IndexDomain, IndexTransform, LazyArray


def test_domains():
    domain = IndexDomain((2, 0), (10, 5))
    assert (domain.ndim, domain.origin, domain.shape) == (2, (2, 0), (8, 5))
    assert domain.contains((2, 0))
    assert not domain.contains((2,))
    assert not domain.contains((10, 0))
    assert domain.contains_domain(IndexDomain((3, 3), (3, 3)))
    assert not domain.contains_domain(IndexDomain((30, 3), (30, 3)))
    assert domain.intersect(IndexDomain((5, 2), (20, 3))) == IndexDomain((5, 2), (10, 3))
    assert domain.intersect(IndexDomain((10, 2), (20, 3))) is None
    assert domain.translate((1, 2)) == IndexDomain((3, 2), (11, 7))
    assert domain.narrow((slice(3, 5), 1)) == IndexDomain((3, 1), (5, 2))
    assert domain.narrow((..., slice(1, 2))) == IndexDomain((2, 1), (10, 2))
    assert IndexDomain.from_json(domain.to_json()) == domain
    for wrong in (slice(0, 5), slice(3, 50), 1):
        with pytest.raises(BoundsCheckError):
            domain.narrow(wrong)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (((3,), (2,)), ValueError),
        (((3,), (2, 3)), ValueError),
        (((1.5,), (3,)), TypeError),
        (((1,), (2,), ("x", "y")), ValueError),
        (((1, 1), (2, 2), ("x", "x")), ValueError),
        (((1,), (2,), (7,)), TypeError),
        (((0,), (1 << 63,)), ValueError),
    ],
)
def test_wrong_domains(given, error):
    with pytest.raises(error):
        IndexDomain(*given)


def test_maps_are_values():
    index = np.array([[3], [1]])
    one = ArrayMap(index, 2, -1)
    index[0] = 9
    assert one.index_array.tolist() == [[3], [1]]
    assert one.dependency_axes == (0,)
    with pytest.raises(ValueError):
        one.index_array[0] = 1
    for made in (one, ConstantMap(4), DimensionMap(1, 2, 3), IndexDomain((1,), (2,), ("x",))):
        again = pickle.loads(pickle.dumps(made))
        assert again == made
        assert hash(again) == hash(made)
        assert copy.copy(made) == made
        with pytest.raises((AttributeError, TypeError)):
            made.offset = 1
    with pytest.raises(TypeError):
        ArrayMap(np.array([1.5]))
    with pytest.raises(OverflowError):
        ArrayMap(np.array([1 << 63], np.uint64))


def test_maps_of_nothing_and_of_far_numbers():
    empty = ArrayMap([], 3, 2)
    assert (empty.index_range, empty.dependent_axis, empty.coordinates().tolist()) == (None, None, [])
    assert IndexTransform.from_shape((0, 2)).output_ranges() == (None, None)
    # What an index is multiplied to doesn't fit, the coordinate does.
    assert ArrayMap([4, 3], -(1 << 62), 1 << 61).coordinates().tolist() == [1 << 62, 1 << 61]


def test_maps_are_equal_to_nothing_else():
    made = (ArrayMap([1]), ConstantMap(1), DimensionMap(1), IndexDomain((1,), (2,)), IndexTransform.from_shape((1,)))
    for one in made:
        assert [one == other for other in (*made, 1, None)].count(True) == 1


def test_maps_fit_their_domain():
    domain = IndexDomain.from_shape((3, 4))
    for wrong in (DimensionMap(2), ArrayMap([0, 1, 2]), ArrayMap(np.zeros((2, 4), int))):
        with pytest.raises(ValueError):
            IndexTransform(domain, (wrong,))
    with pytest.raises(TypeError):
        IndexTransform(domain, (3,))
    # One coordinate is a constant.
    assert IndexTransform(domain, (ArrayMap([[7]], 1, 2),)).output == (ConstantMap(15),)


def test_composing():
    inner = IndexTransform.from_shape((10,))
    reach = IndexTransform(IndexDomain((0,), (6,)), (DimensionMap(0, 12, 2),))
    with pytest.raises(BoundsCheckError):
        reach.compose(inner)
    with pytest.raises(ValueError):
        inner.compose(IndexTransform.from_shape((2, 3)))
    empty = IndexTransform(IndexDomain((0,), (0,)), (DimensionMap(0, 1200, 2),))
    assert empty.compose(inner).domain == empty.domain


def test_applying():
    made = IndexTransform.from_shape((3, 4)).oindex[[2, 0], :].translate((10, 20))
    assert made.apply((1, 3)) == (10, 23)
    assert made.apply_many([[[0, 0]], [[1, 3]]]).tolist() == [[[12, 20]], [[10, 23]]]
    with pytest.raises(BoundsCheckError):
        made.apply((2, 0))
    with pytest.raises(ValueError):
        made.apply((0,))
    with pytest.raises(BoundsCheckError):
        made.apply_many([[0, 4]])


def test_moving_and_inverting():
    made = IndexTransform(IndexDomain((2, 0), (10, 5)), (DimensionMap(1, 3, -1), DimensionMap(0)))
    back = made.inverted()
    assert back.domain == IndexDomain((-1, 2), (4, 10))
    assert back.output == (DimensionMap(1), DimensionMap(0, 3, -1))
    moved = made.translate_domain_to((0, 0))
    assert moved.domain.shape == made.domain.shape
    assert moved.apply((1, 1)) == made.apply((3, 1))
    with pytest.raises(ValueError):
        IndexTransform.from_shape((9,))[::2].inverted()


@given(data=st.data(), rank=st.integers(0, 3))
def test_json_there_and_back(data, rank):
    least = [data.draw(st.integers(-50, 50)) for _ in range(rank)]
    domain = IndexDomain(least, [lo + data.draw(st.integers(0, 4)) for lo in least])
    maps = [ConstantMap(data.draw(st.integers(-9, 9)))]
    if rank:
        maps.append(DimensionMap(data.draw(st.integers(0, rank - 1)), 3, data.draw(st.integers(-3, 3))))
        shape = [data.draw(st.sampled_from([1, extent])) for extent in domain.shape]
        if 0 not in shape:
            maps.append(ArrayMap(np.arange(int(np.prod(shape))).reshape(shape), 1, 2))
    made = IndexTransform(domain, maps)
    assert IndexTransform.from_json(made.to_json()) == made
    assert pickle.loads(pickle.dumps(made)) == made
    tensorstore = pytest.importorskip("tensorstore")
    theirs = tensorstore.IndexTransform(json=made.to_json())
    if 0 not in domain.shape:
        assert IndexTransform.from_json(theirs.to_json()).output_ranges() == made.output_ranges()


def test_json_of_others():
    """Bounds may be implicit, or given otherwise; they can't be infinite."""
    read = IndexTransform.from_json
    assert read({"input_inclusive_min": [1], "input_shape": [3]}).domain == IndexDomain((1,), (4,))
    assert read({"input_inclusive_min": [[1]], "input_inclusive_max": [[3]]}).domain == IndexDomain((1,), (4,))
    assert read({"input_shape": [3]}).output == (DimensionMap(0),)
    for wrong in (
        {"input_inclusive_min": ["-inf"], "input_exclusive_max": [3]},
        {"input_rank": 2, "input_shape": [3]},
        {"input_shape": [3], "output": [{"index_array": [0, 1, 9], "index_array_bounds": [0, 5]}]},
        {"input_shape": [3], "output": [{"index_array": [0, 1, 9], "input_dimension": 0}]},
    ):
        with pytest.raises(ValueError):
            read(wrong)


def test_labels_stay_with_their_axes():
    made = IndexTransform.identity(IndexDomain((0, 0, 0), (4, 5, 6), ("t", "y", "x")))
    assert made[1].domain.labels == ("y", "x")
    assert made[:, None, 2:4].domain.labels == ("t", "", "y", "x")
    assert made.oindex[[0, 1]].domain.labels == ("", "y", "x")
    assert made.vindex[[0, 1], [0, 1]].domain.labels == ("", "x")
    assert made.translate_domain_by((1, 1, 1)).domain.labels == ("t", "y", "x")
    view = LazyArray(np.zeros((4, 5, 6)))[made]
    assert view[::2].transform.domain.labels == ("t", "y", "x")
    assert view[IndexDomain((0, 0, 0), (2, 2, 2))].transform.domain.labels == ("t", "y", "x")


def test_huge_numbers_dont_wrap():
    made = IndexTransform(IndexDomain((0,), (2,)), (DimensionMap(0, 0, 1 << 63),))
    assert made.apply((1,)) == (1 << 63,)
    with pytest.raises(BoundsCheckError):
        made.compose(IndexTransform.from_shape((5,)))
    with pytest.raises((BoundsCheckError, OverflowError)):
        LazyArray(np.arange(5))[IndexTransform(IndexDomain((0,), (3,)), (ArrayMap([0, 1, 4], 0, 1 << 62),))]
    assert LazyArray(np.arange(5))[:: 1 << 70].result().tolist() == [0]
    assert LazyArray(np.arange(5))[-(1 << 80) : 1 << 80].result().tolist() == [0, 1, 2, 3, 4]
