"""A grid of chunks, drawn with signs: which of them are touched."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

ALL, SOME, NONE = "#", "+", "."
MOST_ROWS = 24
MOST_PANELS, PANEL_ROWS, PANEL_COLUMNS = 16, 10, 24


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
        Lines of at most `width` columns, and one that says what they mean. The last axis runs to the right, the one
        before it down, and of three the first is a panel each, where anything is touched. Of grids of more axes those
        of a single chunk are left out. Empty for other ranks, and grids of no chunks.
    """
    touched = list(touched)
    if len(grid) > 2:
        kept = [axis for axis, extent in enumerate(grid) if extent != 1]
        grid, touched = tuple(grid[axis] for axis in kept), [tuple(at[axis] for axis in kept) for at in touched]
    if not 1 <= len(grid) <= 3 or 0 in grid:
        return []
    columns = max(width - 2, 1)
    if len(grid) < 3:
        block = _blocks(grid, (MOST_ROWS, columns)[-len(grid) :])
        signs = _signs(grid, touched, block)
        return [*("  " + "".join(row) for row in np.atleast_2d(signs)), f"  {_legend(block)}"]
    block = _blocks(grid, (MOST_PANELS, PANEL_ROWS, min(columns, PANEL_COLUMNS)))
    signs = _signs(grid, touched, block)
    shown = [at for at, panel in enumerate(signs) if np.any(panel != NONE)] or [0]
    left_out = len(signs) - len(shown)
    return [*_panels(signs, shown, block[0], columns), f"  {_legend(block, left_out)}"]


def _blocks(grid: tuple[int, ...], room: tuple[int, ...]) -> tuple[int, ...]:
    """How many chunks along each axis a sign stands for."""
    return tuple(-(-extent // most) for extent, most in zip(grid, room, strict=True))


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


def _panels(signs: np.ndarray, shown: list[int], step: int, width: int) -> list[str]:
    """Some panels, side by side as far as there is room, each below its first position on the first axis."""
    columns = max(signs.shape[2], 4)
    across = max((width + 2) // (columns + 2), 1)
    lines: list[str] = []
    for start in range(0, len(shown), across):
        some = shown[start : start + across]
        lines += [""] * bool(lines)
        lines.append("  " + "  ".join(str(at * step).ljust(columns) for at in some).rstrip())
        rows = (["".join(signs[at, row]).ljust(columns) for at in some] for row in range(signs.shape[1]))
        lines += [f"  {'  '.join(row)}".rstrip() for row in rows]
    return lines


def _legend(block: tuple[int, ...], left_out: int = 0) -> str:
    """What the signs mean."""
    if math.prod(block) == 1:
        said = f"{ALL} touched, {NONE} not"
    else:
        said = f"{ALL} all, {SOME} some, {NONE} none of {' x '.join(map(str, block))} chunks touched"
    if len(block) == 3:
        said += "; panels along the first axis"
    return f"{said}, {left_out} untouched left out" if left_out else said
