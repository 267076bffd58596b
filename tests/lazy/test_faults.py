"""What zarr-indexing 0.3.0 gets wrong, and lazy views here must not."""

import numpy as np
import pytest
import zarr

from cyzarr import DimensionMap, EagerArrayAdapter, IndexDomain, IndexTransform, LazyArray
from lazy.support import CountingStore, Recorder


def test_the_last_of_repeated_writes_to_a_source_without_axes_stays():
    source = np.array(0)
    LazyArray(source)[None].oindex[[0, 0, 0]].write([1, 2, 3])
    assert source == 3


def test_views_have_no_false_membership_and_equality():
    view = LazyArray(np.arange(5))
    assert 3 in view
    assert 7 not in view
    with pytest.raises(TypeError):
        view == 3  # noqa: B015
    assert view == view
    assert len({view, view[:]}) == 2


@pytest.mark.parametrize("kind", ["numpy", "zarr", "other"])
def test_diagonals_are_read(kind):
    values = np.arange(12).reshape(3, 4)
    source = {"numpy": values, "zarr": zarr.array(values, chunks=(2, 2)), "other": Recorder(values, (2, 2))}[kind]
    diagonal = IndexTransform(IndexDomain((0,), (3,)), (DimensionMap(0), DimensionMap(0)))
    view = LazyArray(source)[diagonal]
    assert view.result().tolist() == [0, 5, 10]
    again = np.zeros(3, int)
    for part in view.parts():
        again[part.out_selection] = part.view.result()
    assert again.tolist() == [0, 5, 10]
    # An array map that shares its axis with an affine one.
    mixed = LazyArray(source).oindex[[2, 0, 1]][diagonal]
    assert mixed.result().tolist() == [8, 1, 6]


def test_adapters_have_length_size_and_iteration_as_numpy_has():
    none = EagerArrayAdapter(LazyArray(np.array(5)))
    with pytest.raises(TypeError):
        list(none)
    with pytest.raises(TypeError):
        len(none)
    one = EagerArrayAdapter(LazyArray(np.arange(6).reshape(2, 3))[::-1])
    assert (len(one), one.size) == (2, 6)
    assert [row.tolist() for row in one] == [[3, 4, 5], [0, 1, 2]]
    assert type(next(iter(one[0]))) is np.int64


def test_literal_integers_drop_their_axis():
    made = IndexTransform.from_shape((3, 4))
    assert made.oindex[2].domain.shape == (4,)
    assert made.vindex[2].domain.shape == (4,)
    assert made.oindex[2, [0, 1]].domain.shape == (2,)


def test_strides_are_positive():
    view = LazyArray(np.arange(6))[IndexTransform(IndexDomain((0,), (4,)), (DimensionMap(0, 2, 0),))]
    assert view.strides() == (1,)
    assert LazyArray(np.arange(6))[::-2].strides() == (2,)


def test_domains_take_integers_only():
    with pytest.raises(TypeError):
        IndexDomain((1.5,), (3,))


def test_what_is_overwritten_whole_is_not_read():
    source = Recorder(np.zeros((4, 4), int), (2, 2))
    LazyArray(source).oindex[[3, 1, 0, 2], [1, 0, 3, 2]].write(np.arange(16).reshape(4, 4))
    assert [call[0] for call in source.calls] == ["set"] * 4
    assert source.array[3].tolist() == [1, 0, 3, 2]


def test_orthogonal_writes_dont_list_every_coordinate():
    """A list of 4 million coordinates of two axes would take 64 MB."""
    import tracemalloc

    source = np.zeros((2000, 2000), "i1")
    rows = np.arange(0, 2000, 2)[::-1]
    tracemalloc.start()
    LazyArray(source).oindex[rows, :].write(np.ones((1000, 2000), "i1"))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert source[::2].all()
    assert most < 16e6


@pytest.mark.parametrize("mode", ["oindex", "vindex"])
def test_wrong_masks_name_shapes_and_axis(mode):
    view = LazyArray(np.zeros((4, 6)))
    with pytest.raises(IndexError, match=r"\(3,\).*4"):
        getattr(view, mode)[np.ones(3, bool)]
    with pytest.raises(IndexError, match=r"axis 1"):
        view.oindex[:, np.ones(3, bool)]


def test_shards_are_read_once():
    store = CountingStore()
    array = zarr.create_array(store, shape=(16, 16), shards=(8, 8), chunks=(2, 2), dtype="i4")
    array[...] = np.arange(256).reshape(16, 16)
    store.reads.clear()
    assert LazyArray(array).result().tolist() == np.arange(256).reshape(16, 16).tolist()
    assert len(store.reads) == 4
