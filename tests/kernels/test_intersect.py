"""intersections: worked examples, the twin, and the law that defines a table."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from cyzarr import kernels
from support.kernel_strategies import selections

REFUSED = (TypeError, ValueError, IndexError, OverflowError)
ALL = slice(None)


def table(entry, size, chunk_size):
    (found,) = kernels.intersections((entry,), (size,), (chunk_size,))
    return found


def rows_by_hand(entry, size, chunk_size):
    return table(entry, size, chunk_size).entries.tolist()


def placements(found, chunk_size):
    """(output position, array position) pairs that a table stands for."""
    pairs = []
    for chunk, start, step, count, out in found.entries.tolist():
        for i in range(count):
            if found.index is None:
                local, place = start + i * step, out + i
            else:
                local, place = int(found.index[start + i]), int(found.place[out + i])
            assert 0 <= local < chunk_size
            pairs.append((place, chunk * chunk_size + local))
    return sorted(pairs)


def check_law(entry, size, chunk_size):
    found = table(entry, size, chunk_size)
    expected = reference.positions(entry, size).tolist()
    assert placements(found, chunk_size) == list(enumerate(expected))
    chunks = found.entries[:, 0].tolist()
    assert chunks == sorted({position // chunk_size for position in expected})
    assert (found.entries[:, 3] > 0).all()
    assert found.entries.dtype == np.int64
    assert found.entries.shape == (len(chunks), 5)


def test_examples():
    # 10 items in chunks of 4: [0 1 2 3] [4 5 6 7] [8 9 . .]
    assert rows_by_hand(ALL, 10, 4) == [[0, 0, 1, 4, 0], [1, 0, 1, 4, 4], [2, 0, 1, 2, 8]]
    assert rows_by_hand(slice(3, 9), 10, 4) == [[0, 3, 1, 1, 0], [1, 0, 1, 4, 1], [2, 0, 1, 1, 5]]
    assert rows_by_hand(slice(1, 10, 3), 10, 4) == [[0, 1, 3, 1, 0], [1, 0, 3, 2, 1]]
    assert rows_by_hand(slice(0, 10, 9), 10, 4) == [[0, 0, 9, 1, 0], [2, 1, 9, 1, 1]]
    assert rows_by_hand(slice(5, 5), 10, 4) == []
    assert rows_by_hand(slice(20, 30), 10, 4) == []


def test_int():
    found = table(6, 10, 4)
    assert found.index is None
    assert found.place is None
    chunk, start, _, count, out = found.entries.tolist()[0]
    assert (chunk, start, count, out) == (1, 2, 1, 0)


def test_index_array():
    found = table(np.array([9, 0, 5, 0, 8]), 10, 4)
    assert found.entries.tolist() == [[0, 0, 0, 2, 0], [1, 2, 0, 1, 2], [2, 3, 0, 2, 3]]
    assert placements(found, 4) == list(enumerate([9, 0, 5, 0, 8]))


def test_one_table_per_axis():
    tables = kernels.intersections((2, slice(0, 3), np.array([1])), (4, 5, 6), (2, 5, 4))
    assert isinstance(tables, tuple)
    assert [len(found.entries) for found in tables] == [1, 1, 1]
    assert [found.index is None for found in tables] == [True, True, False]
    assert kernels.intersections((), (), ()) == ()


grids = st.tuples(st.integers(0, 30), st.integers(1, 35))


@settings(deadline=None)
@given(
    st.lists(grids, min_size=1, max_size=3).flatmap(
        lambda axes: st.tuples(st.just(axes), selections([size for size, _ in axes], falling=True))
    )
)
def test_equals_twin(arguments):
    axes, selection = arguments
    shape, chunk_shape = zip(*axes, strict=True)
    found = kernels.intersections(selection, shape, chunk_shape)
    expected = reference.intersections(selection, shape, chunk_shape)
    for mine, twin in zip(found, expected, strict=True):
        same = mine.entries == twin.entries
        # The step of a single position means nothing.
        same[:, 2] |= (mine.entries[:, 3] == 1) & (twin.index is None)
        assert same.all()
        assert (mine.index is None) == (mine.place is None) == (twin.index is None)
    for entry, size, chunk_size in zip(selection, shape, chunk_shape, strict=True):
        check_law(entry, size, chunk_size)


def test_giants():
    """Positions near the largest int64, worked out without a product that wraps."""
    size, chunk_size = 2**63 - 1, 2**40
    last = size - 1
    entry = table(last, size, chunk_size).entries.tolist()[0]
    assert entry[0] == last // chunk_size
    assert entry[1] == last % chunk_size
    found = rows_by_hand(slice(last - 1, size), size, chunk_size)
    assert found == [[last // chunk_size, (last - 1) % chunk_size, 1, 2, 0]]
    found = rows_by_hand(slice(1, None, 2**62), size, chunk_size)
    assert found == [[0, 1, 2**62, 1, 0], [2**22, 1, 2**62, 1, 1]]
    found = table(np.array([last, 0]), size, chunk_size)
    assert placements(found, chunk_size) == [(0, last), (1, 0)]


def test_chunk_larger_than_the_array():
    assert rows_by_hand(slice(2, 9), 10, 2**62) == [[0, 2, 1, 7, 0]]


def test_more_entries_than_memory_is_an_error():
    with pytest.raises((MemoryError, ValueError, OverflowError)):
        table(ALL, 2**62, 1)


def test_huge_step_does_not_wrap():
    assert rows_by_hand(slice(3, None, 2**63 - 1), 10, 4)[0][:2] == [0, 3]
    assert len(rows_by_hand(slice(3, None, 2**70), 10, 4)) == 1


@pytest.mark.parametrize("index", [10, 2**31, 2**63 - 1, -11, -(2**63), 2**64])
def test_index_out_of_range(index):
    with pytest.raises((IndexError, OverflowError)):
        table(index, 10, 4)
    if -(2**63) <= index < 2**63:
        with pytest.raises(IndexError):
            table(np.array([0, index]), 10, 4)


@pytest.mark.parametrize("entry", [-1, np.array([-1, 0])], ids=repr)
def test_negative_index_is_numpys_or_refused(entry):
    try:
        found = table(entry, 10, 4)
    except IndexError:
        return
    expected = np.atleast_1d(np.arange(10)[entry]).tolist()
    assert placements(found, 4) == list(enumerate(expected))


@pytest.mark.parametrize(
    "entry",
    [None, Ellipsis, 1.0, "1", np.array([1.0]), np.array([[0, 1]]), np.array([True] * 10),
     np.array([None]), slice(0.5, 2), slice(0, 2, 0), object()],
    ids=repr,
)  # fmt: skip
def test_other_entries_are_refused(entry):
    with pytest.raises(REFUSED):
        table(entry, 10, 4)


@pytest.mark.parametrize("chunk_size", [0, -1, -(2**63), 2**64])
def test_bad_chunk_size_is_refused(chunk_size):
    with pytest.raises(REFUSED):
        table(ALL, 10, chunk_size)
    with pytest.raises(REFUSED):
        table(np.array([1]), 10, chunk_size)


@pytest.mark.parametrize("size", [-1, 2**64])
def test_bad_size_is_refused(size):
    with pytest.raises(REFUSED):
        table(ALL, size, 4)


@pytest.mark.parametrize(
    ("selection", "shape", "chunk_shape"),
    [((ALL,), (4, 4), (2, 2)), ((ALL, ALL), (4,), (2,)), ((ALL, ALL), (4, 4), (2,)),
     ((), (4,), (2,))],
)  # fmt: skip
def test_other_number_of_axes_is_refused(selection, shape, chunk_shape):
    with pytest.raises(REFUSED):
        kernels.intersections(selection, shape, chunk_shape)


def test_index_array_is_left_alone():
    index = np.array([9, 0, 5])
    table(index, 10, 4)
    assert index.tolist() == [9, 0, 5]
