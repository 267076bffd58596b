"""The cases of the behaviour specification, and its table of worked examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cyzarr.metadata import MetadataValidationError, read_array_metadata, validate_array_metadata
from metadata.documents import CRC32C, LE, base, cast, codec, rectilinear, regular, shard, transpose
from metadata.views import named_stages, problems, written_stages

CASES = json.loads(Path(__file__).with_name("cases.json").read_text())

C = ("codecs", 0, "configuration")
VALUE, MISSING, UNKNOWN = "invalid_value", "missing_key", "unknown_key"


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case):
    reading = read_array_metadata(case["document"], strict_hooks=True)
    assert problems(reading.problems) == {(tuple(problem["loc"]), problem["kind"]): 1 for problem in case["problems"]}
    assert reading.valid == case["valid"] == (reading.metadata is not None)
    assert named_stages(reading) == written_stages(case)
    assert read_array_metadata(json.dumps(case["document"]).encode()).problems == reading.problems


def test_all_cases_are_here():
    assert len(CASES) == 30


def test_upstream_example():
    """A shard whose second inner length doesn't divide, and an index without a byte order."""
    document = base([shard([4, 4], index=["bytes"])], chunks=[8, 6])
    assert [(problem.loc, problem.kind) for problem in validate_array_metadata(document)] == [
        ((*C, "chunk_shape", 1), VALUE),
        ((*C, "index_codecs", 0, "configuration", "endian"), MISSING),
    ]


T10, T102 = transpose(1, 0), transpose(2, 0, 1)
BARE = {"name": "bytes"}
ENDIAN = ("index_codecs", 0, "configuration", "endian")
DEEP = shard([8, 8], [shard([4, 4], [shard([3, 2], index=["bytes"])])])
THREE = [T10, shard([8, 4], [T10, shard([2, 8], [T10, shard([8, 2])])])]

# (document, {place: kind})
EXAMPLES = {
    "one axis undivided": (base([shard([3, 4])]), {(*C, "chunk_shape", 0): VALUE}),
    "rank": (base([shard([4])]), {(*C, "chunk_shape"): VALUE}),
    "rank, inner rules silent": (
        base([shard([4], [T10, LE], index=["bytes"])]),
        {(*C, "chunk_shape"): VALUE, (*C, *ENDIAN): MISSING},
    ),
    "behind transpose": (base([T10, shard([4, 3])], chunks=[6, 4]), {}),
    "behind transpose, undivided": (
        base([T10, shard([4, 3])], chunks=[4, 6]),
        {
            ("codecs", 1, "configuration", "chunk_shape", 0): VALUE,
            ("codecs", 1, "configuration", "chunk_shape", 1): VALUE,
        },
    ),
    "3-d": (base([transpose(1, 2, 0), shard([6, 2, 4])], chunks=[4, 6, 2]), {}),
    "3-d, undivided": (
        base([transpose(1, 2, 0), shard([2, 3, 1])], chunks=[4, 6, 2]),
        {("codecs", 1, "configuration", "chunk_shape", 1): VALUE},
    ),
    "transpose of another rank": (base([transpose(0, 1, 2), shard([3, 3])]), {(*C, "order"): VALUE}),
    "no permutation": (base([transpose(0, 0), shard([3, 3])]), {(*C, "order"): VALUE}),
    "nested": (
        base([shard([4, 4], [shard([3, 4])])]),
        {(*C, "codecs", 0, "configuration", "chunk_shape", 0): VALUE},
    ),
    "three deep": (
        base([DEEP], chunks=[16, 16]),
        {
            (*C, *("codecs", 0, "configuration") * 2, "chunk_shape", 0): VALUE,
            (*C, *("codecs", 0, "configuration") * 2, *ENDIAN): MISSING,
        },
    ),
    "three transposed": (base(THREE, chunks=[16, 8]), {}),
    "index of a checksum": (base([shard([4, 4], index=[CRC32C])]), {(*C, "index_codecs"): VALUE}),
    "index of nothing": (base([shard([4, 4], index=[])]), {(*C, "index_codecs"): VALUE}),
    "index of two": (base([shard([4, 4], index=[LE, LE])]), {(*C, "index_codecs", 1): VALUE}),
    "index without byte order": (base([shard([4, 4], index=[BARE])]), {(*C, *ENDIAN): MISSING}),
    "index transposed by rank n": (
        base([shard([4, 4], index=[T10, LE])]),
        {(*C, "index_codecs", 0, "configuration", "order"): VALUE},
    ),
    "index transposed": (base([shard([4, 4], index=[T102, LE, CRC32C])]), {}),
    "index compressed": (base([shard([4, 4], index=[LE, codec("gzip", level=1)])]), {(*C, "index_codecs", 1): VALUE}),
    "index out of order": (base([shard([4, 4], index=[CRC32C, LE])]), {(*C, "index_codecs", 1): VALUE}),
    "index of unknown": (base([shard([4, 4], index=[codec("acme.x"), BARE])]), {}),
    "behind unknown": (
        base([codec("acme.aa"), shard([3, 3], [transpose(0, 1, 2), LE], index=[BARE])]),
        {
            ("codecs", 1, "configuration", "codecs", 0, "configuration", "order"): VALUE,
            ("codecs", 1, "configuration", *ENDIAN): MISSING,
        },
    ),
    "inner without byte order": (
        base([shard([4, 4], [BARE])]),
        {(*C, "codecs", 0, "configuration", "endian"): MISSING},
    ),
    "inner of single bytes": (base([shard([4, 4], [BARE])], data_type="uint8"), {}),
    "inner cast to single bytes": (base([shard([4, 4], [cast("uint8"), BARE])]), {}),
    "inner waived": (
        base([shard([3, 4], [{**LE, "must_understand": False}])]),
        {(*C, "codecs", 0, "must_understand"): VALUE, (*C, "chunk_shape", 0): VALUE},
    ),
    "refused shard": (base([shard([0, 3], index=["bytes"])]), {(*C, "chunk_shape", 0): VALUE}),
    "unknown member": (
        base([shard([3, 4], foo=1)]),
        {(*C, "foo"): UNKNOWN, (*C, "chunk_shape", 0): VALUE},
    ),
    "compressed shard": (base([shard([4, 4]), codec("gzip", level=1)]), {}),
    "bytes before shard": (base([LE, shard([4, 4])]), {("codecs", 1): VALUE}),
    "all wrong": (
        base([codec("gzip", level=1), CRC32C, T10, LE, LE]),
        {("codecs", 2): VALUE, ("codecs", 3): VALUE, ("codecs", 4): VALUE},
    ),
    "unknown may encode": (base([codec("acme.x")]), {}),
    "refused may not": (
        base([codec("gzip", level=12)]),
        {("codecs",): VALUE, (*C, "level"): VALUE},
    ),
    "refused in the wrong place": (
        base([codec("gzip", level=12), LE]),
        {("codecs", 1): VALUE, (*C, "level"): VALUE},
    ),
    "rectilinear": (base([shard([4, 4])], grid=rectilinear([8, 4, 4], [8, 8])), {}),
    "rectilinear, one undivided": (
        base([shard([4, 4])], grid=rectilinear([8, 5, 3], [8, 8])),
        {(*C, "chunk_shape", 0): VALUE},
    ),
    "rectilinear, runs": (
        base([shard([4, 4])], grid=rectilinear([[8, 2]], [[4, 3], [6, 1]])),
        {(*C, "chunk_shape", 1): VALUE},
    ),
    "rectilinear, transposed": (base([T10, shard([2, 4])], grid=rectilinear([8, 8], [6, 6, 4])), {}),
    "rectilinear, too short": (
        base([shard([3, 3])], grid=rectilinear([8, 4], [8, 8])),
        {("chunk_grid", "configuration", "chunk_shapes", 0): VALUE},
    ),
    "no axes": (base([shard([])], shape=[], chunks=[]), {}),
    "no items": (base([shard([3, 4])], shape=[0, 16]), {(*C, "chunk_shape", 0): VALUE}),
    "unknown grid": (base([shard([4])], grid=codec("acme.grid")), {(*C, "chunk_shape"): VALUE}),
    "struct of several bytes": (
        base(["bytes"], data_type=codec("struct", fields=[
            {"name": "a", "data_type": "int16"}, {"name": "b", "data_type": "uint8"}
        ]), fill_value={"a": 0, "b": 0}),
        {(*C, "endian"): MISSING},
    ),
    "struct of single bytes": (
        base(["bytes"], data_type=codec("struct", fields=[
            {"name": "a", "data_type": "int8"}, {"name": "b", "data_type": "uint8"}
        ]), fill_value={"a": 0, "b": 0}),
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES)
def test_worked_example(example):
    document, expected = EXAMPLES[example]
    assert dict(problems(validate_array_metadata(document))) == dict.fromkeys(expected.items(), 1)


def test_index_is_handed_all_numbers_of_chunks():
    reading = read_array_metadata(base([shard([4, 4])], grid=rectilinear([8, 4, 4], [8, 8])))
    handed = reading.pipeline[0].inner["index_codecs"][0].incoming
    assert handed.lengths == (frozenset({1, 2}), frozenset({2}), frozenset({2}))
    assert handed.data_type.name == "uint64"
    assert handed.known


def test_without_shape_not_even_the_rank_is_known():
    document = base([shard([3], index=["bytes"])])
    del document["shape"]
    reading = read_array_metadata(document)
    assert dict(problems(reading.problems)) == {(("shape",), MISSING): 1, ((*C, *ENDIAN), MISSING): 1}
    assert reading.chunk.rank is None
    assert reading.chunk.data_type.name == "uint16"


def test_message_names_one_length():
    document = base([shard([4, 4])], grid=rectilinear([8, 5, 3], [8, 8]))
    (problem,) = validate_array_metadata(document)
    assert "3" in problem.message
    assert "5" not in problem.message
    assert str(problem) == f"codecs.0.configuration.chunk_shape.0: {problem.message}"


def test_raise_problems():
    reading = read_array_metadata(base([shard([3, 4]), "crc32c"], zarr_format=2, grid=regular(8, 8)))
    with pytest.raises(MetadataValidationError) as raised:
        reading.raise_problems()
    assert raised.value.problems == reading.problems
    assert len(str(raised.value).splitlines()) == len(reading.problems) == 2
    assert isinstance(raised.value, ValueError)
    read_array_metadata(base(["crc32c", LE][1:])).raise_problems()
