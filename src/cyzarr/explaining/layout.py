"""Which part of a stored object a read can do with: what stands around the chunk or the shard decides that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cyzarr.explaining.dryrun import inner_shape


@dataclass(frozen=True)
class Layout:
    """How the chunks of an array are read.

    Attributes
    ----------
    case : str
        One of the keys of CASES.
    transposed : bool
        Whether transposes stand before the rest: they are strides, whatever the case.
    chunk_shape : tuple of int
        The shape of a stored object, in the array's axes.
    inner_shape : tuple of int or None
        The same of a shard's inner chunks.
    decodes_whole : bool
        Whether each touched chunk, or inner chunk of a shard, is decoded whole. Those of shards within shards are not.
    """

    case: str
    transposed: bool
    chunk_shape: tuple[int, ...]
    inner_shape: tuple[int, ...] | None
    decodes_whole: bool

    @property
    def said(self) -> str:
        """The case in a sentence."""
        before = "The transposes before are strides and cost nothing. " if self.transposed else ""
        return before + CASES[self.case]

    @property
    def is_partial(self) -> bool:
        """Whether less than an object can be fetched."""
        return self.case in PARTIAL


CASES = {
    "shard": "Parts of a shard are read: its index, then the touched inner chunks, neighbours together.",
    "shard of uncompressed chunks": (
        "Parts of a shard are read: its index, then the bytes of the items that are wanted from the touched inner"
        " chunks, neighbours together."
    ),
    "shard behind codecs item by item": (
        "Parts of a shard are read: its index, then the inner chunks of the block around what is wanted; the codec"
        " before the shard then works on that block."
    ),
    "shard behind whole-chunk codecs": (
        "The object is fetched whole, and all its inner chunks are decoded: the codec before the shard needs all items."
    ),
    "shard within codecs": (
        "The object is fetched whole and undone, because of the codec after the shard; then the touched inner chunks"
        " alone are decoded."
    ),
    "window": "Chunks are uncompressed: only the bytes of the items that are wanted are read, and small gaps.",
    "window behind codecs item by item": (
        "Chunks are uncompressed: only the block around what is wanted is read; the codec before works on that block."
    ),
    "chunk": "Each touched chunk is fetched and decoded whole.",
    "blosc chunk": "Each touched chunk is fetched whole; of it, only the blosc blocks that are needed are decoded.",
    "zstd chunk": "Each touched chunk is fetched whole, and decoded until what is wanted of it ends.",
    "own codec": "Each touched chunk is fetched whole and decoded by a codec's own Python method.",
}


PARTIAL = {
    "shard",
    "shard of uncompressed chunks",
    "shard behind codecs item by item",
    "window",
    "window behind codecs item by item",
}


def layout_of(chain: Any) -> Layout:
    """The layout of chunks with a program's chain."""
    shape = tuple(chain["shape"])
    transposed = tuple(chain.get("order") or range(len(shape))) != tuple(range(len(shape)))
    return Layout(_case(chain), transposed, shape, inner_shape(chain), _decodes_whole(chain))


def _decodes_whole(chain: Any, depth: int = 0) -> bool:
    """Whether what is stored in one piece must be decoded in one piece."""
    if "hull" in chain:
        return not chain["hull"]["elementwise"] or _decodes_whole(chain["hull"]["program"].chain, depth)
    if "shard" in chain:
        return depth == 0 and _decodes_whole(chain["shard"]["chain"], depth + 1)
    filters = chain.get("filters")
    # Of blosc the blocks that are needed will do.
    return "python" in chain or (bool(filters) and filters[0]["name"] != "blosc")


def _case(chain: Any) -> str:
    filters = [one["name"] for one in chain.get("filters", ())]
    if "hull" in chain:
        below, by_item = _case(chain["hull"]["program"].chain), chain["hull"]["elementwise"]
        if below == "shard of uncompressed chunks":
            below = "shard"
        if below in ("shard", "window") and by_item:
            return f"{below} behind codecs item by item"
        if below.startswith("shard"):
            return "shard within codecs" if by_item else "shard behind whole-chunk codecs"
        return "chunk" if below in ("window", "blosc chunk", "zstd chunk") else below
    if "shard" in chain:
        if filters:
            return "shard within codecs"
        inner = chain["shard"]["chain"]
        return "shard of uncompressed chunks" if "bytes" in inner and not inner.get("filters") else "shard"
    if "python" in chain:
        return "own codec"
    if not filters:
        return "window"
    return {"blosc": "blosc chunk", "zstd": "zstd chunk"}.get(filters[0], "chunk")
