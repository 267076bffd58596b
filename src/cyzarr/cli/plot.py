"""The times of reads, drawn. matplotlib (extra `plot`) is imported only here, when a plot is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from cyzarr.cli.ending import UsageError
from cyzarr.cli.measure import Row

KINDS = (".png", ".svg")
# Told apart without colours, too.
COLOURS = {
    "zarr": "#8a8f98",
    "fused": "#c2a45f",
    "cyzarr": "#1f6f8b",
    "zarrs": "#b0563f",
    "zarrista": "#6d5a9c",
    "tensorstore": "#4f7f4f",
}
MARKS = "oDs^vP"


def drawer(path: str) -> Callable[[list[Row], list[str], str], None]:
    """What draws rows, by engines' names and under a title, into a file.

    Raises
    ------
    UsageError
        It can't be: another kind of file, no such folder, or no matplotlib.
    """
    to = Path(path)
    if to.suffix.lower() not in KINDS:
        raise UsageError(f"a plot is a .png or .svg file, found {path}")
    if not to.parent.is_dir():
        raise UsageError(f"no such folder for the plot: {to.parent}")
    if find_spec("matplotlib") is None:
        raise UsageError("--plot needs matplotlib: pip install 'cyzarr[plot]'")
    return lambda rows, names, title: draw(to, rows, names, title)


def draw(to: Path, rows: list[Row], names: list[str], title: str) -> None:
    """A line for each read, a mark on it for each engine, over a logarithmic axis."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    figure = Figure(figsize=(8, 1.8 + 0.4 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    for at, row in enumerate(rows):
        taken = [seconds * 1e3 for seconds in row.seconds.values()]
        axes.hlines(at, min(taken), max(taken), color="#d0d3d8", linewidth=2, zorder=1)
    for name, mark in zip(names, itertools.cycle(MARKS), strict=False):
        places = [at for at, row in enumerate(rows) if name in row.seconds]
        taken = [rows[at].seconds[name] * 1e3 for at in places]
        axes.scatter(taken, places, s=60, marker=mark, label=name, color=COLOURS.get(name), zorder=2)
    axes.set_yticks(range(len(rows)), [row.read.label for row in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", color="#eceef1")
    axes.set_axisbelow(True)
    axes.set_xlabel("milliseconds, least of the rounds (logarithmic; farther left is faster)")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.suptitle(title, fontsize="medium")
    figure.legend(loc="outside lower center", ncols=len(names), frameon=False)
    figure.savefig(to, dpi=150)
