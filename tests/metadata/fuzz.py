"""Documents by chance through cyzarr.metadata and through zarr-metadata; ends non-zero where they disagree.

    python tests/metadata/fuzz.py --count 100000 --seed 1

Compared are the problems as a multiset of (loc, kind), validity, what became of each field, and what
each stage is handed, at every depth. It needs Python 3.12 and zarr-metadata 0.6.0.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cyzarr.metadata import read_array_metadata
from metadata import views
from metadata.generator import Generator

STATES = {"AcceptedField": "accepted", "UnclaimedField": "unclaimed", "RefusedField": "refused"}


def their_field(field):
    return STATES.get(type(field).__name__) and (STATES[type(field).__name__], field.name)


def their_stages(pipeline, loc=("codecs",)):
    found = {}
    for index, stage in enumerate(pipeline):
        at = (*loc, index)
        found[at] = (*their_field(stage.codec), views.handed(stage.incoming, their_field))
        for member, inner in stage.inner.items():
            found |= their_stages(inner, (*at, "configuration", member))
    return found


def disagreements(document, theirs):
    """Names of what differs between our reading of ``document`` and ``theirs``, with both."""
    ours = read_array_metadata(document, strict_hooks=True)
    pairs = {
        "problems": (views.problems(ours.problems), views.problems(theirs.problems)),
        "valid": (ours.valid, not theirs.problems),
        "fields": (views.fields(ours), {loc: their_field(field) for loc, field in theirs.fields()}),
        "chunk": (views.handed(ours.chunk, views.of), views.handed(theirs.chunk, their_field)),
        "stages": (views.stages(ours), their_stages(theirs.pipeline)),
    }
    return {what: pair for what, pair in pairs.items() if pair[0] != pair[1]}


def run(count, seed, report=print):
    """Compare ``count`` documents; what was seen, and how often the two disagree."""
    from zarr_metadata.model import read_array_metadata_v3

    generator, seen = Generator(seed), Counter()
    for number in range(count):
        document = generator.document()
        theirs = read_array_metadata_v3(document)
        stages = their_stages(theirs.pipeline)
        seen["documents"] += 1
        seen["valid"] += not theirs.problems
        seen["stages"] += len(stages)
        seen["three deep"] += any(len(loc) >= 2 + 3 * 3 for loc in stages)
        seen.update(problem.kind for problem in theirs.problems)
        found = disagreements(document, theirs)
        if found:
            seen["disagreements"] += 1
            report(f"document {number}: {json.dumps(document)}")
            for what, (ours, their) in found.items():
                report(f"  {what}\n    cyzarr        {ours}\n    zarr-metadata {their}")
    return seen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    seen = run(options.count, options.seed)
    print(f"seed {options.seed}: " + ", ".join(f"{count} {what}" for what, count in sorted(seen.items())))
    print(f"{seen['disagreements']} disagreements")
    return 1 if seen["disagreements"] else 0


if __name__ == "__main__":
    sys.exit(main())
