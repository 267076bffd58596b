"""A grid of chunks, drawn with signs: which of them are touched."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

ALL, SOME, NONE = "#", "+", "."
MOST_ROWS, MOST_LINES = 24, 40


def draw(grid: tuple[int, ...], touched: Iterable[tuple[int, ...]], width: int = 80) -> list[str]:
    """Draw a grid of one to three axes.

    Parameters
    ----------
    grid : tuple of int
        How many chunks there are along each axis.
    touched : iterable of tuple of int
        Their positions.
    width : int
        Columns; longer axes are sampled, a sign then stands for several chunks.

    Returns
    -------
    list of str
        Lines of at most `width` columns, the last of which says what they mean. The last axis runs to the right, the
        one before it down, and of three the first is a panel each. Empty for other ranks, and grids of no chunks.
    """
    if not 1 <= len(grid) <= 3 or 0 in grid:
        return []
    room = [max(width - 2, 1), MOST_ROWS, MOST_LINES][: len(grid)]
    if len(grid) == 3:
        room[0], room[1] = min(room[0], 24), 10
        panels = max((width - 2) // (min(room[0], grid[2]) + 2), 1)
        room[2] = panels * max(MOST_LINES // (min(room[1], grid[1]) + 2), 1)
    block = tuple(-(-extent // most) for extent, most in zip(grid, reversed(room), strict=True))
    signs = _signs(grid, touched, block)
    if len(grid) < 3:
        lines = ["  " + "".join(row) for row in np.atleast_2d(signs)]
    else:
        lines = _panels(signs, block[0], width)
    return [*lines, f"  {_legend(block)}"]


def _signs(grid: tuple[int, ...], touched: Iterable[tuple[int, ...]], block: tuple[int, ...]) -> np.ndarray:
    """One sign for each block of chunks."""
    shape = tuple(-(-extent // step) for extent, step in zip(grid, block, strict=True))
    counts = np.zeros(shape, np.int64)
    at = np.array(sorted(set(touched)), np.int64).reshape(-1, len(grid))
    np.add.at(counts, tuple((at // np.array(block)).T), 1)
    sizes = np.ones(shape, np.int64)
    for axis, (extent, step) in enumerate(zip(grid, block, strict=True)):
        along = np.minimum(step, extent - step * np.arange(shape[axis]))
        sizes *= along.reshape([-1 if one == axis else 1 for one in range(len(grid))])
    return np.where(counts == 0, NONE, np.where(counts >= sizes, ALL, SOME))


def _panels(signs: np.ndarray, step: int, width: int) -> list[str]:
    """A panel for each position on the first axis, side by side as far as there is room."""
    columns = max(signs.shape[2], 4)
    across = max((width - 2 + 2) // (columns + 2), 1)
    lines = []
    for start in range(0, len(signs), across):
        some = signs[start : start + across]
        numbers = [str((start + at) * step).ljust(columns) for at in range(len(some))]
        lines.append("  " + "  ".join(numbers).rstrip())
        rows = (["".join(panel[row]).ljust(columns) for panel in some] for row in range(signs.shape[1]))
        lines += [f"  {'  '.join(row)}".rstrip() for row in rows]
        lines.append("")
    return lines[:-1]


def _legend(block: tuple[int, ...]) -> str:
    if math.prod(block) == 1:
        return f"{ALL} touched, {NONE} not" + (", a panel for each position on axis 0" if len(block) == 3 else "")
    each = " x ".join(map(str, block))
    first = "; the panels' first positions on axis 0 stand above them" if len(block) == 3 else ""
    return f"{ALL} all touched, {SOME} some, {NONE} none; a sign is {each} chunks{first}"
