"""From zarr's codecs to a kernel's program: what a chain of codecs does to the chunk it is handed."""

from __future__ import annotations

from typing import Any

import numcodecs
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as zarr_numcodecs
from zarr.codecs._v2 import V2Codec

from cyzarr import _zarr
from cyzarr.kernels.program import Program
from cyzarr.metadata import Stage, read_pipeline_metadata


class NotNativeError(Exception):
    """The kernels don't hold this; its text is the reason, for status() and trace()."""


# A codec by its exact class: a subclass may do otherwise.
DECODERS: dict[type, tuple[str, Any]] = {
    ZstdCodec: ("zstd", numcodecs.Zstd()),
    BloscCodec: ("blosc", numcodecs.Blosc()),
    GzipCodec: ("gzip", numcodecs.GZip()),
    Crc32cCodec: ("crc32c", None),
    zarr_numcodecs.LZ4: ("lz4", numcodecs.LZ4()),
    zarr_numcodecs.Zlib: ("zlib", numcodecs.Zlib()),
    zarr_numcodecs.GZip: ("gzip", numcodecs.GZip()),
    zarr_numcodecs.Zstd: ("zstd", numcodecs.Zstd()),
    zarr_numcodecs.Blosc: ("blosc", numcodecs.Blosc()),
    # zarr format 2 holds numcodecs' own.
    numcodecs.Zstd: ("zstd", numcodecs.Zstd()),
    numcodecs.Blosc: ("blosc", numcodecs.Blosc()),
    numcodecs.GZip: ("gzip", numcodecs.GZip()),
    numcodecs.LZ4: ("lz4", numcodecs.LZ4()),
    numcodecs.Zlib: ("zlib", numcodecs.Zlib()),
}


def kind_of(codec: Any) -> str | None:
    """Which array-to-bytes codec this is, by its exact class: zarr's own, or one of ours that says so itself."""
    if type(codec) is BytesCodec:
        return "bytes"
    if type(codec) is ShardingCodec:
        return "shard"
    kind: str | None = type(codec).__dict__.get("_cyzarr_kind")
    return kind


def compile_chain(codecs: Any, shape: tuple[int, ...], data_type: Any, fill_value: Any, order: str = "C") -> Program:
    """The program of a codec chain that is handed chunks of `shape` items of a zarr data type.

    `order` is the order in which zarr format 2 stores a chunk's items; format 3 has transposes for that.

    Raises
    ------
    NotNativeError
        A codec, the data type or the layout has no kernel.
    """
    dtype = data_type.to_native_dtype()
    if dtype.hasobject or dtype.itemsize == 0 or type(dtype).__name__ == "StringDType":
        raise NotNativeError(f"data type {dtype}")
    if len(codecs) == 1 and type(codecs[0]) is V2Codec:
        chain = describe_v2(codecs[0], tuple(shape), dtype, order)
    else:
        chain = describe(tuple(codecs), read_stages(codecs, shape, data_type), tuple(shape), data_type)
    try:
        return Program(chain, dtype, _zarr.fill_bytes(fill_value, data_type, dtype))
    except (ValueError, TypeError) as error:
        raise NotNativeError(str(error)) from error


def read_stages(codecs: Any, shape: tuple[int, ...], data_type: Any) -> tuple[Stage, ...]:
    """The chain as stages, each with what it is handed; NotNativeError where anything is wrong or unknown with it."""
    documents = [codec.to_dict() for codec in codecs]
    reading = read_pipeline_metadata(documents, shape=shape, data_type=_zarr.plain_name(data_type))
    for problem in (*reading.problems, *reading.doubts):
        raise NotNativeError(str(problem))
    return reading.stages


def describe(
    codecs: tuple[Any, ...], stages: tuple[Stage, ...], shape: tuple[int, ...], data_type: Any
) -> dict[str, Any]:
    """The kernel's description of a chain.

    What it says of a chunk is what the stages were handed; the codecs tell whether they are zarr's own, as the kernels
    know them.
    """
    order, at = transposes(codecs, stages, len(shape))
    if at == len(codecs):
        raise NotNativeError("no array-to-bytes codec")
    codec, stage = codecs[at], stages[at]
    if kind_of(codec) is None:
        raise NotNativeError(f"codec {type(codec).__name__}")
    chain: dict[str, Any] = {"shape": shape, "order": order, "filters": filters(codecs[at + 1 :])}
    if kind_of(codec) == "bytes":
        chain["bytes"] = {"dtype": _zarr.stored_dtype(codec.endian, data_type)}
    else:
        inner = tuple(stage.codec.configuration["chunk_shape"])
        chain["shard"] = {
            "chunk_shape": inner,
            "chain": describe(tuple(codec.codecs), stage.inner["codecs"], inner, data_type),
            "index": describe_index(codec, stage),
        }
    return chain


def describe_v2(codec: V2Codec, shape: tuple[int, ...], dtype: Any, order: str) -> dict[str, Any]:
    """The kernel's description of a chunk of zarr format 2: items as they are, perhaps compressed."""
    if codec.filters:
        raise NotNativeError("filters " + ", ".join(type(one).__name__ for one in codec.filters))
    axes = range(len(shape))
    return {
        "shape": shape,
        "order": tuple(reversed(axes)) if order == "F" else tuple(axes),
        "filters": filters((codec.compressor,) if codec.compressor is not None else ()),
        "bytes": {"dtype": dtype},
    }


def transposes(codecs: tuple[Any, ...], stages: tuple[Stage, ...], ndim: int) -> tuple[tuple[int, ...], int]:
    """The leading transposes, composed, and how many they are.

    Axis i of what a transpose hands on is axis order[i] of what it is handed.
    """
    order = tuple(range(ndim))
    for at, (codec, stage) in enumerate(zip(codecs, stages, strict=True)):
        if type(codec) is not TransposeCodec:
            return order, at
        order = tuple(order[i] for i in stage.codec.configuration["order"])
    return order, len(codecs)


def filters(codecs: tuple[Any, ...]) -> list[dict[str, Any]]:
    """The bytes-to-bytes codecs, in the order of encoding."""
    found = []
    for codec in codecs:
        if type(codec) not in DECODERS:
            raise NotNativeError(f"codec {type(codec).__name__}")
        name, twin = DECODERS[type(codec)]
        found.append({"name": name, "codec": twin})
    return found


def describe_index(codec: Any, stage: Stage) -> dict[str, Any]:
    """The kernel's description of a shard's index, from the stages that it is handed to."""
    codecs, stages = tuple(codec.index_codecs), stage.inner["index_codecs"]
    rank = len(stage.codec.configuration["chunk_shape"]) + 1
    order, at = transposes(codecs, stages, rank)
    rest = codecs[at:]
    if not rest or kind_of(rest[0]) != "bytes" or any(type(one) is not Crc32cCodec for one in rest[1:]):
        raise NotNativeError("index codecs " + ", ".join(type(one).__name__ for one in codecs))
    return {
        "order": None if order == tuple(range(rank)) else order,
        "byteorder": stages[at].codec.configuration["endian"],
        "checksums": len(rest) - 1,
        "location": stage.codec.configuration.get("index_location", "end"),
    }


def key_style(metadata: Any) -> tuple[bool, str]:
    """(whether keys start with "c", the separator) of an array's chunk keys."""
    from zarr.core.chunk_key_encodings import DefaultChunkKeyEncoding, V2ChunkKeyEncoding

    if metadata.zarr_format == 2:
        return False, metadata.dimension_separator
    encoding = metadata.chunk_key_encoding
    if type(encoding) is DefaultChunkKeyEncoding:
        return True, encoding.separator
    if type(encoding) is V2ChunkKeyEncoding:
        return False, encoding.separator
    raise NotNativeError(f"chunk key encoding {type(encoding).__name__}")


# Programs by (codecs, shape, ...): many arrays are of one layout, and judging a chain takes as long as reading a chunk.
_programs: dict[Any, Program] = {}
MAX_PROGRAMS = 256


def compile_cached(
    codecs: tuple[Any, ...], shape: tuple[int, ...], data_type: Any, fill_value: Any, order: str
) -> Program:
    """compile_chain, remembering what it gave."""
    key = (codecs, shape, data_type, _zarr.fill_key(fill_value), order)
    try:
        found = _programs.get(key)
    except TypeError:
        # Some codecs hold what can't be hashed.
        return compile_chain(codecs, shape, data_type, fill_value, order)
    if found is None:
        found = compile_chain(codecs, shape, data_type, fill_value, order)
        if len(_programs) >= MAX_PROGRAMS:
            _programs.clear()
        _programs[key] = found
    return found


def compile_array(async_array: Any) -> Program:
    """The program of an array on a regular grid."""
    metadata = async_array.metadata
    shape = _zarr.chunk_shape(metadata)
    if shape is None:
        raise NotNativeError(f"chunk grid {type(metadata.chunk_grid).__name__}")
    if any(n < 1 for n in shape):
        raise NotNativeError("a chunk of no items")
    codecs = tuple(async_array.codec_pipeline)
    return compile_cached(codecs, shape, metadata.dtype, metadata.fill_value, getattr(metadata, "order", "C"))
