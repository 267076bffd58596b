"""dask: threads, and a distributed cluster of two processes with the plugin or the environment variable alone."""

from __future__ import annotations

import numpy as np
import pytest
import zarr

import cyzarr
from support.clients import on_and_off, served
from support.compare import assert_same_values
from support.process import run_python

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

LAYOUTS = {
    "plain": {"chunks": (10, 30)},
    "sharded": {"chunks": (5, 10), "shards": (20, 30)},
    "v2": {"chunks": (10, 30), "zarr_format": 2},
}


@pytest.fixture(params=LAYOUTS.values(), ids=LAYOUTS)
def stored(request, tmp_path):
    """(folder, values)."""
    return make(request.param, tmp_path)


def make(layout, folder):
    values = np.random.default_rng(3).integers(0, 10**6, (60, 90), dtype="i4")
    zarr.create_array(folder / "a", shape=values.shape, dtype="i4", **layout)[...] = values
    return str(folder / "a"), values


def opened(source, how):
    """A lazy dask array of a folder: opened by dask, or from an array that zarr opened."""
    return da.from_zarr(source if how == "path" else zarr.open_array(source, mode="r"))


@pytest.mark.parametrize("how", ["path", "array"])
def test_threads(stored, how):
    folder, values = stored

    def read():
        lazy = opened(folder, how)
        return da.compute(lazy, lazy[7:45:3, [1, 88, 4]], lazy.sum(axis=0), scheduler="threads", num_workers=4)

    on, off = on_and_off(read)
    for one, other in zip(on, off, strict=True):
        assert_same_values(one, other)
    assert_same_values(on[0], values)


@pytest.fixture(scope="module")
def client():
    """Two worker processes on loopback, as dask starts them."""
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", host="127.0.0.1"
    )
    with cluster, distributed.Client(cluster, timeout=60) as client:
        yield client


@pytest.fixture
def plugged(client):
    from cyzarr.dask import Plugin

    client.register_plugin(Plugin())
    yield client
    client.unregister_worker_plugin(Plugin.name)


def reads_of(client):
    """Reads and fallbacks in all workers since cyzarr was switched on there."""
    found = client.run(cyzarr.status).values()
    assert len(found) == 2
    return sum(sum(one.reads.values()) for one in found), [one.fallbacks for one in found if one.fallbacks]


@pytest.mark.parametrize("how", ["path", "array"])
def test_plugin(stored, plugged, how):
    folder, values = stored
    assert all(one.enabled for one in plugged.run(cyzarr.status).values())
    assert not cyzarr.status().enabled
    before, _ = reads_of(plugged)
    assert_same_values(opened(folder, how).compute(), values)
    after, fallbacks = reads_of(plugged)
    assert not fallbacks
    assert after - before == opened(folder, how).npartitions


def test_plugin_serves_arrays_opened_in_tasks(stored, plugged):
    folder, values = stored

    def read(folder, row):
        with cyzarr.trace() as counts:
            return zarr.open_array(folder, mode="r")[row], counts

    for row, future in enumerate(plugged.map(lambda row: read(folder, row), range(4), pure=False)):
        got, counts = future.result(timeout=60)
        assert_same_values(got, values[row])
        assert not counts.fallbacks
        assert counts.reads == {"direct": 1}


def test_plugin_comes_and_goes(client):
    from cyzarr.dask import Plugin

    def enabled():
        return [one.enabled for one in client.run(cyzarr.status).values()]

    assert enabled() == [False, False]
    client.register_plugin(Plugin())
    client.register_plugin(Plugin())
    assert enabled() == [True, True]
    client.unregister_worker_plugin(Plugin.name)
    assert enabled() == [False, False]


def test_plugin_reaches_workers_that_come_later(plugged):
    plugged.restart_workers(list(plugged.scheduler_info()["workers"])[:1], timeout=60)
    plugged.wait_for_workers(2, timeout=60)
    assert [one.enabled for one in plugged.run(cyzarr.status).values()] == [True, True]


def test_workers_that_share_a_process():
    """The switch is thrown once for all of them, and is back when the last has left."""
    from cyzarr.dask import Plugin

    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
    with cluster, distributed.Client(cluster, timeout=60) as client:
        client.register_plugin(Plugin())
        assert cyzarr.status().enabled
        cluster.scale(1)
        client.run(int)
        assert cyzarr.status().enabled
    assert not cyzarr.status().enabled


def test_environment_variable_alone(tmp_path):
    """For arrays that the client opened and sent, and for those that a worker opens."""
    folder, values = make(LAYOUTS["sharded"], tmp_path)
    np.save(tmp_path / "values.npy", values)
    code = """
        import sys
        import dask.array as da
        import numpy as np
        import zarr
        from distributed import Client, LocalCluster

        def counts():
            import cyzarr
            status = cyzarr.status()
            return status.enabled, sum(status.reads.values()), status.fallbacks

        def inside(folder):
            return int(zarr.open_array(folder, mode="r")[...].sum())

        folder, values = sys.argv[1], np.load(sys.argv[2])
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1") as cluster:
            with Client(cluster, timeout=60) as client:
                for lazy in [da.from_zarr(folder), da.from_zarr(zarr.open_array(folder, mode="r"))]:
                    before = sum(reads for _, reads, _ in client.run(counts).values())
                    assert np.array_equal(lazy.compute(), values)
                    found = client.run(counts)
                    assert sum(reads for _, reads, _ in found.values()) - before == lazy.npartitions, found
                for worker, (_, before, _) in client.run(counts).items():
                    assert client.submit(inside, folder, workers=[worker], pure=False).result() == values.sum()
                    on, reads, fallbacks = client.run(counts, workers=[worker])[worker]
                    assert (on, reads, fallbacks) == (False, before + 1, {})
    """
    run_python(
        code, folder, tmp_path / "values.npy", timeout=120, env={"ZARR_CODEC_PIPELINE__PATH": "cyzarr.CodecPipeline"}
    )


def test_served_does_not_lie(tmp_path):
    """The assertion that other tests rest on fails where zarr's own code read."""
    array = zarr.open_array(make(LAYOUTS["plain"], tmp_path)[0], mode="r")
    with pytest.raises(AssertionError), served():
        pass
    with pytest.raises(AssertionError), served():
        cyzarr.disable()
        array[...]
