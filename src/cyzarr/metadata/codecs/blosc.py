"""The ``blosc`` codec.

Status        Zarr core specification 3.0
Specification https://zarr-specs.readthedocs.io/en/latest/v3/codecs/blosc/index.html
Aliases       none
Example       {"name": "blosc", "configuration": {"cname": "lz4", "clevel": 5, "shuffle": "shuffle",
                 "typesize": 4, "blocksize": 0}}
"""

from __future__ import annotations

from collections.abc import Iterator

from cyzarr.metadata.checks import integer, one_of, optional, required
from cyzarr.metadata.definitions import CodecDefinition, Configuration
from cyzarr.metadata.fields import Nested
from cyzarr.metadata.problems import ValidationProblem


def rules(configuration: Configuration, nested: Nested) -> Iterator[ValidationProblem]:
    """A shuffle needs to know the size of an item; without one that size says nothing."""
    if configuration["shuffle"] == "noshuffle":
        return
    if "typesize" not in configuration:
        message = f"expected the item's size in bytes for {configuration['shuffle']}, found none"
        yield ValidationProblem(("typesize",), message, "missing_key")
    elif configuration["typesize"] < 1:
        message = f"expected a size of at least 1 byte, got {configuration['typesize']}"
        yield ValidationProblem(("typesize",), message, "invalid_value")


BLOSC = CodecDefinition(
    name="blosc",
    kind="bytes_bytes",
    size="dynamic",
    configuration={
        "cname": required(one_of("lz4", "lz4hc", "blosclz", "snappy", "zlib", "zstd")),
        "clevel": required(integer(0, 9)),
        "shuffle": required(one_of("noshuffle", "shuffle", "bitshuffle")),
        "blocksize": required(integer(0)),
        "typesize": optional(integer()),
    },
    rules=rules,
)
