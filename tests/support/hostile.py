"""Damaged shards, and the judgement of what reading them gave. Run as a program by test_hostile.py.

    python -m support.hostile SHARD     reads every damaged form of one shard through the doors

Notes before each read what it is in standard error, which must be a file (so that a crash names its
cause), and prints at the end one JSON object: {"reads": n, "errors": n, "failures": [...]}.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import warnings

import numpy as np
import zarr
from zarr.core.buffer.cpu import Buffer

from support import doors
from support.compare import Outcome, bits
from support.handmade import be, blosc, crc32c, gzip, le, lz4, shard, store, transpose, zlib, zstd

NO_CRC = [le()]


def _flat(*codecs, **index):
    a = np.arange(8, dtype="i4") * 1000003
    return store(a, (8,), [shard((2,), codecs, **index)]), a


def _square(codecs):
    a = (np.arange(16) * 4099).astype("u2").reshape(4, 4)
    return store(a, (4, 4), codecs), a


SHARDS = {
    "raw": lambda: _flat(le()),
    "raw, index at start without checksum": lambda: _flat(le(), index_codecs=NO_CRC, location="start"),
    "checked": lambda: _flat(be(), crc32c(), index_codecs=NO_CRC),
    "zstd": lambda: _flat(le(), zstd(), index_codecs=NO_CRC),
    "blosc": lambda: _flat(le(), blosc("lz4"), index_codecs=NO_CRC),
    "gzip": lambda: _flat(le(), gzip(), index_codecs=[be()], location="start"),
    "lz4": lambda: _flat(le(), lz4(), index_codecs=NO_CRC),
    "zlib": lambda: _flat(le(), zlib(), zstd(checksum=True)),
    "nested": lambda: _square([shard((4, 2), [shard((2, 1), [le(), blosc("zstd")], NO_CRC, "start")], NO_CRC)]),
    # With a checksum: zarr alone decodes a shard behind a transpose whole, and so meets every entry of its index;
    # cyzarr looks at the entries that it needs, which without a checksum are read as they are written.
    "transposed": lambda: _square(
        [transpose(1, 0), shard((2, 2), [transpose(1, 0), be()], [transpose(2, 0, 1), le(), crc32c()])]
    ),
    "inside gzip": lambda: _square([shard((2, 2), [le()], NO_CRC), gzip()]),
}


def mutations(data, masks):
    """(name, bytes): every truncation, and every byte with the bits of each mask flipped."""
    for n in range(len(data)):
        yield f"cut to {n}", data[:n]
    for at in range(len(data)):
        for mask in masks:
            yield f"flip {mask:#x} at {at}", data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


def keys(values):
    """Everything, and a part that touches one inner chunk."""
    return [np.s_[...], np.s_[3:4] if values.ndim == 1 else np.s_[1:2, 2:3]]


def allowed_errors(door):
    """What may be raised; codecs of ours inside zarr's pipeline share it with zarr's own."""
    if doors.PLAIN or doors.by_codecs_alone(door):
        return Exception
    return doors.corrupt_error()


class Judge:
    """Reads damaged objects through a door, and asks zarr alone where the values are changed."""

    def __init__(self, door, stored, values):
        self.door, self.stored, self.values = door, stored, values
        (self.key,) = (key for key in stored.objects if key != "zarr.json")
        self.memory = stored.memory()
        self.array = zarr.open_array(self.memory, mode="r")
        self.reads = self.errors = 0
        self.failures = []

    def read(self, name, data, key):
        self.memory._store_dict[self.key] = Buffer.from_bytes(data)
        outcome = Outcome.of(lambda: self.array[key])
        self.reads += 1
        if outcome.error is not None:
            self.errors += 1
            bad = (MemoryError, SystemError, AssertionError, NotImplementedError)
            if isinstance(outcome.error, bad) or not isinstance(outcome.error, allowed_errors(self.door)):
                self.failures.append([name, str(key), repr(outcome.error)[:200]])
        elif bits(outcome.value) != bits(self.values[key]):
            self.compare_with_zarr(name, data, key, outcome)

    def compare_with_zarr(self, name, data, key, outcome):
        """Changed values are right only where zarr alone gives the same."""
        with doors.plain_zarr():
            memory = self.stored.memory()
            memory._store_dict[self.key] = Buffer.from_bytes(data)
            alone = Outcome.of(lambda: zarr.open_array(memory, mode="r")[key])
        if alone.error is not None or bits(alone.value) != bits(outcome.value):
            self.failures.append([name, str(key), f"{outcome.value!r}, zarr: {alone}"[:300]])


def _limit_memory():
    """No more than 2 GiB beyond what is mapped now: a lying length must not be allocated."""
    if "asan" in os.environ.get("LD_PRELOAD", ""):
        return
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (2 << 30),) * 2)


def runs():
    """(door, native table, masks). The slower doors end in the same kernels: one mask is enough there."""
    if doors.PLAIN:
        return [(door, True, (0xFF,)) for door in doors.doors()]
    every = (0x01, 0x80, 0xFF)
    return [
        (doors.DIRECT, True, every),
        (doors.DIRECT, False, every),
        (doors.PIPELINE, True, (0xFF,)),
        (doors.CODECS, True, (0x80,)),
    ]


def note(text):
    os.pwrite(2, text.ljust(200).encode(), 0)


def main(shard_name):
    warnings.simplefilter("ignore")
    stored, values = SHARDS[shard_name]()
    totals = {"reads": 0, "errors": 0, "failures": []}
    if os.path.exists("/proc/self/statm"):
        _limit_memory()
    for door, native, masks in runs():
        with door.through(), doors.native_table(native):
            judge = Judge(door, stored, values)
            for name, data in mutations(stored.objects[judge.key], masks):
                for key in keys(values):
                    note(f"{shard_name}, {door}, native {native}, {name}, {key}")
                    judge.read(f"{door}, native {native}, {name}", data, key)
        totals["reads"] += judge.reads
        totals["errors"] += judge.errors
        totals["failures"] += judge.failures
    print(json.dumps(totals))


if __name__ == "__main__":
    main(*sys.argv[1:])
