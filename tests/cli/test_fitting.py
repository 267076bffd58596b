"""Selections that fit an array, and what is said of those that don't; the judge is zarr."""

from __future__ import annotations

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

import cyzarr
from cyzarr.cli import selection
from cyzarr.cli.ending import UsageError
from cyzarr.cli.fitting import fitted

SHAPE = (4, 5, 6)
VALUES = np.arange(120).reshape(SHAPE)


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("..., 1", "..., 1"),
        ("1:9:2, -5", "1:9:2, -5"),
        ("[0, -4]", "[0, -4], :, :"),
        ("..., [1, 2]", ":, :, [1, 2]"),
        ("[1, 2], ..., 3", "[1, 2], :, 3"),
        ("[1, 2], [3], ..., 3", "[1, 2], [3], 3"),
    ],
)
def test_what_fits(text, fits):
    assert selection.write(fitted(selection.parse(text), SHAPE)) == fits


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1, 2, 3, 4", "expected at most 3 of the axes of (4, 5, 6), found 4"),
        ("4", "axis 0 has positions 0 to 3, found 4"),
        (":, [0, -6]", "axis 1 has positions 0 to 4, found -6"),
        ("..., ::-1", "axis 2: the step of a slice must be at least 1, found -1"),
        ("[1], [2]", "beside axes left out, of 3, only one list can be taken, found 2; lists for all axes are points"),
        ("[1], [2], :", "beside slices, only one list can be taken, found 2; lists for all axes are points"),
        ("[1, 2], [1, 2, 3], 0", "lists alone are points, and of equal lengths; found 2, 3"),
    ],
)
def test_what_does_not(text, said):
    with pytest.raises(UsageError) as caught:
        fitted(selection.parse(text), SHAPE)
    assert str(caught.value) == f"selection [{selection.write(selection.parse(text))}]: {said}"


def test_arrays_of_nothing():
    with pytest.raises(UsageError, match="axis 0 is empty, found 0"):
        fitted((0,), (0,))
    with pytest.raises(UsageError, match=r"expected at most 0 of the axes of \(\), found 1"):
        fitted((0,), ())
    assert fitted((), ()) == ()


NUMBERS = st.none() | st.integers(-7, 7)
SLICES = st.builds(slice, NUMBERS, NUMBERS, st.none() | st.sampled_from([-1, 1, 2]))
PARTS = st.integers(-7, 7) | SLICES | st.lists(st.integers(-7, 7), min_size=1, max_size=3)


@given(st.lists(PARTS, max_size=4), st.none() | st.integers(0, 4))
def test_zarr_takes_what_fits_and_nothing_else(parts, dots):
    """Apart from ``...`` beside a list, which is written out."""
    array = zarr.create_array({}, shape=SHAPE, chunks=(2, 2, 3), dtype="i8")
    array[...] = VALUES
    key = tuple(parts if dots is None else [*parts[:dots], Ellipsis, *parts[dots:]])
    try:
        fits = fitted(key, SHAPE)
    except UsageError:
        with pytest.raises((IndexError, ValueError)):
            array[key]
    else:
        with cyzarr.enabled():
            assert cyzarr.explain(array, fits).wanted.nbytes == np.asarray(array[fits]).nbytes
