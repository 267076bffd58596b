"""Reads on rectilinear grids, whose chunks differ in shape: each touched chunk is a read of its own.

The selection is cut axis by axis into pieces, one per touched chunk; their product is walked. Chunks of one shape share
a program.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cyzarr import _zarr, config
from cyzarr.kernels.chunks import ChunkRead
from cyzarr.kernels.runs import run_reads
from cyzarr.stores import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cyzarr.kernels.program import Program

Positions = np.ndarray[Any, np.dtype[np.intp]]


class Axis:
    """The chunks along one axis: all of one length, or of the lengths given, the last of which may reach beyond."""

    def __init__(self, edges: int | tuple[int, ...], extent: int) -> None:
        self.size = edges if isinstance(edges, int) else 0
        self.bounds = np.cumsum([0, *((edges,) if isinstance(edges, int) else edges)])
        self.count = -(-extent // self.size) if self.size else int(np.searchsorted(self.bounds, extent))

    def start(self, chunk: int) -> int:
        """Where a chunk starts."""
        return chunk * self.size if self.size else int(self.bounds[chunk])

    def chunks_of(self, positions: Positions) -> Positions:
        """The chunks that positions lie in."""
        if self.size:
            return positions // self.size
        return np.searchsorted(self.bounds, positions, side="right") - 1

    def chunk_of(self, position: int) -> int:
        """The chunk that a position lies in."""
        return int(self.chunks_of(np.array([position]))[0])


class Piece(NamedTuple):
    """What a selection picks from one chunk along one axis, and where along the result that goes."""

    chunk: int
    picked: slice | Positions
    place: slice | Positions


class Grid:
    """A rectilinear grid and what is needed to read from it.

    Parameters
    ----------
    edges : tuple
        Per axis the length of all chunks, or of each.
    shape : tuple of int
        Of the array.
    compile_for : callable
        Gives the program for chunks of a shape.
    """

    def __init__(
        self, edges: tuple[Any, ...], shape: tuple[int, ...], compile_for: Callable[[tuple[int, ...]], Program]
    ) -> None:
        self.axes = tuple(Axis(along, extent) for along, extent in zip(edges, shape, strict=True))
        self._compile = compile_for
        self._programs: dict[tuple[int, ...], Program] = {}

    def chunk_shape(self, chunks: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the chunk at a grid position."""
        return tuple(axis.start(at + 1) - axis.start(at) for axis, at in zip(self.axes, chunks, strict=True))

    def program(self, shape: tuple[int, ...]) -> Program:
        """The program for chunks of a shape."""
        found = self._programs.get(shape)
        if found is None:
            found = self._programs[shape] = self._compile(shape)
        return found

    def pieces(self, entries: tuple[range | Positions, ...]) -> Iterator[tuple[Piece, ...]]:
        """One piece per axis for every touched chunk; entries are taken as a product."""
        return itertools.product(*(cut(axis, entry) for axis, entry in zip(self.axes, entries, strict=True)))

    def points(self, entries: tuple[Positions, ...]) -> Iterator[tuple[Piece, ...]]:
        """The same for positions that are taken together: all pieces of a chunk go to the same places."""
        chunks = [axis.chunks_of(entry) for axis, entry in zip(self.axes, entries, strict=True)]
        order = np.lexsort(chunks[::-1])
        sorted_chunks = np.stack([one[order] for one in chunks])
        changes = np.flatnonzero(np.any(sorted_chunks[:, 1:] != sorted_chunks[:, :-1], axis=0)) + 1
        for places in np.split(order, changes):
            at = [int(one[places[0]]) for one in chunks]
            yield tuple(
                Piece(chunk, entry[places] - axis.start(chunk), places)
                for axis, entry, chunk in zip(self.axes, entries, at, strict=True)
            )


def cut(axis: Axis, entry: range | Positions) -> list[Piece]:
    """Cut what is picked from an axis by its chunks."""
    if not isinstance(entry, range):
        chunks = axis.chunks_of(entry)
        order = np.argsort(chunks, kind="stable")
        changes = np.flatnonzero(np.diff(chunks[order])) + 1
        groups = [(int(chunks[places[0]]), places) for places in np.split(order, changes)]
        return [Piece(chunk, entry[places] - axis.start(chunk), places) for chunk, places in groups]
    found = []
    for chunk in range(axis.chunk_of(entry[0]), axis.chunk_of(entry[-1]) + 1):
        start, stop = axis.start(chunk), axis.start(chunk + 1)
        first = max(-(-(start - entry.start) // entry.step), 0)
        last = min(-(-(stop - entry.start) // entry.step), len(entry))
        if first < last:
            local = slice(entry[first] - start, entry[last - 1] - start + 1, entry.step)
            found.append(Piece(chunk, local, slice(first, last)))
    return found


class Part(NamedTuple):
    """What a selection picks from one chunk: the chunk's place in the grid, its program, what of it, and where to."""

    chunks: tuple[int, ...]
    program: Program
    picked: tuple[Any, ...]
    places: tuple[slice | Positions, ...]
    points: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what is picked."""
        lengths = tuple(len(indices(place)) for place in self.places)
        return lengths[:1] if self.points else lengths

    def target(self, out: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], Any]:
        """What takes the picked items: a view of `out` (and None), or scratch and the index of `out` where it goes."""
        if self.points:
            return _zarr.empty(self.shape, self.program.dtype), self.places[0]
        if all(isinstance(place, slice) for place in self.places):
            return out[(*self.places, ...)], None
        return _zarr.empty(self.shape, self.program.dtype), np.ix_(*(indices(place) for place in self.places))


def parts(grid: Grid, entries: tuple[Any, ...], points: bool) -> Iterator[Part]:
    """What entries (a range or positions per axis) pick, chunk by chunk."""
    for pieces in grid.points(entries) if points else grid.pieces(entries):
        chunks = tuple(piece.chunk for piece in pieces)
        program = grid.program(grid.chunk_shape(chunks))
        yield Part(
            chunks, program, tuple(piece.picked for piece in pieces), tuple(piece.place for piece in pieces), points
        )


def read(
    grid: Grid, entries: tuple[Any, ...], points: bool, out: np.ndarray[Any, Any], getter_of: Callable[[Any], Any]
) -> dict[str, int] | None:
    """Read what entries (a range or positions per axis) pick into `out`, which has an axis for each, or one for points.

    `getter_of` gives the store path of a chunk. Returns counts, with "missing" besides: how many chunks were not there;
    None where an object is not to be had without zarr.
    """
    reads = []
    placed = []
    for part in parts(grid, entries, points):
        scratch, place = part.target(out)
        getter = getter_of(part.chunks)
        one = ChunkRead(part.program, part.picked, scratch, getter.path, points)
        if not plain.set_at_hand(one, getter):
            return None
        if place is not None:
            placed.append((one, place))
        reads.append(one)
    stats = run_reads(reads, config.threads())
    for one, place in placed:
        out[place] = one.out
    return stats | {"missing": sum(one.missing for one in reads)}


def indices(place: slice | Positions) -> Positions:
    """A place as positions."""
    return np.arange(place.start, place.stop) if isinstance(place, slice) else place
