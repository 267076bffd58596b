"""Arrays for the tests of remote stores, and how many requests a read of them must cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import zarr

from cyzarr import _zarr
from cyzarr.stores.ranges import merge
from support.clients import served
from support.compare import assert_same_values

INNER, SHARD = 32, 256
PER_SHARD = SHARD // INNER
INDEX_NBYTES = PER_SHARD**2 * 16 + 4


def values():
    return np.random.default_rng(11).integers(0, 2**31, (512, 768), dtype="i4")


def make(folder):
    """Arrays in a folder: `sharded`, `plain` (uncompressed), `zstd`, `v2`; the values of each are `values()`."""
    layouts = {
        "sharded": {"shards": (SHARD, SHARD), "chunks": (INNER, INNER)},
        "plain": {"chunks": (256, 256), "compressors": None},
        "zstd": {"chunks": (128, 256)},
        "v2": {"chunks": (256, 256), "zarr_format": 2},
    }
    for name, layout in layouts.items():
        array = zarr.create_array(Path(folder, name), shape=(512, 768), dtype="i4", **layout)
        array[...] = values()
    holes = zarr.create_array(Path(folder, "holes"), fill_value=7, shape=(512, 768), dtype="i4", **layouts["sharded"])
    holes[100:120, 200:300] = 1


def inner_chunks(rows, columns):
    """The inner chunks that hold the product of rows and columns: pairs of their places on the two axes."""
    return {(row // INNER, column // INNER) for row in rows for column in columns}


def stored_ranges(path, inner):
    """The (offset, nbytes) of some inner chunks of a stored shard, ascending, as its index (at its end) has them."""
    index = np.frombuffer(path.read_bytes()[-INDEX_NBYTES:-4], "<u8").reshape(-1, 2)
    return sorted(tuple(map(int, index[row * PER_SHARD + column])) for row, column in inner)


def expected(folder, touched):
    """What a read of these inner chunks of `sharded` must cost: {"suffix": index reads, "range": ranges of data}.

    The limits up to which ranges are merged are those that zarr's configuration names at the time.
    """
    attributes = vars(zarr.open_array(folder, path="sharded", mode="r").async_array)
    config = attributes.get("config") or attributes["_config"]  # so called in 3.1
    shards = {}
    for row, column in touched:
        inner = (row % PER_SHARD, column % PER_SHARD)
        shards.setdefault((row // PER_SHARD, column // PER_SHARD), set()).add(inner)
    ranges = 0
    for (row, column), inner in shards.items():
        stored = stored_ranges(Path(folder, "sharded", "c", str(row), str(column)), inner)
        ranges += len(merge(stored, *_zarr.coalesce_limits(config)))
    return {"suffix": len(shards), "range": ranges}


def gaps():
    """Configurations with several limits for merging; where zarr has no such setting, its default alone."""
    gap, most = "array.sharding_coalesce_max_gap_bytes", "array.sharding_coalesce_max_bytes"
    if zarr.config.get(gap, None) is None:
        return [{}]
    return [{}, {gap: 0}, {gap: 5000}, {most: 10000}]


@dataclass(frozen=True)
class Case:
    """A way to read the sharded array, and the inner chunks that it touches."""

    read: Callable
    touched: set


CASES = {
    "one item": Case(lambda a: a[5, 7], inner_chunks([5], [7])),
    "a row": Case(lambda a: a[300], inner_chunks([300], range(768))),
    "a block": Case(lambda a: a[200:300, 250:260], inner_chunks(range(200, 300), range(250, 260))),
    "steps": Case(lambda a: a[3:500:100, ::97], inner_chunks(range(3, 500, 100), range(0, 768, 97))),
    "orthogonal": Case(lambda a: a.oindex[[400, 0, 100], [700, 5]], inner_chunks([400, 0, 100], [700, 5])),
    "points": Case(
        lambda a: a.vindex[[1, 511, 60, 1], [2, 767, 600, 3]],
        inner_chunks([1], [2]) | inner_chunks([511], [767]) | inner_chunks([60], [600]),
    ),
}


def check_requests(folder, open_array, log, case):
    """A read of the sharded array: right, and its requests are those of the merge rule by trace and by the server.

    Parameters
    ----------
    folder : path
        What the server serves, see `make`.
    open_array : callable
        The name of an array -> the array, through the server.
    log : servers.Log
    case : Case
    """
    array = open_array("sharded")
    want = case.read(zarr.open_array(folder, path="sharded", mode="r"))
    log.clear()
    with served() as counts:
        assert_same_values(case.read(array), want)
    assert log.kinds() == expected(folder, case.touched)
    assert counts.requests == len(log.data())
    assert counts.chunks_decoded == len(case.touched)


def check_window(open_array, log, check_size):
    """A block of an uncompressed chunk: its range, and the object's size at the same time where that is checked."""
    array = open_array("plain")
    log.clear()
    with zarr.config.set({"cyzarr.check_remote_size": check_size}), served() as counts:
        assert_same_values(array[300:310, 20:40], values()[300:310, 20:40])
    assert log.kinds() == ({"range": 1, "size": 1} if check_size else {"range": 1})
    assert counts.requests == len(log.data())


def check_whole(open_array, log, name):
    """Everything: one request an object, and no other than zarr makes (s3fs asks for sizes by itself)."""
    array = open_array(name)
    log.clear()
    assert_same_values(array[...], values())
    by_zarr = log.kinds()
    log.clear()
    with served() as counts:
        assert_same_values(array[...], values())
    assert log.kinds() == by_zarr
    assert counts.requests == by_zarr["whole"] == (array.nchunks if array.shards is None else 6)


def check_missing(folder, open_array, log):
    """Shards and inner chunks that are not there: one request for each such shard, and the fill value."""
    array = open_array("holes")
    want = zarr.open_array(folder, path="holes", mode="r")[90:300, 190:530]
    log.clear()
    with served() as counts:
        assert_same_values(array[90:300, 190:530], want)
    assert counts.chunks_missing == 4
    assert log.kinds()["suffix"] == 6
    assert counts.requests == len(log.data())
