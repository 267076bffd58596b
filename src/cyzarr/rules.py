"""zarr's rules for array documents, mended: a shard is judged by the chunk it is handed.

While cyzarr is on, zarr opens documents that are valid and refuses those that lose data. zarr judges a shard by the
array's grid, whatever stands before it: behind a transpose it refuses valid arrays, and accepts others whose values it
then drops. What is refused, and when:

- at open and at creation: a shard whose inner chunks don't divide the chunk it is handed, or are of another rank;
- at creation, too: a shard's index codecs that could not store an index.

Whatever else `cyzarr validate` finds is left to zarr, which refuses it, repairs it, or reads it right. Spellings that
are valid and that zarr doesn't know (a bare name for a codec or a chunk key encoding, an object for a plain data type)
are spelt out.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from zarr.codecs import ShardingCodec

from cyzarr.metadata import (
    MetadataValidationError,
    Stage,
    ValidationProblem,
    read_array_metadata,
    validate_array_metadata,
)

# `trusted` while this thread makes metadata whose shards are ours to judge.
_state = threading.local()
# zarr's own functions, by name; set by activate.
_originals: dict[str, Any] = {}

# The cheap look is taken at every open: of plain types, which are quickly told, and all that documents are made of.
LISTS = (list, tuple)
USUAL_INDEX = [("bytes", "little"), ("crc32c", None)]


def set_original(name: str, function: Any) -> None:
    """Tell which function of zarr's was there before ours took its place."""
    _originals[name] = function


def is_active() -> bool:
    from cyzarr.planning import direct

    return bool(direct.is_active())


def sharding_validate(self: Any, **given: Any) -> None:
    """`ShardingCodec.validate`, which has nothing to say of a shard that was judged by what it is handed."""
    if not getattr(_state, "trusted", False):
        _originals["validate"](self, **given)


def metadata_init(self: Any, **given: Any) -> None:
    """`ArrayV3Metadata.__init__`: zarr's own rules, and ours where these can say otherwise."""
    if not is_active():
        _originals["__init__"](self, **given)
        return
    codecs = given.get("codecs")
    try:
        _originals["__init__"](self, **given)
    except ValueError as refusal:
        if not _has_shard(codecs):
            raise
        _judge_again(self, given, refusal)
        return
    if _may_differ(codecs):
        # Stored documents and changed copies (a resized array) come with all members, a new array without extra ones.
        problems = losses(self.to_dict(), creating="extra_fields" not in given)
        if problems:
            raise MetadataValidationError(problems)


def _judge_again(self: Any, given: dict[str, Any], refusal: ValueError) -> None:
    """Make the metadata that zarr refused, if that was its rule for shards, and ours knows that nothing is wrong."""
    _state.trusted = True
    try:
        _originals["__init__"](self, **given)
    except Exception:
        # Refused for another reason, too.
        raise refusal from None
    finally:
        _state.trusted = False
    reading = read_array_metadata(self.to_dict())
    if reading.problems:
        # zarr names one, and not its place.
        refusal.add_note(str(MetadataValidationError(reading.problems)))
    if reading.problems or not all(_is_judged(stage) for _, stage in reading.stages()):
        raise refusal


def _is_judged(stage: Stage) -> bool:
    """Whether a stage is no shard, or we know what it is handed; behind a codec unknown to us zarr's word counts."""
    if stage.codec.name != "sharding_indexed":
        return True
    handed = stage.incoming
    return handed is not None and handed.lengths is not None and None not in handed.lengths


def metadata_from_dict(cls: Any, /, data: Any, **given: Any) -> Any:
    """`ArrayV3Metadata.from_dict`: a stored document is read."""
    original = _originals["from_dict"].__func__
    return original(cls, spelt_out(data) if is_active() else data, **given)


FROM_DICT: Any = classmethod(metadata_from_dict)


def losses(document: Mapping[str, Any], creating: bool) -> list[ValidationProblem]:
    """The problems for which an array is refused: those that lose values; for a new one those of an index, too."""
    return [
        problem
        for problem in validate_array_metadata(document)
        if problem.kind in ("invalid_value", "missing_key")
        and (_is_chunk_shape(problem.loc) or (creating and "index_codecs" in problem.loc))
    ]


def _is_chunk_shape(loc: tuple[Any, ...]) -> bool:
    """Whether a problem is about a shard's inner chunk shape, or one length of it."""
    return "codecs" in loc and "chunk_shape" in loc[-2:]


# --- a cheap look


def _has_shard(codecs: Any) -> bool:
    return isinstance(codecs, LISTS) and any(_parts_of_shard(codec)[0] is not None for codec in codecs)


def _may_differ(codecs: Any) -> bool:
    """Whether our rules may say otherwise than zarr's: behind another codec, inside a shard, or of an unusual index."""
    if not isinstance(codecs, LISTS):
        return False
    for at, codec in enumerate(codecs):
        inner, index = _parts_of_shard(codec)
        if inner is None:
            continue
        if at > 0 or any(_parts_of_shard(one)[0] is not None for one in inner):
            return True
        return [_name_and_endian(one) for one in index] != USUAL_INDEX
    return False


def _parts_of_shard(codec: Any) -> tuple[Any, Any]:
    """A shard's inner codecs and index codecs; None for any other codec."""
    if not isinstance(codec, dict):
        return (codec.codecs, codec.index_codecs) if isinstance(codec, ShardingCodec) else (None, None)
    if codec.get("name") != "sharding_indexed":
        return None, None
    configuration = codec.get("configuration")
    if not isinstance(configuration, dict):
        return (), ()
    inner, index = configuration.get("codecs", ()), configuration.get("index_codecs", ())
    return (inner if isinstance(inner, LISTS) else ()), (index if isinstance(index, LISTS) else ())


def _name_and_endian(codec: Any) -> tuple[Any, Any]:
    """("bytes", byte order) or (another name, None)."""
    if isinstance(codec, dict):
        configuration = codec.get("configuration")
        return codec.get("name"), configuration.get("endian") if isinstance(configuration, dict) else None
    endian = getattr(codec, "endian", None)
    return codec.to_dict()["name"], getattr(endian, "value", endian)


# --- spellings


def spelt_out(document: Any) -> Any:
    """A document with names spelt as zarr knows them; the document itself where it is so already."""
    if not isinstance(document, dict):
        return document
    found: dict[str, Any] = {}
    codecs = document.get("codecs")
    if isinstance(codecs, LISTS) and any(_has_bare(codec) for codec in codecs):
        found["codecs"] = [_with_name(codec) for codec in codecs]
    encoding = document.get("chunk_key_encoding")
    if isinstance(encoding, str):
        found["chunk_key_encoding"] = {"name": encoding}
    data_type = document.get("data_type")
    plain = _plain_type(data_type)
    if plain is not data_type:
        found["data_type"] = plain
    return {**document, **found} if found else document


def _plain_type(data_type: Any) -> Any:
    """A data type by its name where an object says no more, in a struct, too; itself where it is so already."""
    if not isinstance(data_type, dict):
        return data_type
    if _is_only_a_name(data_type):
        return data_type["name"]
    configuration = data_type.get("configuration")
    if data_type.get("name") != "struct" or not isinstance(configuration, dict):
        return data_type
    listed = configuration.get("fields")
    if not isinstance(listed, list):
        return data_type
    plain = [
        {**one, "data_type": _plain_type(one["data_type"])} if isinstance(one, dict) and "data_type" in one else one
        for one in listed
    ]
    return data_type if plain == listed else {**data_type, "configuration": {**configuration, "fields": plain}}


def _is_only_a_name(field: dict[str, Any]) -> bool:
    """Whether an object says no more than its name."""
    return (
        isinstance(field.get("name"), str)
        and field.get("configuration", {}) == {}
        and field.get("must_understand", True) is True
        and set(field) <= {"name", "configuration", "must_understand"}
    )


def _inner_lists(codec: Any) -> dict[str, Any]:
    """The lists of codecs in a shard's configuration."""
    configuration = codec.get("configuration") if isinstance(codec, dict) else None
    if not isinstance(configuration, dict) or codec.get("name") != "sharding_indexed":
        return {}
    return {
        name: configuration[name] for name in ("codecs", "index_codecs") if isinstance(configuration.get(name), list)
    }


def _has_bare(codec: Any) -> bool:
    """Whether a codec, or one inside it, is a bare name."""
    if isinstance(codec, dict) and codec.get("name") != "sharding_indexed":
        return False
    return isinstance(codec, str) or any(_has_bare(one) for inner in _inner_lists(codec).values() for one in inner)


def _with_name(codec: Any) -> Any:
    """A codec as an object, those inside it too."""
    if isinstance(codec, str):
        return {"name": codec}
    inner = {name: [_with_name(one) for one in listed] for name, listed in _inner_lists(codec).items()}
    return {**codec, "configuration": {**codec["configuration"], **inner}} if inner else codec
