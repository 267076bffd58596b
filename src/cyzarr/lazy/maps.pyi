from collections.abc import Mapping, Sequence
from typing import Any, Self, final

import numpy as np

FARTHEST: int
LEAST: int
MOST: int

@final
class IndexDomain:
    """A box of integer coordinates, immutable."""

    def __init__(
        self, inclusive_min: Sequence[int], exclusive_max: Sequence[int], labels: Sequence[str] | None = None
    ) -> None: ...
    @property
    def inclusive_min(self) -> tuple[int, ...]: ...
    @property
    def exclusive_max(self) -> tuple[int, ...]: ...
    @property
    def labels(self) -> tuple[str, ...] | None: ...
    @classmethod
    def from_shape(cls, shape: Sequence[int]) -> Self:
        """The domain of this shape whose axes start at 0."""

    @property
    def ndim(self) -> int: ...
    @property
    def origin(self) -> tuple[int, ...]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    def contains(self, index: Sequence[int]) -> bool:
        """Whether a point lies in this domain."""

    def contains_domain(self, other: IndexDomain) -> bool:
        """Whether every interval of another domain, empty ones too, lies within this one's."""

    def intersect(self, other: IndexDomain) -> IndexDomain | None:
        """What two domains of one rank share; None where they share no point."""

    def translate(self, offset: Sequence[int]) -> IndexDomain:
        """The domain moved by an offset per axis."""

    def narrow(self, selection: Any) -> IndexDomain:
        """The part that integers and slices of step 1, in coordinates of this domain, pick."""

    def to_json(self) -> dict[str, Any]:
        """The members that describe it in TensorStore's JSON."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The domain that the members of TensorStore's JSON describe."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class ConstantMap:
    """Every cell addresses the source coordinate `offset`."""

    def __init__(self, offset: int = 0) -> None: ...
    @property
    def offset(self) -> int: ...
    def to_json(self) -> dict[str, Any]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class DimensionMap:
    """A cell addresses offset + stride * its coordinate on the axis `input_dimension`."""

    def __init__(self, input_dimension: int, offset: int = 0, stride: int = 1) -> None: ...
    @property
    def input_dimension(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def stride(self) -> int: ...
    def to_json(self) -> dict[str, Any]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class ArrayMap:
    """A cell addresses offset + stride * index_array[its position]."""

    def __init__(self, index_array: Any, offset: int = 0, stride: int = 1) -> None: ...
    @property
    def index_array(self) -> np.ndarray[Any, Any]: ...
    @property
    def offset(self) -> int: ...
    @property
    def stride(self) -> int: ...
    @property
    def dependency_axes(self) -> tuple[int, ...]:
        """The axes that the index depends on, which are those longer than 1."""

    @property
    def dependent_axis(self) -> int | None:
        """The one axis that the index depends on; None for none, ValueError for several."""

    @property
    def index_range(self) -> tuple[int, int] | None:
        """The least and the largest index; None for no index."""

    def coordinates(self) -> np.ndarray[Any, Any]:
        """offset + stride * index_array, as intp."""

    def to_json(self) -> dict[str, Any]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

def adopted(index_array: np.ndarray[Any, Any], offset: int = 0, stride: int = 1) -> ArrayMap:
    """An ArrayMap of an intp array."""

def stretched(values: Any, offset: int, stride: int, bounds: tuple[int, int]) -> Any:
    """offset + stride * values, as intp; of values between two bounds."""
