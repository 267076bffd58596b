"""Sources of others: what they give is of the shape and type that was asked for, and keeps its mask."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cyzarr import IndexTransform, LazyArray
from cyzarr.lazy.reading import DefaultReader


class Source:
    """One whose answers a function makes of (values, key)."""

    def __init__(self, values, answer, chunks=None, dtype=None):
        self.values, self.answer = values, answer
        self.shape, self.dtype = values.shape, np.dtype(dtype or values.dtype)
        if chunks:
            self.chunks = chunks

    def __getitem__(self, key):
        return self.answer(self.values, key)

    def __setitem__(self, key, value):
        self.values[key] = value


def masked_at_times(values, key):
    """A masked array only where something is masked, as netCDF4's variables can be told to give."""
    found = values[key]
    return found if np.ma.getmaskarray(found).any() else found.data


def own_reader(view):
    class Own(DefaultReader):
        pass

    return view.with_reader(Own())


def calling_reader(view):
    class Cache:
        def read_into(self, source, context, out):
            view.reader.read_into(source, context, out)

    return view.with_reader(Cache())


KEYS = {
    "whole": lambda view: view,
    "reversed": lambda view: view[::-1, ::-2],
    "item": lambda view: view[2, 3],
    "outer": lambda view: view.oindex[[4, 0, 2, 2], [5, 3]],
    "points": lambda view: view.vindex[[4, 2, 2], [5, 3, 0]],
    "repeated": lambda view: view[
        IndexTransform.from_json({"input_shape": [3, 6], "output": [{"offset": 2}, {"input_dimension": 1}]})
    ],
}
READS = {
    "result": lambda view: view.result(),
    "parts": lambda view: view.result(parts=list(view.parts())),
    "reader": lambda view: own_reader(view).result(),
    "calling reader": lambda view: calling_reader(view).result(),
    "parts and reader": lambda view: (lambda one: one.result(parts=list(one.parts())))(own_reader(view)),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("chunks", [None, (2, 4), (1, 1)])
@pytest.mark.parametrize("kind", ["at times", "always", "numpy", "view"])
def test_masks_are_kept(kind, chunks, key, read):
    values = np.ma.masked_inside(np.arange(30).reshape(5, 6), 14, 17)
    whole = LazyArray(values)
    if kind != "numpy":
        answer = masked_at_times if kind == "at times" else lambda values, key: values[key]
        whole = LazyArray(Source(values, answer))
    if kind == "view":
        whole = LazyArray(whole)
    view = KEYS[key](whole.with_parts(chunks) if chunks else whole)
    expected = np.ma.array(KEYS[key](LazyArray(values.data)).result())
    expected.mask = KEYS[key](LazyArray(values.mask)).result()
    found = READS[read](view)
    assert np.ma.getmaskarray(found).tolist() == expected.mask.tolist()
    assert found.tolist() == expected.tolist()
    assert isinstance(found, np.ma.MaskedArray) or not expected.mask.any()
    assert found.dtype == values.dtype
    assert found.flags.writeable


@pytest.mark.parametrize("chunks", [None, (4,)])
def test_masked_values_are_handed_on(chunks):
    values = np.ma.array(np.arange(9), mask=[0] * 8 + [1])
    view = LazyArray(Source(values, masked_at_times, chunks))
    view[:2] = np.ma.array([7, 8], mask=[0, 1])
    view.oindex[[4, 2]] = np.ma.array([5, 6], mask=[1, 0])
    view.oindex[[7, 5]] = np.ma.masked_all(1, int)
    assert values.tolist() == [7, None, 6, 3, None, None, 6, None, None]
    view[:] = 1
    assert values.tolist() == [1] * 9


@pytest.mark.parametrize("parts", [None, (2,)])
@pytest.mark.parametrize("read", READS)
def test_values_are_not_truncated(parts, read):
    scaled = LazyArray(Source(np.arange(4), lambda values, key: values[key] * 0.5, dtype="i2"))
    view = scaled.with_parts(parts) if parts else scaled
    with pytest.raises(TypeError, match="says that its data type is int16, but gives float64"):
        READS[read](view)


@pytest.mark.parametrize("parts", [None, (2,)])
@pytest.mark.parametrize(
    ("said", "given", "fits"),
    [
        ("i8", "i4", True),
        (">i2", "<i2", True),
        ("f8", "i4", True),
        ("O", "U3", True),
        ("i4", "i8", False),
        ("f4", "f8", False),
        ("u8", "i8", False),
        ("U1", "U3", False),
        ("i8", "O", False),
    ],
)
def test_one_rule_for_the_data_type(parts, said, given, fits):
    values = np.array([1, 2, 3]).astype(given)
    view = LazyArray(Source(values, lambda values, key: values[key], dtype=said))
    view = view.with_parts(parts) if parts else view
    if fits:
        found = view.result()
        assert found.dtype == np.dtype(said)
        assert found.tolist() == values.tolist()
    else:
        with pytest.raises(TypeError, match="says that its data type is"):
            view.result()


def test_a_masked_item():
    """NumPy gives its constant for it, which is a float."""
    view = LazyArray(Source(np.ma.array(5, mask=True), lambda values, key: values[key]))
    found = view.result()
    assert (found.dtype, found.shape, found.mask.tolist()) == (np.dtype(int), (), True)


@pytest.mark.parametrize("chunks", [None, (3,)])
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda values, key: values[key][:1], r"asked for \[\d:\d:1\]: expected the shape .*, found \(1,\)"),
        (lambda values, key: values[key][0], r"found \(\)"),
        (lambda values, key: values, r"found \(10,\)"),
        (lambda values, key: values[key][None], r"found \(1, "),
        (lambda values, key: None, r"found \(\), a NoneType"),
    ],
)
def test_blocks_of_another_shape(answer, told, chunks):
    source = Source(np.arange(10), answer, chunks)
    for view in (LazyArray(source)[2:8], LazyArray(source).oindex[[7, 6, 2]]):
        with pytest.raises(ValueError, match=f"the Source was .*{told}"):
            view.result()
    if chunks:
        # What stays between the written cells is read.
        with pytest.raises(ValueError, match="the Source was asked"):
            LazyArray(source).oindex[[8, 6]] = 1
    assert source.values.tolist() == list(range(10))


def test_steps_that_are_ignored():
    view = LazyArray(Source(np.arange(10), lambda values, key: values[key[0].start : key[0].stop]))
    with pytest.raises(ValueError, match=r"asked for \[2:7:2\]: expected the shape \(3,\), found \(5,\)"):
        view[2:8:2].result()


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_tensorstores_that_begin_elsewhere(data):
    tensorstore = pytest.importorskip("tensorstore")
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=0, max_size=3)))
    least = tuple(data.draw(st.integers(-9, 9)) for _ in shape)
    values = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    store = tensorstore.array(values.copy()).translate_to[least]
    view = LazyArray(store)
    rows = [data.draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=4, unique=True)) for n in shape]
    steps = tuple(slice(None, None, data.draw(st.sampled_from([1, -1, 2]))) for _ in shape)
    assert view[steps].result().tolist() == values[steps].tolist()
    view[steps] = view[steps].result() + 100
    values[steps] += 100
    if shape:
        assert view.oindex[tuple(rows)].result().tolist() == values[np.ix_(*rows)].tolist()
        rows = [sorted({row % n for row in along}) for along, n in zip(rows, shape, strict=True)]
        view.oindex[tuple(rows)] = -1
        values[np.ix_(*rows)] = -1
    assert store.read().result().tolist() == values.tolist()


def test_domains_that_cannot_be_moved():
    class Domain:
        inclusive_min = (0, 5)

    source = Source(np.zeros((2, 2)), lambda values, key: values[key])
    source.domain = Domain()
    with pytest.raises(ValueError, match=r"the Source's coordinates begin at \(0, 5\)"):
        LazyArray(source)
    Domain.inclusive_min = (0, 0)
    assert LazyArray(source).shape == (2, 2)


def test_what_is_shown_of_a_closed_source():
    class Closed:
        open = True

        def __getattr__(self, name):
            if not self.open:
                raise ValueError("Not a dataset (<closed>)")
            if name not in ("shape", "dtype"):
                raise AttributeError(name)
            return (3,) if name == "shape" else np.dtype("i4")

    source = Closed()
    view = LazyArray(source)[1:]
    source.open = False
    assert "Closed" in repr(view)
    assert "not available: Not a dataset (<closed>)" in repr(view)
    assert "&lt;closed&gt;" in view._repr_html_()
