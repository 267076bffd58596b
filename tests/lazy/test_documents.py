"""TensorStore's JSON: what is one is taken, and whatever else is a ValueError that names the member."""

import copy
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cyzarr import ConstantMap, DimensionMap, IndexDomain, IndexTransform, LazyArray

LINE = {"input_shape": [3]}
INDICES = [1, 2, 0]


def output(**member):
    return {**LINE, "output": [member]}


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (None, "is to be an object"),
        ([], "is to be an object"),
        ({}, "one of input_exclusive_max, input_inclusive_max, input_shape, found none of them"),
        ({"input_rank": 1}, "found none of them"),
        ({"input_inclusive_min": [0]}, "found none of them"),
        ({"input_exclusive_max": [3], "input_shape": [4]}, "found input_exclusive_max and input_shape"),
        ({"input_inclusive_min": [0], "input_shape": [3, 4]}, "input_inclusive_min has 1 entries, input_shape 2"),
        ({"input_shape": 5}, "input_shape is to be a list"),
        ({"input_shape": "5"}, "input_shape is to be a list"),
        ({"input_shape": [3.0]}, r"input_shape\[0\] is to be an integer"),
        ({"input_shape": [True]}, r"input_shape\[0\] is to be an integer"),
        ({"input_shape": [[3, 3]]}, r"input_shape\[0\] is to be an integer"),
        ({"input_shape": [-1]}, r"input_shape\[0\] is -1"),
        (
            {"input_inclusive_min": [5], "input_inclusive_max": [3]},
            r"input_inclusive_max\[0\] is 3, for a minimum of 5",
        ),
        ({"input_exclusive_max": [["+inf"]]}, r"input_exclusive_max\[0\] is to be finite"),
        ({"input_inclusive_min": ["-inf"], "input_exclusive_max": [3]}, r"input_inclusive_min\[0\] is to be finite"),
        ({"input_exclusive_max": [1 << 70]}, "reaches beyond"),
        ({"input_rank": 2, **LINE}, "input_rank is 2"),
        ({"input_rank": True, **LINE}, "input_rank is to be an integer"),
        ({"input_labels": "a", **LINE}, "input_labels is to be a list"),
        ({"input_labels": ["a", "b"], **LINE}, "input_labels are to be 1 strings"),
        ({"input_labels": [1], **LINE}, "input_labels are to be 1 strings"),
        ({"input_shape": [3, 3], "input_labels": ["a", "a"]}, "label"),
        ({**LINE, "otuput": [{"offset": 1}]}, "unknown member 'otuput'"),
        ({**LINE, "kind": "transform"}, "unknown member 'kind'"),
        ({**LINE, "output": None}, "output is to be a list"),
        ({**LINE, "output": {}}, "output is to be a list"),
        ({**LINE, "output": [None]}, r"output\[0\] is to be an object"),
        (output(stride=3), r"output\[0\].stride without"),
        (output(input_dimention=0), r"output\[0\] has an unknown member 'input_dimention'"),
        (output(offset=True), r"output\[0\].offset is to be an integer"),
        (output(offset=None), r"output\[0\].offset is to be an integer"),
        (output(input_dimension=0, stride=1.5), r"output\[0\].stride is to be an integer"),
        (output(input_dimension=1 << 70), r"output\[0\].input_dimension is 1180591620717411303424"),
        (output(input_dimension=1), r"output\[0\].input_dimension is 1, for a domain of rank 1"),
        (output(input_dimension=-1), r"output\[0\].input_dimension is -1"),
        (output(input_dimension=0, index_array=INDICES), r"output\[0\] has both"),
        (output(index_array_bounds=[0, 3]), r"output\[0\].index_array_bounds without"),
        (output(index_array=5), r"output\[0\].index_array is to be a list"),
        (output(index_array=[1, 2]), "output 0: an index array of shape"),
        (output(index_array=[[1, 2, 0]]), "output 0: an index array of shape"),
        (output(index_array=[]), "output 0: an index array of shape"),
        (output(index_array=[1, 2, 1 << 63]), "more than 64 bits"),
        (output(index_array=[1, 2, 1 << 70]), "more than 64 bits"),
        (output(index_array=np.array([1, 2, 1 << 63], "u8")), "more than 64 bits"),
        (output(index_array=[1, 2, True]), "holds a bool"),
        (output(index_array=[1, 2, 0.0]), "holds a float"),
        (output(index_array=np.zeros(3)), "holds float64"),
        (output(index_array=["1", "2", "0"]), "holds a str"),
        (output(index_array=[[1], [2, 0], [0]]), "ragged"),
        (output(index_array=[[1], 2, [0]]), "ragged"),
        (output(index_array=INDICES, index_array_bounds=[0]), r"output\[0\].index_array_bounds are to be two"),
        (output(index_array=INDICES, index_array_bounds=7), r"output\[0\].index_array_bounds is to be a list"),
        (output(index_array=INDICES, index_array_bounds=["x", "y"]), r"output\[0\].index_array_bounds is to be an int"),
        (output(index_array=INDICES, index_array_bounds=[0, 1]), "index_array_bounds are .* found indices from 0 to 2"),
        (output(index_array=INDICES, index_array_bounds=[1, "+inf"]), "found indices from 0 to 2"),
    ],
)
def test_what_is_none(data, told):
    with pytest.raises(ValueError, match=told):
        IndexTransform.from_json(data)
    if not isinstance(data, dict) or "output" not in data:
        with pytest.raises(ValueError, match=told):
            IndexDomain.from_json(data)


def test_what_is_one():
    read = IndexTransform.from_json
    assert read({"input_rank": 0, "output": [{}]}).output == (ConstantMap(0),)
    assert read({"input_rank": 0}) == read({"input_shape": []}) == IndexTransform.from_shape(())
    assert read({"input_inclusive_max": [3], "input_labels": ["a"]}).domain == IndexDomain((0,), (4,), ("a",))
    assert read({"input_shape": (3,)}).output == (DimensionMap(0),)
    assert read(output(index_array=[2, 0, 1], index_array_bounds=["-inf", 2])).apply((0,)) == (2,)
    assert read(output(index_array=np.array([2, 0, 1], "u1"))).apply((0,)) == (2,)
    assert read(output(index_array=[-(1 << 63), 0, (1 << 63) - 1])).apply((2,)) == ((1 << 63) - 1,)


EMPTY = LazyArray(np.zeros((3, 4)))


@pytest.mark.parametrize(
    "view",
    [
        EMPTY.oindex[[]],
        EMPTY.oindex[:, []],
        EMPTY.oindex[[], [1, 2]],
        EMPTY.oindex[[0, 1], [1, 2]][:0],
        EMPTY.oindex[[0, 1], [1, 2]][:, 2:],
        EMPTY.vindex[np.zeros((2, 0), int)],
        EMPTY.vindex[np.zeros((0, 2), int), 1],
        EMPTY.vindex[[0, 1], [1, 2]][:0],
        EMPTY.vindex[np.zeros((3, 4), bool)],
        EMPTY.oindex[[1, 2]][:0].oindex[[]],
        EMPTY[:0].vindex[[], [0]],
    ],
)
def test_index_arrays_of_nothing(view):
    """Nested lists can't tell their shape, and need not: where nothing is looked up, the domain says so."""
    data = json.loads(json.dumps(view.transform.to_json()))
    assert IndexTransform.from_json(data) == view.transform
    tensorstore = pytest.importorskip("tensorstore")
    assert tuple(tensorstore.IndexTransform(json=data).domain.shape) == view.shape
    theirs = pytest.importorskip("zarr_indexing").IndexTransform.from_json(data)
    assert theirs.domain.shape == view.shape


VALID = {
    "input_rank": 2,
    "input_inclusive_min": [0, -1],
    "input_exclusive_max": [3, 3],
    "input_labels": ["y", ""],
    "output": [
        {"offset": 1, "stride": 2, "input_dimension": 1},
        {"offset": 1},
        {"index_array": [[1], [2], [0]], "offset": 3, "stride": -1, "index_array_bounds": ["-inf", 5]},
    ],
}
LEAVES = st.sampled_from([None, True, 0, 1, -1, 2, 3, 1.5, 1 << 70, "", "a", "-inf", [], [1], [[1]], {}, ["+inf"]])


def places(value, path=()):
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in members:
        yield from places(member, (*path, name))


@given(data=st.data())
def test_documents_changed_anywhere(data):
    """Whatever stands anywhere: a transform, which TensorStore takes as well, or a ValueError."""
    document = copy.deepcopy(VALID)
    for _ in range(data.draw(st.integers(1, 2))):
        *path, last = data.draw(st.sampled_from([path for path in places(document) if path]))
        where = document
        for name in path:
            where = where[name]
        if data.draw(st.booleans()):
            where[last] = data.draw(LEAVES)
        else:
            del where[last]
    try:
        made = IndexTransform.from_json(document)
    except ValueError:
        return
    if "input_inclusive_min" not in document:
        # Then it is 0, as in zarr-indexing; TensorStore has none.
        return
    tensorstore = pytest.importorskip("tensorstore")
    theirs = tensorstore.IndexTransform(json=document)
    assert IndexTransform.from_json(theirs.to_json()) == made or 0 in made.domain.shape
