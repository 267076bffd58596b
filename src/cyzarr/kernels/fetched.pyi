from collections.abc import Iterable
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from typing_extensions import disjoint_base

_Part: TypeAlias = tuple[int, npt.NDArray[np.uint8]]

@disjoint_base
class Fetched:
    """Parts, [(offset, 1-D uint8 array)], as merged_parts orders them."""

    def __new__(cls, held: list[_Part]) -> Self: ...

@disjoint_base
class CheckedIndex:
    """A shard's index that was verified, in place of its bytes."""

def checked_offset(offset: int, data: Any) -> int: ...
def merged_parts(held: Iterable[_Part], offset: int, index: npt.NDArray[np.uint8]) -> list[_Part]: ...
