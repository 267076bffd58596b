"""Grids drawn in a terminal."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cyzarr.cli.drawing import draw


def test_one_axis():
    assert draw((5,), [(1,), (3,)]) == ["  .#.#.", "  # touched, . not"]


def test_two_axes():
    assert draw((2, 3), [(0, 1), (1, 1), (1, 2)])[:2] == ["  .#.", "  .##"]


def test_three_axes_are_panels():
    assert draw((2, 2, 2), [(0, 0, 0), (1, 1, 1)])[:3] == ["  0     1", "  #.    ..", "  ..    .#"]
    last = "  # touched, . not; panels along the first axis, 1 untouched left out"
    assert draw((2, 2, 2), [(1, 0, 1)]) == ["  1", "  .#", "  ..", last]


def test_axes_of_one_chunk_are_left_out():
    assert draw((1, 5, 1, 1), [(0, 1, 0, 0)]) == draw((5,), [(1,)])
    assert draw((2, 1, 3), [(1, 0, 2)]) == draw((2, 3), [(1, 2)])


def test_longer_axes_are_sampled():
    lines = draw((100,), [(one,) for one in range(4)], width=27)
    assert lines == ["  #........................", "  # all, + some, . none of 4 chunks touched"]
    assert draw((100,), [(0,)], width=27)[0].startswith("  +.")


@pytest.mark.parametrize("grid", [(), (2, 2, 2, 2), (0,), (3, 0)])
def test_others_are_not_drawn(grid):
    assert draw(grid, []) == []


GRIDS = st.lists(st.integers(1, 400), min_size=1, max_size=3).map(tuple)


@given(GRIDS, st.data(), st.integers(20, 120))
def test_it_fits_and_shows_all_that_is_touched(grid, data, width):
    some = st.tuples(*(st.integers(0, extent - 1) for extent in grid))
    touched = data.draw(st.sets(some, max_size=20))
    *lines, legend = draw(grid, touched, width) or [""]
    if len(grid) == 3 and math.prod(grid) == 1:
        return  # nothing is left of it to draw
    assert all(len(line) <= width for line in lines)
    # As many panels as there may be, one below the other.
    assert len(lines) <= 16 * 12
    signs = "".join(lines)
    marked = signs.count("#") + signs.count("+")
    assert (marked > 0) == bool(touched)
    assert marked <= len(touched)
    if "some" not in legend:
        assert marked == len(touched)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=3).map(tuple))
def test_all_touched_is_full(grid):
    if 1 < math.prod(grid) <= 5000:
        *lines, _ = draw(grid, itertools.product(*map(range, grid)))
        assert not set("".join(lines)) & set("+.")
