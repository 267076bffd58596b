"""Whole reads of arrays on disk (warm page cache), through zarr, its fused pipeline and cyzarr.

A class per layout; all engines in the same class, so that asv shows them side by side.
"""

import time
from contextlib import ExitStack
from pathlib import Path

import zarr
from zarr.storage import LocalStore, StorePath

import cyzarr
from cyzarr.cli import engines

from . import layouts

ENGINES = {engine.name: engine for engine in (engines.ZARR, engines.FUSED, engines.CYZARR)}


class _Reads:
    """What the classes share. asv makes the arrays once, in the folder in which it runs all."""

    version = "1"
    timeout = 120
    param_names = ("engine", "read")
    # A class names its layout, the reads of it, and so its parameters.
    layout = reads = params = None

    def setup_cache(self):
        root = Path("arrays").resolve()
        layouts.write_all(root)
        return root

    def setup(self, root, engine, read):
        self.engine = ENGINES[engine]
        if self.engine not in engines.available():
            raise NotImplementedError(f"this zarr has no pipeline for {engine}")
        self.source = StorePath(LocalStore(root / self.layout, read_only=True))
        self.key = self.reads[read]
        self.array = self.engine.open(self.source)
        self.entered = ExitStack()
        self.entered.enter_context(self.engine.active())

    def teardown(self, root, engine, read):
        if hasattr(self, "entered"):
            self.entered.close()

    def time_read(self, root, engine, read):
        self.array[self.key]

    def track_bytes_read(self, root, engine, read):
        return engines.counted_read(self.engine, self.source, self.key)[1].nbytes

    def track_requests(self, root, engine, read):
        return engines.counted_read(self.engine, self.source, self.key)[1].requests

    track_bytes_read.unit = "bytes"
    track_requests.unit = "requests"


class ShardedZstdImage(_Reads):
    layout, reads = "image_zstd", layouts.IMAGE_READS
    params = (list(ENGINES), list(reads))


class ShardedRawImage(_Reads):
    layout, reads = "image_raw", layouts.IMAGE_READS
    params = (list(ENGINES), list(reads))


class ShardedBloscCube(_Reads):
    layout, reads = "cube_blosc", layouts.CUBE_READS
    params = (list(ENGINES), list(reads))


class ShardedRawCube(_Reads):
    layout, reads = "cube_raw", layouts.CUBE_READS
    params = (list(ENGINES), list(reads))


class PlainRawCube(_Reads):
    layout, reads = "plain_raw", layouts.PLAIN_READS
    params = (list(ENGINES), list(reads))


class PlainZstdCube(_Reads):
    layout, reads = "plain_zstd", layouts.PLAIN_READS
    params = (list(ENGINES), list(reads))


class ShardedZstdSeries(_Reads):
    layout, reads = "series_zstd", layouts.SERIES_READS
    params = (list(ENGINES), list(reads))


class ShardedRawSeries(_Reads):
    layout, reads = "series_raw", layouts.SERIES_READS
    params = (list(ENGINES), list(reads))


class V2BloscCube(_Reads):
    layout, reads = "v2_blosc", layouts.V2_READS
    params = (list(ENGINES), list(reads))


class V2ZstdCube(_Reads):
    layout, reads = "v2_zstd", layouts.V2_READS
    params = (list(ENGINES), list(reads))


class ItemBehindAnIndex:
    """One inner chunk of a shard, read again and again: the time without the index cache over that with it."""

    version = "1"
    timeout = 120
    params = ([64, 1024, 16384, 102400],)
    param_names = ("inner chunks",)

    def setup_cache(self):
        root = Path("indexes").resolve()
        for count in self.params[0]:
            array = zarr.create_array(
                root / str(count), shape=(16 * count,), chunks=(16,), shards=(16 * count,), dtype="u1", compressors=None
            )
            array[:16] = 1
        # Until the indexes are old enough to be kept, on any file system.
        time.sleep(2.2)
        return root

    def setup(self, root, count):
        self.array = zarr.open_array(root / str(count), mode="r")

    def track_gain(self, root, count):
        with cyzarr.enabled():
            return best_read(self.array, 0) / best_read(self.array, 64 << 20)

    track_gain.unit = "times"


def best_read(array, nbytes):
    """Seconds that one item takes with an index cache of so many bytes, the least of many."""
    least = float("inf")
    with zarr.config.set({"cyzarr.index_cache_nbytes": nbytes}):
        for _ in range(300):
            begin = time.perf_counter()
            array[5]
            least = min(least, time.perf_counter() - begin)
    return least
