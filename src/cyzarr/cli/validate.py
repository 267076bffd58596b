"""``cyzarr validate``: is what the metadata says sound? See the command's own --help.

Reads documents and nothing else, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from cyzarr.cli.ending import BAD, FINE, UsageError, print_json
from cyzarr.cli.nodes import Node, nodes
from cyzarr.cli.progress import progress
from cyzarr.metadata import Reading, ValidationProblem, read_array_metadata

UNJUDGED = "Zarr format 2, not judged"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said of one node: a reading of an array, or why there is none."""

    path: str
    reading: Reading | None = None
    unjudged: str = ""

    @property
    def mark(self) -> str:
        if self.reading is None:
            return "skip"
        return "ok" if self.reading.valid else "BAD"

    def as_json(self) -> dict[str, Any]:
        if self.reading is None:
            return {"path": self.path, "valid": None, "unjudged": self.unjudged, "problems": [], "notes": []}
        return {
            "path": self.path,
            "valid": self.reading.valid,
            "problems": [_as_json(problem) for problem in self.reading.problems],
            "notes": [_as_json(problem) for problem in self.reading.decoder_problems],
        }

    def lines(self) -> Iterator[str]:
        """The node's line, and one for each problem and each note."""
        reason = f" ({self.unjudged})" if self.unjudged else ""
        yield f"{self.mark:<4}  {self.path}{reason}"
        if self.reading is not None:
            for problem in self.reading.problems:
                yield f"        {problem}  [{problem.kind}]"
            for problem in self.reading.decoder_problems:
                yield f"        note: {problem}"


def run(path: str, options: Sequence[str] = (), as_json: bool = False) -> int:
    """Judge the array at ``path``, or all arrays below a group; ``-`` is a document on standard input."""
    verdicts = []
    with progress(None, "judging") if as_json else nullcontext() as step:
        for node in nodes(path, options):
            verdict = judged(node)
            if verdict is None:
                continue
            verdicts.append(verdict)
            if step is None:
                print(*verdict.lines(), sep="\n")
            else:
                step()
    if not verdicts:
        raise UsageError(f"no array at or below {path}")
    valid = not any(verdict.mark == "BAD" for verdict in verdicts)
    if as_json:
        print_json({"valid": valid, "arrays": [verdict.as_json() for verdict in verdicts]})
    else:
        print(summary(verdicts))
    return FINE if valid else BAD


def judged(node: Node) -> Verdict | None:
    """The verdict on one node; None for a group."""
    if node.document is None:
        return Verdict(node.path, unjudged=UNJUDGED)
    if node.is_group:
        return None
    return Verdict(node.path, read_array_metadata(node.document))


def summary(verdicts: list[Verdict]) -> str:
    """The last line."""
    arrays = [verdict for verdict in verdicts if verdict.reading is not None]
    bad = sum(verdict.mark == "BAD" for verdict in arrays)
    problems = sum(len(verdict.reading.problems) for verdict in arrays if verdict.reading is not None)
    skipped = len(verdicts) - len(arrays)
    more = f"; {skipped} not judged" if skipped else ""
    judged_all = f"{len(arrays)} array{'s' * (len(arrays) != 1)} judged, {bad} with problems"
    return f"{judged_all} ({problems} in all){more}" if bad else f"{judged_all}{more}"


def _as_json(problem: ValidationProblem) -> dict[str, Any]:
    return {"loc": list(problem.loc), "kind": problem.kind, "message": problem.message}
