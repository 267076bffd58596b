"""The direct road for views: whatever it is handed, it reads within the array and writes within `out`."""

import numpy as np
import pytest
import zarr

from cyzarr.planning import viewreads
from lazy.support import CountingStore

HUGE = (1 << 63) - 1


@pytest.fixture
def array():
    made = zarr.create_array({}, shape=(6, 5), chunks=(4, 2), dtype="i4")
    made[...] = np.arange(30).reshape(6, 5)
    return made


def guarded(shape, dtype="i4"):
    """An array in the midst of a larger one, and a function that tells whether the rest is as it was."""
    whole = np.full([extent + 2 for extent in shape], -7, dtype)
    # With an Ellipsis it is a view also where there are no axes.
    inside = (*(slice(1, -1) for _ in shape), ...)

    def untouched():
        rest = whole.copy()
        rest[inside] = -7
        return bool((rest == -7).all())

    return whole[inside], untouched


def test_entries(array):
    for entries, expected in (
        ((range(1, 6, 2), range(5)), np.s_[1:6:2, :]),
        ((5, range(0, 5, 4)), np.s_[5, 0:5:4]),
        ((range(6), 0), np.s_[:, 0]),
        ((range(6, 6), range(5)), np.s_[6:6, :]),
        ((range(2, 3, HUGE), 4), np.s_[2:3, 4]),
        ((0, 0), np.s_[0, 0]),
    ):
        wanted = array[...][expected]
        found = viewreads.read_fresh(array, entries)
        assert found.shape == wanted.shape
        assert found.tolist() == wanted.tolist()
        out, untouched = guarded(wanted.shape)
        assert viewreads.read_view(array, entries, False, out)
        assert out.tolist() == wanted.tolist()
        assert untouched()


@pytest.mark.parametrize(
    "entries",
    [
        (),
        (0,),
        (0, 0, 0),
        (6, 0),
        (-1, 0),
        (0, 5),
        (0, HUGE),
        (range(7), 0),
        (range(-1, 3), 0),
        (range(6, 7), 0),
        (range(6, 7, 3), 0),
        (range(0, 7, 6), 0),
        (range(0, HUGE, HUGE // 2), 0),
        (range(3, 0, -1), 0),
        (range(0, 0, -1), 0),
        (0, range(4, 6)),
    ],
)
def test_positions_outside(array, entries):
    with pytest.raises(IndexError):
        viewreads.read_fresh(array, entries)
    counts = tuple(len(one) for one in entries if isinstance(one, range) and len(one) < 100)
    out, untouched = guarded(counts)
    with pytest.raises(IndexError):
        viewreads.read_view(array, entries, False, out)
    assert untouched()


@pytest.mark.parametrize("wrong", [[0, 6], [-1, 0], [HUGE]])
def test_index_arrays_outside(array, wrong):
    index = np.array(wrong, np.intp)
    inside = np.zeros(len(wrong), np.intp)
    for entries, points, shape in (
        ((index, range(5)), False, (len(wrong), 5)),
        ((index, inside), True, (len(wrong),)),
        ((inside, index), True, (len(wrong),)),
    ):
        out, untouched = guarded(shape)
        with pytest.raises(IndexError):
            viewreads.read_view(array, entries, points, out)
        assert untouched()


@pytest.mark.parametrize(
    "index", [np.array([0, 1], "i4"), np.array([[0], [1]]), np.arange(4)[::2], np.array([0.0, 1.0])]
)
def test_index_arrays_of_other_kinds(array, index):
    with pytest.raises(TypeError):
        viewreads.read_view(array, (index, 0), False, np.empty(len(index), "i4"))


@pytest.mark.parametrize(
    ("entries", "points"),
    [
        ((np.array([0, 1]), np.array([0, 1, 2])), True),
        ((np.array([0, 1, 2]), np.array([0, 1])), True),
        ((np.array([0, 1]), 0), True),
        ((0, 0), True),
    ],
)
def test_points_of_unequal_lengths(array, entries, points):
    for count in (2, 3):
        with pytest.raises(ValueError):
            viewreads.read_view(array, entries, points, np.empty(count, "i4"))


def test_points_of_no_axes():
    array = zarr.create_array({}, shape=(), dtype="i4")
    with pytest.raises(ValueError):
        viewreads.read_view(array, (), True, np.empty((), "i4"))
    out = np.full((), -7, "i4")
    assert viewreads.read_view(array, (), False, out)
    assert out == 0


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 5), (3, 5, 1), (15,), ()])
def test_outputs_of_other_shapes(array, shape):
    out, untouched = guarded(shape)
    with pytest.raises(ValueError):
        viewreads.read_view(array, (range(0, 6, 2), range(5)), False, out)
    assert untouched()
    assert (out == -7).all()
    out, untouched = guarded(shape)
    with pytest.raises(ValueError):
        viewreads.read_view(array, (np.array([1, 2, 3]), np.array([1, 2, 3])), True, out)
    assert untouched()


class Own(np.ndarray):
    pass


def test_outputs_of_other_kinds(array):
    entries = (range(6), range(5))
    fixed = np.zeros((6, 5), "i4")
    fixed.flags.writeable = False
    for wrong in (fixed, np.zeros((6, 5), "i8"), np.zeros((6, 5), "i2"), np.zeros((6, 5), ">i4"), [[0] * 5] * 6):
        with pytest.raises(TypeError):
            viewreads.read_view(array, entries, False, wrong)
    with pytest.raises(TypeError):
        viewreads.read_view(array, entries, False, np.zeros((6, 5), "i4").view(Own))
    assert not fixed.any()
    for call in (
        lambda: viewreads.read_view(array, entries, False, None),
        lambda: viewreads.read_view(array, None, False, fixed),
        lambda: viewreads.read_fresh(array, None),
        lambda: viewreads.read_fresh(array, [0, 0]),
    ):
        with pytest.raises(TypeError):
            call()


def test_outputs_of_any_strides(array):
    out = np.full((5, 12), -7, "i4")
    assert viewreads.read_view(array, (range(6), range(5)), False, out.T[::-2])
    assert out.T[::-2].tolist() == array[...].tolist()
    assert (out[:, ::2] == -7).all()


def test_what_is_left_to_zarr(array):
    fortran = zarr.create_array({}, shape=(6, 5), chunks=(4, 2), dtype="i4", config={"order": "F"})
    assert viewreads.read_fresh(fortran, (range(6), range(5))) is None
    assert viewreads.read_view(fortran, (range(6), range(5)), False, np.empty((6, 5), "i4"))
    other = zarr.create_array(CountingStore(), shape=(6, 5), chunks=(4, 2), dtype="i4")
    assert viewreads.native_dtype(other) is None
    assert viewreads.read_fresh(other, (0, 0)) is None
    assert not viewreads.read_view(other, (0, 0), False, np.empty((), "i4"))
    assert viewreads.native_dtype(array) == np.dtype("i4")
    assert viewreads.native_dtype(object()) is None
