"""block_window and block_windows: worked examples, the twin, and the law that defines them."""

import contextlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from cyzarr import kernels
from support.kernel_strategies import selections, shapes

REFUSED = (TypeError, ValueError, IndexError, OverflowError)
ALL = slice(None)
FRAME = 5 * 7

# (T, Y, X) = (4, 5, 7): selection -> offset and shape of the block, by hand
EXAMPLES = {
    "rows of a frame": ((2, slice(1, 4), slice(3, 5)), 2 * FRAME + 7, (1, 3, 7)),
    "items of a row": ((2, 1, slice(3, 5)), 2 * FRAME + 7 + 3, (1, 1, 2)),
    "one item": ((3, 4, 6), 139, (1, 1, 1)),
    "first item": ((0, 0, 0), 0, (1, 1, 1)),
    "frames whole": ((slice(1, 3), slice(2, 4), ALL), FRAME, (2, 5, 7)),
    "stepped frames": ((slice(0, 4, 2), 0, 0), 0, (3, 5, 7)),
    "frames by array": ((np.array([3, 1, 3]), 0, ALL), FRAME, (3, 5, 7)),
    "frames by mask": ((np.flatnonzero([False, True, True, False]), ALL, ALL), FRAME, (2, 5, 7)),
    "everything": ((ALL, ALL, ALL), 0, (4, 5, 7)),
    "slice of one frame": ((slice(2, 3), slice(1, 2), slice(3, 5)), 80, (1, 1, 2)),
    "array of one frame": ((np.array([2, 2]), 1, slice(3, 5)), 80, (1, 1, 2)),
    "step that stays on one": ((slice(1, 4, 3), 2, ALL), FRAME + 14, (1, 1, 7)),
    "stepped items of a row": ((0, 2, slice(1, 7, 4)), 15, (1, 1, 5)),
    "falling items of a row": ((0, 2, slice(5, 0, -2)), 15, (1, 1, 5)),
    "falling to the first": ((0, 2, slice(None, None, -3)), 14, (1, 1, 7)),
}


def check_law(selection, chunk_shape):
    """What the shifted selection picks from the block, the original picks from the chunk."""
    chunk = np.arange(math.prod(chunk_shape)).reshape(chunk_shape)
    offset, shape, shifted = kernels.block_window(selection, chunk_shape)
    assert len(shape) == len(shifted) == len(chunk_shape)
    assert 0 <= offset <= chunk.size - math.prod(shape)
    block = chunk.ravel()[offset : offset + math.prod(shape)].reshape(shape)
    found = reference.pick(block, shifted)
    expected = reference.pick(chunk, selection)
    assert found.shape == expected.shape
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name):
    selection, offset, shape = EXAMPLES[name]
    found = kernels.block_window(selection, (4, 5, 7))
    assert found[0] == offset
    assert tuple(found[1]) == shape
    check_law(selection, (4, 5, 7))


chunk_and_selection = shapes(max_dims=4, max_side=5).flatmap(
    lambda shape: st.tuples(st.just(shape), selections(shape, falling=True))
)


@settings(deadline=None)
@given(chunk_and_selection)
def test_window_equals_twin(arguments):
    shape, selection = arguments
    found = kernels.block_window(selection, shape)
    expected = reference.block_window(selection, shape)
    if math.prod(expected[1]):
        assert (found[0], tuple(found[1])) == expected[:2]
    else:
        assert math.prod(found[1]) == 0
    check_law(selection, shape)


def test_window_leaves_the_selection_alone():
    index = np.array([3, 1])
    kernels.block_window((index, ALL), (4, 5))
    assert index.tolist() == [3, 1]


def test_window_without_axes():
    offset, shape, shifted = kernels.block_window((), ())
    assert (offset, tuple(shape), tuple(shifted)) == (0, (), ())


def test_window_counts_large_items_exactly():
    """Offsets up to the largest that an int64 holds."""
    shape = (2**20, 2**21, 2**21)
    selection = (2**20 - 1, 2**21 - 1, 2**21 - 1)
    assert kernels.block_window(selection, shape)[0] == 2**62 - 1


@pytest.mark.parametrize("shape", [(2**32, 2**32), (2**31, 2**31, 2**31), (2**62, 4), (2**63,), (2**64 + 1,)], ids=str)
def test_product_overflow_is_refused_or_exact(shape):
    selection = tuple(n - 1 for n in shape)
    last = math.prod(shape) - 1
    with contextlib.suppress(REFUSED):
        assert kernels.block_window(selection, shape)[0] == last
    with contextlib.suppress(REFUSED):
        assert kernels.block_windows(selection, shape).tolist() == [[last, 1]]


def test_overflow_beside_an_empty_axis_is_no_harm():
    shape, selection = (2**62, 0, 2**62), (5, ALL, 7)
    with contextlib.suppress(REFUSED):
        assert math.prod(kernels.block_window(selection, shape)[1]) == 0
    with contextlib.suppress(REFUSED):
        assert len(kernels.block_windows(selection, shape)) == 0


@pytest.mark.parametrize("index", [4, 5, 2**31, 2**63 - 1, 2**64, -5, -(2**63), -(2**64)])
def test_index_out_of_range(index):
    for call in (kernels.block_window, kernels.block_windows):
        with pytest.raises((IndexError, OverflowError)):
            call((index, ALL), (4, 5))
        if -(2**63) <= index < 2**63:
            with pytest.raises(IndexError):
                call((ALL, np.array([0, index])), (4, 4))


@pytest.mark.parametrize("entry", [-1, np.array([-1, 0])], ids=repr)
def test_negative_index_is_numpys_or_refused(entry):
    try:
        kernels.block_window((entry, ALL), (4, 5))
    except IndexError:
        return
    check_law((entry, ALL), (4, 5))


@pytest.mark.parametrize(
    "entry",
    [None, Ellipsis, 1.0, "1", np.array([1.0]), np.array([[0, 1]]), np.array([True] * 4),
     np.array([None]), slice(0.5, 2), slice(0, 2, 0), object()],
    ids=repr,
)  # fmt: skip
def test_other_entries_are_refused(entry):
    for call in (kernels.block_window, kernels.block_windows):
        with pytest.raises(REFUSED):
            call((entry, ALL), (4, 5))


@pytest.mark.parametrize("selection", [(), (0,), (0, 0, 0)])
def test_other_number_of_axes_is_refused(selection):
    for call in (kernels.block_window, kernels.block_windows):
        with pytest.raises(REFUSED):
            call(selection, (4, 5))


def test_negative_side_is_refused():
    for call in (kernels.block_window, kernels.block_windows):
        with pytest.raises(REFUSED):
            call((ALL, ALL), (4, -5))


# block_windows


def test_windows_examples():
    chunk = (4, 5, 7)
    rows = (slice(1, 3), slice(2, 4), ALL)
    assert kernels.block_windows(rows, chunk).tolist() == [[49, 14], [84, 14]]
    parts = (2, slice(1, 4), slice(3, 5))
    assert kernels.block_windows(parts, chunk).tolist() == [[80, 2], [87, 2], [94, 2]]
    merged = kernels.block_windows(parts, chunk, itemsize=4, max_gap_nbytes=20)
    assert merged.tolist() == [[80, 16]]
    apart = kernels.block_windows(parts, chunk, itemsize=4, max_gap_nbytes=19)
    assert apart.tolist() == [[80, 2], [87, 2], [94, 2]]
    array = (np.array([3, 0]), 4, np.array([6, 5, 6]))
    assert kernels.block_windows(array, chunk).tolist() == [[33, 2], [138, 2]]
    assert kernels.block_windows((ALL, ALL, ALL), chunk).tolist() == [[0, 140]]


@settings(deadline=None)
@given(chunk_and_selection, st.integers(1, 9), st.integers(0, 60))
def test_windows_equal_twin(arguments, itemsize, max_gap_nbytes):
    shape, selection = arguments
    gap = {"itemsize": itemsize, "max_gap_nbytes": max_gap_nbytes}
    found = kernels.block_windows(selection, shape, **gap)
    assert found.dtype == np.int64
    assert found.shape == (len(found), 2)
    assert found.tolist() == reference.block_windows(selection, shape, **gap).tolist()


def test_windows_of_a_scalar():
    assert kernels.block_windows((), ()).tolist() == [[0, 1]]


def test_huge_gap_gives_one_range():
    selection = (slice(0, 5, 4), 0)
    for gap in (2**31, 2**62, 2**63 - 1):
        found = kernels.block_windows(selection, (5, 5), itemsize=8, max_gap_nbytes=gap)
        assert found.tolist() == [[0, 21]]


def test_gap_in_bytes_can_exceed_an_int64():
    """2**61 items apart, 16 bytes each: the gap doesn't fit, so it must not wrap to a small one."""
    selection = (slice(0, 2**62, 2**61),)
    try:
        found = kernels.block_windows(selection, (2**62,), itemsize=16, max_gap_nbytes=100)
    except (ValueError, OverflowError):
        return
    assert found.tolist() == [[0, 1], [2**61, 1]]


def test_more_ranges_than_memory_is_an_error():
    with pytest.raises((MemoryError, ValueError, OverflowError)):
        kernels.block_windows((slice(0, 2**62, 2),), (2**62,))


@pytest.mark.parametrize("itemsize", [0, -1, -(2**64)])
def test_itemsize_is_checked(itemsize):
    with pytest.raises(REFUSED):
        kernels.block_windows((ALL,), (4,), itemsize=itemsize)


def test_negative_gap_is_refused():
    with pytest.raises(REFUSED):
        kernels.block_windows((ALL,), (4,), max_gap_nbytes=-1)
