"""What a view shows of itself, without reading anything."""

from __future__ import annotations

import html as markup
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from cyzarr.errors import BoundsCheckError
from cyzarr.lazy import grid, parts, sources
from cyzarr.words import nbytes_text

if TYPE_CHECKING:
    from cyzarr.lazy.grid import Grid, GridAxis
    from cyzarr.lazy.transform import IndexTransform
    from cyzarr.lazy.view import LazyArray

# Cells drawn along an axis; of more, several are drawn as one.
MOST_CELLS = 40
# Of the longer side, pixels.
SIDE = 240


def text(view: LazyArray) -> str:
    """One line: source, domain, shape, data type, chunks, bytes."""
    try:
        told = [one for _, one in facts(view)]
    except Exception as error:
        # A closed file's, say. What is shown of it must not raise.
        return f"<LazyArray of {type(view.array).__name__}, {view.transform.domain!r}, not available: {error}>"
    return f"<LazyArray of {', '.join(told)}>"


def facts(view: LazyArray) -> list[tuple[str, str]]:
    """What is told of a view, each with its name."""
    kind = type(view.array)
    source = f"{kind.__module__.partition('.')[0]}.{kind.__name__} {view.base_shape}"
    domain = view.transform.domain
    axes = [f"[{lo}, {hi})" for lo, hi in zip(domain.inclusive_min, domain.exclusive_max, strict=True)]
    told = [
        ("source", source),
        ("domain", "domain " + (" x ".join(axes) or "()")),
        ("shape", f"shape {view.shape}"),
        ("dtype", str(view.dtype)),
    ]
    cells = sources.grid_now(view.array, view._grid)
    try:
        count, items = parts.touched(view.transform, cells)
    except BoundsCheckError as error:
        return [*told, ("reach", f"beyond the source: {error}")]
    if view._grid is None:
        return [*told, ("size", nbytes_text(view.nbytes))]
    total = math.prod(axis.count for axis in cells)
    told.append(("chunks", f"{count} of {total} chunk{'s' if total != 1 else ''}"))
    fetched = items * view.dtype.itemsize
    return [*told, ("fetch", f"reads up to {nbytes_text(fetched)} of chunks for {nbytes_text(view.nbytes)}")]


def html(view: LazyArray) -> str:
    """The same as a table, beside the grid of the source's last two axes with the view's cells marked."""
    try:
        told_of = facts(view)
    except Exception:
        return f"<code>{markup.escape(text(view))}</code>"
    rows = "".join(f"<tr><th>{name}</th><td>{markup.escape(told)}</td></tr>" for name, told in told_of)
    table = f"<b>LazyArray</b><table>{rows}</table>"
    return f'<table class="cyzarr-view"><tr><td>{table}</td><td>{_picture(view)}</td></tr></table>'


def _picture(view: LazyArray) -> str:
    cells = sources.grid_now(view.array, view._grid)
    if not cells or 0 in view.base_shape:
        return ""
    columns = cells[-1]
    rows = cells[-2] if len(cells) > 1 else grid.GridAxis(1, 1)
    try:
        marked = _marked(view.transform, cells)
    except BoundsCheckError:
        return ""
    longest = max(rows.extent, columns.extent)
    # A side is drawn no thinner than a twelfth of the other.
    scale = [max(axis.extent / longest, 1 / 12) * SIDE / axis.extent for axis in (rows, columns)]
    drawn = []
    for row, (top, bottom) in enumerate(_bins(rows)):
        for column, (left, right) in enumerate(_bins(columns)):
            fill = "#f0883e" if (row, column) in marked else "none"
            x, y, width, height = left * scale[1], top * scale[0], (right - left) * scale[1], (bottom - top) * scale[0]
            drawn.append(
                f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" stroke="#888"/>'
            )
    width, height = columns.extent * scale[1] + 2, rows.extent * scale[0] + 2
    box = f'width="{width:.0f}" height="{height:.0f}" viewBox="-1 -1 {width:.0f} {height:.0f}"'
    return f"<svg {box}>{''.join(drawn)}</svg>"


def _per_bin(axis: GridAxis) -> int:
    return -(-axis.count // MOST_CELLS)


def _bins(axis: GridAxis) -> list[tuple[int, int]]:
    """Where the drawn cells begin and end."""
    by = _per_bin(axis)
    return [(axis.bounds(cell)[0], axis.bounds(min(cell + by, axis.count) - 1)[1]) for cell in range(0, axis.count, by)]


def _marked(transform: IndexTransform, cells: Grid) -> set[tuple[int, int]]:
    """(row, column) of the drawn cells that a view touches."""
    if 0 in transform.domain.shape:
        return set()
    parts.check_reach(transform, cells)
    shown = (len(cells) - 2, len(cells) - 1)
    found: set[tuple[int, int]] = {(0, 0)}
    for group in parts.groups_of(transform):
        if set(shown) & set(group.outputs):
            # Each group tells of one of the two axes, or of both; of the other it tells 0.
            here = _marked_by(transform, group, cells, shown)
            found = {(row + down, column + right) for row, column in found for down, right in here}
    return found


def _marked_by(transform: IndexTransform, group: parts.Group, cells: Grid, shown: tuple[int, int]) -> set[Any]:
    one = parts.affine_of(transform, group)
    if one is not None:
        (output,) = group.outputs
        edges = np.array([0, *(stop for _, stop in _bins(cells[output]))])
        drawn = np.flatnonzero(parts.held(transform, one, edges)).tolist()
        return {(at, 0) if output == shown[0] else (0, at) for at in drawn}
    bins = {
        output: along // _per_bin(cells[output])
        for output, along in zip(group.outputs, parts.cells_of(transform, group, cells), strict=True)
    }
    none = np.zeros_like(bins[group.outputs[0]])
    return set(zip(*(bins.get(axis, none).tolist() for axis in shown), strict=True))
