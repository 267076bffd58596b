"""LazyArray: a source, and a transform that says which of its cells a view's are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np

from cyzarr.lazy import display, grid, parts, reading, sources, writing
from cyzarr.lazy.maps import ConstantMap, IndexDomain
from cyzarr.lazy.transform import IndexTransform

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class LazyArray:
    """An array that is indexed without being read.

    Indexing makes another view of the same source; no views are stacked. `result()` reads, by the shortest way over
    the whole view, `write()` and assignment write.

    Keys are relative: 0 is the first element of the view and -1 its last, whatever its coordinates. A key that is an
    IndexDomain or IndexTransform is absolute: in coordinates of `transform.domain`, which views keep.

    Parameters
    ----------
    array : array
        The source: a zarr or NumPy array, or anything with `shape`, `dtype` and basic indexing. A TensorStore whose
        domain begins elsewhere than at 0 is moved there.

    Examples
    --------
    >>> view = LazyArray(zarr_array)[10:20][::-1]
    >>> view.oindex[[0, 3]].result()
    """

    __slots__ = ("_grid", "_kind", "_reader", "_source", "_transform")

    def __init__(self, array: Any) -> None:
        if isinstance(array, np.matrix):
            raise TypeError("a matrix keeps two axes whatever is picked; numpy.asarray(matrix) can be viewed")
        if not hasattr(array, "shape"):
            raise TypeError(f"expected an array, with shape, dtype and indexing, found {type(array).__name__}")
        self._kind = sources.kind_of(array)
        if self._kind == "other":
            array = sources.from_zero(array)
        self._source = array
        self._transform = IndexTransform.from_shape(array.shape)
        self._grid = sources.read_grid(array)
        self._reader: Any = None
        sources.dtype_of(array)

    @classmethod
    def from_numpy(cls, array: np.ndarray[Any, Any]) -> LazyArray:
        """A view of a NumPy array; TypeError for anything else."""
        if not isinstance(array, np.ndarray):
            raise TypeError(f"expected a numpy.ndarray, found {type(array).__name__}")
        return cls(array)

    def _derive(self, transform: IndexTransform) -> LazyArray:
        made = _new(LazyArray)
        made._source = self._source
        made._transform = transform
        made._grid = self._grid
        made._reader = self._reader
        made._kind = self._kind
        return made

    # --- what it is

    @property
    def array(self) -> Any:
        """The source; of a TensorStore that was moved, the moved one."""
        return self._source

    @property
    def base_shape(self) -> tuple[int, ...]:
        """The source's shape."""
        return tuple(self._source.shape)

    @property
    def transform(self) -> IndexTransform:
        return self._transform

    @property
    def shape(self) -> tuple[int, ...]:
        return self._transform.domain.shape

    @property
    def ndim(self) -> int:
        return self._transform.input_rank

    @property
    def size(self) -> int:
        size = 1
        for extent in self._transform.domain.shape:
            size *= extent
        return size

    @property
    def dtype(self) -> np.dtype[Any]:
        return sources.dtype_of(self._source)

    @property
    def nbytes(self) -> int:
        """What `result()` will take."""
        return self.size * self.dtype.itemsize

    @property
    def reader(self) -> Any:
        """The object that reads parts of it, by `read_into(source, context, out)`."""
        return reading.DEFAULT if self._reader is None else self._reader

    @property
    def is_box(self) -> bool:
        """Whether no index array is involved."""
        return self._transform.is_box

    def bounding_box(self) -> tuple[tuple[int, int], ...] | None:
        """Per axis of the source the first coordinate and the one after the last; None for an empty view."""
        if 0 in self.shape:
            return None
        return tuple((low, high + 1) for low, high in self._transform.output_ranges())

    def strides(self) -> tuple[int, ...] | None:
        """Per axis of the source the size of the steps, at least 1; None where index arrays are involved."""
        if not self.is_box:
            return None
        return tuple(
            1 if isinstance(one, ConstantMap) or one.stride == 0 else abs(one.stride) for one in self._transform.output
        )

    # --- selecting

    def __getitem__(self, key: Any) -> LazyArray:
        kind = type(key)
        if kind is IndexDomain:
            return self._restrict(key)
        if kind is IndexTransform:
            return self._derive(key.compose(self._transform))
        return self._derive(self._transform.select_positions(key))

    def _restrict(self, domain: IndexDomain) -> LazyArray:
        mine = self._transform.domain
        if domain.ndim != mine.ndim:
            raise ValueError(f"a domain of rank {domain.ndim} for a view of rank {mine.ndim}")
        if not mine.contains_domain(domain):
            from cyzarr.errors import BoundsCheckError

            raise BoundsCheckError(f"{domain!r} is not within the view's {mine!r}; a domain is in its coordinates")
        if domain.labels is None:
            domain = IndexDomain(domain.inclusive_min, domain.exclusive_max, mine.labels)
        return self._derive(IndexTransform.identity(domain).compose(self._transform))

    @property
    def oindex(self) -> _ArrayKeys:
        """Integers, slices, index arrays and masks of one axis, each taken with every position of the others."""
        return _ArrayKeys(self, "orthogonal")

    @property
    def vindex(self) -> _ArrayKeys:
        """Integers, index arrays and masks that are taken together."""
        return _ArrayKeys(self, "vectorized")

    def __setitem__(self, key: Any, values: Any) -> None:
        self[key].write(values)

    # --- reading and writing

    def result(self, *, parts: Sequence[Partition] | None = None) -> Any:
        """Read: a fresh, writable array of the view's shape and the source's data type.

        Parameters
        ----------
        parts : sequence of Partition, optional
            Of this very view, all of them, to be read one by one in this order.
        """
        if parts is not None:
            return reading.read_parts(self, parts)
        return reading.read(self)

    def read(self) -> Any:
        """`result()`."""
        return reading.read(self)

    async def read_async(self) -> Any:
        """The same, in another thread, while the event loop goes on."""
        return await asyncio.to_thread(reading.read, self)

    def write(self, values: Any) -> None:
        """Write values, broadcast to the view's shape; where cells repeat, the last one in C order stays.

        Raises
        ------
        ValueError, OverflowError
            Where the values' shape doesn't fit, or NumPy's own assignment would raise: a Python int that the data type
            can't hold, a text that is no number. Arrays are cast, and may wrap, as `astype` does.
            Nothing is written then.
        IndexError
            Where a cell lies outside of the source; nothing is written then.
        """
        writing.write(self, values)

    async def write_async(self, values: Any) -> None:
        """The same, in another thread, which goes on to the end where the caller is cancelled.

        The values are taken before it begins; those of a view are read in that thread, unless a NumPy array holds them.
        """
        if isinstance(values, LazyArray) and (values._kind != "numpy" or values._reader is not None):
            await asyncio.to_thread(writing.write, self, values)
            return
        # A copy made in this thread: who awaits may change them meanwhile.
        await asyncio.to_thread(writing.put, self, writing.converted(self, values, own=True))

    # --- parts

    def with_reader(self, reader: Any) -> LazyArray:
        """The same view, whose parts this reader reads."""
        if not callable(getattr(reader, "read_into", None)):
            raise TypeError(f"a reader has a method read_into; {type(reader).__name__} has none")
        made = self._derive(self._transform)
        made._reader = None if reader is reading.DEFAULT else reader
        return made

    def with_parts(self, parts: Sequence[int]) -> LazyArray:
        """The same view, in parts by a grid of the source with cells of this shape."""
        return self._with_grid(grid.uniform(self.base_shape, parts))

    def with_parts_per_axis(self, sizes: Sequence[Sequence[int]]) -> LazyArray:
        """The same view, in parts by a grid of the source: per axis the sizes of its cells."""
        return self._with_grid(grid.per_axis(self.base_shape, sizes))

    def unpartitioned(self) -> LazyArray:
        """The same view, as one part."""
        return self._with_grid(None)

    def _with_grid(self, cells: grid.Grid | None) -> LazyArray:
        made = self._derive(self._transform)
        made._grid = cells
        return made

    def parts(self) -> Iterator[Partition]:
        """What of the view lies in each cell of the grid: out[part.out_selection] = part.view.result()."""
        for part in reading.parts_of(self):
            yield Partition(self, part)

    # --- protocols

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a view without axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[LazyArray]:
        if not self.shape:
            raise TypeError("iteration over a view without axes")
        return (self[at] for at in range(self.shape[0]))

    def __contains__(self, item: Any) -> bool:
        return item in self.result()

    def __eq__(self, other: object) -> Any:
        if isinstance(other, LazyArray):
            return self is other
        raise TypeError("a view isn't compared by its values without being read; compare view.result()")

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return bool(self.result())

    def __int__(self) -> int:
        return int(self.result())

    def __float__(self) -> float:
        return float(self.result())

    def __index__(self) -> int:
        return self.result().__index__()  # type: ignore[no-any-return]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("a lazy view can't be an array without being read into one")
        found = self.result()
        return found if dtype is None else found.astype(dtype, copy=False)  # type: ignore[no-any-return]

    def __dask_tokenize__(self) -> Any:
        from dask.base import normalize_token

        return type(self).__name__, normalize_token(self._source), self._transform.to_json()

    def __repr__(self) -> str:
        return display.text(self)

    def _repr_html_(self) -> str:
        return display.html(self)


_new: Any = object.__new__


class _ArrayKeys:
    """What `oindex` and `vindex` of a view are."""

    __slots__ = ("_mode", "_view")

    def __init__(self, view: LazyArray, mode: str) -> None:
        self._view = view
        self._mode = mode

    def __getitem__(self, key: Any) -> LazyArray:
        return self._view._derive(self._view._transform.select_positions(key, self._mode))

    def __setitem__(self, key: Any, values: Any) -> None:
        self[key].write(values)


class Partition:
    """One part of a view.

    Attributes
    ----------
    base_coords : tuple of int
        The cell of the grid.
    box : tuple of (int, int)
        The whole cell, in coordinates of the source.
    view : LazyArray
        The part, a view of the source.
    out_selection : tuple
        Where it goes in the view's result: slices, or index arrays of positions.
    is_complete : bool
        Whether it covers the cell, each coordinate exactly once, and no index array is involved.
    projection : Projection
        How it lies in its cell and in the view.
    """

    __slots__ = ("_piece", "owner", "view")

    def __init__(self, owner: LazyArray, piece: reading.Part) -> None:
        self.owner = owner
        self._piece = piece
        self.view = owner._derive(piece.transform)

    @property
    def base_coords(self) -> tuple[int, ...]:
        return self._piece.piece.cells

    @property
    def out_selection(self) -> tuple[Any, ...]:
        return self._piece.piece.out_selection

    @property
    def projection(self) -> parts.Projection:
        return self._piece.projection

    @property
    def box(self) -> tuple[tuple[int, int], ...]:
        domain = self.projection.chunk_domain
        return tuple(zip(domain.inclusive_min, domain.exclusive_max, strict=True))

    @property
    def is_complete(self) -> bool:
        return self.projection.coverage == "full"

    def __repr__(self) -> str:
        return f"<Partition {self.base_coords} of {self.owner!r}>"
