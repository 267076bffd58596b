"""From zarr's codecs to a kernel's program: what a chain of codecs does to the chunk it is handed."""

from __future__ import annotations

from typing import Any

import numcodecs
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as zarr_numcodecs
from zarr.codecs._v2 import V2Codec

from cyzarr import _zarr
from cyzarr.kernels.program import Program


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
        chain = describe(tuple(codecs), tuple(shape), data_type)
    try:
        return Program(chain, dtype, _zarr.fill_bytes(fill_value, data_type, dtype))
    except (ValueError, TypeError) as error:
        raise NotNativeError(str(error)) from error


def describe(codecs: tuple[Any, ...], shape: tuple[int, ...], data_type: Any) -> dict[str, Any]:
    """The kernel's description of a chain."""
    order, rest = transposes(codecs, len(shape))
    if not rest:
        raise NotNativeError("no array-to-bytes codec")
    encoded = tuple(shape[i] for i in order)
    chain: dict[str, Any] = {"shape": shape, "order": order, "filters": filters(rest[1:])}
    codec = rest[0]
    if kind_of(codec) == "bytes":
        chain["bytes"] = {"dtype": _zarr.stored_dtype(codec.endian, data_type)}
    elif kind_of(codec) == "shard":
        if len(codec.chunk_shape) != len(encoded):
            raise NotNativeError("a shard whose inner chunks have another rank")
        chain["shard"] = {
            "chunk_shape": tuple(codec.chunk_shape),
            "chain": describe(tuple(codec.codecs), tuple(codec.chunk_shape), data_type),
            "index": describe_index(codec, len(encoded)),
        }
    else:
        raise NotNativeError(f"codec {type(codec).__name__}")
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


def transposes(codecs: tuple[Any, ...], ndim: int) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The leading transposes, composed, and the codecs after them.

    Axis i of what a transpose hands on is axis order[i] of what it is handed.
    """
    order = tuple(range(ndim))
    for at, codec in enumerate(codecs):
        if type(codec) is not TransposeCodec:
            return order, codecs[at:]
        if len(codec.order) != ndim:
            raise NotNativeError("a transpose of another rank")
        order = tuple(order[i] for i in codec.order)
    return order, ()


def filters(codecs: tuple[Any, ...]) -> list[dict[str, Any]]:
    """The bytes-to-bytes codecs, in the order of encoding."""
    found = []
    for codec in codecs:
        if type(codec) not in DECODERS:
            raise NotNativeError(f"codec {type(codec).__name__}")
        name, twin = DECODERS[type(codec)]
        found.append({"name": name, "codec": twin})
    return found


def describe_index(codec: Any, ndim: int) -> dict[str, Any]:
    """The kernel's description of a shard's index."""
    order, rest = transposes(tuple(codec.index_codecs), ndim + 1)
    if not rest or kind_of(rest[0]) != "bytes" or any(type(one) is not Crc32cCodec for one in rest[1:]):
        raise NotNativeError("index codecs " + ", ".join(type(one).__name__ for one in codec.index_codecs))
    endian = getattr(rest[0].endian, "value", rest[0].endian)
    if endian is None:
        raise NotNativeError("an index without a byte order")
    location = getattr(codec.index_location, "value", codec.index_location)
    return {
        "order": None if order == tuple(range(ndim + 1)) else order,
        "byteorder": endian,
        "checksums": len(rest) - 1,
        "location": location,
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


def compile_array(async_array: Any) -> Program:
    """The program of an array on a regular grid."""
    metadata = async_array.metadata
    shape = _zarr.chunk_shape(metadata)
    if shape is None:
        raise NotNativeError(f"chunk grid {type(metadata.chunk_grid).__name__}")
    if any(n < 1 for n in shape):
        raise NotNativeError("a chunk of no items")
    codecs = tuple(async_array.codec_pipeline)
    return compile_chain(codecs, shape, metadata.dtype, metadata.fill_value, getattr(metadata, "order", "C"))
