"""Codecs of a third party: registered with zarr by name, each with the least that zarr asks of one."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
from zarr.registry import register_codec


class Counted:
    """Counts what is decoded, and in how many threads."""

    calls: ClassVar[list] = []

    @classmethod
    def start(cls):
        cls.calls.clear()

    def note(self):
        Counted.calls.append((type(self).__name__, threading.get_ident()))


class Plain(Counted):
    is_fixed_size = True
    codec_name = ""

    @classmethod
    def from_dict(cls, data):
        return cls()

    def to_dict(self):
        return {"name": self.codec_name, "configuration": {}}

    def compute_encoded_size(self, input_byte_length, chunk_spec):
        return input_byte_length


@dataclass(frozen=True)
class Flip(Plain, ArrayArrayCodec):
    """Array to array, by function and coroutine: the items in reverse along the first axis."""

    codec_name = "cyzarr_test.flip"

    def _decode_sync(self, chunk_data, chunk_spec):
        self.note()
        assert chunk_data.shape == chunk_spec.shape
        return type(chunk_data)(chunk_data.as_numpy_array()[::-1])

    async def _decode_single(self, chunk_data, chunk_spec):
        return self._decode_sync(chunk_data, chunk_spec)

    async def _encode_single(self, chunk_data, chunk_spec):
        return type(chunk_data)(chunk_data.as_numpy_array()[::-1])


@dataclass(frozen=True)
class Backwards(Plain, BytesBytesCodec):
    """Bytes to bytes, by coroutine alone, which needs a loop and another of its threads: the bytes in reverse."""

    codec_name = "cyzarr_test.backwards"

    async def _decode_single(self, chunk_data, chunk_spec):
        self.note()
        await asyncio.sleep(0)
        turned = await asyncio.to_thread(lambda: chunk_data.to_bytes()[::-1])
        return chunk_spec.prototype.buffer.from_bytes(turned)

    async def _encode_single(self, chunk_data, chunk_spec):
        return chunk_spec.prototype.buffer.from_bytes(chunk_data.to_bytes()[::-1])


@dataclass(frozen=True)
class Inverted(Plain, ArrayBytesCodec):
    """Array to bytes, by coroutine alone: the items' bytes, inverted."""

    codec_name = "cyzarr_test.inverted"

    async def _decode_single(self, chunk_data, chunk_spec):
        self.note()
        await asyncio.sleep(0)
        raw = ~np.frombuffer(chunk_data.to_bytes(), "u1")
        items = raw.view(chunk_spec.dtype.to_native_dtype()).reshape(chunk_spec.shape)
        return chunk_spec.prototype.nd_buffer.from_numpy_array(items)

    async def _encode_single(self, chunk_data, chunk_spec):
        raw = np.frombuffer(np.ascontiguousarray(chunk_data.as_numpy_array()).tobytes(), "u1")
        return chunk_spec.prototype.buffer.from_bytes((~raw).tobytes())


class RefusedError(Exception):
    """What a third party's codec raises."""


@dataclass(frozen=True)
class Refusing(Plain, BytesBytesCodec):
    """Bytes to bytes: refuses to decode."""

    codec_name = "cyzarr_test.refusing"

    async def _decode_single(self, chunk_data, chunk_spec):
        raise RefusedError("not today")

    async def _encode_single(self, chunk_data, chunk_spec):
        return chunk_data


for _codec in (Flip, Backwards, Inverted, Refusing):
    register_codec(_codec.codec_name, _codec)
