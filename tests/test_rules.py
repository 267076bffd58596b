"""zarr's rules for documents, mended while cyzarr is on: what opens, what is refused, and when.

The oracle is tensorstore: what it wrote must read equal, it must read what was written, and it must
open exactly the documents that are said to be valid.
"""

from __future__ import annotations

import copy
import itertools
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import zarr
from packaging.version import Version
from zarr.codecs import BytesCodec, Crc32cCodec, ShardingCodec, TransposeCodec
from zarr.codecs import numcodecs as zarr_numcodecs
from zarr.core.buffer.cpu import Buffer
from zarr.core.metadata.v3 import ArrayV3Metadata
from zarr.storage import MemoryStore

from metadata.documents import CRC32C, INDEX, LE, base, codec, rectilinear, shard, transpose
from metadata.generator import Generator
from support import doors
from support.compare import assert_same_values
from support.doors import DIRECT, trace

if not doors.PLAIN:
    from cyzarr import rules
    from cyzarr.metadata import MetadataValidationError, read_array_metadata, validate_array_metadata

pytestmark = [
    pytest.mark.skipif(doors.PLAIN, reason="about cyzarr, which this run leaves out"),
    pytest.mark.filterwarnings("ignore:Combining a `sharding_indexed` codec"),
]

CASES = json.loads(Path(__file__).with_name("metadata").joinpath("cases.json").read_text())
T10, T120 = transpose(1, 0), transpose(1, 2, 0)
BARE = {"name": "bytes"}


@pytest.fixture
def on():
    """cyzarr, switched on."""
    with DIRECT.through():
        yield


needs_rectilinear = pytest.mark.skipif(
    zarr.config.get("array.rectilinear_chunks", None) is None, reason="this zarr has no rectilinear grids"
)


def stored(document):
    """A store that holds a document and no chunk."""
    return MemoryStore({"zarr.json": Buffer.from_bytes(json.dumps(document).encode())})


def opened(document):
    return zarr.open_array(stored(document), mode="r")


def outcome(document):
    """What zarr makes of a stored document: its own document, or the error's type and text."""
    try:
        return opened(document).metadata.to_dict()
    except Exception as error:
        return type(error).__name__, str(error)


def put(folder, document):
    """A folder with a stored document."""
    folder.mkdir(parents=True)
    (folder / "zarr.json").write_text(json.dumps(document))
    return folder


def codec_objects(listed):
    """Codecs as who creates an array gives them."""
    return [_CODECS[each["name"]](each.get("configuration", {})) for each in listed]


_CODECS = {
    "bytes": lambda c: BytesCodec(endian=c.get("endian")),
    "crc32c": lambda c: Crc32cCodec(),
    "transpose": lambda c: TransposeCodec(order=tuple(c["order"])),
    "sharding_indexed": lambda c: ShardingCodec(
        chunk_shape=tuple(c["chunk_shape"]),
        codecs=codec_objects(c["codecs"]),
        index_codecs=codec_objects(c["index_codecs"]),
    ),
}


def created(document):
    """A new array as a document describes it, by `zarr.create_array`."""
    *filters, serializer = codec_objects(document["codecs"])
    return zarr.create_array(
        MemoryStore(),
        shape=document["shape"],
        chunks=_chunks_of(document["chunk_grid"]["configuration"]),
        dtype=document["data_type"],
        filters=filters,
        serializer=serializer,
        compressors=None,
    )


def _chunks_of(configuration):
    return tuple(configuration["chunk_shape"]) if "chunk_shape" in configuration else configuration["chunk_shapes"]


def created_by_codecs(document):
    """The same by the older `zarr.create`."""
    return zarr.create(
        store=MemoryStore(),
        shape=document["shape"],
        chunks=_chunks_of(document["chunk_grid"]["configuration"]),
        dtype=document["data_type"],
        codecs=codec_objects(document["codecs"]),
    )


def values_of(document):
    """Values of the document's shape and data type, all of them unlike its fill value."""
    shape = tuple(document["shape"])
    return (np.arange(int(np.prod(shape))) % 251 + 1).astype(document["data_type"]).reshape(shape)


def by_tensorstore(folder, **how):
    """What tensorstore opens."""
    tensorstore = pytest.importorskip("tensorstore")
    return tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(folder)}}, **how).result()


# -- a shard is judged by what it is handed ---------------------------------------------------

# Valid, and refused by zarr, which divides the chunk before its transposition.
TURNED = {
    "2-d": base([T10, shard([4, 3])], chunks=[6, 4], shape=[12, 12]),
    "3-d": base([T120, shard([6, 2, 4])], chunks=[4, 6, 2], shape=[8, 12, 4]),
    "twice": base([T120, transpose(1, 0, 2), shard([2, 3, 4])], chunks=[4, 6, 2], shape=[8, 12, 4]),
    "nested": base([T10, shard([4, 6], [T10, shard([3, 4])])], chunks=[6, 4], shape=[12, 12]),
    "not whole": base([T10, shard([4, 3])], chunks=[6, 4], shape=[7, 9]),
}
# Accepted by zarr, which then loses values; and the places of the problems.
LOST = {
    "2-d": (base([T10, shard([4, 3])], chunks=[4, 6], shape=[12, 12]), [(1, 0), (1, 1)]),
    "3-d": (base([T120, shard([2, 3, 1])], chunks=[4, 6, 2], shape=[8, 12, 4]), [(1, 1)]),
    "twice": (base([T120, transpose(1, 0, 2), shard([4, 6, 2])], chunks=[4, 6, 2], shape=[8, 12, 4]), [(2, 0)]),
}


def places(listed):
    return [("codecs", at, "configuration", "chunk_shape", axis) for at, axis in listed]


@pytest.mark.parametrize("name", TURNED)
class TestBehindATranspose:
    def test_reads_what_tensorstore_wrote(self, tmp_path, on, name):
        document = TURNED[name]
        values = values_of(document)
        by_tensorstore(put(tmp_path / "a", document), open=True).write(values).result()
        array = zarr.open_array(tmp_path / "a", mode="r")
        with trace() as counts:
            assert_same_values(array[...], values)
            assert_same_values(array[1:5, ..., 1:3], values[1:5, ..., 1:3])
        assert counts.reads == {"direct": 2}
        assert not counts.fallbacks

    def test_writes_what_tensorstore_reads(self, tmp_path, on, name):
        document = TURNED[name]
        values = values_of(document)
        array = zarr.open_array(put(tmp_path / "a", document), mode="r+")
        array[...] = values
        array[1:3] = values[1:3] * 2
        values[1:3] *= 2
        assert_same_values(array[...], values)
        assert_same_values(by_tensorstore(tmp_path / "a", open=True).read().result(), values)

    @pytest.mark.parametrize("create", [created, created_by_codecs])
    def test_is_created(self, on, name, create):
        document = TURNED[name]
        array = create(document)
        values = values_of(document)
        array[...] = values
        assert_same_values(array[...], values)
        again = zarr.open_array(array.store, mode="r")
        assert_same_values(again[...], values)


@pytest.mark.parametrize("name", LOST)
class TestLost:
    def test_is_refused_at_open(self, on, name):
        document, expected = LOST[name]
        with pytest.raises(MetadataValidationError) as raised:
            opened(document)
        self.check(raised.value, places(expected))

    @pytest.mark.parametrize("create", [created, created_by_codecs])
    def test_is_refused_at_creation(self, on, name, create):
        document, expected = LOST[name]
        with pytest.raises(MetadataValidationError) as raised:
            create(document)
        self.check(raised.value, places(expected))

    def test_is_refused_in_a_group(self, on, name):
        document, expected = LOST[name]
        group = b'{"zarr_format": 3, "node_type": "group", "attributes": {}}'
        files = {"zarr.json": group, "a/zarr.json": json.dumps(document).encode()}
        store = MemoryStore({key: Buffer.from_bytes(data) for key, data in files.items()})
        with pytest.raises(MetadataValidationError) as raised:
            zarr.open_group(store, mode="r")["a"]
        self.check(raised.value, places(expected))

    @staticmethod
    def check(error, expected):
        """Exactly these problems; they stand in the text, and `except ValueError` catches them."""
        assert [problem.loc for problem in error.problems] == expected
        assert {problem.kind for problem in error.problems} == {"invalid_value"}
        assert all(".".join(map(str, loc)) in str(error) for loc in expected)
        assert isinstance(error, ValueError)


def test_the_two_problems(on):
    """Issue 3's own example, to the word."""
    with pytest.raises(MetadataValidationError) as raised:
        opened(LOST["2-d"][0])
    assert str(raised.value).splitlines() == [
        "codecs.1.configuration.chunk_shape.0: expected a length that divides the shard's, got 4 for a shard of 6",
        "codecs.1.configuration.chunk_shape.1: expected a length that divides the shard's, got 3 for a shard of 4",
    ]


def test_zarr_loses_them():
    """A guard: zarr alone opens the document, and half of what is written is gone. Else the rule can go, too."""
    document = LOST["2-d"][0]
    array = zarr.open_array(stored(document), mode="r+")
    array[...] = values_of(document)
    assert (array[...] == values_of(document)).mean() == 0.5


@needs_rectilinear
class TestRectilinear:
    """tensorstore has no such grids: it reads each chunk as an array of its own."""

    TURNED = base([T10, shard([2, 4])], grid=rectilinear([8, 8], [6, 6, 4]), shape=[16, 16])
    LOST = base([T10, shard([4, 2])], grid=rectilinear([8, 8], [6, 6, 4]), shape=[16, 16])

    @pytest.fixture(autouse=True)
    def allowed(self):
        with zarr.config.set({"array.rectilinear_chunks": True}):
            yield

    def test_writes_what_tensorstore_reads(self, tmp_path, on):
        values = values_of(self.TURNED)
        array = zarr.open_array(put(tmp_path / "a", self.TURNED), mode="r+")
        array[...] = values
        assert_same_values(array[...], values)
        for i, j in itertools.product(range(2), range(3)):
            piece = values[8 * i : 8 * i + 8, 6 * j : 6 * j + 6]
            alone = self.alone(tmp_path / f"{i}.{j}", piece.shape)
            shutil.copy(tmp_path / "a" / "c" / str(i) / str(j), alone / "c" / "0" / "0")
            assert_same_values(by_tensorstore(alone, open=True).read().result(), piece)

    def test_reads_what_tensorstore_wrote(self, tmp_path, on):
        values = values_of(self.TURNED)
        whole = put(tmp_path / "a", self.TURNED)
        for i, j in itertools.product(range(2), range(3)):
            piece = values[8 * i : 8 * i + 8, 6 * j : 6 * j + 6]
            alone = self.alone(tmp_path / f"{i}.{j}", piece.shape)
            by_tensorstore(alone, open=True).write(piece).result()
            (whole / "c" / str(i)).mkdir(parents=True, exist_ok=True)
            shutil.copy(alone / "c" / "0" / "0", whole / "c" / str(i) / str(j))
        assert_same_values(zarr.open_array(whole, mode="r")[...], values)

    @staticmethod
    def alone(folder, shape):
        """The folder of an array that is one chunk of the same codecs."""
        put(folder, base([T10, shard([2, 4])], chunks=shape, shape=shape))
        (folder / "c" / "0").mkdir(parents=True)
        return folder

    def test_is_refused(self, on):
        """At open and at creation; 4 divides all lengths before the transposition, not all behind it."""
        with pytest.raises(MetadataValidationError) as at_open:
            opened(self.LOST)
        with pytest.raises(MetadataValidationError) as at_creation:
            created(self.LOST)
        for raised in (at_open, at_creation):
            assert [problem.loc for problem in raised.value.problems] == places([(1, 0)])

    def test_is_created(self, on):
        array = created(self.TURNED)
        values = values_of(self.TURNED)
        array[...] = values
        assert_same_values(array[...], values)


class TestNested:
    """A shard in a shard is judged, too; zarr 3.1 didn't."""

    DOCUMENT = base([shard([4, 4], [shard([3, 4])])])

    def test_is_refused(self, on):
        with pytest.raises(ValueError):
            opened(self.DOCUMENT)
        with pytest.raises(ValueError):
            created(self.DOCUMENT)

    def test_is_refused_behind_an_inner_transpose(self, on):
        """(6, 4) in the shard is (4, 6) behind the transpose."""
        document = base([shard([6, 4], [T10, shard([3, 2])])], chunks=[12, 8], shape=[12, 16])
        with pytest.raises(ValueError):
            opened(document)


def test_the_places_stand_in_zarrs_own_refusal(on):
    """Where zarr refuses what is wrong, its error stays, and all problems with their places are a note to it."""
    with pytest.raises(ValueError) as raised:
        opened(base([shard([3, 5])]))
    assert not isinstance(raised.value, MetadataValidationError)
    (note,) = raised.value.__notes__
    assert "codecs.0.configuration.chunk_shape.0" in note
    assert "codecs.0.configuration.chunk_shape.1" in note


def test_zarrs_word_counts_behind_what_we_do_not_know(on):
    """What a codec unknown to us hands on isn't known, so zarr's refusal stands."""
    document = base([codec("numcodecs.delta", dtype="<u2"), shard([3])], chunks=[8], shape=[16])
    assert not validate_array_metadata(document)
    with pytest.raises(ValueError):
        opened(document)
    with pytest.raises(ValueError):
        zarr.create(
            store=MemoryStore(),
            shape=16,
            chunks=8,
            dtype="u2",
            codecs=[zarr_numcodecs.Delta(dtype="<u2"), ShardingCodec(chunk_shape=(3,))],
        )


def test_a_refusal_leaves_nothing_behind(on):
    """Judging a shard ourselves holds for the one document."""
    for _ in range(2):
        assert opened(TURNED["2-d"]).shape == (12, 12)
        with pytest.raises(ValueError):
            opened(base([shard([3, 4])]))
        with pytest.raises(ValueError):
            opened(base([T10, shard([3, 4], [LE, LE])], chunks=[6, 4]))
        with pytest.raises(ValueError):
            ShardingCodec(chunk_shape=(3, 4)).validate(
                shape=(16, 16),
                dtype=opened(base([LE])).metadata.data_type,
                chunk_grid=opened(base([LE])).metadata.chunk_grid,
            )


# -- a shard's index --------------------------------------------------------------------------

INDEX_AT = ("codecs", 0, "configuration", "index_codecs")
# Index codecs that could not store an index, and the place of the problem.
BROKEN_INDEXES = {
    "a checksum alone": ([CRC32C], INDEX_AT),
    "nothing": ([], INDEX_AT),
    "two array-to-bytes codecs": ([LE, LE], (*INDEX_AT, 1)),
    "no byte order": ([BARE], (*INDEX_AT, 0, "configuration", "endian")),
    "a transpose of the array's rank": ([T10, LE], (*INDEX_AT, 0, "configuration", "order")),
    "a checksum first": ([CRC32C, LE], (*INDEX_AT, 1)),
}


@pytest.mark.parametrize("name", BROKEN_INDEXES)
class TestBrokenIndex:
    @pytest.mark.parametrize("create", [created, created_by_codecs])
    def test_is_refused_at_creation(self, on, name, create):
        index, loc = BROKEN_INDEXES[name]
        with pytest.raises(MetadataValidationError) as raised:
            create(base([shard([4, 4], index=index)]))
        assert [problem.loc for problem in raised.value.problems] == [loc]

    def test_is_refused_at_creation_inside_a_shard(self, on, name):
        index, _ = BROKEN_INDEXES[name]
        with pytest.raises(ValueError):
            created(base([shard([4, 4], [shard([2, 2], index=index)])]))

    def test_opens_as_zarr_opens_it(self, name):
        document = base([shard([4, 4], index=BROKEN_INDEXES[name][0])])
        expected = outcome(document)
        with DIRECT.through():
            assert outcome(document) == expected

    def test_opened_it_can_be_resized(self, name):
        """What zarr can do with a stored one, it can do still."""
        store = stored(base([shard([4, 4], index=BROKEN_INDEXES[name][0])]))
        with DIRECT.through():
            array = zarr.open_array(store, mode="r+")
            array.update_attributes({"a": 1})
            array.resize((24, 16))
            assert zarr.open_array(store, mode="r").shape == (24, 16)


@pytest.mark.parametrize(
    "index",
    [INDEX, [LE], [codec("bytes", endian="big"), CRC32C], [transpose(2, 0, 1), LE, CRC32C], [LE, CRC32C, CRC32C]],
)
def test_other_indexes_are_created(on, index):
    document = base([shard([4, 4], index=index)])
    array = created(document)
    array[...] = values_of(document)
    assert_same_values(array[...], values_of(document))


# -- spellings --------------------------------------------------------------------------------

LONG = {"name": "crc32c"}
# A valid document, and the same as zarr knows it.
SPELLINGS = {
    "codecs": (
        base(["bytes", "crc32c"], data_type="uint8"),
        base([BARE, LONG], data_type="uint8"),
    ),
    "in a shard": (
        base([shard([4, 4], ["bytes", "crc32c"], [LE, "crc32c"])], data_type="uint8"),
        base([shard([4, 4], [BARE, LONG], [LE, LONG])], data_type="uint8"),
    ),
    "in a shard behind a transpose": (
        base([T10, shard([4, 3], ["bytes"], [LE, "crc32c"]), "crc32c"], chunks=[6, 8], data_type="uint8"),
        base([T10, shard([4, 3], [BARE], [LE, LONG]), LONG], chunks=[6, 8], data_type="uint8"),
    ),
    "in a shard in a shard": (
        base([shard([4, 4], [shard([2, 2], ["bytes"], [LE, "crc32c"]), "crc32c"])], data_type="uint8"),
        base([shard([4, 4], [shard([2, 2], [BARE], [LE, LONG]), LONG])], data_type="uint8"),
    ),
    "chunk keys": (
        base([LE], chunk_key_encoding="default"),
        base([LE], chunk_key_encoding={"name": "default"}),
    ),
    "chunk keys of old": (
        base([LE], chunk_key_encoding="v2"),
        base([LE], chunk_key_encoding={"name": "v2"}),
    ),
    "data type": (
        base([LE], data_type={"name": "uint16"}),
        base([LE]),
    ),
    "data type, at length": (
        base([LE], data_type={"name": "uint16", "configuration": {}, "must_understand": True}),
        base([LE]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SPELLINGS)
def test_spelling(on, name):
    """It opens, is what the long spelling is, and reads what that wrote."""
    short, long = SPELLINGS[name]
    assert not validate_array_metadata(short)
    before = copy.deepcopy(short)
    assert opened(short).metadata == opened(long).metadata
    assert short == before
    store = stored(long)
    array = zarr.open_array(store, mode="r+")
    values = np.arange(256).reshape(16, 16).astype(array.dtype)
    array[...] = values
    store._store_dict["zarr.json"] = Buffer.from_bytes(json.dumps(short).encode())
    assert_same_values(zarr.open_array(store, mode="r")[...], values)


def test_spelling_of_a_structs_fields(on):
    def struct(*data_types):
        fields = [{"name": f"f{k}", "data_type": one} for k, one in enumerate(data_types)]
        fill = {f"f{k}": 0 for k in range(len(data_types))}
        return base([LE], data_type=codec("struct", fields=fields), fill_value=fill)

    long = struct("int16", "uint8")
    try:
        expected = opened(long).metadata
    except ValueError:
        pytest.skip("this zarr spells structs otherwise")
    assert opened(struct({"name": "int16"}, "uint8")).metadata == expected


@pytest.mark.parametrize("codecs", [[LE], [shard([4, 4])], [T10, shard([4, 4]), LONG]])
def test_documents_that_zarr_knows_are_not_copied(codecs):
    document = base(codecs)
    assert rules.spelt_out(document) is document


@pytest.mark.parametrize(
    "document",
    [None, 7, [], "x", {}, {"codecs": 7}, {"codecs": [7, None]}, {"codecs": [{"name": "sharding_indexed"}]},
     {"codecs": [shard([4, 4], 7, "x"), {"configuration": {"codecs": ["bytes"]}}]}, {"data_type": {"name": 7}},
     {"data_type": codec("struct", fields=[7, {}, {"data_type": []}])}, {"data_type": codec("struct", fields=7)}],
)  # fmt: skip
def test_spelling_takes_any_json(document):
    """What is no document is left for zarr to refuse."""
    assert rules.spelt_out(document) == document


def test_whatever_json_zarr_names_the_error(on):
    """An entry that is no codec is refused by zarr, not by a crash of ours."""
    for entry in (7, None, [8], {}, {"name": 7}, {"configuration": 7}):
        for codecs in ([entry], [T10, entry], [shard([4, 4], [entry])], [shard([4, 4], index=[LE, entry])]):
            document = base(codecs)
            with_cyzarr = outcome(document)
            with doors.plain_zarr():
                assert outcome(document) == with_cyzarr


# -- what zarr reads right, or repairs --------------------------------------------------------


def _with(document, change):
    changed = copy.deepcopy(document)
    change(changed)
    return changed


def _shard_of(document):
    return next(each for each in document["codecs"] if each["name"] == "sharding_indexed")["configuration"]


# Problems that `cyzarr validate` reports, and that keep no array from being read.
HARMLESS = {
    "must_understand": lambda d: d["codecs"][-1].update(must_understand=False),
    "must_understand, inside": lambda d: _shard_of(d)["codecs"][0].update(must_understand=False),
    "must_understand of the index": lambda d: _shard_of(d)["index_codecs"][0].update(must_understand=False),
    "must_understand of the grid": lambda d: d["chunk_grid"].update(must_understand=False),
    "extra member": lambda d: d["codecs"][-1].update(extra=1),
    "extra member, inside": lambda d: _shard_of(d)["index_codecs"][1].update(extra=1),
    "extra member of the grid": lambda d: d["chunk_grid"]["configuration"].update(extra=1),
    "no inner codecs": lambda d: _shard_of(d).pop("codecs"),
    "no index codecs": lambda d: _shard_of(d).pop("index_codecs"),
    "neither": lambda d: (_shard_of(d).pop("codecs"), _shard_of(d).pop("index_codecs")),
    "true for 1 in a shard": lambda d: _shard_of(d).update(chunk_shape=[True, _shard_of(d)["chunk_shape"][1]]),
    "no blosc typesize": lambda d: _shard_of(d)["codecs"].append(
        codec("blosc", cname="lz4", clevel=5, shuffle="shuffle", blocksize=0)
    ),
    "inner codecs out of order": lambda d: _shard_of(d)["codecs"].insert(0, codec("gzip", level=1)),
}
SHARDS = {"plain": base([shard([4, 4])]), "judged": base([T10, shard([4, 4])])}


@pytest.mark.parametrize("kind", SHARDS)
@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_problems(name, kind):
    """Whatever zarr makes of it, it makes of it with cyzarr on."""
    document = _with(SHARDS[kind], HARMLESS[name])
    assert validate_array_metadata(document)
    expected = outcome(document)
    with DIRECT.through():
        assert outcome(document) == expected


@pytest.mark.parametrize("name", ["must_understand", "must_understand of the index", "extra member", "no index codecs"])
def test_harmless_problems_behind_a_transpose(on, name):
    """Nor do they keep a shard from opening that zarr alone refuses."""
    document = _with(TURNED["2-d"], HARMLESS[name])
    assert validate_array_metadata(document)
    assert opened(document).shape == (12, 12)


@pytest.mark.parametrize("name", ["must_understand", "extra member", "no inner codecs", "true for 1 in a shard"])
def test_harmless_problems_open(on, name):
    """A guard: with zarr as it is today these do open, so the tests above are about something."""
    assert opened(_with(SHARDS["plain"], HARMLESS[name])).shape == (16, 16)


# -- a cheap look first -----------------------------------------------------------------------


@pytest.fixture
def judged(on, monkeypatch):
    """How often a document was judged in full."""
    calls = []

    def counting(judge):
        return lambda document: calls.append(document) or judge(document)

    for name in ("validate_array_metadata", "read_array_metadata"):
        monkeypatch.setattr(rules, name, counting(getattr(rules, name)))
    return calls


ZSTD = codec("zstd", level=1, checksum=False)
NOT_JUDGED = {
    "plain": base([LE, ZSTD]),
    "transposed": base([T10, LE]),
    "shard": base([shard([4, 4], [LE, ZSTD])]),
    "compressed shard": base([shard([4, 4]), CRC32C]),
    "inner transpose": base([shard([4, 4], [T10, LE])]),
    "bare name": base(["bytes", "crc32c"], data_type="uint8"),
    "refused for another reason": base([T10]),
}
JUDGED = {
    "behind a codec": SHARDS["judged"],
    "refused by zarr": TURNED["2-d"],
    "refused rightly": base([shard([3, 4])]),
    "nested": base([shard([4, 4], [shard([2, 2])])]),
    "index without checksum": base([shard([4, 4], index=[LE])]),
    "index of big-endian": base([shard([4, 4], index=[codec("bytes", endian="big"), CRC32C])]),
    "index transposed": base([shard([4, 4], index=[transpose(2, 0, 1), LE, CRC32C])]),
    "no index codecs": _with(SHARDS["plain"], HARMLESS["no index codecs"]),
    "index of a bare name": base([shard([4, 4], index=["bytes", CRC32C])]),
    "loses values": LOST["2-d"][0],
}


@pytest.mark.parametrize("name", NOT_JUDGED)
def test_not_judged(judged, name):
    outcome(NOT_JUDGED[name])
    assert not judged


@pytest.mark.parametrize("name", JUDGED)
def test_judged_once(judged, name):
    outcome(JUDGED[name])
    assert len(judged) == 1


def test_created_plainly_is_not_judged(judged):
    array = zarr.create_array(MemoryStore(), shape=(16, 16), shards=(8, 8), chunks=(4, 4), dtype="u2")
    array.resize((24, 16))
    array.update_attributes({"a": 1})
    assert array[3, 4] == 0
    assert not judged


# -- on and off -------------------------------------------------------------------------------

ALL_DOCUMENTS = [
    *TURNED.values(),
    *(document for document, _ in LOST.values()),
    *(base([shard([4, 4], index=index)]) for index, _ in BROKEN_INDEXES.values()),
    *(short for short, _ in SPELLINGS.values()),
    *(_with(SHARDS["judged"], change) for change in HARMLESS.values()),
    *NOT_JUDGED.values(),
    *JUDGED.values(),
]
PATCHED = [(ShardingCodec, "validate"), (ArrayV3Metadata, "__init__"), (ArrayV3Metadata, "from_dict")]


def outcomes():
    return [outcome(document) for document in ALL_DOCUMENTS]


def test_disable_restores_zarrs_rules():
    """The very functions, and what they say."""
    import cyzarr

    functions = [owner.__dict__[name] for owner, name in PATCHED]
    before = outcomes()
    for _ in range(2):
        cyzarr.enable()
        assert [owner.__dict__[name] for owner, name in PATCHED] != functions
        assert outcomes() != before
        cyzarr.disable()
        assert [owner.__dict__[name] for owner, name in PATCHED] == functions
        assert outcomes() == before


def test_rules_that_another_library_kept_say_what_zarr_says():
    """Who took our functions while cyzarr was on has zarr's rules when it is off."""
    import cyzarr

    before = outcomes()
    cyzarr.enable()
    kept = [owner.__dict__[name] for owner, name in PATCHED]
    cyzarr.disable()
    with pytest.MonkeyPatch.context() as patch:
        for (owner, name), ours in zip(PATCHED, kept, strict=True):
            patch.setattr(owner, name, ours)
        assert outcomes() == before


@pytest.mark.parametrize("door", [each for each in doors.doors() if not each.patch], ids=repr)
def test_configuration_keeps_zarrs_rules(door):
    """Codecs and a pipeline chosen by configuration judge nothing otherwise."""
    before = outcomes()
    with door.through():
        assert outcomes() == before


def test_all_doors_at_once():
    """Our own sharding codec is judged as zarr's is."""
    with doors.ALL.through():
        test_the_two_problems(None)
        for document in TURNED.values():
            assert opened(document).shape == tuple(document["shape"])


# -- tensorstore, end to end ------------------------------------------------------------------


def decodable(case):
    return case["valid"] and not read_array_metadata(case["document"]).unclaimed_fields


def tensorstores_limit(document):
    """What tensorstore refuses by design although it is valid; None if nothing."""
    if document["chunk_grid"]["name"] != "regular":
        return "tensorstore has no rectilinear grids"
    for listed in _pipelines(document["codecs"]):
        names = [each if isinstance(each, str) else each["name"] for each in listed]
        if any(isinstance(each, str) for each in listed):
            return "tensorstore takes no bare names"
        if "sharding_indexed" in names[:-1]:
            return "tensorstore wants no bytes-to-bytes codec behind a shard"
    return None


def _pipelines(listed):
    yield listed
    for each in listed:
        configuration = each.get("configuration", {}) if isinstance(each, dict) else {}
        for inner in ("codecs", "index_codecs"):
            if inner in configuration:
                yield from _pipelines(configuration[inner])


VALID = [] if doors.PLAIN else [pytest.param(case["document"], id=case["id"]) for case in CASES if decodable(case)]


@pytest.mark.parametrize("document", VALID)
class TestCases:
    """Each valid case: bytes that tensorstore wrote read equal, and back."""

    @pytest.fixture(autouse=True)
    def within_limits(self, document):
        limit = tensorstores_limit(document)
        if limit:
            pytest.skip(limit)

    def test_reads_what_tensorstore_wrote(self, tmp_path, on, document):
        values = values_of(document)
        by_tensorstore(put(tmp_path / "a", document), open=True).write(values).result()
        array = zarr.open_array(tmp_path / "a", mode="r")
        with trace() as counts:
            assert_same_values(np.asarray(array[...]), values)
        assert counts.reads == {"direct": 1}
        assert not counts.fallbacks
        assert counts.chunks_decoded > 0

    def test_writes_what_tensorstore_reads(self, tmp_path, on, document):
        if not document["shape"] and Version("3.2") > doors.ZARR:
            pytest.skip("this zarr can't write a shard without axes")
        values = values_of(document)
        zarr.open_array(put(tmp_path / "a", document), mode="r+")[...] = values
        assert_same_values(by_tensorstore(tmp_path / "a", open=True).read().result(), values)
        with trace() as counts:
            assert_same_values(np.asarray(zarr.open_array(tmp_path / "a", mode="r")[...]), values)
        assert counts.reads == {"direct": 1}


def test_cases_are_worth_it():
    """A guard: no more of them are skipped than tensorstore's own limits ask for."""
    skipped = [tensorstores_limit(case.values[0]) for case in VALID]
    assert len(VALID) >= 11
    assert sum(limit is None for limit in skipped) >= 9


# -- tensorstore, by chance -------------------------------------------------------------------

# Where tensorstore knows less, or more, than these rules: names that it lacks, and members that it has other rules for.
BEYOND = re.compile(r'"(cast_value|scale_offset|rectilinear|struct|string|numpy\.\w+|r\d+|must_understand)"')


def comparable(document):
    """The document as tensorstore can judge it; None where it can't."""
    if not isinstance(document, dict):
        return None
    document = {key: value for key, value in rules.spelt_out(document).items() if key != "dimension_names"}
    document["attributes"] = {}
    text = json.dumps(document)
    # It takes 4.0 for 4, "C" for an order, and knows no `bytes` data type.
    if BEYOND.search(text) or re.search(r'\d\.0\b|"order": "|Infinity[^"]|[ \[]NaN', text):
        return None
    if document.get("data_type") == "bytes" or read_array_metadata(document).unclaimed_fields:
        return None
    try:
        limit = tensorstores_limit(document)
    except (AttributeError, KeyError, TypeError):
        # No list of codecs at all: no limit of tensorstore's is what is wrong.
        return document
    return document if limit is None else None


def documents(seed, count):
    generator = Generator(seed)
    found = 0
    while found < count:
        document = comparable(generator.document())
        if document is not None:
            found += 1
            yield document


def test_tensorstore_opens_what_is_valid(tmp_path):
    """300 documents by chance: tensorstore opens exactly those in which nothing is found."""
    pytest.importorskip("tensorstore")
    disagreements, seen = [], {True: 0, False: 0}
    for number, document in enumerate(documents(seed=3, count=300)):
        problems = validate_array_metadata(document)
        try:
            by_tensorstore(put(tmp_path / str(number), document), open=True)
            refusal = None
        except ValueError as error:
            refusal = str(error)
        seen[not problems] += 1
        if bool(problems) != bool(refusal):
            disagreements.append((json.dumps(document), [*map(str, problems)], refusal))
    assert not disagreements, "\n".join(map(str, disagreements[:5]))
    assert min(seen.values()) > 60


def test_valid_documents_open(tmp_path, on):
    """Of the same kind: whatever is valid, zarr opens while cyzarr is on."""
    opens = 0
    for document in documents(seed=4, count=300):
        if not validate_array_metadata(document):
            assert opened(document).shape == tuple(document["shape"])
            opens += 1
    assert opens > 60


# -- the documentation ------------------------------------------------------------------------

PAGE = Path(__file__).parent.parent / "docs" / "metadata.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not here")
def test_examples_of_the_documentation(monkeypatch):
    """In the order of the page, in one namespace; what they register is forgotten."""
    from cyzarr.metadata import context

    monkeypatch.setattr(context, "_default", list(context._default))
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(examples) == 2
    namespace = {}
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), namespace)
