"""Which cells of a grid a view touches: counted without being listed, and of a source as it is by now."""

import itertools
import math
import re
import time

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st

from cyzarr import ArrayMap, BoundsCheckError, ConstantMap, DimensionMap, IndexDomain, IndexTransform, LazyArray
from cyzarr.lazy import display, grid, parts
from lazy.support import Recorder


@st.composite
def grids(draw, shape):
    """Per axis cells of one size, or of given sizes."""
    found = []
    for extent in shape:
        if draw(st.booleans()):
            found.append(grid.GridAxis(extent, draw(st.integers(1, extent + 2))))
            continue
        edges = sorted(draw(st.sets(st.integers(1, extent - 1)))) if extent > 1 else []
        found.append(grid.GridAxis(extent, sizes=[hi - lo for lo, hi in itertools.pairwise([0, *edges, extent])]))
    return tuple(found)


@st.composite
def transforms(draw, shape):
    """Into a source of this shape, from a domain of up to two axes, none of them empty."""
    rank = draw(st.integers(0, 2))
    least = [draw(st.integers(-9, 9)) for _ in range(rank)]
    domain = IndexDomain(least, [lo + draw(st.integers(1, 7)) for lo in least])
    output = []
    for extent in shape:
        kind = draw(st.integers(0, 3))
        axis = draw(st.integers(0, rank - 1)) if rank else 0
        if kind == 0 or not rank:
            output.append(ConstantMap(draw(st.integers(0, extent - 1))))
        elif kind < 3:
            count = domain.shape[axis]
            most = (extent - 1) // (count - 1) if count > 1 else 50
            stride = draw(st.integers(-most, most))
            room = abs(stride) * (count - 1)
            first = draw(st.integers(0, extent - 1 - room)) + (room if stride < 0 else 0)
            output.append(DimensionMap(axis, first - stride * least[axis], stride))
        else:
            sizes = [draw(st.sampled_from([1, one])) for one in domain.shape]
            index = draw(st.lists(st.integers(0, extent - 1), min_size=math.prod(sizes), max_size=math.prod(sizes)))
            output.append(ArrayMap(np.array(index).reshape(sizes)))
    return IndexTransform(domain, output)


@given(data=st.data(), shape=st.lists(st.sampled_from([1, 2, 7, 30]), min_size=1, max_size=3))
def test_counted_as_listed(data, shape):
    cells = data.draw(grids(shape))
    made = data.draw(transforms(shape))
    domain = made.domain
    points = itertools.product(
        *[range(lo, hi) for lo, hi in zip(domain.inclusive_min, domain.exclusive_max, strict=True)]
    )
    there = {tuple(int(axis.cell(at)) for axis, at in zip(cells, made.apply(point), strict=True)) for point in points}
    items = [math.prod(hi - lo for lo, hi in map(grid.GridAxis.bounds, cells, cell)) for cell in there]
    assert parts.touched(made, cells) == (len(there), sum(items))
    listed = [piece.cells for piece in parts.pieces(made, cells)]
    assert listed == sorted(there)
    # Drawn are bins of cells along the last two axes.
    for most in (1, 2, 3, 40):
        display.MOST_CELLS, before = most, display.MOST_CELLS
        try:
            by = [display._per_bin(axis) for axis in cells]
            bins = [tuple(at // per for at, per in zip(cell, by, strict=True))[-2:] for cell in there]
            assert display._marked(made, cells) == {(0, *at) if len(at) < 2 else at for at in bins}
        finally:
            display.MOST_CELLS = before


class Endless:
    """A source with a great many cells, which is never read."""

    dtype = np.dtype("u1")

    def __init__(self, shape, chunks):
        self.shape, self.chunks = shape, chunks


@pytest.mark.parametrize(
    ("shape", "key", "touched"),
    [
        ((10**15,), ..., 10**15),
        ((10**15,), slice(None, None, -3), -(-(10**15) // 3)),
        ((10**9, 10**9), (slice(5, None), slice(None, -5)), (10**9 - 5) ** 2),
        ((10**9, 3, 10**9), (slice(None), 1), 10**18),
    ],
)
def test_cells_arent_listed(shape, key, touched):
    view = LazyArray(Endless(shape, (1,) * len(shape)))[key]
    start = time.perf_counter()
    assert f"{touched} of {math.prod(shape)} chunks" in repr(view)
    assert len(view._repr_html_()) < 400_000
    first, second = itertools.islice(view.parts(), 2)
    assert first.base_coords < second.base_coords
    # Listed, these would take days.
    assert time.perf_counter() - start < 10


def test_cells_between_those_of_points_arent_listed():
    """Points on the axes around: their cells and the many between take turns."""
    view = LazyArray(Endless((6, 10**12, 6), (2, 1, 2))).vindex[[5, 0, 1, 0], ..., [0, 5, 1, 1]]
    parts = list(itertools.islice(view.parts(), 3))
    assert [part.base_coords for part in parts] == [(0, 0, 0), (0, 0, 2), (0, 1, 0)]
    assert f"of {9 * 10**12} chunks" in repr(view)


def test_equal_grids():
    one = grid.GridAxis(10**15, 3)
    assert one == grid.GridAxis(10**15, 3)
    assert one != grid.GridAxis(10**15, 4)
    assert grid.GridAxis(4, 4) == grid.GridAxis(4, 9) == grid.GridAxis(4, sizes=[4])
    assert grid.GridAxis(5, 2) == grid.GridAxis(5, sizes=[2, 2, 1]) != grid.GridAxis(5, sizes=[2, 1, 2])


# --- sources that were resized


def sources_of(shape):
    yield zarr.create_array({}, shape=shape, chunks=(10,), dtype="i4")
    yield zarr.create_array({}, shape=shape, chunks=(5,), shards=(10,), dtype="i4")
    yield Recorder(np.zeros(shape, "i4"), (10,))


def resized(source, shape):
    if isinstance(source, Recorder):
        source.array, source.shape = np.zeros(shape, "i4"), shape
    else:
        source.resize(shape)


class Reader:
    def read_into(self, source, context, out):
        raise AssertionError("nothing is to be read")


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("key", [slice(None), slice(None, None, -1), slice(45, None, 10), [70, 3, 3], slice(60, 61)])
def test_parts_of_sources_that_shrank(which, key):
    """It ends, by an error that says why; what only shows a view says it, too."""
    source = list(sources_of((100,)))[which]
    view = LazyArray(source)
    view = view.oindex[key] if isinstance(key, list) else view[key]
    resized(source, (50,))
    told = r"axis 0: \d+ to \d+ is not within the source's extent of 50"
    for again in (view, view.unpartitioned(), view.with_parts((10,)), view.with_parts_per_axis(([20, 30],))):
        with pytest.raises(BoundsCheckError, match=told):
            next(again.parts())
        with pytest.raises(BoundsCheckError, match=told):
            again.with_reader(Reader()).result()
        with pytest.raises(BoundsCheckError, match=told):
            again.result(parts=[])
        assert re.search(told, repr(again))
        assert "beyond the source" in again._repr_html_()


@pytest.mark.parametrize("shape", [(), (4,), (4, 4, 4)])
def test_parts_of_sources_that_changed_their_rank(shape):
    source = Recorder(np.zeros((4, 4), int), (2, 2))
    view = LazyArray(source)
    source.array, source.shape = np.zeros(shape, int), shape
    for again in (view, view.unpartitioned(), view.with_parts((1,) * len(shape))):
        with pytest.raises(BoundsCheckError, match=f"a view of 2 axes of a source of {len(shape)}"):
            next(again.parts())
        assert "beyond the source" in repr(again)
        assert "beyond the source" in again._repr_html_()


@pytest.mark.parametrize("which", range(3))
def test_parts_of_what_is_still_there(which):
    source = list(sources_of((100,)))[which]
    view = LazyArray(source)[5:45]
    whole = [(part.base_coords, part.out_selection) for part in view.parts()]
    resized(source, (50,))
    assert [(part.base_coords, part.out_selection) for part in view.parts()] == whole
    assert view.result().tolist() == [0] * 40


@pytest.mark.parametrize("which", range(3))
def test_parts_of_sources_that_grew(which):
    """The last cell was clipped; it is whole now, and the view covers a part of it."""
    source = list(sources_of((15,)))[which]
    views = [LazyArray(source), LazyArray(source).with_parts((10,)), LazyArray(source).unpartitioned()]
    before = [list(view.parts())[-1] for view in views]
    resized(source, (100,))
    # By the source's cells, those of with_parts, and none.
    wanted = [(10, 15 if which == 1 else 20), (10, 20), (0, 100)]
    for view, was, box in zip(views, before, wanted, strict=True):
        last = list(view.parts())[-1]
        assert last.box == (box,)
        assert last.is_complete == (box[1] == 15)
        assert was.is_complete
        assert "chunks" not in repr(view) or f"of {100 // last.projection.chunk_domain.shape[0]} chunks" in repr(view)


# --- keys and labels


@pytest.mark.parametrize(
    "picks", [{"oindex": ([0, 2],)}, {"oindex": ([0, 2], [3, 0, 1])}, {"vindex": ([0, 1], [0, 3])}]
)
@pytest.mark.parametrize("sizes", [(2, 2, 2), (1, 4, 1), (3, 4, 2)])
def test_labels_of_parts(picks, sizes):
    key = IndexTransform.identity(IndexDomain((0, 0, 0), (3, 4, 2), ("z", "y", "x")))
    for mode, index in picks.items():
        view = getattr(LazyArray(np.zeros((3, 4, 2)))[key], mode)[index].with_parts(sizes)
        wanted = view.transform.domain.labels
        assert "x" in wanted
        assert {part.view.transform.domain.labels for part in view.parts()} == {wanted}


def test_labels_of_axes_that_are_gathered():
    domain = IndexDomain((0, 0), (3, 2), ("n", "x"))
    one = IndexTransform(domain, [ArrayMap([[2], [0], [1]]), DimensionMap(1)])
    both = IndexTransform(domain, [ArrayMap([[2, 1], [0, 1], [1, 3]]), DimensionMap(1)])
    view = LazyArray(np.arange(8).reshape(4, 2)).with_parts((2, 2))
    assert {part.view.transform.domain.labels for part in view[one].parts()} == {("n", "x")}
    assert {part.view.transform.domain.labels for part in view[both].parts()} == {None}


class One:
    """An array of one item that answers operator.index, as dask's and torch's do."""

    def __init__(self, ndim):
        self.array = np.full((1,) * ndim, 3)
        self.shape, self.ndim, self.dtype = self.array.shape, ndim, self.array.dtype

    def __index__(self):
        return 3

    def __array__(self, dtype=None, copy=None):
        return self.array


def test_arrays_of_one_item_are_arrays():
    view = LazyArray(np.arange(40).reshape(10, 4))
    for mode in ("oindex", "vindex"):
        keys = getattr(view, mode)
        assert keys[One(1)].shape == keys[np.array([3])].shape == (1, 4)
        assert keys[One(0)].shape == keys[3].shape == (4,)
        literal = getattr(view.transform, mode)
        assert literal[One(1)] == literal[np.array([3])]
    assert view.vindex[One(2)].shape == (1, 1, 4)
    assert view[One(0)].shape == (4,)
    for take in (view.__getitem__, view.transform.__getitem__):
        with pytest.raises(IndexError, match="no basic index"):
            take(One(1))
