"""The changelog: fragments of docs/changes, by what they are about, put into the page that says `{changes}`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What the number before a fragment's name stands for.
SUBJECTS = {
    "2": "Reading",
    "3": "Metadata",
    "4": "Any array, any store",
    "5": "Speed",
    "6": "Lazy views",
    "7": "Kernels, commands, documents",
    "8": "Trust",
}


def fragments(folder: Path) -> dict[str, list[str]]:
    """Subject -> its fragments' texts, in the order of the subjects, then of the files' names."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.md")):
        if path.name != "README.md":
            found.setdefault(SUBJECTS[path.name.split(".")[0]], []).append(path.read_text().strip())
    return found


class Changes(SphinxDirective):
    """A list for each subject."""

    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Parse the fragments as the text of the page."""
        lines: list[str] = []
        for subject, texts in fragments(Path(self.env.srcdir) / "changes").items():
            lines += [f"**{subject}**", ""]
            # Fragments lie a folder below the page.
            lines += ["- " + text.replace("\n", "\n  ").replace("](../", "](") for text in texts] + [""]
        holder = nodes.container()
        self.state.nested_parse(StringList("\n".join(lines).split("\n"), "changes"), 0, holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("changes", Changes)
    return {"parallel_read_safe": True}
