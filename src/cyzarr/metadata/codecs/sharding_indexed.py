"""The ``sharding_indexed`` codec: a chunk as many inner chunks, and an index of where each is stored.

Status        Zarr extension (ZEP 2), in the core specification's list of codecs
Specification https://zarr-specs.readthedocs.io/en/latest/v3/codecs/sharding-indexed/index.html
Aliases       none
Example       {"name": "sharding_indexed", "configuration": {"chunk_shape": [32, 32],
                 "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
                 "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
                                  {"name": "crc32c"}],
                 "index_location": "end"}}

The shard is the chunk that the codec is handed, after all codecs before it: behind a transpose its axes
are the transposed ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from cyzarr.metadata.checks import array_of, codec_fields, integer, one_of, optional, required, static_codec_fields
from cyzarr.metadata.chunk import Chunk, Lengths
from cyzarr.metadata.data_types.integers import UINT64_FIELD
from cyzarr.metadata.definitions import CodecDefinition, Configuration
from cyzarr.metadata.fields import Nested
from cyzarr.metadata.problems import ValidationProblem

#: An entry of the index is an offset and a length.
ENTRY = frozenset({2})


def chunk_rules(configuration: Configuration, nested: Nested, chunk: Chunk) -> Iterator[ValidationProblem]:
    """One inner length for each axis of the shard, that divides all lengths which shards have along it."""
    inner = configuration["chunk_shape"]
    if chunk.lengths is None:
        return
    if len(inner) != len(chunk.lengths):
        message = f"expected {chunk.rank} lengths, one for each axis of what the codec is handed, got {len(inner)}"
        yield ValidationProblem(("chunk_shape",), message, "invalid_value")
        return
    for axis, (length, shards) in enumerate(zip(inner, chunk.lengths, strict=True)):
        if not divides(length, shards):
            # One of them: a rectilinear grid may list thousands.
            witness = min(shard for shard in shards or () if shard % length)
            message = f"expected a length that divides the shard's, got {length} for a shard of {witness}"
            yield ValidationProblem(("chunk_shape", axis), message, "invalid_value")


def pipelines(configuration: Configuration, nested: Nested, chunk: Chunk) -> dict[str, Chunk]:
    """Inner codecs are handed inner chunks, index codecs the index: (chunks per shard ..., 2) of uint64."""
    inner = configuration["chunk_shape"]
    if chunk.rank is not None and chunk.rank != len(inner):
        # Which of the two ranks is wrong isn't known, so no inner rule may build on either.
        return {"codecs": Chunk(None, chunk.data_type), "index_codecs": Chunk(None, UINT64_FIELD)}
    return {
        "codecs": Chunk(tuple(frozenset({length}) for length in inner), chunk.data_type),
        "index_codecs": Chunk((*chunks_per_shard(inner, chunk.lengths), ENTRY), UINT64_FIELD),
    }


def chunks_per_shard(inner: tuple[int, ...], shards: Lengths | None) -> Lengths:
    """All numbers of inner chunks along each axis; None where the shard is unknown or not divided."""
    if shards is None:
        return (None,) * len(inner)
    return tuple(
        frozenset(shard // length for shard in lengths) if lengths is not None and divides(length, lengths) else None
        for length, lengths in zip(inner, shards, strict=True)
    )


def divides(length: int, shards: frozenset[int] | None) -> bool:
    """Whether nothing speaks against ``length`` dividing every one of ``shards``."""
    return shards is None or all(shard % length == 0 for shard in shards)


SHARDING_INDEXED = CodecDefinition(
    name="sharding_indexed",
    kind="array_bytes",
    size="dynamic",
    configuration={
        "chunk_shape": required(array_of(integer(1))),
        "codecs": required(codec_fields),
        "index_codecs": required(static_codec_fields),
        "index_location": optional(one_of("start", "end")),
    },
    chunk_rules=chunk_rules,
    pipelines=pipelines,
)
