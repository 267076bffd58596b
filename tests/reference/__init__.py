"""NumPy twins of the kernels: slow, plain, and named as the kernels are.

They are the oracles of tests/kernels, so they favour whole arrays, boolean masks and Python's
own integers over speed, and import nothing of cyzarr.

    blocks      copy_block, fill_block, gather
    windows     block_window, block_windows
    intersect   intersections
    shardindex  decode_index, and encode_index
    shard       decode_shard, and encode_shard
"""

from .blocks import copy_block, fill_block, gather
from .errors import CorruptChunkError
from .intersect import AxisTable, intersections
from .selection import pick, positions, selected_shape
from .shard import Layout, Program, decode_chunk, decode_shard, encode_chunk, encode_shard
from .shardindex import ABSENT, crc32c, decode_index, encode_index, index_nbytes
from .windows import block_window, block_windows

__all__ = [
    "ABSENT",
    "AxisTable",
    "CorruptChunkError",
    "Layout",
    "Program",
    "block_window",
    "block_windows",
    "copy_block",
    "crc32c",
    "decode_chunk",
    "decode_index",
    "decode_shard",
    "encode_chunk",
    "encode_index",
    "encode_shard",
    "fill_block",
    "gather",
    "index_nbytes",
    "intersections",
    "pick",
    "positions",
    "selected_shape",
]
