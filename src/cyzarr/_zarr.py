"""Every difference between the zarr versions that cyzarr supports."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import zarr.core.array
import zarr.core.codec_pipeline
from zarr.codecs import ShardingCodec
from zarr.core.buffer import cpu
from zarr.core.dtype.common import HasEndianness
from zarr.core.dtype.npy import structured

# zarr 3.2 named the structured data type anew, and from then on its fields follow the codec's byte order.
STRUCT: type | None = getattr(structured, "Struct", None)
# From zarr 3.2 on a pipeline's read returns one result per chunk.
READ_RESULTS: bool = hasattr(__import__("zarr.abc.codec", fromlist=["x"]), "GetResult")

Batched = zarr.core.codec_pipeline.BatchedCodecPipeline

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
    "ShardingCodec.validate": (ShardingCodec, "validate", ["self", "shape", "dtype", "chunk_grid"]),
    "BatchedCodecPipeline.read": (Batched, "read", ["self", "batch_info", "out", "drop_axes"]),
}


def unknown_signatures() -> list[str]:
    """What enable() relies on and this zarr has otherwise; empty where all is as known."""
    found = []
    for name, (owner, attribute, expected) in SIGNATURES.items():
        method = owner.__dict__.get(attribute)
        if method is None or list(inspect.signature(method).parameters) != expected:
            found.append(f"{name}{'' if method is None else inspect.signature(method)}")
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


def stored_dtype(endian: Any, data_type: Any) -> np.dtype[Any]:
    """The dtype in which a bytes codec of this byte order stores items of a zarr data type."""
    native: np.dtype[Any] = data_type.to_native_dtype()
    order = getattr(endian, "value", endian)
    if isinstance(data_type, HasEndianness):
        # HasEndianness alone is a mixin: what becomes a dtype is the data type that it is part of.
        ordered: Any = replace(data_type, endianness=order)
        stored: np.dtype[Any] = ordered.to_native_dtype()
        return stored
    if STRUCT is not None and isinstance(data_type, STRUCT) and order is not None:
        return native.newbyteorder(order)
    return native


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
    return None if fill_value is None else (np.asarray(fill_value).dtype.str, np.asarray(fill_value).tobytes())


def chunk_shape(metadata: Any) -> tuple[int, ...] | None:
    """The shape of a regular grid's chunks; None for another grid."""
    if metadata.zarr_format == 2:
        return tuple(metadata.chunks)
    grid = metadata.chunk_grid
    if type(grid).__name__ not in ("RegularChunkGrid", "RegularChunkGridMetadata"):
        return None
    return tuple(grid.chunk_shape)


def reads_missing(config: Any) -> bool:
    """Whether missing chunks are filled (zarr 3.2 on lets an array refuse them)."""
    return bool(getattr(config, "read_missing_chunks", True))


def coalesce_limits(config: Any) -> tuple[int, int]:
    """(gap, length) in bytes up to which two ranges of one object are asked for as one.

    An array's own from zarr 3.3 on; before, zarr's later defaults.
    """
    return (
        getattr(config, "sharding_coalesce_max_gap_bytes", 1 << 20),
        getattr(config, "sharding_coalesce_max_bytes", 16 << 20),
    )


def results(missing: list[bool]) -> Any:
    """What a pipeline's read returns: per chunk whether it was there; None before zarr had that."""
    if not READ_RESULTS:
        return None
    return tuple({"status": "missing" if one else "present"} for one in missing)


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
