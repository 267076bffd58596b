"""Codecs without a kernel, called by the kernels through their own methods.

Each class here has the one method that a kernel's program asks for, `decode`. What it is given and gives are bytes or
NumPy arrays; zarr's buffers stay inside.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from zarr.codecs import numcodecs as zarr_numcodecs

from cyzarr import _zarr

# Array-to-array codecs that decode each item by itself, so that any block of a chunk will do. By their exact class.
ELEMENTWISE = frozenset(
    (
        zarr_numcodecs.AsType,
        zarr_numcodecs.BitRound,
        zarr_numcodecs.FixedScaleOffset,
        zarr_numcodecs.Quantize,
        *_zarr.ELEMENTWISE,
    )
)


class BytesCodec:
    """A bytes-to-bytes codec and the specification that it is handed."""

    def __init__(self, codec: Any, spec: Any) -> None:
        self._decode = _zarr.decoder(codec)
        self._spec = spec

    def decode(self, stored: bytes) -> np.ndarray[Any, Any]:
        """Undo the codec."""
        return _zarr.cpu_bytes(self._decode(self._spec.prototype.buffer.from_bytes(stored), self._spec))


class ChunkCodec:
    """An array-to-bytes codec: it decodes a whole chunk."""

    def __init__(self, codec: Any, spec: Any) -> None:
        self._decode = _zarr.decoder(codec)
        self._spec = spec

    def decode(self, stored: bytes) -> np.ndarray[Any, Any]:
        """The chunk, in the shape that the codec was handed."""
        found = self._decode(self._spec.prototype.buffer.from_bytes(stored), self._spec)
        return found.as_numpy_array()  # type: ignore[no-any-return]


class ArrayCodecs:
    """Array-to-array codecs, in the order of encoding, and what each is handed."""

    def __init__(self, codecs: tuple[Any, ...], specs: tuple[Any, ...]) -> None:
        self._stages = [(_zarr.decoder(codec), spec) for codec, spec in zip(codecs, specs, strict=True)]
        self.elementwise = all(type(codec) in ELEMENTWISE for codec in codecs)

    def decode(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """What the first codec was handed, from what the last one gave: a whole chunk, or if elementwise any block."""
        found: Any = _zarr.nd_buffer(values)
        for decode, spec in reversed(self._stages):
            found = decode(found, replace(spec, shape=values.shape) if self.elementwise else spec)
        return found.as_numpy_array()  # type: ignore[no-any-return]
