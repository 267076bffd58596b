"""What libraries that expect arrays are handed: a view whose every key is read at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyzarr.lazy.view import LazyArray


class EagerArrayAdapter:
    """A view that reads when it is indexed, for `dask.array.from_array` and the like.

    Basic keys, IndexDomain and IndexTransform; each gives a fresh array.

    Parameters
    ----------
    view : LazyArray
    """

    __slots__ = ("_view",)

    def __init__(self, view: LazyArray) -> None:
        self._view = view

    @property
    def shape(self) -> tuple[int, ...]:
        return self._view.shape

    @property
    def ndim(self) -> int:
        return self._view.ndim

    @property
    def size(self) -> int:
        return self._view.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._view.dtype

    def __getitem__(self, key: Any) -> Any:
        return self._view[key].result()

    def __len__(self) -> int:
        return len(self._view)

    def __iter__(self) -> Iterator[Any]:
        """As NumPy's: the scalars of one axis, else arrays."""
        views = iter(self._view)
        return (view.result()[()] for view in views)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return self._view.__array__(dtype, copy)

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self._view.__dask_tokenize__()

    def __repr__(self) -> str:
        return f"<EagerArrayAdapter of {self._view!r}>"
