"""The written cases: domains, values and errors of reads; contents and source calls of writes."""

import json
from pathlib import Path

import numpy as np
import pytest

from cyzarr import LazyArray
from lazy.support import Recorder, apply_steps

CASES = json.loads(Path(__file__).with_name("cases.json").read_text())
ERRORS = {"IndexError": IndexError, "ValueError": ValueError}


def named(kind):
    return [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] == kind]


def source_of(case):
    shape, dtype = case["source_shape"], case["dtype"]
    if isinstance(case["source"], dict):
        return np.array(case["source"]["init"], dtype)
    return (
        np.zeros(shape, dtype)
        if case["source"] == "zeros"
        else np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)
    )


@pytest.mark.parametrize("case", named("read"))
def test_reads(case):
    expect = case["expect"]
    view = LazyArray(source_of(case))
    if case["parts"]:
        view = view.with_parts(case["parts"])
    if "error" in expect:
        with pytest.raises(tuple(ERRORS[name] for name in expect["error"])):
            apply_steps(view, case["steps"]).result()
        return
    view = apply_steps(view, case["steps"])
    domain = view.transform.domain
    assert [list(pair) for pair in zip(domain.inclusive_min, domain.exclusive_max, strict=True)] == expect["domain"]
    found = view.result()
    assert found.tolist() == expect["values"]
    assert found.dtype == np.dtype(case["dtype"])
    again = np.full(view.shape, -1, view.dtype)
    for part in view.parts():
        again[part.out_selection] = part.view.result()
    assert again.tolist() == expect["values"]


@pytest.mark.parametrize("case", named("write"))
def test_writes(case):
    expect = case["expect"]
    array = source_of(case)
    source = array
    if not case["numpy_source"]:
        source = Recorder(array, case["chunks"], case["write_chunk_sizes"], readable=case["readable"])
    view = apply_steps(LazyArray(source), case["steps"])
    if "error" in expect:
        with pytest.raises(tuple(ERRORS[name] for name in expect["error"])):
            view.write(case["values"])
    else:
        view.write(case["values"])
    assert array.tolist() == expect["source_after"]
    if "source_calls" in expect and not case["numpy_source"]:
        wanted = [plain(call) for call in expect["source_calls"]]
        assert source.calls == [call for call in wanted if call[0] == "set" or not overwritten(view, array, call[1])]


def overwritten(view, array, hull):
    """Whether a view sets all of a hull, which then need not be read (the cases read it all the same)."""
    touched = np.zeros(array.shape, bool)
    for point in np.ndindex(view.shape):
        origin = view.transform.domain.origin
        touched[view.transform.apply([at + lo for at, lo in zip(point, origin, strict=True)])] = True
    return bool(touched[tuple(slice(*one) for one in hull)].all())


def plain(call):
    """A call as it was recorded: a slice without a step has step 1."""
    name, key, *value = call
    return [name, [[*one[:2], one[2] or 1] if isinstance(one, list) else one for one in key], *value]
