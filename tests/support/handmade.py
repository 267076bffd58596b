"""Zarr v3 arrays written by hand: a document and raw chunk bytes, apart from any Zarr writer.

    values ── cut ──► chunks ── encode(codecs) ──► objects ──► Stored ──► LocalStore or MemoryStore

Codecs are the dicts that stand in zarr.json; the functions `le`, `zstd`, `shard`, ... spell them.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import google_crc32c
import numcodecs
import numpy as np
from zarr.core.buffer.cpu import Buffer
from zarr.core.dtype import get_data_type_from_native_dtype
from zarr.storage import LocalStore, MemoryStore

ABSENT = 2**64 - 1

# -- codecs, as zarr.json spells them ---------------------------------------------------------


def codec(name, **configuration):
    return {"name": name, "configuration": configuration}


def le():
    return codec("bytes", endian="little")


def be():
    return codec("bytes", endian="big")


def transpose(*order):
    return codec("transpose", order=list(order))


def zstd(level=1, checksum=False):
    return codec("zstd", level=level, checksum=checksum)


def gzip(level=1):
    return codec("gzip", level=level)


def blosc(cname="lz4", shuffle="shuffle", typesize=4, blocksize=0):
    return codec("blosc", cname=cname, clevel=5, shuffle=shuffle, typesize=typesize, blocksize=blocksize)


def crc32c():
    return {"name": "crc32c"}


def lz4():
    return codec("numcodecs.lz4", acceleration=1)


def zlib(level=1):
    return codec("numcodecs.zlib", level=level)


def shard(chunk_shape, codecs, index_codecs=None, location="end"):
    """The sharding codec; by default the index is little-endian with a crc32c."""
    index_codecs = [le(), crc32c()] if index_codecs is None else index_codecs
    return codec(
        "sharding_indexed",
        chunk_shape=list(chunk_shape),
        codecs=list(codecs),
        index_codecs=list(index_codecs),
        index_location=location,
    )


# -- encoding ---------------------------------------------------------------------------------


@dataclass
class Freedom:
    """What a writer of shards may choose: order of payloads, gaps between them, what is left out."""

    rng: Random | None = None  # None: payloads in C order without gaps
    absent: float = 0.0  # share of the inner chunks that are left out
    fill: object = 0  # a left-out inner chunk is set to this in the values, too
    junk: int = 0  # up to so many bytes of junk before each payload

    def order(self, count):
        positions = list(range(count))
        if self.rng is not None:
            self.rng.shuffle(positions)
        return positions

    def drops(self):
        return self.rng is not None and self.rng.random() < self.absent

    def gap(self):
        return b"\xa5" * (self.rng.randint(0, self.junk) if self.rng is not None else 0)


def encode(chunk, codecs, freedom=None):
    """Encode one chunk (an ndarray) by a chain of codecs; bytes.

    Inner chunks that `freedom` drops are overwritten by the fill value in `chunk`.
    """
    freedom = freedom or Freedom()
    value = chunk
    for each in codecs:
        name, configuration = each["name"], each.get("configuration", {})
        if name == "transpose":
            value = value.transpose(configuration["order"])
        elif name == "bytes":
            order = {"little": "<", "big": ">"}[configuration.get("endian", "little")]
            value = value.astype(value.dtype.newbyteorder(order)).tobytes()
        elif name == "sharding_indexed":
            value = encode_shard(value, configuration, freedom)
        else:
            value = _BYTES_TO_BYTES[name](value, configuration)
    return value


def encode_shard(chunk, configuration, freedom):
    """Cut `chunk` into inner chunks, encode each, and pack them."""
    inner = tuple(configuration["chunk_shape"])
    grid = tuple(n // m for n, m in zip(chunk.shape, inner, strict=True))
    payloads = []
    for at in np.ndindex(*grid):
        part = chunk[*(slice(i * m, (i + 1) * m) for i, m in zip(at, inner, strict=True)), ...]
        if freedom.drops():
            part[...] = freedom.fill
            payloads.append(None)
        else:
            payloads.append(encode(part, configuration["codecs"], freedom))
    return pack_shard(
        payloads,
        grid,
        index_codecs=configuration["index_codecs"],
        location=configuration["index_location"],
        freedom=freedom,
    )


def pack_shard(payloads, grid=None, *, index_codecs=None, location="end", freedom=None, edit=None):
    """The bytes of a shard.

    payloads: one bytes or None (absent) per inner chunk in C order. grid: inner chunks per axis,
    (len(payloads),) if not given. edit: called with the index (uint64, grid + (2,)) before it is
    encoded, to damage or rearrange it.
    """
    freedom = freedom or Freedom()
    index_codecs = [le(), crc32c()] if index_codecs is None else index_codecs
    index = np.full((*(grid if grid is not None else (len(payloads),)), 2), ABSENT, "<u8")
    start = len(encode(index, index_codecs)) if location == "start" else 0
    body = bytearray()
    for k in freedom.order(len(payloads)):
        if payloads[k] is not None:
            body += freedom.gap()
            index.reshape(-1, 2)[k] = start + len(body), len(payloads[k])
            body += payloads[k]
    if edit is not None:
        edit(index)
    encoded = encode(index, index_codecs)
    return encoded + bytes(body) if location == "start" else bytes(body) + encoded


def _blosc(data, configuration):
    shuffle = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}[configuration["shuffle"]]
    typesize = configuration.get("typesize", 1)
    if typesize not in (1, 2, 4, 8) or len(data) % typesize:
        typesize = 1
    encoder = numcodecs.Blosc(configuration["cname"], configuration["clevel"], shuffle, configuration["blocksize"])
    return bytes(encoder.encode(np.frombuffer(data, f"u{typesize}")))


def checksum(data):
    """The crc32c of some bytes as four bytes, little-endian."""
    return struct.pack("<I", google_crc32c.value(bytes(data)))


_BYTES_TO_BYTES = {
    "zstd": lambda data, c: bytes(numcodecs.Zstd(c["level"], c["checksum"]).encode(data)),
    "gzip": lambda data, c: bytes(numcodecs.GZip(c["level"]).encode(data)),
    "blosc": _blosc,
    "crc32c": lambda data, c: data + checksum(data),
    "numcodecs.lz4": lambda data, c: bytes(numcodecs.LZ4(c["acceleration"]).encode(data)),
    "numcodecs.zlib": lambda data, c: bytes(numcodecs.Zlib(c["level"]).encode(data)),
}

# -- documents and stores ---------------------------------------------------------------------


def data_type(dtype):
    """The data type as this zarr spells it in zarr.json."""
    return get_data_type_from_native_dtype(np.dtype(dtype).newbyteorder("<")).to_json(zarr_format=3)


def fill_json(dtype, fill):
    """The fill value for zarr.json; floats as hexadecimal bits, so that no bit is lost."""
    dtype = np.dtype(dtype).newbyteorder("<")
    value = np.asarray(fill, dtype)
    if dtype.kind == "f":
        return "0x" + value.tobytes()[::-1].hex()
    if dtype.kind == "c":
        return [fill_json(f"f{dtype.itemsize // 2}", part) for part in (value.real, value.imag)]
    return get_data_type_from_native_dtype(dtype).to_json_scalar(value[()], zarr_format=3)


def document(shape, chunk_shape, dtype, codecs, fill_value=0, *, key_encoding=None):
    """zarr.json as a dict. dtype: a NumPy dtype or what stands in the document."""
    spelled = dtype if isinstance(dtype, dict) else data_type(dtype)
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(shape),
        "data_type": spelled,
        "chunk_grid": codec("regular", chunk_shape=list(chunk_shape)),
        "chunk_key_encoding": key_encoding or codec("default", separator="/"),
        "fill_value": fill_value,
        "codecs": list(codecs),
        "attributes": {},
    }


def chunk_key(at, key_encoding=None):
    key_encoding = key_encoding or codec("default", separator="/")
    separator = key_encoding["configuration"]["separator"]
    if key_encoding["name"] == "v2":
        return separator.join(map(str, at)) or "0"
    return separator.join(("c", *map(str, at)))


@dataclass
class Stored:
    """One array as stored: the bytes by key."""

    objects: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, document, chunks):
        """chunks: bytes by chunk key; None leaves a chunk out."""
        present = {key: data for key, data in chunks.items() if data is not None}
        return cls({"zarr.json": json.dumps(document).encode(), **present})

    def memory(self):
        return MemoryStore({key: Buffer.from_bytes(data) for key, data in self.objects.items()})

    def local(self, folder):
        for key, data in self.objects.items():
            path = Path(folder, key)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return LocalStore(folder)


def cut(values, chunk_shape, pad):
    """Yield (grid position, whole chunk) of an array; chunks at the edge are padded by `pad`.

    Where a chunk lies inside the array it is a view, else a copy.
    """
    counts = [math.ceil(n / m) for n, m in zip(values.shape, chunk_shape, strict=True)]
    for at in np.ndindex(*counts):
        part = values[*(slice(i * m, (i + 1) * m) for i, m in zip(at, chunk_shape, strict=True)), ...]
        if part.shape == tuple(chunk_shape):
            yield at, part, part
            continue
        whole = np.full(chunk_shape, pad, values.dtype)
        inside = whole[*(slice(0, n) for n in part.shape), ...]
        inside[...] = part
        yield at, whole, (part, inside)


def store(values, chunk_shape, codecs, fill=0, *, missing=(), freedom=None, pad=None, key_encoding=None):
    """An array of these values, stored by hand.

    missing: grid positions of chunks that are not stored. What is missing or dropped becomes the
    fill value in `values`, which is changed in place. pad: what fills the rest of edge chunks.
    """
    fill = np.asarray(fill, values.dtype)
    freedom = freedom or Freedom()
    freedom.fill = fill
    chunks = {}
    for at, whole, back in cut(values, chunk_shape, fill if pad is None else pad):
        if at in missing:
            whole[...] = fill
        else:
            chunks[chunk_key(at, key_encoding)] = encode(whole, codecs, freedom)
        if back is not whole:
            back[0][...] = back[1]
    spelled = fill_json(values.dtype, fill)
    return Stored.of(
        document(values.shape, chunk_shape, values.dtype, codecs, spelled, key_encoding=key_encoding), chunks
    )
