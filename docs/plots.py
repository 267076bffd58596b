"""Draw the plots of the pages from stored results: `python docs/plots.py`.

    python docs/plots.py --race TABLE "where it was measured"    first store the table that the race printed

Needs matplotlib (the extra `plot`).
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
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


def draw_race() -> None:
    """A bar for each read."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "cyzarr"
    import matplotlib.pyplot as plt

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
    figure.savefig(RESULTS / "race.svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--race", nargs=2, metavar=("TABLE", "WHERE"), help="store a race's table, and where it ran")
    options = parser.parse_args()
    if options.race:
        table, where = options.race
        stored = {"where": where, "rows": parse(Path(table).read_text())}
        (RESULTS / "race.json").write_text(json.dumps(stored, indent=1) + "\n")
    draw_race()


if __name__ == "__main__":
    main()
