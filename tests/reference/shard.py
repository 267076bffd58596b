"""Chunks and shards, written and read from a plain description of their codec chain.

A chain is the nested dict that ``cyzarr.kernels.Program`` takes:

    shape    the chunk that the chain is handed
    order    None, or its transposes composed: encoded axis i is chunk axis order[i]
    filters  bytes-to-bytes codecs in encoding order: {"name", "codec"}
    bytes    {"dtype"}: items as stored                       (either this)
    shard    {"chunk_shape", "chain", "index": {"location", "byteorder", "checksums", "order"}}
"""

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .errors import CorruptChunkError
from .selection import pick, touched
from .shardindex import (
    ABSENT,
    add_checksum,
    decode_index,
    encode_index,
    index_nbytes,
    remove_checksum,
)


@dataclass
class Program:
    """A chain with the dtype of the output and ``fill``, the bytes of one item of it."""

    chain: dict
    dtype: Any
    fill: bytes

    def filled(self, shape):
        """New array of ``shape`` that holds the fill value only."""
        items = bytes(self.fill) * int(np.prod(shape, dtype=object))
        return np.frombuffer(items, dtype=self.dtype).reshape(shape).copy()


@dataclass
class Layout:
    """How encode_shard lays a shard out; every choice is legal.

    absent: chance that an inner chunk of fill values only is left out. shuffle: payloads in any
    order. max_gap_nbytes: junk of up to so many bytes before each payload and after the last.
    """

    absent: float = 1.0
    shuffle: bool = False
    max_gap_nbytes: int = 0
    seed: int = 0
    rng: random.Random = field(init=False)

    def __post_init__(self):
        self.rng = random.Random(self.seed)

    def gap(self):
        return self.rng.randbytes(self.rng.randint(0, self.max_gap_nbytes))


def _axes(chain):
    return tuple(range(len(chain["shape"]))) if chain["order"] is None else tuple(chain["order"])


def _inner_slices(shard, position):
    """Where the inner chunk lies; the Ellipsis keeps an array without axes an array."""
    slices = [slice(p * size, (p + 1) * size) for p, size in zip(position, shard["chunk_shape"], strict=True)]
    return (..., *slices)


def _chunks_per_shard(shape, shard):
    if any(n % size for n, size in zip(shape, shard["chunk_shape"], strict=True)):
        raise ValueError("inner chunks don't divide the shard")
    return tuple(n // size for n, size in zip(shape, shard["chunk_shape"], strict=True))


# Writing


def encode_chunk(values, chain, fill, layout=None):
    """Bytes of ``values``, a chunk of chain["shape"]; ``fill`` is one item's bytes."""
    layout = layout or Layout()
    encoded = values.transpose(_axes(chain))
    if "bytes" in chain:
        data = encoded.astype(chain["bytes"]["dtype"]).tobytes()
    else:
        data = _encode_inner_chunks(encoded, chain["shard"], fill, layout)
    for entry in chain["filters"]:
        data = _apply_filter(entry, data)
    return data


def _apply_filter(entry, data):
    if entry["name"] == "crc32c":
        return add_checksum(data)
    return bytes(entry["codec"].encode(data))


def _encode_inner_chunks(encoded, shard, fill, layout):
    index = shard["index"]
    counts = _chunks_per_shard(encoded.shape, shard)
    entries = np.full((*counts, 2), ABSENT, dtype=np.uint64)
    places = list(np.ndindex(counts))
    if layout.shuffle:
        layout.rng.shuffle(places)
    base = index_nbytes(counts, index["checksums"]) if index["location"] == "start" else 0
    body = b""
    for place in places:
        values = encoded[_inner_slices(shard, place)]
        is_fill = values.tobytes() == fill * values.size
        if is_fill and layout.rng.random() < layout.absent:
            continue
        body += layout.gap()
        payload = encode_chunk(values, shard["chain"], fill, layout)
        entries[place] = base + len(body), len(payload)
        body += payload
    body += layout.gap()
    stored = encode_index(
        entries,
        byteorder=index["byteorder"],
        checksums=index["checksums"],
        order=index["order"],
    )
    return stored + body if index["location"] == "start" else body + stored


def encode_shard(values, spec, layout=None):
    """Stored bytes of ``values`` (the chunk of spec.chain["shape"], in spec.dtype)."""
    return encode_chunk(values.astype(spec.dtype), spec.chain, bytes(spec.fill), layout)


# Reading


def decode_chunk(data, chain, spec, wanted=None):
    """The chunk of chain["shape"] held by ``data``, in spec.dtype.

    wanted: boolean array of that shape; inner chunks without a wanted item are not looked at
    (their items are fill values in the result).
    """
    if wanted is None:
        wanted = np.ones(chain["shape"], dtype=bool)
    for entry in reversed(chain["filters"]):
        data = _undo_filter(entry, data)
    axes = _axes(chain)
    wanted = wanted.transpose(axes)
    if "bytes" in chain:
        encoded = _decode_items(data, wanted.shape, np.dtype(chain["bytes"]["dtype"]))
    else:
        encoded = _decode_inner_chunks(data, chain["shard"], spec, wanted)
    return encoded.transpose(np.argsort(axes)).astype(spec.dtype)


def _undo_filter(entry, data):
    if entry["name"] == "crc32c":
        return remove_checksum(data)
    try:
        return bytes(entry["codec"].decode(data))
    except Exception as error:
        raise CorruptChunkError(f"{entry['name']}: {error}") from error


def _decode_items(data, shape, dtype):
    expected = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if len(data) != expected:
        raise CorruptChunkError(f"{len(data)} bytes, expected {expected}")
    return np.frombuffer(data, dtype=dtype).reshape(shape)


def _decode_inner_chunks(data, shard, spec, wanted):
    index = shard["index"]
    counts = _chunks_per_shard(wanted.shape, shard)
    nbytes = index_nbytes(counts, index["checksums"])
    if len(data) < nbytes:
        raise CorruptChunkError(f"{len(data)} bytes can't hold an index of {nbytes}")
    stored = data[:nbytes] if index["location"] == "start" else data[len(data) - nbytes :]
    entries = decode_index(
        stored,
        counts,
        byteorder=index["byteorder"],
        checksums=index["checksums"],
        order=index["order"],
    )
    encoded = spec.filled(wanted.shape)
    for place in np.ndindex(counts):
        where = _inner_slices(shard, place)
        payload = _payload(data, *entries[place].tolist()) if wanted[where].any() else None
        if payload is not None:
            encoded[where] = decode_chunk(payload, shard["chain"], spec, wanted[where])
    return encoded


def _payload(data, offset, nbytes):
    if (offset, nbytes) == (ABSENT, ABSENT):
        return None
    if offset + nbytes > len(data):
        raise CorruptChunkError(f"({offset}, {nbytes}) ends behind {len(data)} bytes")
    return data[offset : offset + nbytes]


def decode_shard(data, spec, selection, out):
    """Put what ``selection`` picks from the chunk stored as ``data`` into ``out``.

    Inner chunks that the selection doesn't touch are not looked at.
    """
    wanted = touched(selection, spec.chain["shape"])
    out[...] = pick(decode_chunk(bytes(data), spec.chain, spec, wanted), selection)
