"""The ``regular`` grid: all chunks have one shape, those at the edge overhang.

Status        Zarr core specification 3.0
Specification https://zarr-specs.readthedocs.io/en/latest/v3/chunk-grids/regular-grid/index.html
Aliases       none
Example       {"name": "regular", "configuration": {"chunk_shape": [64, 64]}}
"""

from __future__ import annotations

from collections.abc import Iterator

from cyzarr.metadata.checks import array_of, integer, required
from cyzarr.metadata.chunk import Lengths
from cyzarr.metadata.definitions import ChunkGridDefinition, Configuration, Shape
from cyzarr.metadata.fields import Nested
from cyzarr.metadata.problems import ValidationProblem


def shape_rules(configuration: Configuration, nested: Nested, shape: Shape) -> Iterator[ValidationProblem]:
    found = len(configuration["chunk_shape"])
    if found != len(shape):
        message = f"expected {len(shape)} lengths, one for each dimension of shape, got {found}"
        yield ValidationProblem(("chunk_shape",), message, "invalid_value")


def chunk_lengths(configuration: Configuration, nested: Nested, shape: Shape) -> Lengths:
    return tuple(frozenset({length}) for length in configuration["chunk_shape"])


REGULAR = ChunkGridDefinition(
    name="regular",
    configuration={"chunk_shape": required(array_of(integer(1)))},
    shape_rules=shape_rules,
    chunk_lengths=chunk_lengths,
)
