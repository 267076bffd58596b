"""Compiled kernels: they know nothing of zarr.

    runs ─┬► batch                                      reads that share objects
          ├► execute ─► decode ─► blocks, windows       a read: its tasks, its leaves
          │      │          ├───► shardindex, intersect
          │      ├► pool    ├───► placing               where items of a chunk go
          │      │          ├───► parts, decompress     bytes decoded by C functions of installed libraries
          │      ├► files   ├───► sources ─► indexcache    bytes of objects; shard indexes kept from read to read
          │      │          ├───► program               a codec chain, compiled
          │      │          └───► workers               what a thread keeps from task to task
          ├► split ─► readplan                          a selection, cut into tasks, and these into parts
          └► chunks ─► joined ─► windows                a read of a chunk: which ranges a store is asked for
    execute ─► ahead                                    small neighbours in a file, read together
    decompress ─┬► zstd, inflate ─► streams             formats decoded piece by piece
                └► blosc, lz4, checksum                 formats decoded at once
    natives: the table of C functions that the formats call
    status, types: what all of them share

Each module has three layers: leaves that run without the GIL on pointers and sizes and check
nothing; wrappers in the same module that check all that memory safety needs; and this package's
public functions, which are those wrappers. `.pxd` files are installed, for `cimport`.
"""

from cyzarr.kernels.blocks import copy_block, fill_block, gather
from cyzarr.kernels.chunks import ChunkRead
from cyzarr.kernels.intersect import AxisTable, intersections
from cyzarr.kernels.program import Program
from cyzarr.kernels.runs import decode_chunk, decode_shard, run_reads
from cyzarr.kernels.shardindex import decode_index
from cyzarr.kernels.windows import block_window, block_windows

__all__ = [
    "AxisTable",
    "ChunkRead",
    "Program",
    "block_window",
    "block_windows",
    "copy_block",
    "decode_chunk",
    "decode_index",
    "decode_shard",
    "fill_block",
    "gather",
    "intersections",
    "run_reads",
]
