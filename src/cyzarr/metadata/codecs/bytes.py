"""The ``bytes`` codec: the values one after another, in C order.

Status        Zarr core specification 3.0
Specification https://zarr-specs.readthedocs.io/en/latest/v3/codecs/bytes/index.html
Aliases       none
Example       {"name": "bytes", "configuration": {"endian": "little"}}
"""

from __future__ import annotations

from collections.abc import Iterator

from cyzarr.metadata.checks import one_of, optional
from cyzarr.metadata.chunk import Chunk
from cyzarr.metadata.definitions import CodecDefinition, Configuration, storage_of
from cyzarr.metadata.fields import Nested
from cyzarr.metadata.problems import ValidationProblem


def chunk_rules(configuration: Configuration, nested: Nested, chunk: Chunk) -> Iterator[ValidationProblem]:
    """A byte order where one applies, and values of fixed size."""
    if chunk.data_type is None:
        return
    storage = storage_of(chunk.data_type)
    name = chunk.data_type.name
    if storage == "multi_byte" and "endian" not in configuration:
        yield ValidationProblem(("endian",), f"expected a byte order for {name}, found none", "missing_key")
    elif storage == "variable_length":
        yield ValidationProblem((), f"expected values of fixed size, got {name}", "invalid_value")


BYTES = CodecDefinition(
    name="bytes",
    kind="array_bytes",
    size="static",
    configuration={"endian": optional(one_of("little", "big"))},
    chunk_rules=chunk_rules,
)
