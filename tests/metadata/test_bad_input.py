"""Nothing that a document holds makes reading it raise, take long, or make long messages."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from random import Random

import numpy as np
import pytest

from cyzarr.metadata import MetadataValidationError, ValidationProblem, read_array_metadata, validate_array_metadata
from metadata.documents import CRC32C, LE, base, codec, rectilinear, shard
from metadata.generator import Generator
from metadata.views import problems


def kinds(document):
    return dict(problems(validate_array_metadata(document)))


def test_random_json():
    """50,000 values: as the document, and as each of its members."""
    generator = Generator(11)
    keys = (*base([]), "attributes", "dimension_names", "storage_transformers", "acme")
    for number in range(50_000):
        value = generator.any_json(4)
        if number % 3:
            key = generator.random.choice(keys)
            value = {**base([LE]), key: value}
            if number % 2 and key != "codecs":
                value["codecs"] = [generator.any_json(3)]
        reading = read_array_metadata(value, strict_hooks=True)
        assert all(len(problem.message) < 300 for problem in reading.problems)


def test_random_bytes():
    text = json.dumps(base([shard([4, 4])])).encode()
    random = Random(3)
    for _ in range(2000):
        torn = bytearray(text[: random.randrange(len(text))])
        if torn:
            torn[random.randrange(len(torn))] = random.randrange(256)
        read_array_metadata(bytes(torn), strict_hooks=True)


@pytest.mark.parametrize("torn", [b"", b"{", b"\xff\xfe{}", b"[" * 100_000, b'{"a": ' + b"9" * 5000 + b"}"])
def test_no_json(torn):
    assert kinds(torn) == {((), "invalid_json"): 1}
    assert kinds(bytearray(torn)) == kinds(memoryview(torn)) == kinds(torn)


@pytest.mark.parametrize("document", [None, 7, "{}", [], [{}], {1, 2}, object()])
def test_no_object(document):
    assert kinds(document) == {((), "invalid_type"): 1}


def test_empty_object():
    assert set(kinds({}).values()) == {1}
    assert len(kinds({})) == 8
    assert [problem.loc[0] for problem in validate_array_metadata({})] == sorted(base([]))


def nested_shards(depth):
    codecs = [LE]
    for _ in range(depth):
        codecs = [shard([4, 4], codecs)]
    return base(codecs)


def test_depth():
    """84 shards in one another are walked; what the 85th holds is not."""
    reading = read_array_metadata(nested_shards(84), strict_hooks=True)
    assert reading.valid
    assert sum(stage.codec.name == "sharding_indexed" for _, stage in reading.stages()) == 84
    found = validate_array_metadata(nested_shards(85))
    assert {problem.loc[-1] for problem in found} == {"chunk_shape", "codecs", "index_codecs"}
    assert {(problem.kind, len(problem.loc)) for problem in found} == {("invalid_value", 256)}


def test_depth_of_anything():
    deep = []
    for _ in range(5000):
        deep = [deep]
    assert problems(validate_array_metadata(base([LE], fill_value=deep))).total() == 1
    assert problems(validate_array_metadata(base([LE], attributes={"a": deep}))).total() == 1
    validate_array_metadata(deep)


def test_grid_of_thousands_of_edges():
    edges = [4 + 4 * (n % 5000) for n in range(20_000)]
    edges[777] = 6
    document = base([shard([4])], grid=rectilinear(edges), shape=[sum(edges)])
    few = base([shard([4])], grid=rectilinear(edges[:1000]), shape=[sum(edges[:1000])])
    # Twenty times the edges take twenty times as long, not four hundred times.
    assert min(_seconds(document) for _ in range(5)) < 100 * min(_seconds(few) for _ in range(5))
    (problem,) = validate_array_metadata(document)
    assert len(problem.message) < 300
    assert problem.loc == ("codecs", 0, "configuration", "chunk_shape", 0)
    for wrong in (edges[:-1], [*edges, 0], [*edges, "x"], {"x": edges}, [edges]):
        for problem in validate_array_metadata(base([LE], grid=rectilinear(wrong), shape=[sum(edges)])):
            assert len(problem.message) < 300


def _seconds(document):
    begin = time.perf_counter()
    validate_array_metadata(document)
    return time.perf_counter() - begin


def test_python_values():
    """Tuples are arrays; NumPy's integers, True for 1 and 4.0 for 4 are no integers."""
    c = ("codecs", 0, "configuration", "chunk_shape")
    assert kinds(base((shard((4, 4)),), shape=(16, 16))) == {}
    assert kinds(base([shard([True, 4])])) == {((*c, 0), "invalid_type"): 1}
    assert kinds(base([shard([4.0, 4])])) == {((*c, 0), "invalid_type"): 1}
    assert kinds(base([shard([np.int64(4), 4])])) == {((*c, 0), "invalid_type"): 1}
    assert kinds(base([LE], shape=[16, np.int64(16)])) == {(("shape", 1), "invalid_type"): 1}
    assert kinds(base([LE], fill_value=float("nan"))) == {(("fill_value",), "invalid_value"): 1}
    assert kinds(base([LE], attributes={"a": float("nan"), "b": [float("inf")]})) == {}


LONG = {
    "integer": 10**4000,
    "unwritable integer": -(10**5000),
    "string": "x" * 10**6,
    "strings": ["y" * 10**5] * 100,
    "name": {"z" * 10**5: [[]] * 1000},
}


@pytest.mark.parametrize("value", LONG.values(), ids=LONG)
def test_messages_stay_short(value):
    for key in base([]):
        for problem in validate_array_metadata({**base([LE]), key: value}):
            assert len(problem.message) < 300


def test_envelope():
    c = ("codecs", 0)
    assert kinds(base([{**LE, "foo": 1}])) == {((*c, "foo"), "unknown_key"): 1}
    assert kinds(base([{**LE, "must_understand": True}])) == {}
    assert kinds(base([{**LE, "must_understand": 0}])) == {((*c, "must_understand"), "invalid_type"): 1}
    assert kinds(base([{"configuration": None}])) == {
        ((*c, "name"), "missing_key"): 1,
        ((*c, "configuration"), "invalid_type"): 1,
    }
    assert kinds(base(["x"])) == {(c, "invalid_value"): 1}
    assert kinds(base([{"name": "Bad.name"}])) == {((*c, "name"), "invalid_value"): 1}
    assert kinds(base(["https://purl.org/x"])) == {}
    assert kinds(base([LE], data_type={"name": "uint16", "must_understand": False})) == {
        (("data_type", "must_understand"), "invalid_value"): 1
    }


def test_problem_and_error():
    problem = ValidationProblem(("a", 0, "b"), "message", "invalid_value")
    assert str(problem) == "a.0.b: message"
    assert str(ValidationProblem((), "message", "invalid_type")) == "<root>: message"
    assert problem == ValidationProblem(("a", 0, "b"), "message", "invalid_value")
    for arguments in ((["a"], "m", "invalid_value"), ((True,), "m", "invalid_value"), ((), 7, "invalid_value")):
        with pytest.raises(TypeError):
            ValidationProblem(*arguments)
    with pytest.raises(TypeError):
        ValidationProblem((), "m", "of no kind")
    error = MetadataValidationError([problem, problem])
    assert str(error) == "a.0.b: message\na.0.b: message"


def test_the_document_is_left_alone():
    document = base([shard([3, 4], [CRC32C, codec("gzip", level=12)], foo=1)], attributes={"a": [1]})
    before = json.dumps(document)
    reading = read_array_metadata(document)
    assert json.dumps(document) == before
    valid = read_array_metadata(base([LE], attributes={"a": [1]}))
    assert reading.metadata is None
    assert valid.metadata["attributes"] == {"a": (1,)}
    with pytest.raises(TypeError):
        valid.metadata["shape"] = ()


def test_imports_neither_zarr_nor_kernels():
    code = (
        "import sys, cyzarr.metadata as m; m.validate_array_metadata({});"
        "print(sorted(n for n in sys.modules if n.split('.')[0] in ('zarr', 'numpy') or 'cyzarr.kernels' in n))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
