"""Each kernel beside the way that one would write it with NumPy or numcodecs alone."""

import google_crc32c
import numcodecs
import numpy as np
import zarr
from zarr.codecs import ZstdCodec
from zarr.storage import MemoryStore

from cyzarr import kernels
from cyzarr.kernels import decompress

CHUNK = (64, 64, 64)
VOLUME = (192, 192, 192)
MIDDLE = (slice(64, 128),) * 3


def touched(shape, dtype="f4"):
    """An array whose pages are in memory already, unlike those of ``np.zeros``."""
    return np.ones(shape, dtype)


def numbers(shape, dtype="f4"):
    """Smooth and rounded, so that it compresses."""
    return np.round(np.sin(np.arange(np.prod(shape)) / 100), 2).reshape(shape).astype(dtype)


class CopyBlock:
    """A chunk of 1 MiB to its place in a volume of 27 MiB; "dense" is a bare memcpy."""

    version = "1"
    params = (
        ["cyzarr", "numpy"],
        ["dense", "volume", "transposed", "reversed", "every 2nd", "swapped", "one byte"],
    )
    param_names = ("way", "layout")

    def setup(self, way, layout):
        src, volume = numbers(CHUNK), touched(VOLUME)
        self.src, self.dst = {
            "dense": lambda: (src, touched(CHUNK)),
            "volume": lambda: (src, volume[MIDDLE]),
            "transposed": lambda: (src.transpose(2, 0, 1), volume[MIDDLE]),
            "reversed": lambda: (src[::-1, :, ::-1], volume[MIDDLE]),
            "every 2nd": lambda: (src[:, :, ::2], volume[:64, :64, :32]),
            "swapped": lambda: (src.astype(">f4"), volume[MIDDLE]),
            "one byte": lambda: (src.astype("u1"), touched(VOLUME, "u1")[MIDDLE]),
        }[layout]()

    def time_copy(self, way, layout):
        if way == "cyzarr":
            kernels.copy_block(self.src, self.dst)
        else:
            self.dst[...] = self.src


class FillBlock:
    """The part of a volume that a missing chunk covers."""

    version = "1"
    params = (["cyzarr", "numpy"],)
    param_names = ("way",)

    def setup(self, way):
        self.dst = touched(VOLUME)[MIDDLE]

    def time_fill(self, way):
        if way == "cyzarr":
            kernels.fill_block(self.dst, 1.5)
        else:
            self.dst[...] = 1.5


class Gather:
    """An open mesh of 40 x 40 x 40 items of a chunk."""

    version = "1"
    params = (["cyzarr", "numpy"],)
    param_names = ("way",)

    def setup(self, way):
        rng = np.random.default_rng(0)
        self.src = numbers(CHUNK)
        self.indices = [rng.integers(0, 64, 40) for _ in CHUNK]
        self.dst = touched((40, 40, 40))

    def time_gather(self, way):
        if way == "cyzarr":
            kernels.gather(self.src, self.indices, self.dst)
        else:
            self.dst[...] = self.src[np.ix_(*self.indices)]


class DecodeIndex:
    """The index of a shard, its checksum verified and each entry held against the object's size."""

    version = "1"
    params = (["cyzarr", "numpy"], [64, 4096])
    param_names = ("way", "inner chunks")

    def setup(self, way, count):
        entries = np.stack([np.arange(count) * 1000, np.full(count, 1000)], axis=1)
        payload = entries.astype("<u8").tobytes()
        self.data = payload + google_crc32c.value(payload).to_bytes(4, "little")
        self.size = count * 1000 + len(self.data)

    def time_decode(self, way, count):
        if way == "cyzarr":
            kernels.decode_index(self.data, (count,), size=self.size)
            return
        payload = self.data[:-4]
        if google_crc32c.value(payload) != int.from_bytes(self.data[-4:], "little"):
            raise ValueError("checksum")
        index = np.frombuffer(payload, "<u8").reshape(count, 2)
        if (index.sum(axis=1) > self.size).any():
            raise ValueError("entry")


WINDOWS = {
    "one frame": np.s_[10, 100:200, 50:150],
    "20 frames": np.s_[10:30, 100:200, 50:150],
    "rows": (slice(10, 30), np.arange(0, 512, 16), slice(None)),
}


class Windows:
    """Which bytes of an uncompressed chunk a selection needs."""

    version = "1"
    params = (list(WINDOWS),)
    param_names = ("selection",)
    shape = (64, 512, 512)

    def setup(self, selection):
        self.selection = WINDOWS[selection]

    def time_block_window(self, selection):
        kernels.block_window(self.selection, self.shape)

    def time_block_windows(self, selection):
        kernels.block_windows(self.selection, self.shape, itemsize=4, max_gap_nbytes=4096)


KEYS = {
    "box": np.s_[100:2000, 5:3000, 7:640],
    "step": np.s_[100:20000:7, 5, 640:7:-3],
    "rows": (np.arange(0, 64000, 640), slice(0, 64), slice(0, 64)),
}


class Intersections:
    """Cutting a selection along a grid of 1000 x 1000 x 1000 chunks."""

    version = "1"
    params = (list(KEYS),)
    param_names = ("selection",)

    def setup(self, selection):
        self.selection = KEYS[selection]

    def time_intersections(self, selection):
        kernels.intersections(self.selection, (64000,) * 3, CHUNK)


CODECS = {
    "zstd": numcodecs.Zstd(1),
    "blosc": numcodecs.Blosc("lz4", 5, numcodecs.Blosc.SHUFFLE),
    "lz4": numcodecs.LZ4(),
    "gzip": numcodecs.GZip(1),
    "zlib": numcodecs.Zlib(1),
}


class Decompress:
    """Decoders of installed libraries, called in C and through numcodecs' own functions."""

    version = "1"
    params = (["cyzarr", "numcodecs"], list(CODECS), [2**10, 2**17, 2**20])
    param_names = ("way", "codec", "nbytes")

    def setup(self, way, codec, nbytes):
        self.data = bytes(CODECS[codec].encode(numbers((nbytes // 4,))))
        self.out = touched(nbytes, "u1")

    def time_decode(self, way, codec, nbytes):
        if way == "cyzarr":
            decompress.decode_into(codec, self.data, self.out)
        else:
            CODECS[codec].decode(self.data, self.out)


SHARD_KEYS = {
    "all": np.s_[0:128, 0:128, 0:128],
    "one inner chunk": np.s_[32:64, 32:64, 32:64],
    "plane": np.s_[0:128, 0:128, 50:51],
}


class DecodeShard:
    """A shard of 64 inner chunks, 8 MiB, from memory to an array."""

    version = "1"
    params = (["raw", "zstd"], list(SHARD_KEYS))
    param_names = ("inner chunks", "selection")
    shape, chunk = (128, 128, 128), (32, 32, 32)

    def setup(self, inner, selection):
        store = MemoryStore()
        compressor = ZstdCodec(level=1) if inner == "zstd" else None
        array = zarr.create_array(
            store,
            shape=self.shape,
            dtype="f4",
            shards=self.shape,
            chunks=self.chunk,
            filters=None,
            compressors=compressor,
        )
        values = numbers(self.shape)
        array[...] = values
        self.data = store._store_dict["c/0/0/0"].to_bytes()
        self.spec = kernels.Program(self.description(inner), np.dtype("f4"), bytes(4))
        self.selection = SHARD_KEYS[selection]
        self.out = touched(values[self.selection].shape)

    def description(self, inner):
        filters = [{"name": "zstd", "codec": CODECS["zstd"]}] if inner == "zstd" else []
        chain = {
            "shape": self.chunk,
            "order": None,
            "filters": filters,
            "bytes": {"dtype": np.dtype("<f4")},
        }
        index = {"location": "end", "byteorder": "little", "checksums": 1, "order": None}
        shard = {"chunk_shape": self.chunk, "chain": chain, "index": index}
        return {"shape": self.shape, "order": None, "filters": [], "shard": shard}

    def time_decode_shard(self, inner, selection):
        kernels.decode_shard(self.data, self.spec, self.selection, self.out)


class DecodeBloscPart:
    """A plane of a blosc chunk: of the first axis (few blocks), of the last one (all blocks), or all of it.

    8 MiB are many blocks, 128 KiB are one. "numcodecs" decodes the chunk and slices it.
    """

    version = "1"
    params = (
        ["cyzarr", "numcodecs"],
        ["lz4", "zstd"],
        ["8 MiB", "128 KiB"],
        ["first axis", "4 apart", "last axis"],
    )
    param_names = ("way", "cname", "chunk", "plane")

    def setup(self, way, cname, chunk, plane):
        side = {"8 MiB": 128, "128 KiB": 32}[chunk]
        self.shape = (side,) * 3
        self.codec = numcodecs.Blosc(cname, 5, 1)
        self.data = bytes(self.codec.encode(numbers(self.shape)))
        self.selection = {
            "first axis": (slice(side // 2, side // 2 + 1), slice(None), slice(None)),
            "4 apart": (slice(0, None, side // 4), slice(None), slice(None)),
            "last axis": (slice(None), slice(None), slice(side // 2, side // 2 + 1)),
        }[plane]
        filters = [{"name": "blosc", "codec": self.codec}]
        chain = {"shape": self.shape, "order": None, "filters": filters, "bytes": {"dtype": np.dtype("<f4")}}
        self.spec = kernels.Program(chain, np.dtype("f4"), bytes(4))
        self.out = touched(np.ones(self.shape, "f4")[self.selection].shape)

    def time_decode(self, way, cname, chunk, plane):
        if way == "cyzarr":
            kernels.decode_shard(self.data, self.spec, self.selection, self.out)
        else:
            whole = np.frombuffer(self.codec.decode(self.data), "f4").reshape(self.shape)
            self.out[...] = whole[self.selection]
