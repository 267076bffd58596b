"""The ``scale_offset`` codec: (value - offset) * scale, in the data type's own arithmetic.

Status        registered extension (zarr-extensions)
Specification https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/scale_offset
Aliases       none
Example       {"name": "scale_offset", "configuration": {"offset": 10, "scale": 2}}
"""

from __future__ import annotations

from collections.abc import Iterator

from cyzarr.metadata.checks import anything, optional
from cyzarr.metadata.chunk import Chunk
from cyzarr.metadata.definitions import CodecDefinition, Configuration, data_type_of, fill_value_problems
from cyzarr.metadata.fields import Nested
from cyzarr.metadata.problems import ValidationProblem

_SCALARS = ("offset", "scale")


def rules(configuration: Configuration, nested: Nested) -> Iterator[ValidationProblem]:
    """No data type has null as a value; what else is one depends on the data type."""
    for member in _SCALARS:
        if member in configuration and configuration[member] is None:
            yield ValidationProblem((member,), "expected a value of the data type, got null", "invalid_value")


def chunk_rules(configuration: Configuration, nested: Nested, chunk: Chunk) -> Iterator[ValidationProblem]:
    definition = data_type_of(chunk.data_type)
    if chunk.data_type is None or definition is None:
        return
    if definition.numbers == "none":
        message = f"expected to be handed numbers, got {chunk.data_type.name}"
        yield ValidationProblem((), message, "invalid_value")
        return
    for member in _SCALARS:
        if member in configuration:
            for problem in fill_value_problems(chunk.data_type, configuration[member]):
                yield problem.below((member,))


def transition(configuration: Configuration, nested: Nested, chunk: Chunk) -> Chunk:
    return chunk


SCALE_OFFSET = CodecDefinition(
    name="scale_offset",
    kind="array_array",
    size="static",
    lossless=False,
    configuration={"offset": optional(anything), "scale": optional(anything)},
    rules=rules,
    chunk_rules=chunk_rules,
    transition=transition,
)
