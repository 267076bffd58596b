"""The `sharding_indexed` codec, with shards decoded by compiled kernels.

Loaded by zarr's entry points: it imports no compiled code until a read asks for it.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any

import zarr.codecs
from zarr.registry import register_codec

from cyzarr.codecs.loading import NOT_NATIVE, load_partial


class ShardingCodec(zarr.codecs.ShardingCodec):
    """zarr's sharding codec that decodes by compiled kernels, reading the index and the touched inner chunks only.

    Chosen by ``zarr.config.set({"codecs.sharding_indexed": "cyzarr.ShardingCodec"})``. Encoding is zarr's own.
    """

    # Tells the compiler of programs that the kernels do what this class does; a subclass says so itself.
    _cyzarr_kind = "shard"

    async def _decode_single(self, shard_bytes: Any, shard_spec: Any) -> Any:
        """Decode a whole shard."""
        partial = load_partial()
        found = await partial.decode_whole_async(self, shard_bytes, shard_spec)
        return await super()._decode_single(shard_bytes, shard_spec) if found is NOT_NATIVE else found

    def _decode_sync(self, shard_bytes: Any, shard_spec: Any) -> Any:
        """The synchronous twin."""
        partial = load_partial()
        found = partial.decode_whole(self, shard_bytes, shard_spec)
        if found is not NOT_NATIVE:
            return found
        return super()._decode_sync(shard_bytes, shard_spec)  # type: ignore[misc]  # zarr 3.3 on

    async def _decode_partial_single(self, byte_getter: Any, selection: Any, shard_spec: Any) -> Any:
        """Decode a selection of a stored shard; None where there is no such shard."""
        partial = load_partial()
        found = await partial.decode_async(self, byte_getter, selection, shard_spec)
        if found is not NOT_NATIVE:
            return found
        return await super()._decode_partial_single(byte_getter, selection, shard_spec)

    def _decode_partial_sync(self, byte_getter: Any, selection: Any, shard_spec: Any) -> Any:
        """The synchronous twin, which zarr's fused pipeline calls (zarr 3.3 on)."""
        partial = load_partial()
        found = partial.decode_sync(self, byte_getter, selection, shard_spec)
        if found is not NOT_NATIVE:
            return found
        return super()._decode_partial_sync(byte_getter, selection, shard_spec)  # type: ignore[misc]

    def __reduce__(self) -> Any:
        # Pickled as zarr's own class, so that it opens where cyzarr is not installed.
        given = {name: getattr(self, name) for name in inspect.signature(zarr.codecs.ShardingCodec).parameters}
        return functools.partial(zarr.codecs.ShardingCodec, **given), ()


ShardingCodec.__module__ = "cyzarr"
register_codec("sharding_indexed", ShardingCodec)
