"""What a view shows of itself, without reading anything."""

from __future__ import annotations

import html as markup
import math
from typing import TYPE_CHECKING, Any

from cyzarr.lazy import grid, parts

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
    told = [one for _, one in facts(view)]
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
    cells = view._grid
    if cells is None:
        return [*told, ("size", f"{nbytes_text(view.nbytes)}")]
    count = parts.count_cells(view.transform, cells)
    total = math.prod(axis.count for axis in cells)
    told.append(("chunks", f"{count} of {total} chunks"))
    fetched = touched_items(view.transform, cells) * view.dtype.itemsize
    return [*told, ("fetch", f"reads up to {nbytes_text(fetched)} of chunks for {nbytes_text(view.nbytes)}")]


def touched_items(transform: IndexTransform, cells: Grid) -> int:
    """How many items the touched cells hold, each counted once."""
    if 0 in transform.domain.shape:
        return 0
    items = 1
    for group in parts.groups_of(transform):
        held = 0
        for cut in parts.cuts_of(transform, group, cells):
            bounds = [cells[output].bounds(cell) for output, cell in zip(group.outputs, cut.cells, strict=True)]
            held += math.prod(hi - lo for lo, hi in bounds)
        items *= held
    return items


def nbytes_text(nbytes: float) -> str:
    """A number of bytes in the largest unit that leaves at least 1."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if nbytes < 1000 or unit == "TB":
            break
        nbytes /= 1000
    return f"{nbytes:.0f} {unit}" if unit == "B" else f"{nbytes:.3g} {unit}"


def html(view: LazyArray) -> str:
    """The same as a table, beside the grid of the source's last two axes with the view's cells marked."""
    rows = "".join(f"<tr><th>{name}</th><td>{markup.escape(told)}</td></tr>" for name, told in facts(view))
    table = f"<b>LazyArray</b><table>{rows}</table>"
    return f'<table class="cyzarr-view"><tr><td>{table}</td><td>{_picture(view)}</td></tr></table>'


def _picture(view: LazyArray) -> str:
    cells = grid.whole(view.base_shape) if view._grid is None else view._grid
    if not cells or 0 in view.base_shape:
        return ""
    columns = cells[-1]
    rows = cells[-2] if len(cells) > 1 else grid.GridAxis(1, 1)
    marked = _marked(view.transform, cells)
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
    last = len(cells) - 1
    found: set[tuple[int, int]] = {(0, 0)}
    for group in parts.groups_of(transform):
        if not {last, last - 1} & set(group.outputs):
            continue
        here = set()
        for cut in parts.cuts_of(transform, group, cells):
            at: Any = dict(zip(group.outputs, cut.cells, strict=True))
            here.add(tuple(at.get(axis, 0) // _per_bin(cells[axis]) if axis >= 0 else 0 for axis in (last - 1, last)))
        # Each group tells of one of the two axes, or of both; of the other it tells 0.
        found = {(row + down, column + right) for row, column in found for down, right in here}
    return found
