"""Bugs planted on purpose: the cases and worked examples must notice each.

The package's source is copied, one line of the copy is changed, and the tables of test_cases are run
on it in a process of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cyzarr.metadata

SOURCE = Path(cyzarr.metadata.__file__).parent
TESTS = Path(__file__).parent.parent
PIPELINE, READER, SHARDING = "pipeline.py", "reader.py", "codecs/sharding_indexed.py"

# what: (file, text, what stands there instead)
MUTANTS = {
    "nothing": (PIPELINE, "handed is None else handed", "handed is None else handed"),
    "transition skipped": (
        PIPELINE,
        "handed_on = _handed_on(codec, definition, incoming, at, reader) if",
        "handed_on = incoming if",
    ),
    "grid's lengths instead of those handed": (
        PIPELINE,
        "read_stage(codec, current, (*",
        "read_stage(codec, current and handed, (*",
    ),
    "index of the array's rank": (
        SHARDING,
        "Chunk((*chunks_per_shard(inner, chunk.lengths), ENTRY)",
        "Chunk((*chunks_per_shard(inner, chunk.lengths),)",
    ),
    "index of the array's data type": (SHARDING, "ENTRY), UINT64_FIELD)", "ENTRY), chunk.data_type)"),
    "rank mismatch draws more": (SHARDING, "if chunk.rank is not None and chunk.rank != len(inner):", "if False:"),
    "problem inside refuses the holder": (
        READER,
        "accepted and all(_named(inner) for inner in found.nested)",
        "accepted and not inside",
    ),
    "any for all": (SHARDING, "or all(shard % length == 0", "or any(shard % length == 0"),
    "unclaimed codecs forgotten": (PIPELINE, "if not encoder and not unclaimed:", "if not encoder:"),
    "refused taken for unclaimed": (
        PIPELINE,
        "definition = codec.definition\n        if not isinstance(definition, CodecDefinition):\n            unclaimed",
        "definition = codec.definition\n        if not codec.accepted:\n            unclaimed",
    ),
    "index may be of dynamic size": (READER, 'if field.definition.size != "static":', "if False:"),
    "inner codecs are handed the shard": (
        SHARDING,
        "Chunk(tuple(frozenset({length}) for length in inner), chunk.data_type)",
        "chunk",
    ),
    "inverse transpose": (
        "codecs/transpose.py",
        "lengths[axis] for axis in order",
        "lengths[order.index(axis)] for axis in range(len(order))",
    ),
    "first length only": (
        "chunk_grids/rectilinear.py",
        "run[0] for run in runs)\n        for",
        "run[0] for run in runs[:1])\n        for",
    ),
}  # fmt: skip

SCRIPT = """
from collections import Counter
from metadata import test_cases as t
bad = 0
for case in t.CASES:
    reading = t.read_array_metadata(case["document"])
    expected = Counter((tuple(p["loc"]), p["kind"]) for p in case["problems"])
    bad += t.problems(reading.problems) != expected or t.named_stages(reading) != t.written_stages(case)
for document, expected in t.EXAMPLES.values():
    found = t.problems(t.validate_array_metadata(document))
    bad += dict(found) != dict.fromkeys(expected.items(), 1)
print(bad)
"""


@pytest.mark.parametrize("mutant", MUTANTS)
def test_is_noticed(mutant, tmp_path):
    name, text, instead = MUTANTS[mutant]
    shutil.copytree(SOURCE, tmp_path / "cyzarr" / "metadata", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "cyzarr" / "__init__.py").touch()
    path = tmp_path / "cyzarr" / "metadata" / name
    source = path.read_text(encoding="utf-8")
    assert source.count(text) == 1, "the line to be changed has changed; mend this test"
    path.write_text(source.replace(text, instead), encoding="utf-8")
    paths = os.pathsep.join(map(str, (tmp_path, TESTS)))
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert (int(found.stdout) > 0) == (mutant != "nothing")
