from collections.abc import Iterable, Mapping
from typing import Any, Self, SupportsIndex

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

DECODER_NUMBERS: dict[str, int]
KINDS: set[str]
MAX_NBYTES: int

def checked_shape(shape: Iterable[SupportsIndex], what: str) -> tuple[int, ...]: ...
def checked_nbytes(shape: Iterable[int], dtype: np.dtype[Any]) -> int: ...
def checked_order(order: Iterable[SupportsIndex] | None, ndim: int) -> tuple[int, ...]: ...

@disjoint_base
class Program:
    """A compiled codec chain; what `chain` may hold is in the class's own docstring."""

    def __new__(cls, chain: Mapping[str, Any], dtype: npt.DTypeLike, fill: Any) -> Self: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def chain(self) -> Mapping[str, Any]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def objects(self) -> bool:
        """Whether items are Python objects or NumPy's strings, which NumPy places."""

    @property
    def fill_object(self) -> Any: ...
