"""Raw bits: so many bytes of which nothing else is said.

Status        Zarr core specification 3.0
Specification https://zarr-specs.readthedocs.io/en/latest/v3/data-types/index.html
Aliases       none; the name holds the size in bits
Example       "r16"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cyzarr.metadata.checks import array_of, integer, required
from cyzarr.metadata.data_types.fill_values import by
from cyzarr.metadata.definitions import RAW_BITS, Configuration, DataTypeDefinition
from cyzarr.metadata.fields import Nested
from cyzarr.metadata.problems import ValidationProblem

_octets = by(array_of(integer(0, 255)))


def rules(configuration: Configuration, nested: Nested) -> Iterator[ValidationProblem]:
    bits = configuration["bits"]
    if bits == 0 or bits % 8:
        yield ValidationProblem(("bits",), f"expected a positive multiple of 8 bits, got {bits}", "invalid_value")


def fill_value(configuration: Configuration, nested: Nested, value: Any) -> Iterator[ValidationProblem]:
    """One number below 256 for each byte."""
    problems = list(_octets(configuration, nested, value))
    yield from problems
    nbytes = configuration["bits"] // 8
    if not problems and len(value) != nbytes:
        yield ValidationProblem((), f"expected {nbytes} numbers, one for each byte, got {len(value)}", "invalid_value")


def storage(configuration: Configuration, nested: Nested) -> str | None:
    """Of wider ones the specification doesn't say whether a byte order applies."""
    return "single_byte" if configuration["bits"] == 8 else None


RAW = DataTypeDefinition(
    name=RAW_BITS,
    configuration={"bits": required(integer())},
    rules=rules,
    storage=storage,
    numbers="none",
    fill_value=fill_value,
)
