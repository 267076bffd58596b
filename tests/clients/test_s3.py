"""S3 on loopback (moto), through s3fs and through obstore: equal values, and no request too many."""

from __future__ import annotations

import pytest
import zarr

pytest.importorskip("moto.server")
pytest.importorskip("s3fs")
pytest.importorskip("obstore")

from obstore.store import S3Store
from zarr.storage import FsspecStore, ObjectStore

from support import remote
from support.servers import KEYS, bucket_of


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """(folder, endpoint, log): arrays in a folder, and the same in a bucket named "bucket"."""
    folder = tmp_path_factory.mktemp("s3")
    remote.make(folder)
    with bucket_of(folder) as (endpoint, log):
        yield folder, endpoint, log


def through_s3fs(endpoint):
    options = {"key": KEYS["aws_access_key_id"], "secret": KEYS["aws_secret_access_key"], "endpoint_url": endpoint}
    return FsspecStore.from_url("s3://bucket", storage_options=options, read_only=True)


def through_obstore(endpoint):
    names = {"aws_access_key_id": "access_key_id", "aws_secret_access_key": "secret_access_key"}
    options = {names.get(name, "region"): value for name, value in KEYS.items()}
    store = S3Store("bucket", endpoint=endpoint, client_options={"allow_http": True}, **options)
    return ObjectStore(store, read_only=True)


@pytest.fixture(params=[through_s3fs, through_obstore], ids=["s3fs", "obstore"])
def open_array(request, server):
    """A function that opens one of the arrays through a client."""
    store = request.param(server[1])
    return lambda name: zarr.open_array(store, path=name, mode="r")


@pytest.mark.parametrize("limits", remote.gaps(), ids=str)
@pytest.mark.parametrize("case", remote.CASES.values(), ids=remote.CASES)
def test_requests(server, open_array, case, limits):
    with zarr.config.set(limits):
        remote.check_requests(server[0], open_array, server[2], case)


@pytest.mark.parametrize("check_size", [True, False])
def test_window(server, open_array, check_size):
    remote.check_window(open_array, server[2], check_size)


@pytest.mark.parametrize("name", ["sharded", "plain", "zstd", "v2"])
def test_whole(server, open_array, name):
    remote.check_whole(open_array, server[2], name)


def test_missing(server, open_array):
    remote.check_missing(server[0], open_array, server[2])
