"""Judging array documents, as is done when an array is opened."""

import json
from contextlib import nullcontext
from time import perf_counter

import zarr
from zarr.core.buffer.cpu import Buffer
from zarr.storage import MemoryStore

import cyzarr
from cyzarr.metadata import read_array_metadata

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
ZSTD = {"name": "zstd", "configuration": {"level": 3, "checksum": False}}
INDEX = [LITTLE, {"name": "crc32c"}]


def shard(length, codecs):
    """A shard whose inner chunks have one length along both axes."""
    members = {"chunk_shape": [length] * 2, "codecs": codecs, "index_codecs": INDEX}
    return {"name": "sharding_indexed", "configuration": members}


def document(codecs, grid=None):
    grid = grid or {"name": "regular", "configuration": {"chunk_shape": [1024, 1024]}}
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [8192, 8192],
        "data_type": "uint16",
        "chunk_grid": grid,
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": codecs,
        "attributes": {},
    }


def edges(count):
    """A rectilinear grid with ``count`` lengths along its first axis."""
    members = {"kind": "inline", "chunk_shapes": [[64 + 64 * (n % 2) for n in range(count)], 1024]}
    return {"name": "rectilinear", "configuration": members}


DOCUMENTS = {
    "plain": document([LITTLE, ZSTD]),
    "shard": document([shard(64, [LITTLE, ZSTD])]),
    "three deep": document([shard(512, [shard(128, [shard(32, [LITTLE, ZSTD])])])]),
    "undivided shard": document([shard(60, [LITTLE, ZSTD])]),
    "20,000 edges": document([shard(64, [LITTLE, ZSTD])], edges(20_000)),
}


class Judge:
    """Budgets: a shard 150 us, three deep 400 us, 20,000 edges 50 ms."""

    version = "1"
    params = (["mapping", "bytes"], list(DOCUMENTS))
    param_names = ("form", "document")

    def setup(self, form, name):
        self.document = DOCUMENTS[name]
        if form == "bytes":
            self.document = json.dumps(self.document).encode()

    def time_judge(self, form, name):
        read_array_metadata(self.document)


# Ordinary arrays, whose documents get no more than a cheap look at open, and two that are judged in full.
OPENED = {
    "plain": DOCUMENTS["plain"],
    "shard": DOCUMENTS["shard"],
    "three deep, judged": DOCUMENTS["three deep"],
    "behind a transpose, judged": document(
        [{"name": "transpose", "configuration": {"order": [1, 0]}}, shard(64, [LITTLE, ZSTD])]
    ),
}
ROUNDS, OPENS = 20, 5


def open_array(store):
    return zarr.open_array(store, mode="r")


class Open:
    """`zarr.open_array` of a document in memory. Budget: 5 % more with cyzarr on, of ordinary arrays."""

    version = "1"
    params = (list(OPENED),)
    param_names = ("document",)

    def setup(self, name):
        text = json.dumps(OPENED[name]).encode()
        self.store = MemoryStore({"zarr.json": Buffer.from_bytes(text)})

    def time_open(self, name):
        open_array(self.store)

    def track_with_cyzarr(self, name):
        """How much longer it takes with cyzarr on: the least times of rounds taken in turns."""
        least = [float("inf")] * 2
        for _ in range(ROUNDS):
            for on in (0, 1):
                with cyzarr.enabled() if on else nullcontext():
                    least[on] = min(least[on], *(self.seconds() for _ in range(OPENS)))
        return least[1] / least[0]

    track_with_cyzarr.unit = "times zarr's own"

    def seconds(self):
        start = perf_counter()
        open_array(self.store)
        return perf_counter() - start
