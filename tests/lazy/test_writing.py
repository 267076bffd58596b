"""Writing: what is asked of sources, that the last value stays, and what an error leaves."""

import asyncio
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import zarr

import cyzarr
from cyzarr import DimensionMap, IndexDomain, IndexTransform, LazyArray
from lazy.support import CountingStore, Recorder, WriteOnly

REPEATED = IndexTransform(IndexDomain((0, 0), (2, 3)), (DimensionMap(1),))


def calls(source):
    return [
        (name, tuple(slice(*one) if isinstance(one, list) else one for one in key)) for name, key, *_ in source.calls
    ]


def test_duplicates_in_descending_order_of_chunks():
    """zarr's own writes of these keep 3 and 1."""
    array = zarr.create_array({}, shape=(2,), chunks=(1,), dtype="i8")
    LazyArray(array).vindex[[1, 1, 0, 0]].write([1, 2, 3, 4])
    assert array[...].tolist() == [4, 2]
    LazyArray(array).oindex[[1, 1, 0, 0]].write([5, 6, 7, 8])
    assert array[...].tolist() == [8, 6]


@pytest.mark.parametrize("shards", [None, (20,)])
def test_the_last_value_stays(shards):
    random = np.random.default_rng(4)
    for _ in range(30):
        array = zarr.create_array({}, shape=(40,), chunks=(5,), shards=shards, dtype="i8")
        at = random.integers(0, 40, 200)
        LazyArray(array).vindex[at].write(np.arange(200))
        expected = np.zeros(40, int)
        for place, value in zip(at, range(200), strict=True):
            expected[place] = value
        assert array[...].tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["numpy", "zarr", "other"])
def test_overlap_is_safe(kind):
    values = np.arange(10)
    source = {"numpy": values, "zarr": zarr.array(values, chunks=(3,)), "other": Recorder(values, (3,))}[kind]
    view = LazyArray(source)
    view[1:].write(view[:-1])
    assert view.result().tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]
    view[::-1].write(view)
    assert view.result().tolist() == [8, 7, 6, 5, 4, 3, 2, 1, 0, 0]
    if kind == "numpy":
        view[1:].write(values[:-1])
        assert values.tolist() == [8, 8, 7, 6, 5, 4, 3, 2, 1, 0]


def test_requests_of_the_upstream_table():
    store = CountingStore()
    array = zarr.create_array(store, shape=(1000, 1000), chunks=(100, 100), dtype="i8", compressors=None)
    array[...] = 1
    random = np.random.default_rng(0)
    points = random.integers(0, 1000, (2, 2000))
    rows = np.linspace(999, 0, 50).astype(int)
    view = LazyArray(array)
    for write, count in (
        (lambda: view.vindex[tuple(points)].write(np.arange(2000)), 100),
        (lambda: view.oindex[rows].write(np.ones((50, 1000))), 100),
        (lambda: view[10:600, 5:955].write(2), 60),
    ):
        store.reads.clear()
        store.writes.clear()
        write()
        assert len(store.writes) == len(set(store.writes)) == count
        assert len(store.reads) <= count


def test_points_in_two_shards_write_two_objects():
    store = CountingStore()
    array = zarr.create_array(store, shape=(16, 16), shards=(8, 8), chunks=(2, 2), dtype="i4")
    array[...] = 7
    store.reads.clear()
    store.writes.clear()
    LazyArray(array).vindex[[0, 15, 3, 9], [0, 15, 3, 9]].write([1, 2, 3, 4])
    assert len(store.writes) == len(set(store.writes)) == 2
    assert (array[0, 0], array[9, 9]) == (1, 4)
    assert array[1, 1] == 7


def test_cells_that_are_overwritten_whole_are_not_read():
    store = CountingStore()
    array = zarr.create_array(store, shape=(8, 8), chunks=(4, 4), dtype="i8")
    array[...] = 7
    for view, values in (
        (LazyArray(array).oindex[np.arange(8)[::-1]], np.arange(64).reshape(8, 8)),
        (LazyArray(array).vindex[np.indices((8, 8))[0].T, np.indices((8, 8))[1].T], np.arange(64).reshape(8, 8)),
        (LazyArray(array).oindex[[5, 0, 4, 7, 6], [4, 5, 6, 7]], np.arange(20).reshape(5, 4)),
    ):
        store.reads.clear()
        store.writes.clear()
        view.write(values)
        complete = [part for part in view.parts() if part.view.size == 16]
        assert len(store.writes) == len(list(view.parts()))
        assert len(store.reads) == len(store.writes) - len(complete)
        assert view.result().tolist() == values.tolist()


def test_boxes_are_one_assignment():
    source = Recorder(np.zeros((3, 4), int))
    LazyArray(source)[1, None, ::3].write([[7, 8]])
    assert calls(source) == [("set", (1, slice(0, 4, 3)))]
    assert source.array.tolist() == [[0, 0, 0, 0], [7, 0, 0, 8], [0, 0, 0, 0]]


def test_cells_in_order_and_once():
    source = Recorder(np.zeros((3, 4), int), (2, 2))
    LazyArray(source).oindex[[2, 0], [3, 0]].write([[1, 2], [3, 4]])
    assert source.array.tolist() == [[4, 0, 0, 3], [0, 0, 0, 0], [2, 0, 0, 1]]
    assert calls(source) == [
        ("set", (slice(0, 1, 1), slice(0, 1, 1))),
        ("set", (slice(0, 1, 1), slice(3, 4, 1))),
        ("set", (slice(2, 3, 1), slice(0, 1, 1))),
        ("set", (slice(2, 3, 1), slice(3, 4, 1))),
    ]
    source = Recorder(np.arange(12), (5,))
    LazyArray(source)[2:11][::-1].oindex[[0, 3, 3]].write([1, 2, 3])
    assert (source.array[7], source.array[10]) == (3, 1)
    # Points of two axes: the hull is what lies between those of a cell.
    source = Recorder(np.arange(36).reshape(6, 6), (3, 3))
    LazyArray(source).vindex[[1, 4, 0, 4], [2, 4, 1, 4]].write([1, 2, 3, 4])
    assert calls(source) == [
        ("get", (slice(0, 2, 1), slice(1, 3, 1))),
        ("set", (slice(0, 2, 1), slice(1, 3, 1))),
        ("set", (slice(4, 5, 1), slice(4, 5, 1))),
    ]
    assert source.array[:2, 1:3].tolist() == [[3, 2], [7, 1]]
    assert source.array[4, 4] == 4
    # Integers and steps beside an array.
    source = Recorder(np.arange(48).reshape(2, 4, 6), (2, 4, 3))
    LazyArray(source).oindex[1, 1:4:2, [4, 0, 2]].write([[1, 2, 3], [4, 5, 6]])
    assert calls(source) == [
        ("get", (slice(1, 2, 1), slice(1, 4, 1), slice(0, 3, 1))),
        ("set", (slice(1, 2, 1), slice(1, 4, 1), slice(0, 3, 1))),
        ("get", (slice(1, 2, 1), slice(1, 4, 1), slice(4, 5, 1))),
        ("set", (slice(1, 2, 1), slice(1, 4, 1), slice(4, 5, 1))),
    ]
    assert source.array[1, 1:4].tolist() == [[2, 31, 3, 33, 1, 35], [36, 37, 38, 39, 40, 41], [5, 43, 6, 45, 4, 47]]
    # Parts to read by have no part in it.
    source = Recorder(np.arange(10), (5,))
    LazyArray(source).with_parts((1,)).vindex[[1, 3, 8]].write([1, 2, 3])
    assert calls(source) == [("get", (slice(1, 4, 1),)), ("set", (slice(1, 4, 1),)), ("set", (slice(8, 9, 1),))]


@pytest.mark.parametrize("readable", [True, False])
def test_without_a_grid_each_element_is_set(readable):
    source = Recorder(np.zeros(6, int), None if readable else (2,), readable=readable)
    LazyArray(source).vindex[[1, 1, 3]].write([1, 2, 3])
    assert calls(source) == [("set", (1,)), ("set", (1,)), ("set", (3,))]
    assert source.array.tolist() == [0, 2, 0, 3, 0, 0]
    assert readable or isinstance(source, WriteOnly)


@pytest.mark.parametrize("chunks", [None, (2,)])
def test_repeated_axes(chunks):
    source = Recorder(np.zeros(3, int), chunks)
    view = LazyArray(source)
    view[REPEATED].write([[1, 2, 3], [4, 5, 6]])
    assert source.array.tolist() == [4, 5, 6]
    view[IndexTransform(IndexDomain((0,), (3,)), (DimensionMap(0, 1, 0),))].write([1, 2, 3])
    assert source.array.tolist() == [4, 3, 6]


@pytest.mark.parametrize("kind", ["numpy", "zarr", "other"])
def test_wrong_values_leave_all_as_it_was(kind):
    values = np.arange(6, dtype="i1")
    source = {"numpy": values, "zarr": zarr.array(values, chunks=(2,)), "other": Recorder(values, (2,))}[kind]
    view = LazyArray(source)
    for wrong, error in (
        ([1, 2], ValueError),
        (np.zeros((2, 4)), ValueError),
        ("x", ValueError),
        (1000, OverflowError),
    ):
        with pytest.raises(error):
            view[1:5].write(wrong)
        with pytest.raises(error):
            view.oindex[[1, 2, 5, 3]].write(wrong)
    with pytest.raises(ValueError):
        view[:0].write([1, 2])
    with pytest.raises(IndexError):
        view.vindex[[1, 9]] = 0
    view[:0].write([])
    view[:0].write(3)
    assert view.result().tolist() == [0, 1, 2, 3, 4, 5]
    view[2:4].write([[[7, 8]]])
    assert view.result().tolist() == [0, 1, 7, 8, 4, 5]


def test_an_error_says_what_was_written():
    source = Recorder(np.zeros((4, 4), int), (2, 2))
    source.fails_at = 2
    with pytest.raises(OSError) as caught:
        LazyArray(source).oindex[[0, 3], [0, 3]].write(1)
    (note,) = caught.value.__notes__
    assert "2 of 4 cells: (0, 0), (0, 1); cell (1, 0)" in note
    assert source.array.sum() == 2


@pytest.mark.parametrize("picked", [[0, 3], [0, 1, 2, 3][::-1]])
def test_an_error_of_a_zarr_store_says_what_was_written(picked):
    store = CountingStore()
    array = zarr.create_array(store, shape=(4, 4), chunks=(2, 2), dtype="i8")
    array[...] = 7
    store.refused = ("c/1/0",)
    with pytest.raises(OSError, match="c/1/0") as caught:
        LazyArray(array).oindex[picked, picked].write(1)
    (note,) = caught.value.__notes__
    assert note.startswith("written: ")
    for cell in [(0, 0), (0, 1), (1, 0), (1, 1)]:
        there = np.array([[array[2 * cell[0] + down, 2 * cell[1] + right] for right in (0, 1)] for down in (0, 1)])
        assert ("c/{}/{}".format(*cell) in note) == bool((there == 1).any())


def test_masked_and_subclassed():
    masked = np.ma.array(np.arange(4), mask=[0, 1, 0, 0])
    LazyArray(masked)[::-1].write(np.ma.array([9, 8, 7, 6], mask=[1, 0, 0, 0]))
    assert masked.mask.tolist() == [False, False, False, True]
    assert masked[:3].tolist() == [6, 7, 8]

    class Own(zarr.Array):
        pass

    array = Own(zarr.array(np.arange(6), chunks=(2,))._async_array)
    view = LazyArray(array)
    view.oindex[[5, 0, 5]].write([1, 2, 3])
    assert view.result().tolist() == [2, 1, 2, 3, 4, 3]


def test_shards_with_cyzarr_on():
    with cyzarr.enabled():
        array = zarr.create_array({}, shape=(20, 20), chunks=(2, 5), shards=(10, 10), dtype="f4")
        view = LazyArray(array)[::-1]
        view.vindex[[0, 5, 19], [0, 5, 19]] = [1, 2, 3]
        assert view.vindex[[0, 5, 19], [0, 5, 19]].result().tolist() == [1, 2, 3]
        assert float(np.sum(view)) == 6


@pytest.mark.parametrize("wrap", [np.asarray, LazyArray])
def test_awaited_writes_take_values_before_they_begin(wrap):
    async def main():
        loop = asyncio.get_running_loop()
        go_on = threading.Event()
        # The only thread is busy while the values change.
        loop.set_default_executor(ThreadPoolExecutor(1))
        loop.run_in_executor(None, go_on.wait, 10)
        values, target = np.arange(4), np.zeros(4, int)
        task = asyncio.create_task(LazyArray(target).write_async(wrap(values)))
        await asyncio.sleep(0.01)
        values[:] = 99
        go_on.set()
        await task
        return target.tolist()

    assert asyncio.run(main()) == [0, 1, 2, 3]


def test_awaited_writes_of_one_value_take_no_more_memory():
    array = zarr.create_array({}, shape=(30_000_000,), chunks=(3_000_000,), dtype="i1")

    def peak(write):
        tracemalloc.start()
        write()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    own = peak(lambda: array.__setitem__(slice(None), 0))
    assert peak(lambda: asyncio.run(LazyArray(array).write_async(0))) < own + 3e6


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["i1", "u2", "f4", "?", "U2", "M8[s]"])
@pytest.mark.parametrize(
    "given",
    [
        300,
        [300, 1],
        -1,
        1.7,
        [1e300, 2.5],
        True,
        "12",
        ["x", "abc"],
        None,
        np.int64(300),
        np.float64(1e300),
        np.array([300, -1]),
        np.array([1.7, -2.9]),
        np.array(["12", "345"]),
        np.array(["2020", "2021"], "M8[D]"),
        np.array([300, None], object),
    ],
    ids=repr,
)
def test_what_fits_is_numpys_own_rule(given, dtype):
    """Arrays are cast as in NumPy's assignment, and what raises there raises here, before anything is written."""
    expected, target = np.zeros(2, dtype), np.zeros(2, dtype)
    error = None
    try:
        expected[...] = given
    except Exception as raised:
        error = type(raised)
        expected = np.zeros(2, dtype)
    for source in (target, Recorder(target)):
        if error is None:
            LazyArray(source).write(given)
        else:
            with pytest.raises(error):
                LazyArray(source).write(given)
        np.testing.assert_array_equal(target, expected)
