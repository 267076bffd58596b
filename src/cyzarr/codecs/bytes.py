"""The `bytes` codec, with uncompressed chunks read in part.

Loaded by zarr's entry points: it imports no compiled code until a read asks for it.
"""

from __future__ import annotations

import functools
from typing import Any

import zarr.codecs
from zarr.abc.codec import ArrayBytesCodecPartialDecodeMixin
from zarr.registry import register_codec

from cyzarr.codecs.loading import NOT_NATIVE, load_partial


class BytesCodec(zarr.codecs.BytesCodec, ArrayBytesCodecPartialDecodeMixin):
    """zarr's `bytes` codec that reads of an uncompressed chunk what a selection needs.

    Chosen by ``zarr.config.set({"codecs.bytes": "cyzarr.BytesCodec"})``. Encoding, and decoding of whole chunks, are
    zarr's own.
    """

    # Tells the compiler of programs that the kernels do what this class does; a subclass says so itself.
    _cyzarr_kind = "bytes"

    async def _decode_partial_single(self, byte_getter: Any, selection: Any, chunk_spec: Any) -> Any:
        """Decode a selection of one stored chunk; None where there is no such chunk."""
        partial = load_partial()
        found = await partial.decode_async(self, byte_getter, selection, chunk_spec)
        if found is not NOT_NATIVE:
            return found
        stored = await byte_getter.get(chunk_spec.prototype)
        return None if stored is None else self._decode_sync(stored, chunk_spec)[selection]

    def _decode_partial_sync(self, byte_getter: Any, selection: Any, chunk_spec: Any) -> Any:
        """The synchronous twin."""
        partial = load_partial()
        found = partial.decode_sync(self, byte_getter, selection, chunk_spec)
        if found is not NOT_NATIVE:
            return found
        stored = byte_getter.get_sync(prototype=chunk_spec.prototype)
        return None if stored is None else self._decode_sync(stored, chunk_spec)[selection]

    def __reduce__(self) -> Any:
        # Pickled as zarr's own class, so that it opens where cyzarr is not installed.
        return functools.partial(zarr.codecs.BytesCodec, endian=self.endian), ()


BytesCodec.__module__ = "cyzarr"
register_codec("bytes", BytesCodec)
