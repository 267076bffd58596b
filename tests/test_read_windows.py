"""planning.windows: what stands beside the pointers refuses entries and slots that would lead outside."""

from __future__ import annotations

import numpy as np
import pytest
import zarr

from cyzarr.planning import windows


@pytest.fixture
def array():
    made = zarr.create_array({}, shape=(8, 6), chunks=(4, 4), dtype="i4")
    made[...] = np.arange(48).reshape(8, 6)
    return made


@pytest.mark.parametrize(
    "entries",
    [
        (8, range(6)),
        (-1, range(6)),
        (range(4, 9), range(6)),
        (range(-1, 3), range(6)),
        (range(5, 1, -1), range(6)),
        (0, range(0, 7, 6)),
        (np.array([0, 8]), range(6)),
        (range(8),),
        (range(8), 0, 0),
    ],
)
def test_entries_outside_of_the_array(array, entries):
    shape = tuple(len(one) for one in entries if not isinstance(one, int))
    with pytest.raises(IndexError):
        windows.read_windows(array, [entries], [np.zeros(shape, "i4")])


@pytest.mark.parametrize(
    ("slot", "error"),
    [
        (np.zeros((2, 5), "i4"), ValueError),
        (np.zeros(12, "i4"), ValueError),
        (np.zeros((2, 6), "u4"), TypeError),
        (np.zeros((2, 6), "i4").tolist(), TypeError),
        (np.frombuffer(bytes(48), "i4").reshape(2, 6), TypeError),
    ],
)
def test_slots_that_do_not_fit(array, slot, error):
    with pytest.raises(error):
        windows.read_windows(array, [(range(3, 5), range(6))], [slot])


def test_what_fits(array):
    slots = [np.zeros((2, 6), "i4"), np.zeros((), "i4"), np.zeros((3, 2), "i4")]
    entries = [(range(3, 5), range(6)), (7, 5), (np.array([7, 0, 7]), range(1, 6, 4))]
    assert windows.read_windows(array, entries, slots)
    assert (slots[0] == array[3:5]).all()
    assert slots[1] == 47
    assert (slots[2] == array[...][[7, 0, 7]][:, 1:6:4]).all()
