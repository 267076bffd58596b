from collections.abc import Iterable, Sequence
from typing import Any, Literal, SupportsIndex

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

def index_spec(
    grid: Iterable[SupportsIndex],
    byteorder: Literal["little", "big"] = "little",
    checksums: int = 1,
    order: Iterable[SupportsIndex] | None = None,
    location: Literal["start", "end"] = "end",
) -> tuple[int, int, tuple[int, ...], int]:
    """(entries, encoded nbytes, strides, pair stride) of an index, strides in numbers of 8 bytes."""

def decode_index(
    data: Buffer | np.ndarray[Any, Any],
    chunks_per_shard: Sequence[int],
    *,
    byteorder: Literal["little", "big"] = "little",
    checksums: int = 1,
    order: Iterable[SupportsIndex] | None = None,
    size: int | None = None,
    chunk_nbytes: int | None = None,
) -> npt.NDArray[np.uint64]:
    """Decode an encoded shard index to (offset, nbytes) in bytes, an array of shape chunks_per_shard + (2,)."""

def check_table(table: npt.NDArray[np.uint64], size: int, chunk_nbytes: int | None, grid: tuple[int, ...]) -> None: ...
