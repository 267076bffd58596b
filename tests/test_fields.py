"""Selections of a struct's fields: what zarr gives for them, and its errors where it can't."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.storage import WrapperStore

from support import doors
from support.compare import Outcome, assert_same_outcome, assert_same_result
from support.handmade import le, store, zstd
from support.strategies import random_values

pytestmark = pytest.mark.skipif(doors.PLAIN, reason="about cyzarr, which this run leaves out")

SCALARS = ["<f4", "<i4", "u1", "<M8[s]", "<c8", "?", "S3", "<U2"]
SHAPE, CHUNKS = (7, 5), (3, 2)


@st.composite
def structs(draw, most=3):
    count = draw(st.sampled_from([1, 1, *range(2, most + 1)]))
    kinds = [draw(st.sampled_from(SCALARS)) for _ in range(count)]
    nested = draw(st.integers(0, 4)) == 0
    return np.dtype(
        [(name, [("x", kind), ("y", "<i2")] if nested else kind) for name, kind in zip("abc", kinds, strict=False)]
    )


def all_fields(dtype):
    """Anything that somebody may give as fields."""
    name = st.sampled_from([*dtype.names, "zz"])
    several = st.lists(name, max_size=4)
    return name | several | several.map(tuple) | st.sampled_from([None, "", (), [], 7, list(dtype.names), dtype.names])


READS = {
    "basic": lambda a, f: a.get_basic_selection((slice(1, 6, 2), slice(None)), fields=f),
    "item": lambda a, f: a.get_basic_selection((2, 3), fields=f),
    "empty": lambda a, f: a.get_basic_selection((slice(3, 3), 1), fields=f),
    "orthogonal": lambda a, f: a.get_orthogonal_selection(([6, 0, 6], slice(1, 4)), fields=f),
    "coordinates": lambda a, f: a.get_coordinate_selection(([6, 0, 6], [1, 2, 1]), fields=f),
    "mask": lambda a, f: a.get_mask_selection(np.arange(35).reshape(SHAPE) % 3 == 0, fields=f),
    "blocks": lambda a, f: a.get_block_selection((1, slice(0, 2)), fields=f),
    "getitem": lambda a, f: a[f],
    "getitem of a part": lambda a, f: a[f, 1:3],
    "getitem of fields": lambda a, f: a[(*f, slice(2, 5))] if isinstance(f, list) else a[f, ..., 2],
    "oindex": lambda a, f: a.oindex[f, [5, 1]],
    "vindex": lambda a, f: a.vindex[f, [5, 1], [0, 4]],
    "awaited orthogonal": lambda a, f: asyncio.run(a.async_array.get_orthogonal_selection(([6, 0], 1), fields=f)),
    "awaited coordinates": lambda a, f: asyncio.run(a.async_array.get_coordinate_selection(([6], [1]), fields=f)),
    "awaited mask": lambda a, f: asyncio.run(a.async_array.get_mask_selection(np.ones(SHAPE, bool), fields=f)),
}


def stored_as(data, dtype):
    """An array of random items, some chunks missing, in zarr format 2 or 3."""
    values = random_values(dtype, SHAPE, np.random.default_rng(data.draw(st.integers(0, 999))))
    missing = data.draw(st.sampled_from([(), {(0, 0), (1, 1), (0, 1)}]))
    codecs = data.draw(st.sampled_from([[le()], [le(), zstd()]]))
    return store(values, CHUNKS, codecs, np.zeros((), dtype), missing=missing)


@given(data=st.data())
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_as_zarr(read, data):
    dtype = data.draw(structs())
    stored = stored_as(data, dtype)
    fields = data.draw(all_fields(dtype), label="fields")
    with doors.plain_zarr():
        want = Outcome.of(read, zarr.open_array(stored.memory(), mode="r"), fields)
    with doors.DIRECT.through():
        got = Outcome.of(read, zarr.open_array(stored.memory(), mode="r"), fields)
    assert_same_outcome(got, want)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("order", "CF")
def test_natively(zarr_format, order, tmp_path):
    """What zarr has a result for is read by the direct road."""
    both, one = np.dtype([("a", "<f4"), ("b", "<i4")]), np.dtype([("a", "<f4")])
    for dtype, given_fields, want in [
        (both, [], both),
        (both, "", both),
        (both, ["a", "b"], both),
        (both, ("a", "b"), both),
        (one, "a", one["a"]),
        (one, ["a"], one),
    ]:
        values = random_values(dtype, SHAPE, np.random.default_rng(1))
        kwargs = {
            "shape": SHAPE,
            "chunks": CHUNKS,
            "dtype": dtype,
            "zarr_format": zarr_format,
            "config": {"order": order},
        }
        array = zarr.create_array({}, **kwargs)
        array[...] = values
        for name in (
            "basic",
            "item",
            "orthogonal",
            "coordinates",
            "mask",
            "blocks",
            "awaited orthogonal",
            "awaited mask",
        ):
            with doors.plain_zarr():
                alone = READS[name](array, given_fields)
            with doors.DIRECT.through(), doors.trace() as counts:
                got = READS[name](array, given_fields)
            assert_same_result(got, alone)
            assert got.dtype == want
            assert counts.reads == {"direct": 1}, (name, given_fields)


def test_a_field_by_key():
    array = zarr.create_array({}, shape=SHAPE, chunks=CHUNKS, dtype=[("a", "<f4")])
    array[...] = np.ones(SHAPE, [("a", "<f4")])
    with doors.DIRECT.through(), doors.trace() as counts:
        assert_same_result(array["a"], np.ones(SHAPE, "<f4"))
        assert_same_result(array["a", 1:3], np.ones((2, 5), "<f4"))
    assert counts.reads == {"direct": 2}


def test_one_field_of_several_is_an_error():
    """zarr's own: so far it can't."""
    dtype = np.dtype([("a", "<f4"), ("b", "<i4")])
    stored = store(np.zeros(4, dtype), (2,), [le()], np.zeros((), dtype))
    with doors.DIRECT.through(), pytest.raises(TypeError):
        zarr.open_array(stored.memory(), mode="r")["a"]


@pytest.mark.parametrize("kind", ["<i4", "<f4"])
@pytest.mark.parametrize("wrap", [lambda store: store, WrapperStore], ids=["direct", "pipeline"])
def test_the_one_field_of_a_missing_chunk(kind, wrap):
    """zarr puts a fill value that is an item into a float, but not into an integer."""
    dtype = np.dtype([("a", kind)])
    stored = store(np.ones(4, dtype), (2,), [le()], np.zeros((), dtype), missing={(1,)})
    read = lambda: zarr.open_array(wrap(stored.memory()), mode="r")["a"]  # noqa: E731
    with doors.plain_zarr():
        want = Outcome.of(read)
    with doors.DIRECT.through():
        assert_same_outcome(Outcome.of(read), want)
