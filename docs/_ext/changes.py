"""The changelog: fragments of docs/changes, by what they are about, put into the page that says `{changes}`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from fragments import as_markdown
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class Changes(SphinxDirective):
    """A list for each subject."""

    option_spec: ClassVar = {}

    def run(self) -> list[nodes.Node]:
        """Parse the fragments as the text of the page."""
        text = as_markdown(Path(self.env.srcdir) / "changes")
        holder = nodes.container()
        self.state.nested_parse(StringList(text.split("\n"), "changes"), 0, holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("changes", Changes)
    return {"parallel_read_safe": True}
