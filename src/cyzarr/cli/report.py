"""The tables of demo and bench, and the lines below them."""

from __future__ import annotations

from typing import Any

from cyzarr.cli.engines import CYZARR
from cyzarr.cli.measure import Row
from cyzarr.cli.reads import DEMO, Limits
from cyzarr.cli.selection import write
from cyzarr.words import short_nbytes

# In the place of what isn't known.
UNKNOWN = "-"


def short_number(number: float) -> str:
    """Three digits that count: ``0.00481``, ``12.3``, ``1690``."""
    return f"{number:.0f}" if number >= 100 else f"{number:#.3g}".rstrip(".")


def table(rows: list[Row], names: list[str]) -> str:
    """All rows, one line each, under two lines of headings; at most 80 columns wide."""
    peers = [name for name in names if name != CYZARR.name]
    heads = [("", "read")]
    heads += [(name, "ms") for name in names]
    heads += [(f"{name}/", CYZARR.name) for name in peers]
    heads += [("result", "bytes")] + [(name, "read") for name in names]
    return laid_out(heads, [line(row, names, peers) for row in rows])


def laid_out(heads: list[tuple[str, str]], body: list[list[str]]) -> str:
    """A table: two lines of headings, a rule, and the body."""
    cells = [*map(list, zip(*heads, strict=True)), *body]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [_joined(row, widths) for row in cells]
    return "\n".join([*lines[:2], "-" * len(lines[0]), *lines[2:]])


def line(row: Row, names: list[str], peers: list[str]) -> list[str]:
    """The cells of one read."""
    ours = row.seconds[CYZARR.name]
    return [
        row.read.label,
        *(short_number(row.seconds[name] * 1e3) for name in names),
        *(short_number(row.seconds[name] / ours) for name in peers),
        short_nbytes(row.nbytes),
        *(short_nbytes(row.traffic[name].nbytes) for name in names),
    ]


def times(rows: list[Row], names: list[str]) -> str:
    """Milliseconds of each engine, and how they stand to cyzarr's."""
    others = [name for name in names if name != CYZARR.name]
    heads = [("", "read"), *((name, "ms") for name in names), *((f"{name}/", CYZARR.name) for name in others)]
    body = []
    for row in rows:
        ours = row.seconds[CYZARR.name]
        taken = [row.seconds.get(name) for name in names]
        ratios = [row.seconds.get(name) for name in others]
        body.append(
            [
                row.read.label,
                *(UNKNOWN if one is None else short_number(one * 1e3) for one in taken),
                *(UNKNOWN if one is None else short_number(one / ours) for one in ratios),
            ]
        )
    return laid_out(heads, body)


def traffic(rows: list[Row], names: list[str]) -> str:
    """What each engine asked for and got, where that is known."""
    names = [name for name in names if any(name in row.traffic for row in rows)]
    heads = [("", "read"), ("result", "bytes")]
    for name in names:
        heads += [(name, "requests"), ("", "bytes")]
    body = []
    for row in rows:
        cells = [row.read.label, short_nbytes(row.nbytes)]
        for name in names:
            cells += [f"{row.traffic[name].requests:,}", short_nbytes(row.traffic[name].nbytes)]
        body.append(cells)
    return laid_out(heads, body)


def as_json(row: Row) -> dict[str, Any]:
    """One read in plain types."""
    return {
        "read": row.read.label,
        "selection": write(row.read.key) if row.read.is_basic else None,
        "cut": row.read.cut,
        "nbytes": row.nbytes,
        "seconds": row.seconds,
        "requests": {name: one.requests for name, one in row.traffic.items()},
        "bytes_read": {name: one.nbytes for name, one in row.traffic.items()},
        "fallbacks": dict(row.traffic[CYZARR.name].fallbacks),
        "differs": row.differs,
        "unable": row.unable,
    }


def _joined(cells: list[str], widths: list[int]) -> str:
    first, *rest = (
        cell.ljust(width) if i == 0 else cell.rjust(width)
        for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return " ".join([first, *rest])


def notes(rows: list[Row], limits: Limits = DEMO) -> list[str]:
    """What a reader of the table must know: cut reads, fallbacks, what peers can't, differences."""
    lines = [f"{row.read.label}: only {row.read}, to keep to {limits}" for row in rows if row.read.cut]
    left: dict[str, list[str]] = {}
    for row in rows:
        for reason in row.traffic[CYZARR.name].fallbacks:
            left.setdefault(reason, []).append(row.read.label)
    for reason, labels in left.items():
        which = "every read" if len(labels) == len(rows) else "; ".join(labels)
        lines.append(f"left to zarr's own code ({reason}): {which}")
    unable: dict[str, list[str]] = {}
    for row in rows:
        for name, why in row.unable.items():
            unable.setdefault(f"{name}: {why}", []).append(row.read.label)
    lines += [f"{why}: {'; '.join(labels)}" for why, labels in unable.items()]
    for row in rows:
        for name, what in row.differs.items():
            lines.append(f"DIFFERS: {row.read.label} {row.read} through {name}: {what}")
    return lines


def verdict(rows: list[Row], names: list[str]) -> str:
    """The last line."""
    same = sum(not row.differs for row in rows)
    through = ", ".join(name for name in names if any(name in row.seconds for row in rows))
    return f"{same} of {len(rows)} reads gave the same result, bit for bit, through {through}."
