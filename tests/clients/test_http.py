"""HTTP through fsspec, from a server that answers ranges and from one that doesn't."""

from __future__ import annotations

import pytest
import zarr

pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")

from zarr.storage import FsspecStore

import cyzarr
from support import remote
from support.clients import served
from support.compare import Outcome, assert_same_values
from support.servers import file_server


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("http")
    remote.make(folder)
    return folder


def opener(url):
    """A function that opens one of the arrays below a URL."""
    store = FsspecStore.from_url(url, read_only=True)
    return lambda name: zarr.open_array(store, path=name, mode="r")


@pytest.fixture(scope="module")
def server(folder):
    """(function that opens an array, log), ranges answered."""
    with file_server(folder) as (url, log):
        yield opener(url), log


@pytest.fixture(scope="module")
def without_ranges(folder):
    """A function that opens an array through a server that answers 200 and the whole file, whatever it was asked."""
    with file_server(folder, ranges=False) as (url, _):
        yield opener(url)


@pytest.mark.parametrize("limits", remote.gaps(), ids=str)
@pytest.mark.parametrize("case", remote.CASES.values(), ids=remote.CASES)
def test_requests(folder, server, case, limits):
    with zarr.config.set(limits):
        remote.check_requests(folder, *server, case)


@pytest.mark.parametrize("check_size", [True, False])
def test_window(server, check_size):
    remote.check_window(*server, check_size)


@pytest.mark.parametrize("name", ["sharded", "plain", "zstd", "v2"])
def test_whole(server, name):
    remote.check_whole(*server, name)


def test_missing(folder, server):
    remote.check_missing(folder, *server)


@pytest.mark.parametrize("name", ["sharded", "plain", "zstd", "v2"])
@pytest.mark.parametrize("case", remote.CASES.values(), ids=remote.CASES)
def test_ranges_ignored(folder, without_ranges, name, case):
    """What was asked for in part comes whole: the right values, or an error that says what came; no wrong values."""
    want = case.read(zarr.open_array(folder, path=name, mode="r"))
    array = without_ranges(name)
    with cyzarr.enabled(), cyzarr.trace() as counts:
        got = Outcome.of(case.read, array)
    assert not counts.fallbacks
    if got.error is None:
        assert_same_values(got.value, want)
        return
    assert isinstance(got.error, cyzarr.CorruptChunkError)
    assert "wrong length" in str(got.error)
    assert name in got.error.key


@pytest.mark.parametrize("name", ["sharded", "plain"])
@pytest.mark.parametrize("case", remote.CASES.values(), ids=remote.CASES)
def test_whole_objects_need_no_ranges(folder, without_ranges, name, case):
    """The setting that such a server needs: with it, parts are read right, of shards too."""
    want = case.read(zarr.open_array(folder, path=name, mode="r"))
    with zarr.config.set({"cyzarr.partial_storage_reads": False}), served():
        assert_same_values(case.read(without_ranges(name)), want)
