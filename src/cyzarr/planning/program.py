"""From zarr's codecs to a kernel's program: what a chain of codecs does to the chunk it is handed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numcodecs
from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec
from zarr.codecs import numcodecs as zarr_numcodecs
from zarr.codecs._v2 import V2Codec

from cyzarr import _zarr
from cyzarr.kernels.program import Program
from cyzarr.metadata import read_pipeline_metadata
from cyzarr.planning import foreign
from cyzarr.planning.grids import Grid


class NotNativeError(Exception):
    """Zarr's own code must read this; the text is the reason, for status() and trace()."""


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
        The codecs, the data type or the layout can't be read by the kernels, nor by Python codecs under them.
    """
    codecs = tuple(codecs)
    if not (len(codecs) == 1 and type(codecs[0]) is V2Codec):
        judge(codecs, shape, data_type)
    return compile_spec(codecs, _zarr.array_spec(tuple(shape), data_type, fill_value, order))


def compile_spec(codecs: tuple[Any, ...], spec: Any, is_below: bool = False) -> Program:
    """The program of codecs that zarr hands chunks of a specification.

    `is_below`: other codecs stand before them, so that a missing object never becomes its fill value, which need not
    exist then: what an infinity is encoded to may be no number.
    """
    dtype = spec.dtype.to_native_dtype()
    if dtype.itemsize == 0:
        raise NotNativeError(f"data type {dtype}")
    chain = describe_v2(codecs[0], spec) if type(codecs[0]) is V2Codec else describe(codecs, spec)
    chain["needs_loop"], chain["runs_python"] = needs_loop(codecs), runs_python(chain)
    try:
        return Program(chain, dtype, fill_of(spec, dtype, is_below and "shard" not in chain))
    except (ValueError, TypeError, OverflowError) as error:
        raise NotNativeError(str(error)) from error


def fill_of(spec: Any, dtype: Any, is_unused: bool) -> Any:
    """What absent chunks hold: an item's bytes, or an object."""
    if holds_objects(dtype):
        return fill_object(spec)
    return bytes(dtype.itemsize) if is_unused else _zarr.fill_bytes(spec.fill_value, spec.dtype, dtype)


def holds_objects(dtype: Any) -> bool:
    """Whether items are Python objects or NumPy's strings of any length, which NumPy itself must copy."""
    return dtype.hasobject or dtype.char == "T"


def fill_object(spec: Any) -> Any:
    """What absent chunks hold, where items are objects."""
    return spec.dtype.default_scalar() if spec.fill_value is None else spec.fill_value


def judge(codecs: Any, shape: tuple[int, ...], data_type: Any) -> None:
    """NotNativeError where anything is wrong with a chain by what its codecs are handed.

    A codec that nobody here knows is no fault: its own class decodes.
    """
    try:
        documents = [codec.to_dict() for codec in codecs]
    except Exception as error:
        raise NotNativeError(f"a codec without a document: {type(error).__name__}: {error}") from error
    reading = read_pipeline_metadata(documents, shape=shape, data_type=_zarr.plain_name(data_type))
    for problem in (*reading.problems, *reading.doubts):
        raise NotNativeError(str(problem))


def describe(codecs: tuple[Any, ...], spec: Any) -> dict[str, Any]:
    """The kernel's description of a chain: native where there are kernels, else by the codecs' own methods."""
    order, at, spec = transposes(codecs, spec)
    chain: dict[str, Any] = {"shape": tuple(spec.shape[order.index(i)] for i in range(len(order))), "order": order}
    if at == len(codecs):
        raise NotNativeError("no array-to-bytes codec")
    codec: Any = codecs[at]
    if isinstance(codec, ArrayArrayCodec):
        return chain | {"hull": describe_hull(codecs[at:], spec)}
    if not issubclass(type(codec), ArrayBytesCodec):
        raise NotNativeError(f"codec {type(codec).__name__} in the place of an array-to-bytes codec")
    chain["filters"] = filters(codecs[at + 1 :], codec.resolve_metadata(spec))
    index = describe_index(codec) if kind_of(codec) == "shard" else None
    if kind_of(codec) == "bytes":
        chain["bytes"] = {"dtype": _zarr.stored_dtype(codec.endian, spec.dtype)}
    elif index is not None:
        inner = replace(spec, shape=tuple(codec.chunk_shape))
        below = describe(tuple(codec.codecs), inner)
        chain["shard"] = {"chunk_shape": inner.shape, "chain": below, "index": index}
    else:
        chain["python"] = {"codec": foreign.ChunkCodec(codec, spec)}
    return chain


def describe_hull(codecs: tuple[Any, ...], spec: Any) -> dict[str, Any]:
    """Array-to-array codecs without a kernel, before whatever follows them."""
    specs: list[Any] = []
    while isinstance(codecs[len(specs)], ArrayArrayCodec) and type(codecs[len(specs)]) is not TransposeCodec:
        specs.append(spec)
        spec = codecs[len(specs) - 1].resolve_metadata(spec)
        if len(specs) == len(codecs):
            raise NotNativeError("no array-to-bytes codec")
    stage = foreign.ArrayCodecs(codecs[: len(specs)], tuple(specs))
    below = compile_spec(codecs[len(specs) :], spec, is_below=True)
    return {"codec": stage, "program": below, "elementwise": stage.elementwise}


def describe_v2(codec: V2Codec, spec: Any) -> dict[str, Any]:
    """The kernel's description of a chunk of zarr format 2: items as they are, filtered perhaps, perhaps compressed."""
    dtype = spec.dtype.to_native_dtype()
    axes = range(len(spec.shape))
    chain: dict[str, Any] = {"shape": spec.shape}
    compressor = codec.compressor
    if not codec.filters and not holds_objects(dtype):
        chain["order"] = tuple(reversed(axes)) if spec.order == "F" else tuple(axes)
        chain["filters"] = () if compressor is None else [filter_v2(compressor)]
        chain["bytes"] = {"dtype": dtype}
        return chain
    native = type(compressor) in DECODERS
    chain["filters"] = [filter_v2(compressor)] if native else ()
    chain["python"] = {"codec": foreign.ChunkCodec(V2Codec(codec.filters, None) if native else codec, spec)}
    return chain


def filter_v2(compressor: Any) -> dict[str, Any]:
    """A compressor of zarr format 2: numcodecs' own object, whose decode takes bytes."""
    name, twin = DECODERS.get(type(compressor), ("python", compressor))
    return {"name": name, "codec": twin}


def transposes(codecs: tuple[Any, ...], spec: Any) -> tuple[tuple[int, ...], int, Any]:
    """The leading transposes, composed, how many they are, and what they hand on.

    Axis i of what a transpose hands on is axis order[i] of what it is handed.
    """
    order = tuple(range(len(spec.shape)))
    for at, codec in enumerate(codecs):
        if type(codec) is not TransposeCodec:
            return order, at, spec
        order = tuple(order[i] for i in codec.order)
        spec = codec.resolve_metadata(spec)
    return order, len(codecs), spec


def filters(codecs: tuple[Any, ...], spec: Any) -> list[dict[str, Any]]:
    """The bytes-to-bytes codecs, in the order of encoding."""
    found = []
    for codec in codecs:
        if not isinstance(codec, BytesBytesCodec):
            raise NotNativeError(f"codec {type(codec).__name__} in the place of a bytes-to-bytes codec")
        name, twin = DECODERS.get(type(codec), ("python", None))
        found.append({"name": name, "codec": foreign.BytesCodec(codec, spec) if name == "python" else twin})
        spec = codec.resolve_metadata(spec)
    return found


def describe_index(codec: Any) -> dict[str, Any] | None:
    """The kernel's description of a shard's index; None where the kernels don't know its codecs."""
    rank = len(codec.chunk_shape) + 1
    order = tuple(range(rank))
    codecs = tuple(codec.index_codecs)
    while codecs and type(codecs[0]) is TransposeCodec:
        order = tuple(order[i] for i in codecs[0].order)
        codecs = codecs[1:]
    if not codecs or kind_of(codecs[0]) != "bytes" or any(type(one) is not Crc32cCodec for one in codecs[1:]):
        return None
    return {
        "order": None if order == tuple(range(rank)) else order,
        "byteorder": _zarr.plain(codecs[0].endian),
        "checksums": len(codecs) - 1,
        "location": _zarr.plain(codec.index_location),
    }


def runs_python(chain: dict[str, Any]) -> bool:
    """Whether a described chain has a part that is not decoded by kernels."""
    if "python" in chain or "hull" in chain or any(one["name"] == "python" for one in chain["filters"]):
        return True
    return "shard" in chain and runs_python(chain["shard"]["chain"])


def needs_loop(codecs: tuple[Any, ...]) -> bool:
    """Whether some codec is a coroutine for zarr's event loop, which then must not wait for the read."""
    return any(
        needs_loop(tuple(codec.codecs)) if kind_of(codec) == "shard" else _zarr.needs_loop(codec)
        for codec in codecs
        if type(codec) not in DECODERS
    )


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
    if not all(compares(codec) for codec in codecs):
        return compile_chain(codecs, shape, data_type, fill_value, order)
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


def compares(codec: Any) -> bool:
    """Whether two codecs of this class that are equal are read alike.

    All instances of a third party's plain class are equal, by zarr's base class; and of zarr's own, some that differ in
    the sign of a zero.
    """
    if type(codec) is V2Codec:
        return not codec.filters and (codec.compressor is None or type(codec.compressor) in DECODERS)
    if kind_of(codec) == "shard":
        return all(compares(one) for one in (*codec.codecs, *codec.index_codecs))
    return kind_of(codec) == "bytes" or type(codec) is TransposeCodec or type(codec) in DECODERS


def compile_array(async_array: Any) -> Program:
    """The program of an array on a regular grid."""
    metadata = async_array.metadata
    shape = _zarr.chunk_shape(metadata)
    if shape is None:
        raise NotNativeError(f"chunk grid {type(metadata.chunk_grid).__name__}")
    return compile_chunk(metadata, tuple(async_array.codec_pipeline), shape)


def compile_chunk(metadata: Any, codecs: tuple[Any, ...], shape: tuple[int, ...]) -> Program:
    """The program of an array's chunks of one shape."""
    if any(n < 1 for n in shape):
        raise NotNativeError("a chunk of no items")
    return compile_cached(codecs, shape, metadata.dtype, metadata.fill_value, getattr(metadata, "order", "C"))


def compile_grid(async_array: Any) -> Grid | None:
    """The grid of an array whose chunks differ in shape; None where they don't."""
    metadata = async_array.metadata
    edges = _zarr.chunk_edges(metadata)
    codecs = tuple(async_array.codec_pipeline)
    return None if edges is None else Grid(edges, metadata.shape, lambda shape: compile_chunk(metadata, codecs, shape))


def grid_of(metadata: Any) -> Grid:
    """The grid of an array by its metadata alone, regular or not."""
    edges = _zarr.chunk_edges(metadata) or _zarr.chunk_shape(metadata)
    if edges is None:
        raise NotNativeError(f"chunk grid {type(metadata.chunk_grid).__name__}")
    codecs = _zarr.codecs_of(metadata)
    return Grid(edges, metadata.shape, lambda shape: compile_chunk(metadata, codecs, shape))
