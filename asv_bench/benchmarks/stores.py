"""One read of many scattered inner chunks from a store that takes 20 ms a request, through each engine.

200 inner chunks of 256 KiB, no two nearer than 2 MiB, in 16 shards that nobody has read before.
"""

import asyncio
import time
from contextlib import ExitStack

import numpy as np
import zarr
from zarr.codecs import BytesCodec, ShardingCodec
from zarr.core.buffer.cpu import Buffer
from zarr.storage import MemoryStore, StorePath

from cyzarr.cli import engines

ENGINES = {engine.name: engine for engine in (engines.ZARR, engines.FUSED, engines.CYZARR)}
LATENCY = 0.02
SHARDS, ROWS, COLUMNS = 16, 13, 9
INNER = (64, 1024)  # float32: 256 KiB
# The first inner chunk of each row: between it and the next lie the eight others, 2 MiB.
KEY = np.s_[4 * INNER[0] : -4 * INNER[0], : INNER[1]]
TOUCHED = SHARDS * ROWS - 8


class SlowStore(MemoryStore):
    """A store in memory that takes a while to answer, and can answer many at once."""

    async def get(self, key, prototype=None, byte_range=None):
        await asyncio.sleep(LATENCY)
        return await super().get(key, prototype, byte_range)

    def get_sync(self, key, *, prototype=None, byte_range=None):
        time.sleep(LATENCY)
        return super().get_sync(key, prototype=prototype, byte_range=byte_range)


def make(kind=SlowStore):
    """The array's path in a slow store. All shards are one object, so that they take 30 MiB and not 480."""
    nbytes = INNER[0] * INNER[1] * 4
    # Inner chunks in C order, so that it is known how far apart they lie.
    index = [(number * nbytes, nbytes) for number in range(ROWS * COLUMNS)]
    data = np.random.default_rng(0).normal(size=ROWS * COLUMNS * nbytes // 4).astype("<f4")
    one = Buffer.from_bytes(data.tobytes() + np.array(index, "<u8").tobytes())
    held = {f"c/{number}/0": one for number in range(SHARDS)}
    shard = (ROWS * INNER[0], COLUMNS * INNER[1])
    zarr.create_array(
        MemoryStore(held),
        shape=(SHARDS * shard[0], shard[1]),
        chunks=shard,
        dtype="<f4",
        serializer=ShardingCodec(chunk_shape=INNER, codecs=[BytesCodec()], index_codecs=[BytesCodec()]),
        compressors=None,
    )
    return StorePath(kind(held, read_only=True), "")


def bound(concurrency):
    """The seconds that the limit costs: of the shards that many at once, of each an index, then that many ranges."""
    shards_in_turn = -(-SHARDS // concurrency)
    return shards_in_turn * (1 + -(-ROWS // concurrency)) * LATENCY


class ScatteredChunks:
    """Cold shards: each read asks for their indexes, too."""

    version = "1"
    timeout = 300
    number, repeat = 1, 3
    param_names = ("engine", "concurrency")
    params = (list(ENGINES), [10, 256])

    def setup(self, engine, concurrency):
        self.engine = ENGINES[engine]
        if self.engine not in engines.available():
            raise NotImplementedError(f"this zarr has no pipeline for {engine}")
        self.entered = ExitStack()
        self.entered.enter_context(zarr.config.set({"async.concurrency": concurrency}))
        self.array = self.engine.open(make())
        self.entered.enter_context(self.engine.active())

    def teardown(self, engine, concurrency):
        if hasattr(self, "entered"):
            self.entered.close()

    def time_read(self, engine, concurrency):
        self.array[KEY]

    def track_ratio_to_bound(self, engine, concurrency):
        times = []
        for _ in range(2):
            start = time.perf_counter()
            self.array[KEY]
            times.append(time.perf_counter() - start)
        return min(times) / bound(concurrency)

    track_ratio_to_bound.unit = "times the latency that can't be avoided"
