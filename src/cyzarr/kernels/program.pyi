from collections.abc import Iterable, Mapping
from typing import Any, Self, SupportsIndex

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer, disjoint_base

DECODER_NUMBERS: dict[str, int]
MAX_NBYTES: int

def checked_shape(shape: Iterable[SupportsIndex], what: str) -> tuple[int, ...]: ...
def checked_order(order: Iterable[SupportsIndex] | None, ndim: int) -> tuple[int, ...]: ...

@disjoint_base
class Program:
    """A compiled codec chain; what `chain` may hold is in the class's own docstring."""

    def __new__(cls, chain: Mapping[str, Any], dtype: npt.DTypeLike, fill: Buffer) -> Self: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def chain(self) -> Mapping[str, Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
