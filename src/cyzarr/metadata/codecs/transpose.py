"""The ``transpose`` codec: the axes in another order.

Status        Zarr core specification 3.0
Specification https://zarr-specs.readthedocs.io/en/latest/v3/codecs/transpose/index.html
Aliases       none
Example       {"name": "transpose", "configuration": {"order": [1, 0]}}
"""

from __future__ import annotations

from collections.abc import Iterator

from cyzarr.metadata.checks import array_of, integer, required
from cyzarr.metadata.chunk import Chunk
from cyzarr.metadata.definitions import CodecDefinition, Configuration
from cyzarr.metadata.fields import Nested
from cyzarr.metadata.problems import ValidationProblem
from cyzarr.metadata.text import shown


def rules(configuration: Configuration, nested: Nested) -> Iterator[ValidationProblem]:
    order = configuration["order"]
    if sorted(order) != list(range(len(order))):
        message = f"expected each of the numbers below {len(order)} once, got {shown(order)}"
        yield ValidationProblem(("order",), message, "invalid_value")


def chunk_rules(configuration: Configuration, nested: Nested, chunk: Chunk) -> Iterator[ValidationProblem]:
    axes = len(configuration["order"])
    if chunk.rank is not None and chunk.rank != axes:
        message = f"expected {chunk.rank} entries, one for each axis of what the codec is handed, got {axes}"
        yield ValidationProblem(("order",), message, "invalid_value")


def transition(configuration: Configuration, nested: Nested, chunk: Chunk) -> Chunk:
    """Axis i of what is handed on is axis order[i] of what is handed in; nothing is known if the ranks differ."""
    order = configuration["order"]
    lengths = chunk.lengths
    if lengths is None or len(lengths) != len(order):
        return Chunk(None, chunk.data_type)
    return Chunk(tuple(lengths[axis] for axis in order), chunk.data_type)


TRANSPOSE = CodecDefinition(
    name="transpose",
    kind="array_array",
    size="static",
    configuration={"order": required(array_of(integer()))},
    rules=rules,
    chunk_rules=chunk_rules,
    transition=transition,
)
