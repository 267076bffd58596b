"""The times of reads as bars. matplotlib (extra `plot`) is imported only here, when a plot is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from cyzarr.cli.ending import UsageError
from cyzarr.cli.measure import Row

KINDS = (".png", ".svg")
# Told apart without colours, too: by order.
COLOURS = {"zarr": "#8a8f98", "fused": "#c2a45f", "cyzarr": "#1f6f8b"}


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
    """A group of bars for each read, a bar for each engine, on a logarithmic axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.2 + 0.22 * len(rows) * (len(names) + 1)), layout="constrained")
    axes = figure.add_subplot()
    height = 0.8 / len(names)
    for number, name in enumerate(names):
        known = [(at, row.seconds[name] * 1e3) for at, row in enumerate(rows) if name in row.seconds]
        places = [at + (number - (len(names) - 1) / 2) * height for at, _ in known]
        axes.barh(places, [taken for _, taken in known], height, label=name, color=COLOURS.get(name))
    axes.set_yticks(range(len(rows)), [row.read.label for row in rows])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("milliseconds, least of the rounds (logarithmic; shorter is faster)")
    axes.set_title(title, fontsize="medium")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(to, dpi=150)
