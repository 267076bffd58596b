from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from cyzarr.kernels.chunks import ChunkRead, _Buffer, _Key
from cyzarr.kernels.program import Program

_Out = TypeVar("_Out", bound=np.ndarray[Any, Any])

def run_reads(reads: Iterable[ChunkRead], threads: int = 1, labels: Iterable[int] | None = None) -> dict[str, int]:
    """Decode reads whose bytes are at hand, over the calling thread and the pool; gives counts by name."""

def decode_shard(data: _Buffer, spec: Program, selection: Sequence[_Key], out: _Out) -> _Out:
    """Decode what a selection picks from a stored chunk's bytes, into `out`."""

def decode_chunk(data: _Buffer, spec: Program, out: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
    """Decode all of a stored chunk."""
