"""Reading and judging array documents of Zarr format 3.

    reading = read_array_metadata(document)     # a mapping, or JSON as bytes; never raises on bad input
    reading.problems                            # all that is wrong, each with its place
    reading.pipeline                            # the codecs, each with the chunk it is handed

A codec is judged by what it is handed: the grid's chunk after all codecs before it, inside a shard what
the shard hands to its inner codecs and to its index codecs, to any depth. No rule fires on what isn't
known.

From the bottom up (each imports only what stands above it):

    problems, text      what was found, and how messages show values
    jsonvalues          any Python value -> JSON in one form
    checks              types and ranges of configuration members
    fields, chunk       a field as it was read; what a codec is handed
    definitions         what a name means: the hooks that others can write
    context             which names are claimed
    envelope, reader    one field, and those inside it
    pipeline            each codec against what it is handed
    reading, document   the whole array

    codecs/, data_types/, chunk_grids/, chunk_key_encodings    one definition for each known name
    known               the list of them

Nothing here imports zarr or anything compiled.
"""

from cyzarr.metadata.chunk import Chunk
from cyzarr.metadata.context import Context, default_context, register
from cyzarr.metadata.definitions import (
    ChunkGridDefinition,
    ChunkKeyEncodingDefinition,
    CodecDefinition,
    DataTypeDefinition,
    StorageTransformerDefinition,
)
from cyzarr.metadata.document import (
    read_array_metadata,
    read_codec_metadata,
    read_pipeline_metadata,
    validate_array_metadata,
)
from cyzarr.metadata.fields import Field
from cyzarr.metadata.pipeline import Stage
from cyzarr.metadata.problems import DECODER_KINDS, PROBLEM_KINDS, MetadataValidationError, ValidationProblem
from cyzarr.metadata.reading import CodecReading, PipelineReading, Reading

__all__ = [
    "DECODER_KINDS",
    "PROBLEM_KINDS",
    "Chunk",
    "ChunkGridDefinition",
    "ChunkKeyEncodingDefinition",
    "CodecDefinition",
    "CodecReading",
    "Context",
    "DataTypeDefinition",
    "Field",
    "MetadataValidationError",
    "PipelineReading",
    "Reading",
    "Stage",
    "StorageTransformerDefinition",
    "ValidationProblem",
    "default_context",
    "read_array_metadata",
    "read_codec_metadata",
    "read_pipeline_metadata",
    "register",
    "validate_array_metadata",
]
