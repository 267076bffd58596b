"""Lazy views under dask and xarray."""

from __future__ import annotations

import numpy as np
import pytest
import zarr

from cyzarr import EagerArrayAdapter, IndexDomain, LazyArray

VALUES = np.arange(60 * 90).reshape(60, 90)


def make(folder):
    array = zarr.create_array(folder / "a", shape=VALUES.shape, dtype=VALUES.dtype, chunks=(10, 30))
    array[...] = VALUES
    return array


def test_dask_arrays_of_a_view(tmp_path):
    da = pytest.importorskip("dask.array")
    view = LazyArray(make(tmp_path))[::-1, 5:]
    expected = VALUES[::-1, 5:]
    lazy = da.from_array(EagerArrayAdapter(view), chunks=(20, 30))
    for one, other in (
        (lazy, expected),
        (lazy[[0, 2]], expected[[0, 2]]),
        (lazy[:, [5, 0, 0]], expected[:, [5, 0, 0]]),
        (lazy[::-1], expected[::-1]),
        (lazy[None, 1:], expected[None, 1:]),
        (lazy.sum(axis=0), expected.sum(axis=0)),
    ):
        assert one.compute(scheduler="threads").tolist() == other.tolist()


def test_tokens_follow_source_and_transform(tmp_path):
    tokenize = pytest.importorskip("dask.base").tokenize
    array = make(tmp_path)
    view = LazyArray(array)
    same = [view[2:10], view[:][2:10], view[1:][1:9][IndexDomain((2, 0), (10, 90))], view.with_parts((1, 1))[2:10]]
    assert len({tokenize(one) for one in same}) == 1
    assert len({tokenize(EagerArrayAdapter(one)) for one in same}) == 1
    assert tokenize(EagerArrayAdapter(view)) != tokenize(view)
    assert tokenize(view[2:10]) != tokenize(view[2:11])
    assert tokenize(LazyArray(VALUES)) == tokenize(LazyArray(VALUES.copy()))
    assert tokenize(LazyArray(VALUES)) != tokenize(LazyArray(VALUES + 1))
    assert tokenize(LazyArray(zarr.open_array(tmp_path / "a"))) == tokenize(view)


def test_a_cluster_of_two_processes(tmp_path):
    distributed = pytest.importorskip("distributed")
    da = pytest.importorskip("dask.array")
    view = LazyArray(make(tmp_path)).oindex[[5, 50, 7, 7]][:, ::-1]
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        lazy = da.from_array(EagerArrayAdapter(view), chunks=(1, 30))
        assert client.compute(lazy.sum(axis=1)).result().tolist() == VALUES[[5, 50, 7, 7], ::-1].sum(axis=1).tolist()


def test_xarray_keeps_a_view_lazy(tmp_path):
    """The example of docs/lazy.md."""
    xarray = pytest.importorskip("xarray")
    from xarray.core import indexing

    class ViewOfArray(xarray.backends.BackendArray):
        def __init__(self, view):
            self.view, self.shape, self.dtype = view, view.shape, view.dtype

        def __getitem__(self, key):
            def read(key):
                return self.view.oindex[key].result()

            return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, read)

    view = LazyArray(make(tmp_path))[::-1]
    data = xarray.DataArray(xarray.Variable(("y", "x"), indexing.LazilyIndexedArray(ViewOfArray(view))))
    expected = xarray.DataArray(VALUES[::-1], dims=("y", "x"))
    for pick in (
        lambda one: one.isel(y=slice(3, 40, 2)),
        lambda one: one.isel(y=[5, 0, 5], x=3),
        lambda one: one.isel(y=xarray.DataArray([1, 2], dims="p"), x=xarray.DataArray([3, 4], dims="p")),
        lambda one: one.sum("x"),
    ):
        xarray.testing.assert_equal(pick(data), pick(expected))
