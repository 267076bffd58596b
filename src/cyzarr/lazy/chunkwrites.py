"""Writing to small chunks of zarr's own local and memory stores.

zarr takes many turns of its event loop for each chunk that it reads, merges and writes, which is most of what writing
to small chunks takes. Here the kernels read what stays of all of them in one go, and each is encoded and stored once.
Chunks are read and written whole: also what an edge chunk holds beyond the array stays as it is, where zarr's own write
would keep it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from cyzarr import _zarr, config
from cyzarr.kernels.chunks import ChunkRead
from cyzarr.kernels.runs import run_reads
from cyzarr.lazy import sources
from cyzarr.planning.chunkreads import NotNativeError, program_for
from cyzarr.stores import plain

if TYPE_CHECKING:
    from cyzarr.kernels.program import Program
    from cyzarr.lazy.blocks import Block

# Of larger chunks, copying and compressing is most of the work, and zarr does that as well.
MOST_NBYTES = 1 << 20


class Target(NamedTuple):
    """An array whose chunks can be written here."""

    path: Any
    metadata: Any
    pipeline: Any
    spec: Any
    program: Program

    def put(self, batch: list[Block], keep: bool) -> list[BaseException | None] | None:
        """Write blocks whose hulls are cells of the grid; what each raised, or None.

        `keep`: what an edge chunk holds beyond the array stays also where all before it is set.

        None in all: what is stored can't be got at here, and nothing was written.
        """
        made = []
        reads = []
        for block in batch:
            path = self.path / self.metadata.encode_chunk_key(block.cells)
            array = _zarr.empty(self.spec.shape, self.program.dtype, self.spec.order)
            if not block.covered or block.values.size < array.size:
                read = ChunkRead(self.program, [slice(None)] * array.ndim, array, str(path))
                if block.covered and not keep:
                    # An edge chunk: beyond the array there is the fill value.
                    read.set_missing()
                elif not plain.set_at_hand(read, path):
                    return None
                reads.append(read)
            made.append((path, array, block.values.flat[:1]))
        run_reads(reads, config.threads())
        for block, (_, array, _) in zip(batch, made, strict=True):
            array[block.at] = block.values
        return _zarr.put_chunks(self.pipeline, self.spec, made)


def target_of(array: Any) -> Target | None:
    """What writes to a zarr array's chunks; None where zarr's own code is to."""
    inner = _zarr.parts_of(array)
    dtype = sources.direct_dtype(array)
    if inner is None or dtype is None or dtype.hasobject:
        return None
    metadata, pipeline = inner.metadata, inner.pipeline
    if _zarr.encodes_parts(pipeline) or _zarr.awaits_repair(metadata):
        return None
    spec = _zarr.chunk_spec(metadata, inner.config)
    if spec is None or math.prod(spec.shape) * dtype.itemsize > MOST_NBYTES:
        return None
    try:
        program = program_for(pipeline, tuple(pipeline), spec)
    except NotNativeError:
        return None
    return Target(inner.store_path, metadata, pipeline, spec, program)
