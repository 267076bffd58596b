"""Draw the plots of the pages from stored results: `python docs/plots.py`.

    python docs/plots.py --race TABLE "where it was measured"   first store the table that the race printed
    python docs/plots.py --limit "where it is measured"         first measure full reads beside a bare loop

Needs matplotlib (the extra `plot`); to measure, cyzarr and a C compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from matplotlib.figure import Figure

RESULTS = Path(__file__).resolve().parent / "results"
COLOURS = {"ahead": "#2a7f9e", "behind": "#c0504d"}


def parse(text: str) -> dict[str, dict[str, float]]:
    """Read -> engine -> milliseconds, from the table that the race prints."""
    lines = [line for line in text.splitlines() if line.strip()]
    head = next(i for i, line in enumerate(lines) if line.startswith("read "))
    engines = lines[head].removesuffix("(ms)").split()[1:-1]
    rows = {}
    for line in lines[head + 1 :]:
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) != len(engines) + 2:
            break
        times = zip(engines, cells[1:-1], strict=True)
        rows[cells[0]] = {engine: float(cell) for engine, cell in times if cell != "-"}
    return rows


def ratio(times: dict[str, float]) -> float:
    """The best peer's time over cyzarr's."""
    return min(ms for engine, ms in times.items() if not engine.startswith("cyzarr")) / times["cyzarr"]


def measure_limit() -> dict[str, dict[str, float]]:
    """Layout -> figure, of the benchmarks of full reads beside the bare loop."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "asv_bench"))
    from benchmarks import limit

    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        root = limit.OverTheLimit().setup_cache()
        for layout in limit.DECODERS:
            over, gain = limit.OverTheLimit(), limit.GainOfTwoThreads()
            over.setup(root, layout, 2)
            gain.setup(root, layout)
            rows[layout] = {
                "one thread": over.track_ratio(root, layout, 1),
                "two threads": over.track_ratio(root, layout, 2),
                "gain of two threads": gain.track_gain(root, layout),
                "the bare loop's": gain.track_gain_of_the_bare_loop(root, layout),
            }
            print(layout, rows[layout], flush=True)
        os.chdir(RESULTS)
    return rows


def plotting() -> ModuleType:
    """matplotlib.pyplot, whose files are the same each time."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "cyzarr"
    import matplotlib.pyplot as plt

    return plt


def draw_limit() -> None:
    """Two bars for each layout."""
    plt = plotting()
    rows = json.loads((RESULTS / "limit.json").read_text())["rows"]
    names = list(rows)[::-1]
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for offset, which in ((0.2, "one thread"), (-0.2, "two threads")):
        ratios = [rows[name][which] for name in names]
        bars = axes.barh([i + offset for i in range(len(names))], ratios, height=0.38, label=which)
        axes.bar_label(bars, [f"{one:.2f}" for one in ratios], padding=3, fontsize=8)
    axes.set_yticks(range(len(names)), [name.replace("_", " ") for name in names])
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("cyzarr's time / the bare loop's")
    axes.set_xlim(0, max(max(row["one thread"], row["two threads"]) for row in rows.values()) * 1.15)
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, "limit.svg")


def draw_race() -> None:
    """A bar for each read."""
    plt = plotting()
    rows = json.loads((RESULTS / "race.json").read_text())["rows"]
    names = list(rows)[::-1]
    ratios = [ratio(rows[name]) for name in names]
    figure, axes = plt.subplots(figsize=(7, 6.5), layout="constrained")
    colours = [COLOURS["ahead" if one >= 1 else "behind"] for one in ratios]
    bars = axes.barh(names, ratios, color=colours)
    axes.bar_label(bars, [f"{one:.2f}" for one in ratios], padding=3, fontsize=8)
    axes.set_xscale("log")
    axes.set_xticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    axes.set_xticks([], minor=True)
    axes.set_xlim(0.7, max(ratios) * 1.4)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("fastest other's time / cyzarr's time")
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, "race.svg")


def save(figure: Figure, name: str) -> None:
    """Without the date: the same plot is the same file."""
    figure.savefig(RESULTS / name, metadata={"Date": None})


def store(name: str, where: str, rows: dict[str, dict[str, float]]) -> None:
    """Keep results beside where they were measured."""
    rounded = {row: {key: float(f"{value:.4g}") for key, value in figures.items()} for row, figures in rows.items()}
    (RESULTS / name).write_text(json.dumps({"where": where, "rows": rounded}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--race", nargs=2, metavar=("TABLE", "WHERE"), help="store a race's table, and where it ran")
    parser.add_argument("--limit", metavar="WHERE", help="measure full reads beside a bare loop here, and store it")
    options = parser.parse_args()
    if options.race:
        table, where = options.race
        store("race.json", where, parse(Path(table).read_text()))
    if options.limit:
        store("limit.json", options.limit, measure_limit())
    draw_race()
    draw_limit()


if __name__ == "__main__":
    main()
