"""The stored results of the race, as a table, where a page says `{race}`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def table(stored: dict) -> list[str]:
    """Milliseconds, and how many times as long as cyzarr the fastest other took."""
    rows = stored["rows"]
    engines = [name for name in next(iter(rows.values())) if name != "cyzarr-cold"]
    lines = [f"Milliseconds; {stored['where']}.", "", f"| read | {' | '.join(engines)} | best other / cyzarr |"]
    lines.append("|---" * (len(engines) + 2) + "|")
    for read, times in rows.items():
        best = min(ms for engine, ms in times.items() if not engine.startswith("cyzarr"))
        cells = [f"{times[engine]:.3g}" if engine in times else "-" for engine in engines]
        lines.append(f"| {read} | {' | '.join(cells)} | {best / times['cyzarr']:.2f} |")
    return lines


class Race(SphinxDirective):
    """The table."""

    def run(self) -> list[nodes.Node]:
        """Parse it as the text of the page."""
        path = Path(self.env.srcdir) / "results" / "race.json"
        self.env.note_dependency(str(path))
        holder = nodes.container()
        self.state.nested_parse(StringList(table(json.loads(path.read_text())), "race"), 0, holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("race", Race)
    return {"parallel_read_safe": True}
