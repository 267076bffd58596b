"""Reads of arrays in every form that cyzarr knows, against NumPy and against zarr alone.

The arrays are stored by hand (support/strategies.py), so that nothing depends on a writer; those
of zarr's own strategies, written by zarr, come at the end. Each read goes through every door, and
a trace shows that cyzarr served it.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import zarr
import zarr.testing.strategies as zst
from hypothesis import given
from hypothesis import strategies as st
from zarr.core.buffer.cpu import NDBuffer

from support import doors
from support.compare import Outcome, assert_same_outcome, assert_same_result, assert_same_values
from support.handmade import Stored, document, encode, fill_json, le
from support.strategies import (
    all_dtypes,
    basic_keys,
    block_keys,
    cases,
    odd_keys,
    orthogonal_keys,
    pick_orthogonal,
    points,
    random_values,
    zarr_fails,
)

EVERY_DOOR = pytest.mark.parametrize("door", doors.doors(), ids=repr)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    base = tmp_path_factory.mktemp("properties")
    numbers = iter(range(10**9))
    return lambda: base / str(next(numbers))


def open_stored(case, local, folders, order):
    store = case.stored.local(folders()) if local else case.stored.memory()
    return zarr.open_array(store, mode="r", config={"order": order})


def oracle(case, order):
    """A zarr array, read by zarr alone, to compare with: the same, or where zarr can't, a plain copy."""
    if case.plain and not zarr_fails(case):
        return zarr.open_array(case.stored.memory(), mode="r", config={"order": order})
    values = case.values
    shape = tuple(max(n, 1) for n in values.shape)
    meta = document(values.shape, shape, values.dtype, [le()], fill_json(values.dtype, np.zeros((), values.dtype)))
    key = "/".join(["c", *"0" * values.ndim])
    stored = Stored.of(meta, {key: encode(values, [le()])} if values.size else {})
    return zarr.open_array(stored.memory(), mode="r", config={"order": order})


def skip_where_zarr_alone_is_wrong(case, door):
    """A chain that zarr misreads can't be tested by zarr, nor opened by configuration alone, where its rules hold."""
    if zarr_fails(case):
        return True
    if case.plain:
        return False
    return doors.PLAIN or (door not in (doors.DIRECT, doors.ALL) and not case.plain)


def check(case, door, data, folders, read, want=None, served=None):
    """Read through a door and compare with zarr alone (and with `want`, if given)."""
    order = data.draw(st.sampled_from("CF"), label="order")
    local = data.draw(st.booleans(), label="local")
    native = data.draw(st.sampled_from(doors.tables()), label="native table")
    if skip_where_zarr_alone_is_wrong(case, door):
        return
    with doors.plain_zarr():
        alone = Outcome.of(read, oracle(case, order))
    with door.through(), doors.native_table(native):
        array = open_stored(case, local, folders, order)
        with doors.trace() as counts:
            got = Outcome.of(read, array)
    assert_same_outcome(got, alone)
    if alone.error is None:
        if want is not None:
            assert_same_values(got.value, want)
        served = case.complete and np.size(got.value) > 0
        if doors.by_codecs_alone(door):
            served = served and doors.asks_our_codecs(case.codecs)
        doors.assert_native(counts, door, served=served)


# -- selections -------------------------------------------------------------------------------


@EVERY_DOOR
@given(data=st.data())
def test_basic(door, folders, data):
    case = data.draw(cases())
    key = data.draw(basic_keys(case.values.shape), label="key")
    check(case, door, data, folders, lambda a: a[key], case.values[key])


@EVERY_DOOR
@given(data=st.data())
def test_get_basic_selection(door, folders, data):
    case = data.draw(cases())
    key = data.draw(basic_keys(case.values.shape), label="key")
    check(case, door, data, folders, lambda a: a.get_basic_selection(key), case.values[key])


@EVERY_DOOR
@given(data=st.data())
def test_everything(door, folders, data):
    case = data.draw(cases())
    check(case, door, data, folders, lambda a: a[...], case.values)


@EVERY_DOOR
@given(data=st.data())
def test_odd_keys(door, folders, data):
    """What zarr refuses is refused by the same type of exception, what it takes is the same."""
    case = data.draw(cases())
    key = data.draw(odd_keys(case.values.shape), label="key")
    read = data.draw(st.sampled_from([lambda a: a[key], lambda a: a.get_basic_selection(key)]))
    check(case, door, data, folders, read)


@EVERY_DOOR
@given(data=st.data())
def test_orthogonal(door, folders, data):
    case = data.draw(cases(min_dims=1).filter(lambda case: case.values.size))
    key = data.draw(orthogonal_keys(case.values.shape), label="key")
    check(case, door, data, folders, lambda a: a.oindex[key], pick_orthogonal(case.values, key))


@EVERY_DOOR
@given(data=st.data())
def test_orthogonal_with_an_ellipsis(door, folders, data):
    """zarr compares arrays with it, which only arrays of one item bear."""
    case = data.draw(cases(min_dims=1).filter(lambda case: case.values.size))
    key = list(data.draw(orthogonal_keys(case.values.shape), label="key"))
    first, last = sorted(data.draw(st.integers(0, len(key))) for _ in range(2))
    key[first:last] = [...]
    check(case, door, data, folders, lambda a: a.oindex[tuple(key)])


@EVERY_DOOR
@given(data=st.data())
def test_coordinates(door, folders, data):
    case = data.draw(cases(min_dims=1).filter(lambda case: case.values.size))
    key = data.draw(points(case.values.shape), label="key")
    check(case, door, data, folders, lambda a: a.vindex[key], case.values[key])


@EVERY_DOOR
@given(data=st.data())
def test_mask(door, folders, data):
    case = data.draw(cases(min_dims=1).filter(lambda case: case.values.size))
    seed, share = data.draw(st.integers(0, 2**32 - 1)), data.draw(st.sampled_from([0.0, 0.1, 0.6, 1.0]))
    mask = np.random.default_rng(seed).random(case.values.shape) < share
    check(case, door, data, folders, lambda a: a.get_mask_selection(mask), case.values[mask])


@EVERY_DOOR
@given(data=st.data())
def test_fancy_getitem(door, folders, data):
    """`arr[...]` with lists and masks, which zarr sends to its other roads."""
    case = data.draw(cases(min_dims=1).filter(lambda case: case.values.size))
    shape = case.values.shape
    key = data.draw(orthogonal_keys(shape) | points(shape), label="key")
    check(case, door, data, folders, lambda a: a[key])


@EVERY_DOOR
@given(data=st.data())
def test_blocks(door, folders, data):
    case = data.draw(cases(min_dims=1).filter(lambda case: case.values.size and case.plain))
    with doors.plain_zarr():
        array = zarr.open_array(case.stored.memory(), mode="r")
    grid = [math.ceil(n / m) for n, m in zip(array.shape, array.chunks, strict=True)]
    key = data.draw(block_keys(grid), label="key")
    check(case, door, data, folders, lambda a: a.blocks[key])


@EVERY_DOOR
@given(data=st.data())
def test_iteration_len_and_numpy(door, folders, data):
    """The protocols that end in `__getitem__`."""
    case = data.draw(cases(min_dims=1).filter(lambda case: case.values.size and len(case.values) <= 8))
    check(case, door, data, folders, lambda a: np.stack([np.asarray(row) for row in a]), case.values)
    check(case, door, data, folders, np.asarray, case.values)


# -- out --------------------------------------------------------------------------------------


def _out_like(values, kind):
    """(base, view of it with the shape of values): the view is strided as `kind` says."""
    if kind == "C" or values.ndim == 0:
        base = np.zeros(values.shape, values.dtype)
        return base, base
    if kind == "F":
        base = np.zeros(values.shape, values.dtype, order="F")
        return base, base
    base = np.zeros([2 * n + 3 for n in values.shape], values.dtype)
    step = -2 if kind == "backwards" else 2
    view = base[tuple(slice(2 * n, None, step) if step < 0 else slice(1, 2 * n + 1, step) for n in values.shape)]
    return base, view[tuple(slice(0, n) for n in values.shape)]


@EVERY_DOOR
@given(data=st.data())
def test_out(door, folders, data):
    """`out` of any strides is filled, and nothing beside it."""
    case = data.draw(cases())
    key = data.draw(basic_keys(case.values.shape), label="key")
    want = case.values[key]
    kind = data.draw(st.sampled_from(["C", "F", "strided", "backwards"]))
    base, out = _out_like(np.asarray(want), kind)
    junk = np.frombuffer(b"\x01" * base.nbytes, base.dtype).reshape(base.shape)
    base[...] = junk
    around = np.ones(base.shape, bool)
    _mask_of(base, out, around)

    def read(array):
        return array.get_basic_selection(key, out=NDBuffer.from_numpy_array(out))

    if skip_where_zarr_alone_is_wrong(case, door):
        return
    order = data.draw(st.sampled_from("CF"))
    with door.through():
        read(open_stored(case, data.draw(st.booleans()), folders, order))
    assert_same_values(out, np.asarray(want))
    assert_same_values(base[around], junk[around])


def _mask_of(base, view, around):
    """Set `around` to False where `view`, a view of `base`, lies."""
    start = (view.__array_interface__["data"][0] - base.__array_interface__["data"][0]) if view.size else 0
    items = [s // base.itemsize for s in base.strides]
    for at in np.ndindex(*view.shape):
        offset = (start + sum(i * s for i, s in zip(at, view.strides, strict=True))) // base.itemsize
        place = []
        for stride, n in zip(items, base.shape, strict=True):
            place.append(offset // stride % n if stride else 0)
        around[tuple(place)] = False


CASTS = [np.dtype(d) for d in ("i2", ">i4", "u8", "f4", ">f8", "c16")]


@EVERY_DOOR
@given(data=st.data())
def test_out_of_another_dtype(door, folders, data):
    """`out` of another dtype is cast into as zarr does."""
    case = data.draw(cases(dtypes=st.sampled_from([np.dtype(d) for d in ("i1", "u2", "i4", "?")])))
    key = data.draw(basic_keys(case.values.shape), label="key")
    dtype = data.draw(st.sampled_from(CASTS))

    def read(array):
        out = np.full(np.shape(case.values[key]), 7, dtype)
        array.get_basic_selection(key, out=NDBuffer.from_numpy_array(out))
        return out

    check(case, door, data, folders, read)


# -- arrays that zarr wrote -------------------------------------------------------------------


def _objects(array):
    return Stored({key: value.to_bytes() for key, value in array.store._store_dict.items()})


def check_written_by_zarr(array, door, read):
    """Read, by a door and by zarr alone, a copy of an array that a zarr strategy wrote."""
    stored = _objects(array)
    with doors.plain_zarr():
        want = Outcome.of(read, zarr.open_array(stored.memory(), path=array.path, mode="r"))
    with door.through(), doors.trace() as counts:
        got = Outcome.of(read, zarr.open_array(stored.memory(), path=array.path, mode="r"))
    assert_same_outcome(got, want)
    return counts


@EVERY_DOOR
@given(data=st.data())
def test_arrays_of_zarr_strategies(door, data):
    """v2 and v3, any dtype and selection that zarr's own strategies think of."""
    with doors.plain_zarr():
        array = data.draw(zst.simple_arrays())
    key = data.draw(zst.basic_indices(shape=array.shape))
    check_written_by_zarr(array, door, lambda a: a[key])
    check_written_by_zarr(array, door, lambda a: a[...])


@EVERY_DOOR
@given(data=st.data())
def test_sharded_arrays_of_zarr_strategies(door, data):
    if not hasattr(zst, "sharded_arrays"):
        pytest.skip("zarr has no such strategy")
    with doors.plain_zarr():
        array = data.draw(zst.sharded_arrays())
    key = data.draw(zst.basic_indices(shape=array.shape))
    check_written_by_zarr(array, door, lambda a: a[key])
    counts = check_written_by_zarr(array, door, lambda a: a[...])
    doors.assert_native(counts, door, served=False)


@EVERY_DOOR
@given(data=st.data())
def test_orthogonal_of_zarr_strategies(door, data):
    with doors.plain_zarr():
        array = data.draw(zst.simple_arrays())
    key, _ = data.draw(zst.orthogonal_indices(shape=array.shape))
    check_written_by_zarr(array, door, lambda a: a.oindex[key])


# -- a guard of the strategies ----------------------------------------------------------------


@given(data=st.data())
def test_strategies_store_what_they_say(data):
    """Hand-made stores read back right by zarr alone, where zarr can."""
    case = data.draw(cases())
    if not case.plain or zarr_fails(case):
        return
    with doors.plain_zarr():
        assert_same_values(zarr.open_array(case.stored.memory(), mode="r")[...], case.values)


@given(dtype=all_dtypes(), seed=st.integers(0, 2**32 - 1))
def test_random_values_keep_their_bits(dtype, seed):
    values = random_values(dtype, (5,), np.random.default_rng(seed))
    assert_same_result(values.astype(dtype.newbyteorder(">")).astype(dtype), values)
