from collections.abc import Mapping, Sequence
from typing import Any, Self, final

import numpy as np

from cyzarr.lazy.maps import ArrayMap, ConstantMap, DimensionMap, IndexDomain

@final
class IndexTransform:
    """Which source coordinates the cells of a domain address; immutable."""

    def __init__(self, domain: IndexDomain, output: Sequence[ConstantMap | DimensionMap | ArrayMap]) -> None: ...
    @property
    def domain(self) -> IndexDomain: ...
    @property
    def output(self) -> tuple[ConstantMap | DimensionMap | ArrayMap, ...]: ...
    @classmethod
    def from_shape(cls, shape: Sequence[int]) -> Self:
        """Each cell of a domain of this shape addresses its own coordinates."""

    @classmethod
    def identity(cls, domain: IndexDomain) -> Self:
        """Each cell of the domain addresses its own coordinates."""

    @property
    def input_rank(self) -> int: ...
    @property
    def output_rank(self) -> int: ...
    @property
    def is_box(self) -> bool:
        """Whether no map holds an index array."""

    def __getitem__(self, key: Any, /) -> IndexTransform: ...
    @property
    def oindex(self) -> ArrayKeys: ...
    @property
    def vindex(self) -> ArrayKeys: ...
    def select(self, selection: Any, mode: str = "basic") -> IndexTransform:
        """A key of mode "basic", "orthogonal" or "vectorized", in coordinates."""

    def select_positions(self, selection: Any, mode: str = "basic") -> IndexTransform:
        """The same in positions: 0 is the first on an axis and -1 the last."""

    def compose(self, inner: IndexTransform) -> IndexTransform:
        """The transform that takes each cell of this domain to what `inner` makes of where this one takes it."""

    def output_ranges(self) -> tuple[Any, ...]:
        """Per output the least and the largest coordinate; of an empty domain, None."""

    def apply(self, point: Sequence[int]) -> tuple[int, ...]:
        """The source coordinates that one point of the domain addresses."""

    def apply_many(self, points: Any) -> np.ndarray[Any, Any]:
        """The same for an array of points, (..., input rank) integers; gives (..., output rank) intp."""

    def translate(self, shift: Sequence[int]) -> IndexTransform:
        """Each output moved by an offset."""

    def translate_domain_by(self, shift: Sequence[int]) -> IndexTransform:
        """The domain moved by an offset per axis; each cell addresses what it did."""

    def translate_domain_to(self, origins: Sequence[int]) -> IndexTransform:
        """The domain moved to an origin; each cell addresses what it did."""

    def inverted(self) -> IndexTransform:
        """The transform that leads back."""

    def to_json(self) -> dict[str, Any]:
        """TensorStore's JSON of this transform, a dict."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The transform that TensorStore's JSON, a dict, describes."""

    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class ArrayKeys:
    """What `oindex` and `vindex` of a transform are."""

    def __getitem__(self, key: Any, /) -> IndexTransform: ...

def straight(transform: IndexTransform) -> tuple[Any, ...] | None:
    """Per output an int or an ascending range, where these give a domain that is not empty as it is; else None."""

def coordinates(one: ConstantMap | DimensionMap | ArrayMap, domain: IndexDomain) -> np.ndarray[Any, Any]:
    """Where a map leads, an intp array with an axis for each of the domain: of its extent, or of 1."""
