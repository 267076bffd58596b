"""All definitions that cyzarr brings. Those of others are registered, not listed here."""

from __future__ import annotations

from cyzarr.metadata.chunk_grids.rectilinear import RECTILINEAR
from cyzarr.metadata.chunk_grids.regular import REGULAR
from cyzarr.metadata.chunk_key_encodings import ENCODINGS
from cyzarr.metadata.codecs.blosc import BLOSC
from cyzarr.metadata.codecs.bytes import BYTES as BYTES_CODEC
from cyzarr.metadata.codecs.cast_value import CAST_VALUE
from cyzarr.metadata.codecs.crc32c import CRC32C
from cyzarr.metadata.codecs.gzip import GZIP
from cyzarr.metadata.codecs.scale_offset import SCALE_OFFSET
from cyzarr.metadata.codecs.sharding_indexed import SHARDING_INDEXED
from cyzarr.metadata.codecs.transpose import TRANSPOSE
from cyzarr.metadata.codecs.zstd import ZSTD
from cyzarr.metadata.data_types.floats import FLOATS
from cyzarr.metadata.data_types.integers import INTEGERS
from cyzarr.metadata.data_types.raw_bits import RAW
from cyzarr.metadata.data_types.struct import STRUCT
from cyzarr.metadata.data_types.times import TIMES
from cyzarr.metadata.data_types.variable import BYTES, STRING
from cyzarr.metadata.definitions import Definition

CODECS = (
    BLOSC,
    BYTES_CODEC,
    CAST_VALUE,
    CRC32C,
    GZIP,
    SCALE_OFFSET,
    SHARDING_INDEXED,
    TRANSPOSE,
    ZSTD,
)
DATA_TYPES = (*INTEGERS, *FLOATS, RAW, *TIMES, STRING, BYTES, STRUCT)
CHUNK_GRIDS = (REGULAR, RECTILINEAR)

KNOWN: tuple[Definition, ...] = (*CODECS, *DATA_TYPES, *CHUNK_GRIDS, *ENCODINGS)
