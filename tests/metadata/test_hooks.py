"""Definitions that others write: what they may say, and that their mistakes crash no reader."""

from __future__ import annotations

import pytest

from cyzarr import metadata
from cyzarr.metadata import (
    Chunk,
    ChunkGridDefinition,
    CodecDefinition,
    Context,
    DataTypeDefinition,
    ValidationProblem,
    default_context,
    read_array_metadata,
    read_codec_metadata,
)
from cyzarr.metadata.checks import codec_fields, integer, optional, required, static_codec_fields, string
from metadata.documents import CRC32C, INDEX, LE, base, cast, codec, shard, transpose
from metadata.views import problems


def define(kind="array_array", size="static", **more):
    return CodecDefinition(name="acme.x", kind=kind, size=size, **more)


def read(document, *definitions, strict_hooks=False):
    return read_array_metadata(document, context=default_context().with_(*definitions), strict_hooks=strict_hooks)


def halved(configuration, nested, chunk):
    """Each axis half as long."""
    if chunk.lengths is None:
        return Chunk(None, chunk.data_type)
    return Chunk(tuple(axis and frozenset(n // 2 for n in axis) for axis in chunk.lengths), chunk.data_type)


HALVE = define(configuration={"level": required(integer(0, 3))}, transition=halved)
BLOCK = define(
    "array_bytes",
    configuration={"inner": optional(codec_fields), "sums": optional(static_codec_fields), "label": optional(string)},
    pipelines=lambda configuration, nested, chunk: {"inner": chunk, "sums": Chunk((frozenset({4}),))},
)


class TestAnothersCodec:
    def test_hands_on(self):
        reading = read(base([codec("acme.x", level=1), shard([4, 4])]), HALVE)
        assert reading.valid
        assert reading.pipeline[1].incoming.lengths == (frozenset({4}), frozenset({4}))
        assert not reading.decoder_problems

    def test_is_checked(self):
        reading = read(base([codec("acme.x", level=4), shard([3, 3])]), HALVE)
        assert problems(reading.problems) == {(("codecs", 0, "configuration", "level"), "invalid_value"): 1}

    def test_needs_its_configuration(self):
        reading = read(base(["acme.x", LE]), HALVE)
        assert problems(reading.problems) == {(("codecs", 0, "configuration"), "missing_key"): 1}

    def test_holds_pipelines(self):
        document = base([codec("acme.x", inner=[transpose(0, 1, 2), LE], sums=[codec("gzip", level=1)])])
        at = ("codecs", 0, "configuration")
        reading = read(document, BLOCK)
        assert problems(reading.problems) == {
            ((*at, "inner", 0, "configuration", "order"), "invalid_value"): 1,
            ((*at, "sums", 0), "invalid_value"): 1,
            ((*at, "sums"), "invalid_value"): 1,
        }
        assert set(reading.pipeline[0].inner) == {"inner", "sums"}

    @pytest.mark.parametrize("strict", [False, True])
    def test_leaves_out_an_optional_pipeline(self, strict):
        """A member that one document lacks is no mistake of the definition."""
        reading = read(base([codec("acme.x", sums=[LE])]), BLOCK, strict_hooks=strict)
        assert set(reading.pipeline[0].inner) == {"sums"}
        assert not reading.decoder_problems

    def test_rules_see_fields_inside(self):
        def rules(configuration, nested):
            yield ValidationProblem(("inner",), nested["inner", 0].name, "invalid_value")
            with pytest.raises(TypeError):
                configuration["inner"] = ()

        definition = define(configuration={"inner": required(codec_fields)}, rules=rules)
        reading = read(base([codec("acme.x", inner=["acme.y"]), LE]), definition, strict_hooks=True)
        (problem,) = reading.problems
        assert (problem.loc, problem.message) == (("codecs", 0, "configuration", "inner"), "acme.y")

    def test_registered(self, monkeypatch):
        monkeypatch.setattr(metadata.context, "_default", [default_context()])
        document = base([codec("acme.x", level=9), LE])
        assert read_array_metadata(document).valid
        metadata.register(HALVE)
        assert not read_array_metadata(document).valid
        metadata.register(HALVE)
        with pytest.raises(ValueError, match=r"acme\.x is defined already"):
            metadata.register(define())
        metadata.register(define(), replace=True)
        assert read_array_metadata(base(["acme.x", LE])).valid
        assert read_array_metadata(document, context=Context()).unclaimed_fields


def test_anothers_data_type_and_grid():
    wide = DataTypeDefinition(name="acme.wide", storage="multi_byte", numbers="real")
    grid = ChunkGridDefinition(name="acme.grid", chunk_lengths=lambda configuration, nested, shape: (frozenset({8}),))
    document = base([shard([3], ["bytes"])], data_type="acme.wide", grid="acme.grid", shape=[16])
    at = ("codecs", 0, "configuration")
    assert problems(read(document, wide, grid).problems) == {
        ((*at, "chunk_shape", 0), "invalid_value"): 1,
        ((*at, "codecs", 0, "configuration", "endian"), "missing_key"): 1,
    }


def broken(*_):
    raise RuntimeError("broken on purpose")


def late(*_):
    yield ValidationProblem((), "found before it broke", "invalid_value")
    raise RuntimeError("broken on purpose")


BROKEN = {
    "rules": define(rules=broken),
    "rules, late": define(rules=late),
    "rules, of another type": define(rules=lambda *_: ["no problem"]),
    "rules, no iterable": define(rules=lambda *_: 7),
    "chunk_rules": define(chunk_rules=late),
    "transition": define(transition=broken),
    "transition, no chunk": define(transition=lambda *_: None),
    "pipelines": define("array_bytes", pipelines=broken),
    "pipelines, no mapping": define("array_bytes", pipelines=lambda *_: [Chunk()]),
    "pipelines, no chunk": define("array_bytes", pipelines=lambda *_: {"inner": None}),
    "pipelines, no such member": define("array_bytes", pipelines=lambda *_: {"inner": Chunk()}),
    "pipelines, no codecs": define(
        "array_bytes", configuration={"label": optional(string)}, pipelines=lambda *_: {"label": Chunk()}
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_hook_is_a_doubt(name):
    """The document may be valid, a decoder knows not to trust it, and nothing behind it is judged."""
    definition = BROKEN[name]
    behind = [shard([3, 3])] if definition.kind == "array_array" and "chunk_rules" not in name else []
    if "chunk_rules" in name:
        behind = [LE]
    document = base([codec("acme.x", label="x") if definition.configuration else "acme.x", *behind])
    reading = read(document, definition)
    assert reading.valid
    (doubt,) = reading.decoder_problems
    hook = name.partition(",")[0]
    assert doubt.kind == "failed_hook"
    assert doubt.loc == ("codecs", 0, "configuration")
    assert f"hook {hook} of acme.x" in doubt.message
    with pytest.raises((RuntimeError, TypeError)) as raised:
        read(document, definition, strict_hooks=True)
    assert raised.value.__notes__ == [f"raised by the hook {hook} of acme.x, asked about codecs.0.configuration"]


@pytest.mark.parametrize("hook", ["shape_rules", "chunk_lengths"])
def test_broken_grid(hook):
    grid = ChunkGridDefinition(name="acme.grid", **{hook: broken})
    reading = read(base([shard([3, 3])], grid="acme.grid"), grid)
    assert reading.valid
    assert [doubt.kind for doubt in reading.decoder_problems] == ["failed_hook"]
    assert reading.chunk.lengths == (None, None)


@pytest.mark.parametrize("lengths", [None, (), (frozenset({1}), 2), (frozenset({True}), None), [None, None]])
def test_grid_of_wrong_lengths(lengths):
    grid = ChunkGridDefinition(name="acme.grid", chunk_lengths=lambda *_: lengths)
    assert read(base([LE], grid="acme.grid"), grid).chunk.lengths == (None, None)
    with pytest.raises(TypeError):
        read(base([LE], grid="acme.grid"), grid, strict_hooks=True)


@pytest.mark.parametrize("hook", ["storage", "fill_value"])
def test_broken_data_type(hook):
    reading = read(base([LE], data_type="acme.t"), DataTypeDefinition(name="acme.t", **{hook: broken}))
    assert reading.valid
    assert [doubt.kind for doubt in reading.decoder_problems] == ["failed_hook"]


REFUSED = {
    "kind": {"kind": "array"},
    "size": {"size": "huge"},
    "name": {"name": "Acme"},
    "no name": {"name": 7},
    "no function": {"rules": "none"},
    "no member": {"configuration": {"level": integer()}},
    "no mapping": {"configuration": [required(integer())]},
    "bytes_bytes chunk_rules": {"kind": "bytes_bytes", "chunk_rules": lambda *_: ()},
    "bytes_bytes transition": {"kind": "bytes_bytes", "transition": halved},
    "bytes_bytes pipelines": {"kind": "bytes_bytes", "pipelines": lambda *_: {}},
    "array_bytes transition": {"kind": "array_bytes", "transition": halved},
}


@pytest.mark.parametrize("members", REFUSED.values(), ids=REFUSED)
def test_refused_at_construction(members):
    with pytest.raises(TypeError):
        CodecDefinition(**{"name": "acme.x", "kind": "array_array", "size": "static", **members})


def test_chunk_takes_lengths_only():
    for lengths in ([frozenset({1})], (1,), ({1},), (frozenset({True}),), (frozenset({1.0}),)):
        with pytest.raises(TypeError):
            Chunk(lengths)
    with pytest.raises(TypeError):
        Chunk(None, "uint8")
    assert Chunk((frozenset({1, 2}), None)).rank == 2
    assert Chunk().rank is None


class TestACodecAlone:
    """Where a field is read outside a document, the pipelines inside it are judged all the same."""

    def test_shard_lacks_an_encoder(self):
        found = read_codec_metadata(shard([4], codecs=[]))
        assert problems(found.problems) == {(("configuration", "codecs"), "invalid_value"): 1}
        assert "array-to-bytes" in found.problems[0].message

    def test_all_that_is_known(self):
        found = read_codec_metadata(shard([4], [transpose(1, 0), LE], index=["bytes"]))
        assert problems(found.problems) == {
            (("configuration", "codecs", 0, "configuration", "order"), "invalid_value"): 1,
            (("configuration", "index_codecs", 0, "configuration", "endian"), "missing_key"): 1,
        }

    def test_nothing_else(self):
        for field in (LE, "bytes", "crc32c", transpose(1, 0), cast("uint8"), "acme.x", shard([4, 4])):
            assert read_codec_metadata(field).problems == ()

    def test_what_it_is_handed(self):
        found = read_codec_metadata(shard([3]), incoming=Chunk((frozenset({8}),)))
        assert problems(found.problems) == {(("configuration", "chunk_shape", 0), "invalid_value"): 1}
        assert found.stage.codec.name == "sharding_indexed"


@pytest.mark.parametrize("lossy", [cast("uint64"), "scale_offset"])
def test_lossy_index(lossy):
    """Valid by the specification, but an index so stored need not come back."""
    reading = read_array_metadata(base([shard([4, 4], index=[lossy, *INDEX])]))
    assert reading.valid
    (doubt,) = reading.decoder_problems
    assert (doubt.kind, doubt.loc) == ("lossy_index", ("codecs", 0, "configuration", "index_codecs", 0))
    assert not read_array_metadata(base([lossy, LE])).decoder_problems


def test_unclaimed():
    """A decoder must refuse what nobody knows, though the document is valid; a waived member is no hindrance."""
    member = {"acme": {"must_understand": False}, "other": 1}
    reading = read_array_metadata(base(["acme.a", shard([4, 4], index=["acme.b", CRC32C])], **member))
    assert reading.valid
    inside = ("codecs", 1, "configuration", "index_codecs", 0)
    assert set(reading.unclaimed_fields) == {("codecs", 0), inside, ("other",)}
    assert {problem.kind for problem in reading.decoder_problems} == {"unclaimed_field"}
