"""Every difference between the zarr versions that cyzarr supports."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import inspect
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import zarr.abc.store
import zarr.codecs
import zarr.core.array
import zarr.core.codec_pipeline
import zarr.core.indexing
import zarr.core.sync
from zarr.abc.store import Store
from zarr.codecs import ShardingCodec
from zarr.codecs._v2 import V2Codec
from zarr.core.array_spec import ArrayConfig, ArraySpec
from zarr.core.buffer import BufferPrototype, cpu
from zarr.core.dtype.common import HasEndianness
from zarr.core.dtype.npy import structured
from zarr.core.metadata.v2 import ArrayV2Metadata
from zarr.core.metadata.v3 import ArrayV3Metadata
from zarr.storage import MemoryStore, StorePath, WrapperStore

from cyzarr.loops import run_coroutine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Array-to-array codecs that decode each item by itself; zarr has these from 3.2 on.
ELEMENTWISE = tuple(getattr(zarr.codecs, name) for name in ("ScaleOffset", "CastValue") if hasattr(zarr.codecs, name))
# zarr 3.2 named the structured data type anew, and from then on its fields follow the codec's byte order.
STRUCT: type | None = getattr(structured, "Struct", None)
# From zarr 3.2 on a pipeline's read returns one result per chunk.
READ_RESULTS: bool = hasattr(__import__("zarr.abc.codec", fromlist=["x"]), "GetResult")

# Since zarr looks at the part of an edge chunk that lies in the array, an integer may cover it.
INTS_COVER_EDGES: bool = "dim_chunk_len" not in zarr.core.indexing.IntDimIndexer.__annotations__

Batched = zarr.core.codec_pipeline.BatchedCodecPipeline
Fused: Any = getattr(zarr.core.codec_pipeline, "FusedCodecPipeline", None)

# What the direct road looks up on arrays.
PRIVATE = ("_async_array", "metadata", "config", "store_path", "codec_pipeline")
# The signatures that enable() relies on: where one differs, zarr is left alone.
SIGNATURES: dict[str, tuple[Any, str, list[str]]] = {
    "Array.__getitem__": (zarr.core.array.Array, "__getitem__", ["self", "selection"]),
    "Array.get_basic_selection": (
        zarr.core.array.Array,
        "get_basic_selection",
        ["self", "selection", "out", "prototype", "fields"],
    ),
    **{
        f"Array.{name}": (zarr.core.array.Array, name, ["self", first, "out", "fields", "prototype"])
        for name, first in {
            "get_orthogonal_selection": "selection",
            "get_coordinate_selection": "selection",
            "get_mask_selection": "mask",
            "get_block_selection": "selection",
        }.items()
    },
    "AsyncArray.getitem": (zarr.core.array.AsyncArray, "getitem", ["self", "selection", "prototype"]),
    **{
        f"AsyncArray.{name}": (zarr.core.array.AsyncArray, name, ["self", first, "out", "fields", "prototype"])
        for name, first in {
            "get_orthogonal_selection": "selection",
            "get_coordinate_selection": "selection",
            "get_mask_selection": "mask",
        }.items()
    },
    "ShardingCodec.validate": (ShardingCodec, "validate", ["self", "shape", "dtype", "chunk_grid"]),
    "BatchedCodecPipeline.read": (Batched, "read", ["self", "batch_info", "out", "drop_axes"]),
    "BatchedCodecPipeline.write": (Batched, "write", ["self", "batch_info", "value", "drop_axes"]),
}
# The fused pipeline came with zarr 3.3.
if Fused is not None:
    SIGNATURES["FusedCodecPipeline.write"] = (Fused, "write", ["self", "batch_info", "value", "drop_axes"])


def _signature(owner: type, name: str) -> inspect.Signature | None:
    """That of a class's own function; None where it has none."""
    try:
        return inspect.signature(owner.__dict__[name])
    except (KeyError, TypeError, ValueError):
        return None


def unknown_signatures() -> list[str]:
    """What enable() relies on and this zarr has otherwise; empty where all is as known."""
    found = []
    for name, (owner, attribute, expected) in SIGNATURES.items():
        signature = _signature(owner, attribute)
        if signature is None or list(signature.parameters) != expected:
            found.append(f"{name}{signature or ''}")
    # Ours takes keywords alone, and hands them on.
    signature = _signature(ArrayV3Metadata, "__init__")
    kinds = [] if signature is None else [one.kind for one in signature.parameters.values()]
    if not kinds or any(kind is not inspect.Parameter.KEYWORD_ONLY for kind in kinds[1:]):
        found.append(f"ArrayV3Metadata.__init__{signature or ''}")
    if not isinstance(ArrayV3Metadata.__dict__.get("from_dict"), classmethod):
        found.append("ArrayV3Metadata.from_dict")
    if "__slots__" in zarr.core.array.AsyncArray.__dict__:
        found.append("AsyncArray without __dict__")
    annotations = {**zarr.core.array.AsyncArray.__annotations__, **zarr.core.array.Array.__annotations__}
    found += [name for name in PRIVATE if name not in annotations]
    if not isinstance(getattr(cpu.Buffer.create_zero_length(), "_data", None), np.ndarray):
        found.append("Buffer without _data")
    return found


def is_default_pipeline(pipeline: Any) -> bool:
    """Whether a pipeline is zarr's default, or ours, which says so itself: any other was chosen."""
    return type(pipeline) is Batched or "_cyzarr_pipeline" in type(pipeline).__dict__


OTHER_PARTS = "this zarr keeps an array's parts otherwise than known"


class Parts(NamedTuple):
    """What an array is made of, which zarr doesn't show."""

    metadata: Any
    config: Any
    store_path: Any
    pipeline: Any


def parts_of(array: Any) -> Parts | None:
    """What an array is made of; None where this zarr keeps it otherwise than known, so that its own code is to do."""
    inner = getattr(array, "_async_array", None)
    try:
        return Parts(inner.metadata, inner.config, inner.store_path, inner.codec_pipeline)  # type: ignore[union-attr]
    except AttributeError:
        return None


def pipeline_of(array: Any) -> Any:
    """The codec pipeline of an array; an empty one where this zarr keeps it otherwise than known."""
    parts = parts_of(array)
    return () if parts is None else parts.pipeline


def _twin(array: Any, made: type | None = None, **changed: Any) -> Any:
    """The same array, or one of another class, with some of its parts changed.

    None where this zarr keeps them otherwise than known.
    """
    try:
        inner = copy.copy(array._async_array)
        for name, value in changed.items():
            getattr(inner, name)
            object.__setattr__(inner, name, value)
        inner.__dict__.pop("_cyzarr", None)
        return (made or type(array))(inner)
    except (AttributeError, TypeError):
        return None


def without_output(array: Any, pipeline: Any) -> Any:
    """A twin of an array that reads through another pipeline, into outputs that take no memory.

    None where this zarr lets none be made. It is no `zarr.Array` to the roads that cyzarr is switched on to.
    """
    return _twin(array, _WithoutOutput, codec_pipeline=pipeline)


class _ShapeFound(Exception):  # noqa: N818
    """What zarr would allocate."""


class _Asking:
    """Stands for a class of buffers, of which zarr asks the output."""

    @staticmethod
    def empty(shape: Any, dtype: Any, order: Any = "C") -> Any:
        raise _ShapeFound(tuple(shape), dtype)

    create = empty


class _WithoutOutput(zarr.core.array.Array[Any]):
    """An array whose results are all one item, whatever their shape."""

    def _into_nothing(self, read: Callable[..., Any], selection: Any, fields: Any) -> Any:
        asking: Any = _Asking
        try:
            return read(selection, fields=fields, prototype=BufferPrototype(cpu.Buffer, asking))
        except _ShapeFound as found:
            shape, dtype = found.args
        out = np.lib.stride_tricks.as_strided(empty((1,), dtype), shape, (0,) * len(shape))
        return read(selection, fields=fields, out=nd_buffer(out))

    def get_basic_selection(self, selection: Any = ..., *, fields: Any = None, **_: Any) -> Any:
        return self._into_nothing(super().get_basic_selection, selection, fields)

    def get_orthogonal_selection(self, selection: Any, *, fields: Any = None, **_: Any) -> Any:
        return self._into_nothing(super().get_orthogonal_selection, selection, fields)

    def get_coordinate_selection(self, selection: Any, *, fields: Any = None, **_: Any) -> Any:
        return self._into_nothing(super().get_coordinate_selection, selection, fields)

    def get_mask_selection(self, mask: Any, *, fields: Any = None, **_: Any) -> Any:
        return self._into_nothing(super().get_mask_selection, mask, fields)


def encodes_parts(pipeline: Any) -> bool:
    """Whether a pipeline writes parts of a chunk by itself, as it does where all of it is a shard."""
    return bool(getattr(pipeline, "supports_partial_encode", True))


def stored_dtype(endian: Any, data_type: Any) -> np.dtype[Any]:
    """The dtype in which a bytes codec of this byte order stores items of a zarr data type."""
    native: np.dtype[Any] = data_type.to_native_dtype()
    order = plain(endian)
    if isinstance(data_type, HasEndianness):
        # HasEndianness alone is a mixin: what becomes a dtype is the data type that it is part of.
        ordered: Any = replace(data_type, endianness=order)
        stored: np.dtype[Any] = ordered.to_native_dtype()
        return stored
    if STRUCT is not None and isinstance(data_type, STRUCT) and order is not None:
        return native.newbyteorder(order)
    return native


def native_dtype(array: Any) -> np.dtype[Any]:
    """The dtype of what reading an array gives."""
    data_type = array.metadata.dtype
    found: np.dtype[Any] = data_type.to_native_dtype()
    return found


def plain(value: Any) -> Any:
    """What an enumeration's member stands for; zarr holds some settings as members, some as plain text."""
    return getattr(value, "value", value)


def plain_name(data_type: Any) -> str | None:
    """The name of one of the specification's data types; None for another, of whose spelling zarr would warn."""
    name = getattr(data_type, "_zarr_v3_name", None)
    plain = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    floats = ("float16", "float32", "float64", "complex64", "complex128")
    return name if name in plain + floats else None


def fill_bytes(fill_value: Any, data_type: Any, dtype: np.dtype[Any]) -> bytes:
    """One item of the fill value, as zarr's own assignment stores it."""
    # A slice of one item: assigning to an item alone, NumPy forgets to swap some big-endian times.
    item = empty((1,), dtype)
    item.view(np.uint8)[:] = 0
    item[:] = data_type.default_scalar() if fill_value is None else fill_value
    return item.tobytes()


def fill_key(fill_value: Any) -> Any:
    """A fill value as a key that tells bit patterns apart."""
    if isinstance(fill_value, str | bytes):
        return type(fill_value), fill_value
    if np.asarray(fill_value).dtype.hasobject and fill_value is not None:
        # An object's bytes are its address: equal to nothing.
        return object()
    return None if fill_value is None else (np.asarray(fill_value).dtype.str, np.asarray(fill_value).tobytes())


def chunk_shape(metadata: Any) -> tuple[int, ...] | None:
    """The shape of a regular grid's chunks; None for another grid."""
    if metadata.zarr_format == 2:
        return tuple(metadata.chunks)
    grid = metadata.chunk_grid
    if type(grid).__name__ not in ("RegularChunkGrid", "RegularChunkGridMetadata"):
        return None
    return tuple(grid.chunk_shape)


def chunk_edges(metadata: Any) -> tuple[Any, ...] | None:
    """Of a rectilinear grid, per axis the length of all chunks or a tuple of each one's; None for another grid."""
    # zarr 3.4 warns where a v2 document is asked for its grid.
    grid: Any = None if metadata.zarr_format == 2 else metadata.chunk_grid
    return tuple(grid.chunk_shapes) if type(grid).__name__.startswith("RectilinearChunkGrid") else None


def parse_metadata(document: dict[str, Any]) -> Any:
    """zarr's metadata of an array's document; what is wrong with it, zarr says."""
    return (ArrayV2Metadata if document.get("zarr_format") == 2 else ArrayV3Metadata).from_dict(document)


def codecs_of(metadata: Any) -> tuple[Any, ...]:
    """The codecs of an array that zarr has not opened, as its default pipeline has them."""
    if metadata.zarr_format == 2:
        return (V2Codec(filters=metadata.filters, compressor=metadata.compressor),)
    shape = chunk_shape(metadata) or (1,) * len(metadata.shape)
    spec = array_spec(shape, metadata.data_type, metadata.fill_value)
    found = []
    for codec in metadata.codecs:
        found.append(codec.evolve_from_array_spec(spec))
        spec = found[-1].resolve_metadata(spec)
    return tuple(found)


def reads_missing(config: Any) -> bool:
    """Whether missing chunks are filled (zarr 3.2 on lets an array refuse them)."""
    return bool(getattr(config, "read_missing_chunks", True))


def coalesce_limits(config: Any) -> tuple[int, int]:
    """(gap, length) in bytes up to which two ranges of one object are asked for as one.

    An array's own from zarr 3.3 on; before, zarr's later defaults. zarr takes any integer.
    """
    gap = getattr(config, "sharding_coalesce_max_gap_bytes", 1 << 20)
    length = getattr(config, "sharding_coalesce_max_bytes", 16 << 20)
    return min(max(gap, 0), 1 << 62), min(max(length, 0), 1 << 62)


def nd_buffer(values: np.ndarray[Any, Any]) -> Any:
    """An array as zarr's codecs are handed it."""
    given: Any = values
    return cpu.NDBuffer(given)


def array_spec(shape: tuple[int, ...], data_type: Any, fill_value: Any, order: Any = "C") -> ArraySpec:
    """What zarr tells a codec of the chunks that it is handed."""
    config = ArrayConfig(order=order, write_empty_chunks=False)
    return ArraySpec(shape=shape, dtype=data_type, fill_value=fill_value, config=config, prototype=cpu.buffer_prototype)


def chunk_spec(metadata: Any, config: Any) -> ArraySpec | None:
    """What zarr tells the codecs of an array's chunks; None for another than a regular grid."""
    shape = chunk_shape(metadata)
    if shape is None:
        return None
    if metadata.zarr_format == 2:
        # Its own order is the stored one.
        config = replace(config, order=metadata.order)
    return ArraySpec(
        shape=shape,
        dtype=metadata.dtype,
        fill_value=metadata.fill_value,
        config=config,
        prototype=cpu.buffer_prototype,
    )


def is_sharded(metadata: Any) -> bool:
    """Whether an array's chunks are in shards; `shards` of the array isn't told for every grid."""
    return any(isinstance(codec, ShardingCodec) for codec in getattr(metadata, "codecs", ()))


def awaits_repair(metadata: Any) -> bool:
    """Whether zarr stores an array's document anew before it writes chunks."""
    return getattr(metadata, "_stored_document", None) is not None


def decoder(codec: Any) -> Callable[[Any, Any], Any]:
    """The function that decodes (data, specification) by a codec's own method, as zarr's default pipeline does.

    The synchronous method serves where the class that defines it knows of the asynchronous one, too. A codec that has
    only a coroutine is run on zarr's event loop: never call it there (`is_asynchronous` tells).
    """
    if not is_asynchronous(codec):
        return codec._decode_sync  # type: ignore[no-any-return]

    def decode(data: Any, spec: Any) -> Any:
        return zarr.core.sync.sync(codec._decode_single(data, spec))

    if type(codec).__module__.startswith("zarr."):
        # zarr's own, before they had synchronous methods: they wait for nothing but a thread.
        def decode(data: Any, spec: Any) -> Any:
            return run_coroutine(codec._decode_single(data, spec))

    return decode


def is_asynchronous(codec: Any) -> bool:
    """Whether a codec's own way to decode is a coroutine."""
    if not getattr(codec, "_sync_capable", True):
        return True
    classes = type(codec).__mro__
    single = next((at for at, cls in enumerate(classes) if "_decode_single" in cls.__dict__), len(classes))
    sync = next((at for at, cls in enumerate(classes) if "_decode_sync" in cls.__dict__), len(classes))
    return sync > single


def needs_loop(codec: Any) -> bool:
    """Whether decoding needs zarr's event loop, so that it must not be waited for there."""
    return is_asynchronous(codec) and not type(codec).__module__.startswith("zarr.")


def on_zarr_loop() -> bool:
    """Whether this thread is running zarr's event loop."""
    try:
        return asyncio.get_running_loop() is zarr.core.sync.loop[0]
    except RuntimeError:
        return False


# From zarr 3.3 on a store answers many ranges at once, and some answer without an event loop.
_GET_RANGES = getattr(Store, "get_ranges", None)
_WRAPPED_RANGES = WrapperStore.__dict__.get("get_ranges")
_GET_RANGES_SYNC = getattr(Store, "get_ranges_sync", None)
_store_supports_sync_io: Any = getattr(zarr.abc.store, "_store_supports_sync_io", None)


def answers_ranges(store: Any) -> tuple[Any, bool]:
    """The store that answers the ranges of a shard as zarr asks for them, and whether by a `get_ranges` of its own.

    Otherwise it is its `get` that answers. A wrapper that is zarr's in this hands them to the store that it wraps,
    also where it has a `get` of its own.
    """
    while True:
        method = getattr(store, "get_ranges", None)
        function = getattr(method, "__func__", method)
        if function is None or function is _GET_RANGES:
            return store, False
        inner = wrapped(store) if function is _WRAPPED_RANGES else None
        if inner is None:
            return store, True
        store = inner


def wrapped(store: Any) -> Any:
    """The store that one of zarr's wrappers holds; None where it holds it otherwise than known."""
    return getattr(store, "_store", None)


def has_own_ranges_sync(store: Any) -> bool:
    """Whether a store has a `get_ranges_sync` of its own; zarr's is the same as `get_sync` for each merged range."""
    method = getattr(store, "get_ranges_sync", None)
    return method is not None and getattr(method, "__func__", method) is not _GET_RANGES_SYNC


def takes_concurrency(get_ranges: Any) -> bool:
    """Whether a `get_ranges` can be told how many requests it may have under way."""
    return _takes_concurrency(getattr(get_ranges, "__func__", get_ranges))


@functools.lru_cache(maxsize=64)
def _takes_concurrency(function: Any) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(one.name == "max_concurrency" or one.kind is one.VAR_KEYWORD for one in parameters)


def reads_sync(store: Any) -> bool:
    """Whether a store answers without an event loop."""
    return _store_supports_sync_io is not None and bool(_store_supports_sync_io(store))


def run(coroutine: Any) -> Any:
    """Run a coroutine on zarr's event loop, and wait for it."""
    return zarr.core.sync.sync(coroutine)


def results(missing: list[bool]) -> Any:
    """What a pipeline's read returns: per chunk whether it was there; None before zarr had that."""
    if not READ_RESULTS:
        return None
    return tuple({"status": "missing" if one else "present"} for one in missing)


def put_chunks(pipeline: Any, spec: ArraySpec, chunks: list[tuple[Any, Any, Any]]) -> list[BaseException | None]:
    """Encode and store whole chunks, (StorePath, array, some of its items) each; what each raised, or None.

    As zarr does, a chunk that holds nothing but the fill value is deleted instead. Items that must be something else
    say so without a look at all.
    """
    fill = spec.dtype.default_scalar() if spec.fill_value is None else spec.fill_value
    keep_all = spec.config.write_empty_chunks

    def is_empty(array: Any, some: Any) -> bool:
        return not keep_all and nd_buffer(some).all_equal(fill) and nd_buffer(array).all_equal(fill)

    if _encodes_here(pipeline) and all(_sets_here(path) for path, _, _ in chunks):
        return [_put_here(pipeline, spec, path, array, is_empty(array, some)) for path, array, some in chunks]

    async def put_all() -> list[BaseException | None]:
        gate = asyncio.Semaphore(zarr.core.config.config.get("async.concurrency") or len(chunks))

        async def put(path: Any, array: Any, some: Any) -> None:
            async with gate:
                if is_empty(array, some):
                    await path.delete()
                    return
                (encoded,) = await pipeline.encode([(nd_buffer(array), spec)])
                await (path.delete() if encoded is None else path.set(encoded))

        return await asyncio.gather(*[put(*one) for one in chunks], return_exceptions=True)

    return zarr.core.sync.sync(put_all())


def _encodes_here(pipeline: Any) -> bool:
    """Whether encoding is a view of the items, so that it is worth no turn of the event loop."""
    (codec, *more) = pipeline
    cls = type(codec)
    own = cls is zarr.codecs.BytesCodec or cls.__dict__.get("_cyzarr_kind") == "bytes"
    return own and not more and hasattr(cls, "_encode_sync")


# What a write to a store in memory goes through. None of these waits while they are zarr's own.
_SETTERS = ("set", "delete", "_ensure_open", "_open", "_check_writable")
_OWN_SETTERS = [
    (cls, name, getattr(cls, name, None)) for cls in (MemoryStore, StorePath) for name in _SETTERS if hasattr(cls, name)
]


def _sets_here(path: Any) -> bool:
    """Whether a store's methods to write, zarr's own, wait for nothing."""
    if type(path) is not StorePath or type(path.store) is not MemoryStore:
        return False
    changed = path.store.__dict__.keys() & _SETTERS
    return not changed and all(getattr(cls, name, None) is method for cls, name, method in _OWN_SETTERS)


def _put_here(pipeline: Any, spec: ArraySpec, path: Any, array: Any, empty: bool) -> BaseException | None:
    """One chunk as a buffer in memory, without an event loop."""
    (codec,) = pipeline
    try:
        doing = path.delete() if empty else path.set(codec._encode_sync(nd_buffer(array), spec))
        try:
            doing.send(None)
        except StopIteration:
            return None
        doing.close()
        raise RuntimeError("a store in memory waits for something")
    except Exception as error:
        return error


def set_slabs(array: Any, slabs: list[tuple[tuple[slice, ...], Any]]) -> list[BaseException | None]:
    """Write slabs of an array that share no chunk, several at a time; what each raised, or None."""
    inner = getattr(array, "_async_array", None)
    if not hasattr(inner, "setitem"):
        return [_set_slab(array, *one) for one in slabs]
    limit = zarr.core.config.config.get("async.concurrency")

    async def write_all() -> list[BaseException | None]:
        gate = asyncio.Semaphore(limit or len(slabs))

        async def write(key: tuple[slice, ...], value: Any) -> None:
            async with gate:
                await inner.setitem(key, value)  # type: ignore[union-attr]

        return await asyncio.gather(*[write(key, value) for key, value in slabs], return_exceptions=True)

    return zarr.core.sync.sync(write_all())


def _set_slab(array: Any, key: tuple[slice, ...], value: Any) -> BaseException | None:
    try:
        array[key] = value
    except Exception as error:
        return error
    return None


class WriteLog:
    """Which objects below an array's path one write of zarr's has stored.

    Where one of several chunks fails, zarr raises at once and lets the others go on. Here what hasn't begun by then is
    refused, so that the log tells all that was written, then and later.

    Attributes
    ----------
    array : zarr.Array or None
        The same array, whose writes are noted; None where this zarr lets none be made.
    touched : list of str
        The keys that the write went for.
    done : set of str
        Those that the store took.
    """

    def __init__(self, array: Any) -> None:
        self.touched: list[str] = []
        self.done: set[str] = set()
        self._under_way: set[str] = set()
        self._ended = False
        self._changed = threading.Condition()
        parts = parts_of(array)
        self.array = None if parts is None else _twin(array, store_path=_NotedPath(parts.store_path, self))

    @contextlib.contextmanager
    def storing(self, key: str) -> Iterator[None]:
        with self._changed:
            if self._ended:
                raise RuntimeError(f"{key} isn't written: another chunk of the same write has failed")
            self._under_way.add(key)
        try:
            yield
            self.done.add(key)
        finally:
            with self._changed:
                self._under_way.discard(key)
                self._changed.notify_all()

    def end(self, seconds: float) -> list[str]:
        """Refuse what hasn't begun, and wait for what has; the keys of which some may still be under way."""
        with self._changed:
            self._ended = True
            self._changed.wait_for(lambda: not self._under_way, seconds)
            return sorted(self._under_way)


class _NotedPath(StorePath):
    """An array's path; what is stored below it is noted."""

    def __init__(self, path: StorePath, log: WriteLog, key: str = "") -> None:
        super().__init__(path.store, path.path)
        self.log, self.key = log, key

    def __truediv__(self, other: str) -> StorePath:
        self.log.touched.append(other)
        return _NotedPath(StorePath(self.store, self.path) / other, self.log, other)

    async def set(self, value: Any) -> None:
        with self.log.storing(self.key):
            await super().set(value)

    async def delete(self) -> None:
        with self.log.storing(self.key):
            await super().delete()

    def set_sync(self, value: Any) -> None:
        with self.log.storing(self.key):
            super().set_sync(value)

    def delete_sync(self) -> None:
        with self.log.storing(self.key):
            super().delete_sync()


def empty(shape: Any, dtype: np.dtype[Any], order: Any = "C") -> np.ndarray[Any, Any]:
    """A fresh array as zarr allocates it: NumPy's own empty drops the scale of a time without a unit."""
    made: Any = cpu.NDBuffer.empty(shape=tuple(shape), dtype=dtype, order=order)
    return made._data  # type: ignore[no-any-return]


def cpu_array(out: Any) -> np.ndarray[Any, Any] | None:
    """The ndarray behind an NDBuffer in host memory; None for any other."""
    if type(out) is not cpu.NDBuffer:
        return None
    data: Any = out._data
    return data if type(data) is np.ndarray else None


def cpu_bytes(buffer: Any) -> np.ndarray[Any, Any]:
    """The bytes of a Buffer, as a contiguous uint8 array (copied only where they are not)."""
    return np.ascontiguousarray(buffer.as_numpy_array()).reshape(-1).view(np.uint8)
