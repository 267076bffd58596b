"""The shard index, written and read.

An index is a uint64 array of shape chunks_per_shard + (2,), holding (offset, nbytes) of each
inner chunk, both 2**64 - 1 for an absent one. It is stored in C order, after an optional
transposition, in either byte order, followed by any number of crc32c sums, each over all that
stands before it.
"""

import math
import struct

import numpy as np

from .errors import CorruptChunkError

ABSENT = 2**64 - 1


def _crc32c_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _crc32c_table()


def crc32c(data):
    """CRC-32C (Castagnoli) of ``data``, as an int."""
    crc = 0xFFFFFFFF
    for byte in bytes(data):
        crc = (crc >> 8) ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def add_checksum(data):
    """``data`` followed by its crc32c, 4 bytes little-endian."""
    return bytes(data) + struct.pack("<I", crc32c(data))


def remove_checksum(data):
    """``data`` without its last 4 bytes, which must be the crc32c of the rest."""
    body, found = bytes(data[:-4]), bytes(data[-4:])
    if len(data) < 4:
        raise CorruptChunkError(f"{len(data)} bytes can't hold a checksum")
    if struct.pack("<I", crc32c(body)) != found:
        raise CorruptChunkError("crc32c differs")
    return body


def index_nbytes(chunks_per_shard, checksums=1):
    """Length in bytes of an encoded index."""
    return 16 * math.prod(chunks_per_shard) + 4 * checksums


def encode_index(entries, *, byteorder="little", checksums=1, order=None):
    """Bytes of the index ``entries``: (offset, nbytes) along the last axis."""
    entries = np.asarray(entries, dtype=np.uint64)
    if order is not None:
        entries = entries.transpose(order)
    data = entries.astype("<u8" if byteorder == "little" else ">u8").tobytes()
    for _ in range(checksums):
        data = add_checksum(data)
    return data


def _check_entry(offset, nbytes, size, chunk_nbytes):
    if offset == ABSENT and nbytes == ABSENT:
        return
    if size is not None and offset + nbytes > size:
        raise CorruptChunkError(f"inner chunk ({offset}, {nbytes}) ends behind {size} bytes")
    if chunk_nbytes is not None and nbytes != chunk_nbytes:
        raise CorruptChunkError(f"inner chunk of {nbytes} bytes, expected {chunk_nbytes}")


def decode_index(
    data,
    chunks_per_shard,
    *,
    byteorder="little",
    checksums=1,
    order=None,
    size=None,
    chunk_nbytes=None,
):
    """The entries held by ``data``: uint64, shape chunks_per_shard + (2,).

    size: nbytes of the object that the entries point into. chunk_nbytes: the one length that a
    present inner chunk can have. Raises CorruptChunkError.
    """
    data = bytes(data)
    if len(data) != index_nbytes(chunks_per_shard, checksums):
        raise CorruptChunkError(f"index of {len(data)} bytes")
    for _ in range(checksums):
        data = remove_checksum(data)
    shape = (*chunks_per_shard, 2)
    order = tuple(range(len(shape))) if order is None else tuple(order)
    stored = np.frombuffer(data, dtype="<u8" if byteorder == "little" else ">u8")
    stored = stored.reshape([shape[axis] for axis in order])
    entries = stored.transpose(np.argsort(order)).astype(np.uint64, order="C")
    for offset, nbytes in entries.reshape(-1, 2).tolist():
        _check_entry(offset, nbytes, size, chunk_nbytes)
    return entries
