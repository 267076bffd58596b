"""The ``cast_value`` codec: the values as another data type.

Status        registered extension (zarr-extensions)
Specification https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/cast_value
Aliases       none
Example       {"name": "cast_value", "configuration": {"data_type": "uint8", "rounding": "nearest-even",
                 "out_of_range": "clamp", "scalar_map": {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}}}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cyzarr.metadata.checks import anything, array_of, data_type_field, object_of, one_of, optional, pair_of, required
from cyzarr.metadata.chunk import Chunk
from cyzarr.metadata.definitions import CodecDefinition, Configuration, data_type_of, fill_value_problems
from cyzarr.metadata.fields import Field, Nested
from cyzarr.metadata.problems import Loc, ValidationProblem

TARGET = ("data_type",)
_NOT_REAL = ("none", "complex")
_PAIRS = array_of(pair_of(anything, anything))


def scalars(configuration: Configuration, *, of_target: bool) -> Iterator[tuple[Loc, Any]]:
    """The mapped scalars that are written in the target's data type, or those in the source's."""
    for direction, entries in configuration.get("scalar_map", {}).items():
        if direction in ("encode", "decode"):
            side = int((direction == "encode") == of_target)
            for index, entry in enumerate(entries):
                yield ("scalar_map", direction, index, side), entry[side]


def scalar_problems(configuration: Configuration, field: Field, *, of_target: bool) -> Iterator[ValidationProblem]:
    for loc, scalar in scalars(configuration, of_target=of_target):
        for problem in fill_value_problems(field, scalar):
            yield problem.below(loc)


def rules(configuration: Configuration, nested: Nested) -> Iterator[ValidationProblem]:
    """The target must be of real numbers; wrapping needs integers; its scalars must be values of it."""
    target = nested[TARGET]
    definition = data_type_of(target)
    if definition is None:
        return
    if definition.numbers in _NOT_REAL:
        yield ValidationProblem(TARGET, f"expected a data type of real numbers, got {target.name}", "invalid_value")
        return
    if configuration.get("out_of_range") == "wrap" and definition.numbers == "real":
        message = f"expected integers to wrap around, got {target.name}"
        yield ValidationProblem(("out_of_range",), message, "invalid_value")
    yield from scalar_problems(configuration, target, of_target=True)


def chunk_rules(configuration: Configuration, nested: Nested, chunk: Chunk) -> Iterator[ValidationProblem]:
    """The source, too: decoding is a cast the other way."""
    source = chunk.data_type
    definition = data_type_of(source)
    if source is None or definition is None:
        return
    if definition.numbers in _NOT_REAL:
        message = f"expected to be handed real numbers, got {source.name}"
        yield ValidationProblem((), message, "invalid_value")
        return
    yield from scalar_problems(configuration, source, of_target=False)


def transition(configuration: Configuration, nested: Nested, chunk: Chunk) -> Chunk:
    return Chunk(chunk.lengths, nested[TARGET])


CAST_VALUE = CodecDefinition(
    name="cast_value",
    kind="array_array",
    size="static",
    lossless=False,
    configuration={
        "data_type": required(data_type_field),
        "rounding": optional(
            one_of("nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away")
        ),
        "out_of_range": optional(one_of("clamp", "wrap")),
        "scalar_map": optional(object_of({"encode": optional(_PAIRS), "decode": optional(_PAIRS)})),
    },
    rules=rules,
    chunk_rules=chunk_rules,
    transition=transition,
)
