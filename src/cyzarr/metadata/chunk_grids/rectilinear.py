"""The ``rectilinear`` grid: along each axis, chunks of lengths that are listed.

Status        registered extension (zarr-extensions)
Specification https://github.com/zarr-developers/zarr-extensions/tree/main/chunk-grids/rectilinear
Aliases       none
Example       {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[8, [4, 2]], 8]}}

An axis has a list of lengths and of [length, count] pairs, or a single length that repeats.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cyzarr.metadata.checks import Findings, array_of, integer, one_of, pair_of, required
from cyzarr.metadata.chunk import Lengths
from cyzarr.metadata.definitions import ChunkGridDefinition, Configuration, Shape
from cyzarr.metadata.fields import Nested
from cyzarr.metadata.problems import Loc, ValidationProblem

_length = integer(1)
_pair = pair_of(_length, _length)


def _run(value: Any, loc: Loc, found: Findings) -> None:
    if type(value) is int:
        _length(value, loc, found)
    elif type(value) is tuple:
        _pair(value, loc, found)
    else:
        found.expect(loc, "a length or a pair of a length and a count", value)


_runs = array_of(_run)


def axis_check(value: Any, loc: Loc, found: Findings) -> None:
    """What stands for one axis."""
    if type(value) is int:
        _length(value, loc, found)
    elif type(value) is tuple:
        _runs(value, loc, found)
    else:
        found.expect(loc, "a length or an array of lengths", value)


def shape_rules(configuration: Configuration, nested: Nested, shape: Shape) -> Iterator[ValidationProblem]:
    """One entry for each dimension, and chunks enough to cover it."""
    axes = configuration["chunk_shapes"]
    if len(axes) != len(shape):
        message = f"expected {len(shape)} entries, one for each dimension of shape, got {len(axes)}"
        yield ValidationProblem(("chunk_shapes",), message, "invalid_value")
        return
    for axis, (runs, extent) in enumerate(zip(axes, shape, strict=True)):
        if type(runs) is int:
            continue
        covered = sum(run if type(run) is int else run[0] * run[1] for run in runs)
        if covered < extent:
            message = f"expected chunks that cover the dimension's {extent} items, got {covered} items"
            yield ValidationProblem(("chunk_shapes", axis), message, "invalid_value")


def chunk_lengths(configuration: Configuration, nested: Nested, shape: Shape) -> Lengths:
    """All listed lengths, also those of chunks beyond the array's edge, into which it may grow."""
    return tuple(
        frozenset({runs}) if type(runs) is int else frozenset(run if type(run) is int else run[0] for run in runs)
        for runs in configuration["chunk_shapes"]
    )


RECTILINEAR = ChunkGridDefinition(
    name="rectilinear",
    configuration={"kind": required(one_of("inline")), "chunk_shapes": required(array_of(axis_check))},
    shape_rules=shape_rules,
    chunk_lengths=chunk_lengths,
)
