"""Full reads beside a bare loop in C that does only what must be done: ../limit/bare.c.

The loop is told where the stored chunks lie, and has the decoders that cyzarr has (numcodecs'), as many threads, and an
output as freshly allocated. A ratio of 1 is the limit.
"""

import ctypes
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import zarr

import cyzarr
from cyzarr import kernels
from cyzarr.kernels import c_table

from . import layouts

# Each figure is the least of so many rounds, and of so many seconds.
ROUNDS, SECONDS = 5, 2.0
SOURCE = Path(__file__).parents[1] / "limit" / "bare.c"
# The arrays that are read, and the decoder of their chunks.
DECODERS = {
    "image_raw": None,
    "image_zstd": "zstd",
    "cube_blosc": "blosc",
    "plain_zstd": "zstd",
    "v2_blosc": "blosc",
    "series_gzip": "gzip",
}


class Stored(ctypes.Structure):
    """A stored chunk, as in bare.c."""

    _fields_ = [
        ("path", ctypes.c_char_p),
        ("offset", ctypes.c_ssize_t),
        ("nbytes", ctypes.c_ssize_t),
        ("place", ctypes.c_ssize_t),
    ]


class Layout(ctypes.Structure):
    """How an array is stored, as in bare.c."""

    _fields_ = [
        ("decoder", ctypes.c_int),
        ("decode", ctypes.c_void_p),
        ("init", ctypes.c_void_p),
        ("clear", ctypes.c_void_p),
        ("rows", ctypes.c_ssize_t * 2),
        ("row_nbytes", ctypes.c_ssize_t),
        ("strides", ctypes.c_ssize_t * 2),
        ("most_nbytes", ctypes.c_ssize_t),
    ]


def compile_loop(library):
    """By the system's compiler, where there is one."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is not None:
        subprocess.run([compiler, "-O3", "-shared", "-fPIC", "-pthread", str(SOURCE), "-o", str(library)], check=True)


def stored_chunks(array):
    """(path, offset, nbytes, position in the grid) of each chunk, or each inner chunk, in the order of the files."""
    root = Path(str(array.store.root), array.path)
    per_shard = [1] * array.ndim
    if array.shards is not None:
        per_shard = [shard // chunk for shard, chunk in zip(array.shards, array.chunks, strict=True)]
    for at in np.ndindex(*(-(-n // step) for n, step in zip(array.shape, array.shards or array.chunks, strict=True))):
        path = root / array.metadata.encode_chunk_key(at)
        if array.shards is None:
            yield path, 0, path.stat().st_size, at
            continue
        data = path.read_bytes()
        index = kernels.decode_index(data[-16 * int(np.prod(per_shard)) - 4 :], tuple(per_shard))
        inner = [(*index[inside], inside) for inside in np.ndindex(*per_shard)]
        for offset, nbytes, inside in sorted(inner, key=lambda one: one[0]):
            yield path, int(offset), int(nbytes), tuple(np.multiply(at, per_shard) + inside)


def layout_of(array, decoder, strides, most_nbytes):
    """What the loop has to know of an array of up to three axes."""
    address = {name: c_table.FUNCTIONS[name].address for name in ("decode_exact", "context_init", "context_free")}
    rows, outer = [1, 1, *array.chunks[:-1]][-2:], [0, 0, *map(int, strides[:-1])][-2:]
    return Layout(
        -1 if decoder is None else c_table.DECODERS.index(decoder),
        *address.values(),
        (ctypes.c_ssize_t * 2)(*rows),
        array.chunks[-1] * array.dtype.itemsize,
        (ctypes.c_ssize_t * 2)(*outer),
        most_nbytes,
    )


class Bare:
    """The loop, ready to read one array whole."""

    def __init__(self, library, array, decoder):
        self.read = library.bare_read
        self.read.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_int]
        self.shape, self.dtype = array.shape, array.dtype
        strides = np.multiply(array.dtype.itemsize, [*np.cumprod(array.shape[:0:-1])[::-1], 1])
        chunks = list(stored_chunks(array))
        # Of one address for each file: the loop opens a file anew where that changes.
        self.paths = {path: str(path).encode() for path, *_ in chunks}
        self.chunks = (Stored * len(chunks))()
        for stored, (path, offset, nbytes, at) in zip(self.chunks, chunks, strict=True):
            place = int(np.multiply(at, array.chunks) @ strides)
            stored.path, stored.offset, stored.nbytes, stored.place = self.paths[path], offset, nbytes, place
        self.layout = layout_of(array, decoder, strides, max(nbytes for _, _, nbytes, _ in chunks))

    def __call__(self, threads):
        out = np.empty(self.shape, self.dtype)
        at = out.ctypes.data_as(ctypes.c_void_p)
        if self.read(ctypes.byref(self.layout), self.chunks, len(self.chunks), at, threads):
            raise RuntimeError("the bare loop could not read")
        return out


def least(*reads):
    """The least time of each, in turn."""
    best = [float("inf")] * len(reads)
    begin, rounds = time.perf_counter(), 0
    while rounds < ROUNDS or time.perf_counter() - begin < SECONDS:
        rounds += 1
        for i, read in enumerate(reads):
            start = time.perf_counter()
            read()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


class _Full:
    """All of an array, through cyzarr and by the bare loop."""

    version = "1"
    timeout = 300

    def setup_cache(self):
        root = Path("limit").resolve()
        layouts.write_all(root, DECODERS)
        compile_loop(root / "bare.so")
        return root

    def setup(self, root, layout, threads=2):
        if not (root / "bare.so").exists():
            raise NotImplementedError("no C compiler here")
        self.array = zarr.open_array(root / layout, mode="r")
        self.bare = Bare(ctypes.CDLL(str(root / "bare.so")), self.array, DECODERS[layout])
        if not np.array_equal(self.bare(threads), self.array[...]):
            raise RuntimeError("the bare loop read something else")

    def read(self, threads):
        with cyzarr.enabled(), zarr.config.set({"cyzarr.threads": threads}):
            return self.array[...]


class OverTheLimit(_Full):
    """cyzarr's time over the bare loop's."""

    params = (list(DECODERS), [1, 2])
    param_names = ("layout", "threads")

    def track_ratio(self, root, layout, threads):
        ours, bare = least(lambda: self.read(threads), lambda: self.bare(threads))
        return ours / bare

    track_ratio.unit = "times the bare loop"


class GainOfTwoThreads(_Full):
    """One thread's time over that of two, for both."""

    params = (list(DECODERS),)
    param_names = ("layout",)

    def track_gain(self, root, layout):
        alone, together = least(lambda: self.read(1), lambda: self.read(2))
        return alone / together

    def track_gain_of_the_bare_loop(self, root, layout):
        alone, together = least(lambda: self.bare(1), lambda: self.bare(2))
        return alone / together

    track_gain.unit = track_gain_of_the_bare_loop.unit = "times"
