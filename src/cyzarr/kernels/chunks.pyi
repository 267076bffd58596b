from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self, SupportsIndex, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer, disjoint_base

from cyzarr.kernels.fetched import CheckedIndex
from cyzarr.kernels.program import Program

# What picks from one axis: an integer, a slice or a 1-D integer array.
_Key: TypeAlias = SupportsIndex | slice | Sequence[int] | npt.NDArray[np.integer[Any]]
# NumPy's annotations call an array a buffer from Python 3.12 on only.
_Buffer: TypeAlias = Buffer | np.ndarray[Any, Any]
# The buffers that have a length, too.
_Bytes: TypeAlias = bytes | bytearray | memoryview | np.ndarray[Any, Any]
_Index: TypeAlias = _Buffer | CheckedIndex

def span_numbers(axis: int, key: SupportsIndex | slice, extent: int) -> tuple[int, int, int]: ...
def with_all_axes(out: np.ndarray[Any, Any], selection: Sequence[Any], points: bool) -> np.ndarray[Any, Any]: ...
def index_array(axis: int, key: npt.ArrayLike, extent: int) -> npt.NDArray[np.intp]: ...

@disjoint_base
class ChunkRead:
    """What a selection picks from one stored chunk, into `out`."""

    def __new__(
        cls,
        program: Program,
        selection: Sequence[_Key],
        out: np.ndarray[Any, Any],
        key: str = "<chunk>",
        points: bool = False,
    ) -> Self: ...
    @property
    def program(self) -> Program: ...
    @property
    def out(self) -> np.ndarray[Any, Any]: ...
    @property
    def key(self) -> str: ...
    @property
    def points(self) -> bool: ...
    @property
    def whole(self) -> bool:
        """Whether the object must be fetched whole, because a bytes-to-bytes codec stands around it."""

    @property
    def index_request(self) -> tuple[Literal["start", "end"], int] | None:
        """Where a shard's index lies and its length in bytes; None for anything else."""

    @property
    def touches_all(self) -> bool:
        """Whether the selection touches every inner chunk of a shard."""

    @property
    def missing(self) -> bool:
        """Whether the stored object was not there; known after run_reads."""

    @property
    def on_disk(self) -> bool:
        """Whether the object is a file that run_reads opens."""

    @property
    def cost_ns(self) -> float:
        """An estimate of what decoding takes, in nanoseconds."""

    @property
    def stored_nbytes(self) -> int | None:
        """The object's length where it is fixed, else None."""

    @property
    def windowed(self) -> bool:
        """Whether the inner chunks of a shard are uncompressed, so that parts of them can be asked for."""

    def chunk_requests(self, max_gap: int = 0, max_nbytes: int = ...) -> list[tuple[int, int]]:
        """The bytes of an uncompressed chunk that the selection needs: [(offset, nbytes)], ascending and disjoint."""

    def window_requests(
        self, index: _Index, max_gap: int = 0, max_nbytes: int = ...
    ) -> tuple[list[tuple[int, int]], int]:
        """The bytes of uncompressed inner chunks that the selection needs, and where the last of these chunks ends."""

    def spared(self, max_gap: int = 0, max_nbytes: int = ...) -> int:
        """How many bytes window_requests would leave out of a shard whose inner chunks lie in the index's order."""

    def inner_requests(self, index: _Index, size: int | None = None) -> list[tuple[int, int]]:
        """The bytes of the touched inner chunks: [(offset, nbytes)], ascending, each once, none for absent ones."""

    def checked_index(self, index: _Index, size: int | None = None) -> CheckedIndex:
        """An index that was verified, to be given in its place to requests of reads of the same program."""

    def set_missing(self) -> None:
        """There is no such object: its part of `out` becomes the fill value."""

    def set_object(self, data: _Buffer) -> None:
        """The whole stored object, as any contiguous buffer; it is held, not copied."""

    def set_file(self, path: bytes) -> None:
        """The stored object is a file; it is opened when the read runs."""

    def set_parts(
        self, parts: Iterable[tuple[int, _Bytes]], size: int | None = None, index: _Buffer | None = None, end: int = 0
    ) -> None:
        """The fetched bytes: parts [(offset, buffer)], the index apart where there is one."""

    def set_as(self, other: ChunkRead) -> None:
        """The same object as another read's, as that one was given it: nothing is copied."""
