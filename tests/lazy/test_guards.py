"""Each check of lazy views, by what it says: where another would have caught the same, it is this one that must."""

import array as arrays

import numpy as np
import pytest
import zarr

from cyzarr import ArrayMap, BoundsCheckError, DimensionMap, EagerArrayAdapter, IndexDomain, IndexTransform, LazyArray
from cyzarr.errors import VindexInvalidSelectionError
from cyzarr.lazy import lowering, sources
from lazy.support import CountingStore, Recorder

VIEW = LazyArray(np.arange(24).reshape(2, 3, 4))
LITERAL = IndexTransform.identity(IndexDomain((5, -3, 0), (7, 0, 4)))


@pytest.mark.parametrize("sizes", [(1, 2), (1, 2, 3, 4), ()])
def test_sizes_of_parts_per_axis(sizes):
    with pytest.raises(ValueError, match="entries for an array of 3 axes"):
        VIEW.with_parts(sizes)
    with pytest.raises(ValueError, match="entries for an array of 3 axes"):
        VIEW.with_parts_per_axis([[one] for one in sizes])


@pytest.mark.parametrize("wrong", [0, -1, 1.0, True, "2", None, [2]])
def test_sizes_of_parts(wrong):
    with pytest.raises(ValueError, match="axis 1: expected a positive int"):
        VIEW.with_parts((2, wrong, 4))


@pytest.mark.parametrize("wrong", [3, "3", [1.0, 2.0], [1, 2.0], [True, 2], [None, 3], ["3"], [[3]]])
def test_edges_of_parts_are_ints(wrong):
    with pytest.raises(ValueError, match="axis 1: expected the sizes of its cells"):
        VIEW.with_parts_per_axis(([2], wrong, [4]))


@pytest.mark.parametrize("wrong", [[0, 3], [3, 0], [-1, 4], [1, 1], [4], [2, 2], []])
def test_edges_of_parts_make_up_the_axis(wrong):
    with pytest.raises(ValueError, match=r"axis 1: cells of sizes .* don't make up an extent of 3"):
        VIEW.with_parts_per_axis(([2], wrong, [4]))


def test_edges_of_an_empty_axis():
    view = LazyArray(np.zeros((0, 2)))
    for empty in ([], [0], [0, 0]):
        assert list(view.with_parts_per_axis((empty, [1, 1])).parts()) == []
    with pytest.raises(ValueError, match="don't make up an extent of 0"):
        view.with_parts_per_axis(([1, -1], [2]))


@pytest.mark.parametrize(
    ("mode", "key", "error", "told"),
    [
        ("oindex", ([0],) * 4, IndexError, "too many indices: 4 for 3 axes"),
        ("vindex", ([0],) * 4, IndexError, "too many indices: 4 for 3 axes"),
        ("vindex", (np.ones((2, 3), bool), [0], [0]), IndexError, "too many indices: 4 for 3 axes"),
        ("oindex", (..., [0], ...), IndexError, "only one ellipsis"),
        ("vindex", ([0], slice(None), [0]), VindexInvalidSelectionError, "no slices"),
        ("oindex", (None, [0]), IndexError, "None is no entry"),
        ("vindex", ([0], None), IndexError, "None is no entry"),
        ("oindex", ("0", [0]), IndexError, "'0' is no entry"),
        ("oindex", (b"0", [0]), IndexError, "b'0' is no entry"),
        ("vindex", (range(2), [0, 1]), IndexError, "is no entry"),
        ("oindex", (True, [0]), IndexError, "True is no entry"),
        ("vindex", (np.True_, [0]), IndexError, "is no entry"),
        ("oindex", ({0}, [0]), IndexError, "a set is no index"),
        ("vindex", (arrays.array("l", [0]), [0], [0]), IndexError, "a array is no index"),
        ("oindex", ([[0], [0, 1]],), IndexError, "ragged"),
        ("vindex", (np.array(True), [0], [0]), IndexError, "hold integers or booleans, found bool"),
        ("vindex", (np.array(1.0), [0], [0]), IndexError, "hold integers or booleans, found float64"),
        ("oindex", (np.zeros(0),), IndexError, "hold integers or booleans, found float64"),
        ("oindex", ([[0, 1]],), IndexError, "takes arrays of one axis, found 2"),
        ("vindex", ([0, 1], [0, 1, 2], [0]), IndexError, "don't broadcast"),
        ("vindex", (np.ones((2, 4), bool),), IndexError, r"mask of shape \(2, 4\) for axes of shape \(2, 3\)"),
        ("oindex", (0, np.ones(2, bool)), IndexError, r"mask of shape \(2,\) for axis 0 of extent 3"),
        ("oindex", ([2],), IndexError, "index 2 is out of bounds for axis 0 with size 2"),
        ("oindex", ([-3],), IndexError, "index -3 is out of bounds for axis 0 with size 2"),
        ("vindex", ([0, 1], [0, -4], [0, 0]), IndexError, "index -4 is out of bounds for axis 1 with size 3"),
        ("vindex", ([0, 1], [3, 0], [0, 0]), IndexError, "index 3 is out of bounds for axis 1 with size 3"),
        ("vindex", (np.array([1 << 63], "u8"), [0], [0]), IndexError, "index 9223372036854775808 is out of bounds"),
    ],
)
def test_keys_with_arrays(mode, key, error, told):
    with pytest.raises(error, match=told):
        getattr(VIEW, mode)[key]


@pytest.mark.parametrize(("axis", "wrong"), [(0, 4), (0, 7), (0, 0), (0, -1), (1, -4), (1, 0), (1, 2), (2, -1), (2, 4)])
def test_literal_arrays(axis, wrong):
    """Coordinates of the domain, which are never counted from the end."""
    inside = [5, -3, 0]
    for mode in ("oindex", "vindex"):
        key = [[one, one] for one in inside]
        key[axis] = [inside[axis], wrong]
        with pytest.raises(BoundsCheckError, match=f"coordinate {wrong} of axis {axis} is not in"):
            getattr(LITERAL, mode)[tuple(key)]


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: LITERAL.domain.narrow((5, -3, 0, 0)), IndexError, "4 entries for 3 axes"),
        (lambda: LITERAL.domain.narrow((..., 0, ...)), IndexError, "3 entries for 3 axes"),
        (lambda: LITERAL.domain.narrow(slice(5, 7, 2)), ValueError, "axis 0: step 2"),
        (lambda: LITERAL.domain.translate((1,)), ValueError, "offset of rank 1 for a domain of rank 3"),
        (lambda: LITERAL.domain.intersect(IndexDomain((0,), (1,))), ValueError, "domain of rank 1 for a domain of"),
        (lambda: DimensionMap(-1), ValueError, "input_dimension -1 is negative"),
        (lambda: ArrayMap([[0, 1], [2, 3]]).dependent_axis, ValueError, r"several axes: \(0, 1\)"),
        (lambda: ArrayMap([4], 0, 1 << 61).coordinates(), OverflowError, "a coordinate is too large"),
        (lambda: LITERAL.apply_many([[5.0, -1.0, 0.0]]), TypeError, "points must be integers, found float64"),
        (lambda: LITERAL.apply_many([5, -3]), ValueError, r"points of shape \(2,\) for a domain of rank 3"),
        (lambda: LITERAL.apply_many(5), ValueError, r"points of shape \(\) for a domain of rank 3"),
        (lambda: LITERAL.translate((1,)), ValueError, "1 offsets for 3 outputs"),
        (lambda: LITERAL.translate_domain_to((1, 2, 3, 4)), ValueError, "4 origins for a domain of rank 3"),
        (lambda: IndexTransform.from_shape((1,) * 65)[...], IndexError, "more than 64 axes"),
        (lambda: IndexTransform.from_shape((1,) * 64)[None], IndexError, "more than 64 axes"),
    ],
)
def test_domains_maps_and_transforms(call, error, told):
    with pytest.raises(error, match=told):
        call()


def test_literal_arrays_inside():
    made = LITERAL.oindex[[6, 5], [-1, -3], [3, 0]]
    assert made.apply((0, 0, 0)) == (6, -1, 3)
    assert made.apply((1, 1, 1)) == (5, -3, 0)


@pytest.mark.parametrize("kind", ["numpy", "zarr", "zarr in another store", "other"])
def test_sources_that_shrank(kind):
    """A source is looked at when it is read or written, not only when the view is made."""
    values = np.arange(12).reshape(4, 3).copy()
    if kind.startswith("zarr"):
        source = zarr.create_array({} if kind == "zarr" else CountingStore(), data=values, chunks=(2, 2))
    else:
        source = values if kind == "numpy" else Recorder(values.copy(), (2, 2))
    view = LazyArray(source)
    views = [view[3, 1:], view[1:, 1:], view[1::2], view.oindex[[0, 3]], view.vindex[[3, 0], [1, 1]]]
    if kind.startswith("zarr"):
        source.resize((3, 3))
    elif kind == "numpy":
        source.resize((3, 3), refcheck=False)
    else:
        source.array, source.shape = source.array[:3], (3, 3)
    before = np.array(source[:, :])
    for view in views:
        with pytest.raises(IndexError):
            view.result()
        with pytest.raises(BoundsCheckError, match=r"axis 0: . to 3 is not within the source's extent of 3"):
            view.write(1)
    assert np.array(source[:, :]).tolist() == before.tolist()


@pytest.mark.parametrize("entry", [-1, 3, range(-1, 2), range(1, 4, 2), np.array([0, -1]), np.array([3, 0])])
def test_plans_are_looked_at_whoever_made_them(entry):
    axes = [] if isinstance(entry, int) else [0]
    with pytest.raises(BoundsCheckError):
        sources.check_range(lowering.Product((entry,), axes, [False] * len(axes)), np.zeros(3))
    if isinstance(entry, np.ndarray):
        with pytest.raises(BoundsCheckError):
            sources.check_range(lowering.Points([np.zeros(2, int), entry], (2,)), np.zeros((1, 3)))


def test_sources_that_lost_an_axis():
    source = Recorder(np.zeros((2, 3), int), (1, 1))
    view = LazyArray(source)[:, 1:]
    source.shape = (2,)
    with pytest.raises(ValueError, match="a view of 2 axes of a source of 1"):
        view.write(1)
    with pytest.raises(BoundsCheckError, match="a view of 2 axes of a source of 1"):
        view.unpartitioned().result()


def test_views():
    with pytest.raises(TypeError, match="matrix"):
        LazyArray(np.zeros((1, 1)).view(np.matrix))
    with pytest.raises(TypeError, match=r"expected a numpy\.ndarray, found list"):
        LazyArray.from_numpy([1])
    with pytest.raises(ValueError, match="a domain of rank 1 for a view of rank 3"):
        VIEW[IndexDomain((0,), (1,))]
    with pytest.raises(BoundsCheckError, match="is not within the view's"):
        VIEW[IndexDomain((0, 0, 9), (0, 0, 9))]
    for wrong in (None, object(), type("Reader", (), {"read_into": 3})()):
        with pytest.raises(TypeError, match="a reader has a method read_into"):
            VIEW.with_reader(wrong)
    with pytest.raises(TypeError, match=r"len\(\) of a view without axes"):
        len(VIEW[0, 0, 0])
    with pytest.raises(TypeError, match="iteration over a view without axes"):
        iter(VIEW[0, 0, 0])
    with pytest.raises(TypeError, match="without axes"):
        iter(EagerArrayAdapter(VIEW[0, 0, 0]))
    with pytest.raises(TypeError, match="isn't compared"):
        VIEW == 3  # noqa: B015
    with pytest.raises(ValueError, match="without being read"):
        VIEW.__array__(copy=False)


def test_parts_of_this_view_once_each():
    view = VIEW.with_parts((1, 3, 4))
    one, other = view.parts()
    assert view.result(parts=[other, one]).tolist() == VIEW.result().tolist()
    for wrong in ([one], [one, one], [one, other, other], []):
        with pytest.raises(ValueError, match="one is missing, or there twice"):
            view.result(parts=wrong)
    with pytest.raises(ValueError, match="of another view"):
        view.result(parts=[one, *list(VIEW.with_parts((1, 3, 4)).parts())[1:]])


def test_readers_fill_out():
    class Reader:
        def read_into(self, source, context, out):
            out[...] = 1
            return out

    with pytest.raises(TypeError, match="read_into of Reader gave a ndarray"):
        VIEW.with_reader(Reader()).result()
