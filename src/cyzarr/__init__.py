"""cyzarr: compiled kernels that make reading Zarr arrays fast.

Importing this package imports neither zarr nor compiled code: each name is loaded when it is first used, because
zarr loads entry points unguarded and must not pay for a package that is merely installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyzarr.activate import Status, disable, enable, enabled, status
    from cyzarr.codecs.bytes import BytesCodec
    from cyzarr.codecs.pipeline import CodecPipeline
    from cyzarr.codecs.sharding import ShardingCodec
    from cyzarr.errors import BoundsCheckError, CorruptChunkError, VindexInvalidSelectionError
    from cyzarr.explaining.explain import Explanation, explain
    from cyzarr.lazy.eager import EagerArrayAdapter
    from cyzarr.lazy.maps import ArrayMap, ConstantMap, DimensionMap, IndexDomain
    from cyzarr.lazy.transform import IndexTransform
    from cyzarr.lazy.view import LazyArray, Partition
    from cyzarr.observe import Trace, trace
    from cyzarr.planning.byhand import ByteRange, ReadPlan, plan
    from cyzarr.planning.many import read_many

    __version__: str

__all__ = [
    "ArrayMap",
    "BoundsCheckError",
    "ByteRange",
    "BytesCodec",
    "CodecPipeline",
    "ConstantMap",
    "CorruptChunkError",
    "DimensionMap",
    "EagerArrayAdapter",
    "Explanation",
    "IndexDomain",
    "IndexTransform",
    "LazyArray",
    "Partition",
    "ReadPlan",
    "ShardingCodec",
    "Status",
    "Trace",
    "VindexInvalidSelectionError",
    "disable",
    "enable",
    "enabled",
    "explain",
    "plan",
    "read_many",
    "status",
    "trace",
]

_HOMES = {
    "ArrayMap": "cyzarr.lazy.maps",
    "BoundsCheckError": "cyzarr.errors",
    "ByteRange": "cyzarr.planning.byhand",
    "BytesCodec": "cyzarr.codecs.bytes",
    "CodecPipeline": "cyzarr.codecs.pipeline",
    "ConstantMap": "cyzarr.lazy.maps",
    "CorruptChunkError": "cyzarr.errors",
    "DimensionMap": "cyzarr.lazy.maps",
    "EagerArrayAdapter": "cyzarr.lazy.eager",
    "Explanation": "cyzarr.explaining.explain",
    "IndexDomain": "cyzarr.lazy.maps",
    "IndexTransform": "cyzarr.lazy.transform",
    "LazyArray": "cyzarr.lazy.view",
    "Partition": "cyzarr.lazy.view",
    "ReadPlan": "cyzarr.planning.byhand",
    "ShardingCodec": "cyzarr.codecs.sharding",
    "Status": "cyzarr.activate",
    "Trace": "cyzarr.observe",
    "VindexInvalidSelectionError": "cyzarr.errors",
    "disable": "cyzarr.activate",
    "enable": "cyzarr.activate",
    "enabled": "cyzarr.activate",
    "explain": "cyzarr.explaining.explain",
    "plan": "cyzarr.planning.byhand",
    "read_many": "cyzarr.planning.many",
    "status": "cyzarr.activate",
    "trace": "cyzarr.observe",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = found
        return found
    if name == "__version__":
        found = globals()[name] = _version()
        return found
    if name == "kernels":
        return importlib.import_module("cyzarr.kernels")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _version() -> str:
    """That of the installed package; ``unknown`` in a folder that isn't installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(__name__)
    except PackageNotFoundError:
        return "unknown"


def __dir__() -> list[str]:
    return [*__all__, "kernels", "__version__"]
