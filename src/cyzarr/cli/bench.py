"""``cyzarr bench``: does cyzarr help with this array? See the command's own --help."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import zarr
from zarr.storage import LocalStore, StorePath

from cyzarr.cli import engines, report
from cyzarr.cli.demo import described, heading, must_work
from cyzarr.cli.ending import BAD, FINE, print_json
from cyzarr.cli.measure import Arrays, Row, Timing, compare
from cyzarr.cli.peers import available as peers
from cyzarr.cli.peers import why_not
from cyzarr.cli.plot import drawer
from cyzarr.cli.progress import progress
from cyzarr.cli.reads import Limits, choose, with_points
from cyzarr.cli.source import find


def run(
    path: str,
    name: str | None,
    options: Sequence[str],
    *,
    with_peers: bool,
    rounds: int,
    max_nbytes: int,
    plot: str | None,
    as_json: bool,
) -> int:
    """Time reads of the array at ``path``; the exit status."""
    drawing = None if plot is None else drawer(plot)  # refused now, rather than after minutes
    source, array = find(path, name, options)
    must_work()
    limits = Limits(nbytes=max_nbytes)
    if not as_json:
        warm = "warm page cache" if type(source.store) is LocalStore else type(source.store).__name__
        print(heading(array, warm), flush=True)
    arrays, unable = opened(source, with_peers)
    rows = measured(source, array, arrays, limits, Timing(rounds=rounds))
    names = [engine.name for engine in arrays]
    if as_json:
        document = described(array) | {"path": path, "array": source.path, "rounds": rounds, "unable": unable}
        print_json(document | {"reads": [report.as_json(row) for row in rows]})
    else:
        print_tables(rows, names, limits, unable)
    if drawing is not None and plot is not None:
        drawing(rows, names, f"{array.dtype} {array.shape}, {source.path or path}")
        if not as_json:
            print(f"The plot is in {plot}.")
    return BAD if any(row.differs for row in rows) else FINE


def opened(source: StorePath, with_peers: bool) -> tuple[Arrays, dict[str, str]]:
    """The array, by each engine; and which peers can't open it, and why."""
    arrays: Arrays = {engine: engine.open(source) for engine in engines.available()}
    unable = {}
    for peer in peers() if with_peers else ():
        try:
            arrays[peer] = peer.open(source)
        except Exception as error:
            unable[peer.name] = why_not(error)
    return arrays, unable


def measured(source: StorePath, array: zarr.Array[Any], arrays: Arrays, limits: Limits, timing: Timing) -> list[Row]:
    """One row for each read."""
    reads = with_points(array, choose(array, limits))
    with progress(len(reads) * (len(arrays) + 1), "reading") as step:
        return [compare(source, arrays, read, timing, step) for read in reads]


def print_tables(rows: list[Row], names: list[str], limits: Limits, unable: dict[str, str]) -> None:
    """Times, requests and bytes, and what must be known besides."""
    print(report.times(rows, names), "", report.traffic(rows, names), "", sep="\n")
    print(*(f"{name} can't read this array: {why}" for name, why in unable.items()), sep="\n", end="\n" * bool(unable))
    print(*report.notes(rows, limits), report.verdict(rows, names), sep="\n")
