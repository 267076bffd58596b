"""Reading: nothing before it is asked for, each chunk once, fresh arrays, parts and readers."""

import asyncio
import pickle

import numpy as np
import pytest
import zarr

import cyzarr
from cyzarr import BoundsCheckError, IndexDomain, IndexTransform, LazyArray, VindexInvalidSelectionError
from lazy.support import CountingStore, Recorder

CUBE = np.arange(2 * 3 * 4).reshape(2, 3, 4)


def counted(values, **options):
    """A zarr array of these values in a store that counts."""
    store = CountingStore()
    array = zarr.create_array(store, shape=values.shape, dtype=values.dtype, **options)
    array[...] = values
    store.reads.clear()
    store.writes.clear()
    return store, array


def test_nothing_is_read_before_the_result():
    source = Recorder(CUBE, (1, 2, 2))
    view = LazyArray(source)[::-1].oindex[[0, 1], :, [3, 0]].vindex[[0, 1], [2, 1]]
    for one in (view, *view, LazyArray(source)):
        assert repr(one)
        assert one._repr_html_()
        assert one.shape is not None
        assert one.bounding_box()
    list(view.parts())
    assert source.calls == []
    assert view.result().tolist() == CUBE[::-1][:, :, [3, 0]][[0, 1], [2, 1]].tolist()
    assert {call[0] for call in source.calls} == {"get"}


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("shards", [None, (4, 4)])
def test_each_chunk_is_read_once(on, shards):
    values = np.arange(64).reshape(8, 8)
    store, array = counted(values, chunks=(2, 2), shards=shards)
    rows = [7, 0, 7, 1, 0]
    with cyzarr.enabled() if on else zarr.config.set({}):
        view = LazyArray(array)[:, ::-1].oindex[rows].vindex[[4, 0, 2, 1, 3], [0, 7, 0, 7, 1]]
        assert view.result().tolist() == values[:, ::-1][rows][[4, 0, 2, 1, 3], [0, 7, 0, 7, 1]].tolist()
    if shards is None:
        assert len(store.reads) == len(set(store.reads)) == 4
    else:
        # An index and, merged or not, a range for each of the touched inner chunks.
        assert len(store.reads) <= 8


@pytest.mark.parametrize(
    "view",
    [
        lambda whole: whole[::-1, ::-2],
        lambda whole: whole[:, None, 1],
        lambda whole: whole.oindex[[3, 0, 3], [1, 0]],
        lambda whole: whole.vindex[[3, 0], [1, 5]],
        lambda whole: whole[
            IndexTransform.from_json({"input_shape": [2, 3], "output": [{"offset": 1}, {"offset": 2}]})
        ],
        lambda whole: whole[
            IndexTransform.from_json(
                {"input_shape": [3, 4], "output": [{"input_dimension": 1}, {"input_dimension": 0, "stride": 2}]}
            )
        ],
        lambda whole: whole[3, 4],
    ],
    ids=["reversed", "column", "outer", "points", "repeated", "turned", "item"],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_native_reads_are_fresh_and_take_the_direct_road(view, order):
    values = np.arange(48, dtype=">i2").reshape(6, 8)
    array = zarr.create_array({}, shape=(6, 8), chunks=(4, 3), dtype=">i2", config={"order": order})
    array[...] = values
    native, oracle = view(LazyArray(array)), view(LazyArray(values))
    with cyzarr.trace() as trace:
        found = native.result()
    assert trace.reads == {"direct": 1}
    assert found.tolist() == oracle.result().tolist()
    assert found.dtype == np.dtype(">i2")
    assert found.flags.writeable
    assert found.flags.c_contiguous
    assert found.base is None or found.base.size == found.size


@pytest.mark.parametrize("dtype", ["object", "string", "struct", "datetime"])
def test_other_dtypes(dtype):
    values = {
        "object": np.array([["a", "bcd"], ["", "é" * 40]], object),
        "string": np.array([["a", "bcd"], ["", "é" * 40]], np.dtypes.StringDType()),
        "struct": np.array([[(1, 2.0), (3, 4.0)], [(5, 6.0), (7, 8.0)]], "i4,f8"),
        "datetime": np.array([["2020-01-01", "2021-01-01"], ["NaT", "1900-02-03"]], "M8[s]"),
    }[dtype]
    sources = [values.copy()]
    if dtype != "object":
        array = zarr.create_array({}, shape=(2, 2), chunks=(1, 2), dtype=values.dtype)
        array[...] = values
        sources.append(array)
    for source in sources:
        view = LazyArray(source)
        for one, other in (
            (view[::-1], values[::-1]),
            (view.oindex[[1, 0, 1]], values[[1, 0, 1]]),
            (view.vindex[[1, 0], [1, 0]], values[[1, 0], [1, 0]]),
            (view[0, 1], values[0, 1:2].reshape(())),
        ):
            found = one.result()
            assert found.dtype == values.dtype
            assert found.shape == other.shape
            assert found.tolist() == other.tolist()
        view[::-1].write(values)
        assert view.result().tolist() == values[::-1].tolist()
        view.write(values)


def test_masked_sources_give_masked_results():
    masked = np.ma.array(np.arange(6), mask=[0, 1, 0, 0, 1, 0])
    for view in (LazyArray(masked)[::-1], LazyArray(Recorder(masked))[::-1], LazyArray(Recorder(masked, (4,)))[::-1]):
        found = view.result()
        assert isinstance(found, np.ma.MaskedArray)
        assert found.mask.tolist() == [False, True, False, False, True, False]
    assert isinstance(LazyArray(masked)[:0].result(), np.ma.MaskedArray)


def test_what_is_resized_is_not_read_beyond():
    array = zarr.array(np.arange(10), chunks=(5,))
    view, some = LazyArray(array)[4:], LazyArray(array).oindex[[9, 0]]
    array.resize((6,))
    for one in (view, some):
        with pytest.raises(IndexError):
            one.result()
        with pytest.raises(BoundsCheckError):
            one.write(0)
    assert array[...].tolist() == [0, 1, 2, 3, 4, 5]


def test_foreign_sources():
    h5py = pytest.importorskip("h5py")
    tensorstore = pytest.importorskip("tensorstore")
    with h5py.File("a", "w", driver="core", backing_store=False) as file:
        for source in (file.create_dataset("a", data=CUBE, chunks=(1, 2, 2)), tensorstore.array(CUBE)):
            view = LazyArray(source)[::-1].oindex[:, [2, 0]]
            assert view.dtype == CUBE.dtype
            assert view.result().tolist() == CUBE[::-1][:, [2, 0]].tolist()
            view[:, 0].write(7)
            assert np.asarray(source[:, 2, :]).tolist() == np.full((2, 4), 7).tolist()
            source[...] = CUBE


@pytest.mark.parametrize(
    ("chunks", "parts"),
    [((2, 2), 4), (((1, 2), (4,)), 2), ((2,), 1), ("ab", 1), ((2.0, 2), 1), ((True, 2), 1), (((1, 1), (4,)), 1)],
)
def test_grids_are_found_or_left(chunks, parts):
    source = Recorder(np.arange(12).reshape(3, 4))
    source.chunks = chunks
    assert len(list(LazyArray(source).parts())) == parts


def test_parts_of_a_part_of_the_view():
    view = LazyArray(np.arange(100)).with_parts((8,))[10:20]
    told = [(p.base_coords, p.box, p.view.transform.domain, p.out_selection, p.is_complete) for p in view.parts()]
    assert told == [
        ((1,), ((8, 16),), IndexDomain((10,), (16,)), (slice(0, 6, 1),), False),
        ((2,), ((16, 24),), IndexDomain((16,), (20,)), (slice(6, 10, 1),), False),
    ]
    told = [(p.base_coords, p.view.transform.domain, p.out_selection) for p in view[::-1].parts()]
    assert told == [
        ((1,), IndexDomain((-15,), (-9,)), (slice(4, 10, 1),)),
        ((2,), IndexDomain((-19,), (-15,)), (slice(0, 4, 1),)),
    ]
    assert [p.is_complete for p in LazyArray(np.arange(20)).with_parts((8,))[3:].parts()] == [False, True, True]


def test_parts_among_index_arrays():
    view = LazyArray(np.arange(12).reshape(3, 4)).with_parts((2, 3)).oindex[[2, 0, 2]]
    told = {p.base_coords: p for p in view.parts()}
    assert list(told) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [one.tolist() for one in told[0, 0].out_selection] == [[[1]], [[0, 1, 2]]]
    rows, columns = told[1, 0].out_selection
    assert (rows.tolist(), columns) == ([0, 2], slice(0, 3, 1))
    assert told[1, 0].view.transform.domain == IndexDomain((0, 0), (2, 3))
    assert told[1, 1].projection.coverage == "unknown"


def test_parts_are_of_this_very_view():
    view = LazyArray(CUBE).with_parts((1, 2, 3))[:, ::-1]
    parts = list(view.parts())
    assert view.result(parts=parts[::-1]).tolist() == CUBE[:, ::-1].tolist()
    for wrong in (parts[1:], [*parts, parts[0]], list(view[:].parts())):
        with pytest.raises(ValueError):
            view.result(parts=wrong)


@pytest.mark.parametrize("sizes", [(0, 1, 1), (True, 1, 1), (1.0, 1, 1), (1, 1), ((1, 1), 1, 1)])
def test_wrong_part_sizes(sizes):
    with pytest.raises(ValueError):
        LazyArray(CUBE).with_parts(sizes)
    with pytest.raises(ValueError):
        LazyArray(CUBE).with_parts_per_axis([[1, 2], [3], [4]])
    assert len(list(LazyArray(CUBE).with_parts_per_axis([[1, 1], [3], [1, 3]]).parts())) == 4
    assert LazyArray(np.zeros((0, 3))).with_parts_per_axis([[], [3]]).result().shape == (0, 3)


class Remembering:
    """A reader that keeps what it was asked, and gives what it read first."""

    def __init__(self, answer=None):
        self.contexts, self.kept, self.answer = [], {}, answer

    def read_into(self, source, context, out):
        self.contexts.append(context)
        at = context.projection.chunk_coords
        if at not in self.kept:
            self.kept[at] = source[tuple(slice(*one) for one in zip(*bounds(context), strict=True))].copy()
        grids = np.indices(out.shape).reshape(out.ndim, -1).T
        out[...] = self.kept[at][tuple(context.projection.chunk_transform.apply_many(grids).T)].reshape(out.shape)
        return self.answer


def bounds(context):
    domain = context.projection.chunk_domain
    return domain.inclusive_min, domain.exclusive_max


@pytest.mark.parametrize("kind", ["slices", "arrays"])
def test_readers(kind):
    values = np.arange(12).reshape(3, 4)
    reader = Remembering()
    view = LazyArray(values).with_parts((2, 2)).with_reader(reader)[1:, ::-1]
    view = view if kind == "slices" else view.oindex[[1, 0, 1]]
    expected = view.with_reader(LazyArray(values).reader).result().tolist()
    assert view.result().tolist() == expected
    assert len(reader.contexts) == 4
    result = np.zeros(view.shape, int)
    for context in reader.contexts:
        domain = context.transform.domain
        assert domain.origin == (0,) * domain.ndim
        cells = np.indices(domain.shape).reshape(domain.ndim, -1).T
        where = context.projection.cell_transform.apply_many(cells)
        result[tuple(where.T)] = values[tuple(context.transform.apply_many(cells).T)]
    assert result.tolist() == expected
    # A write goes around the reader, which may then be behind.
    first = view.result()[0, 0]
    view[0, 0].write(99)
    assert view.result()[0, 0] == first
    assert view[:0].result().shape == (0, 4)
    with pytest.raises(TypeError, match="read_into"):
        view.with_reader(Remembering(answer=7)).result()
    with pytest.raises(TypeError):
        view.with_reader(print)


def test_numbers_and_arrays():
    view = LazyArray(np.arange(6))
    assert int(view[3]) == 3
    assert float(view[3]) == 3.0
    assert [10, 20, 30][view[1]] == 20
    assert not view[0]
    with pytest.raises(ValueError):
        bool(view)
    with pytest.raises(TypeError):
        view[1:3] + 1
    with pytest.raises(TypeError):
        len(view[0])
    with pytest.raises(TypeError):
        iter(view[0])
    with pytest.raises(ValueError):
        np.array(view, copy=False)
    assert np.sum(view) == 15
    assert np.asarray(view, "f4").dtype == "f4"
    assert [type(one) for one in view] == [LazyArray] * 6
    with pytest.raises(TypeError):
        view[1:3] += 1
    view[1:3] += np.array([10, 20])
    assert view.array.tolist() == [0, 11, 22, 3, 4, 5]
    again = pickle.loads(pickle.dumps(view[::-1]))
    assert again.result().tolist() == view[::-1].result().tolist()
    for wrong, error in ((np.zeros((1, 1)).view(np.matrix), TypeError), ([1], TypeError)):
        with pytest.raises(error):
            LazyArray(wrong)
    with pytest.raises(TypeError):
        LazyArray.from_numpy([1])


@pytest.mark.parametrize(
    ("mode", "key", "error"),
    [
        ("basic", ([1],), IndexError),
        ("basic", (np.ones(2, bool),), IndexError),
        ("basic", (1.0,), IndexError),
        ("basic", ("a",), IndexError),
        ("basic", (slice(1.5, None),), TypeError),
        ("basic", (slice(None, None, 0),), ValueError),
        ("basic", (IndexDomain((0,), (1,)),), IndexError),
        ("basic", (0, 0, 0, 0), IndexError),
        ("oindex", ([[0]],), IndexError),
        ("oindex", (None,), IndexError),
        ("oindex", (True,), IndexError),
        ("oindex", (range(2),), IndexError),
        ("oindex", (np.zeros(0),), IndexError),
        ("oindex", ([0.5],), IndexError),
        ("oindex", ([[0], [0, 1]],), IndexError),
        ("oindex", ([0], [0], [0], [0]), IndexError),
        ("oindex", ([2],), IndexError),
        ("oindex", ([-3],), IndexError),
        ("vindex", (slice(None), [0]), VindexInvalidSelectionError),
        ("vindex", ([0, 1, 1], [0, 1]), IndexError),
        ("vindex", (..., ..., [0]), IndexError),
        ("vindex", (np.ones((2, 2), bool),), IndexError),
    ],
)
def test_wrong_keys(mode, key, error):
    view = LazyArray(CUBE)
    with pytest.raises(error):
        view[key] if mode == "basic" else getattr(view, mode)[key]
    if mode != "basic":
        with pytest.raises(error):
            getattr(view, mode)[key] = 0


def test_absolute_keys():
    view = LazyArray(np.arange(100))[10:20]
    for least, beyond in ((25, 25), (0, 0), (0, 5)):
        with pytest.raises(BoundsCheckError):
            view[IndexDomain((least,), (beyond,))]
    with pytest.raises(ValueError):
        view[IndexDomain((12, 0), (13, 1))]
    picked = view[IndexTransform.identity(IndexDomain((10,), (20,))).oindex[[12, 12, 19]]]
    assert picked.result().tolist() == [12, 12, 19]


def test_awaited_reads_and_writes_let_others_have_their_turn():
    async def main():
        turns = 0

        async def count():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        other = asyncio.create_task(count())
        array = zarr.array(np.arange(100), chunks=(10,))
        view = LazyArray(array)[::-1].oindex[[3, 0, 3]]
        assert (await view.read_async()).tolist() == [96, 99, 96]
        values = np.array([1, 2, 3])
        writing = asyncio.ensure_future(view.write_async(values))
        await asyncio.sleep(0)
        values[:] = 0
        await writing
        other.cancel()
        assert array[96] == 3
        assert array[99] == 2
        return turns

    assert asyncio.run(main()) > 2


def test_repr():
    array = zarr.create_array({}, shape=(1000, 1000), chunks=(10, 100), shards=(500, 500), dtype="i8")
    view = LazyArray(array)[10:500:7, ::-1]
    for told in ("(1000, 1000)", "[1, 71) x [-999, 1)", "shape (70, 1000)", "int64", "490 of 1000 chunks", "3.74 MiB"):
        assert told in repr(view)
    # Of many cells some are drawn as one; 13 rows of them, of 40, are touched.
    drawn = LazyArray(array).oindex[[5, 995], [3, 999]]._repr_html_()
    assert drawn.count("<rect") == 34 * 10
    assert drawn.count("#f0883e") == 4
    assert "0 of 1000 chunks" in repr(view[:0])
    assert "<svg" not in LazyArray(np.array(3))._repr_html_()
