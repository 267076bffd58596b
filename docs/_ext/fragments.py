"""The files of docs/changes as text for the changelog.

`python docs/_ext/fragments.py VERSION` puts them into it for good, below a heading of that version, and removes them.
"""

from __future__ import annotations

import sys
from pathlib import Path

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
PLACE = "```{changes}\n```\n"


def fragments(folder: Path) -> dict[str, list[str]]:
    """Subject -> its fragments' texts, in the order of the subjects, then of the files' names."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("[0-9]*.md")):
        found.setdefault(SUBJECTS[path.name.split(".")[0]], []).append(path.read_text().strip())
    return found


def as_markdown(folder: Path) -> str:
    """A list for each subject; fragments lie a folder below the page."""
    lines: list[str] = []
    for subject, texts in fragments(folder).items():
        lines += [f"**{subject}**", ""]
        lines += ["- " + text.replace("\n", "\n  ").replace("](../", "](") for text in texts] + [""]
    return "\n".join(lines)


def release(docs: Path, version: str) -> None:
    """Move all fragments into the page, as the newest version's."""
    page = docs / "changelog.md"
    before, place, after = page.read_text().partition(PLACE)
    changes = as_markdown(docs / "changes")
    if not place:
        raise SystemExit(f"{page.name} has no place for changes")
    if not changes:
        raise SystemExit("there are no changes")
    page.write_text(f"{before}{place}\n## {version}\n\n{changes.rstrip()}\n{after}")
    for path in (docs / "changes").glob("[0-9]*.md"):
        path.unlink()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    release(Path(__file__).parents[1], sys.argv[1])
