"""zarr's rules for array documents, mended: a shard is judged by the chunk it is handed.

While cyzarr is on, zarr opens documents that are valid and refuses those that lose data. zarr judges a shard by the
array's grid, whatever stands before it: behind a transpose it refuses valid arrays, and accepts others whose values it
then drops. What is refused, and when:

- at open and at creation: a shard whose inner chunks don't divide the chunk it is handed, or are of another rank;
- at creation, too: a shard's index codecs that could not store an index.

All else that `cyzarr validate` finds, zarr reads right or repairs, and it opens as before. Spellings that are valid and
that zarr doesn't know (a bare name for a codec or a chunk key encoding, an object for a plain data type) are spelt out.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from zarr.codecs import ShardingCodec

from cyzarr.metadata import MetadataValidationError, ValidationProblem, validate_array_metadata

# What this thread is about: `trusted` while a shard was judged by us, `opening` while a stored document is read.
_state = threading.local()
# zarr's own functions, by name; set by activate.
_originals: dict[str, Any] = {}

USUAL_INDEX = [("bytes", "little"), ("crc32c", None)]


def set_original(name: str, function: Any) -> None:
    """Tell which function of zarr's was there before ours took its place."""
    _originals[name] = function


def is_active() -> bool:
    from cyzarr.plan import direct

    return bool(direct.is_active())


def sharding_validate(self: Any, **given: Any) -> None:
    """`ShardingCodec.validate`, which has nothing to say of a shard that was judged by what it is handed."""
    if not getattr(_state, "trusted", False):
        _originals["validate"](self, **given)


def metadata_init(self: Any, **given: Any) -> None:
    """`ArrayV3Metadata.__init__`: zarr's own rules, and ours where these can say otherwise."""
    codecs = given.get("codecs")
    if not is_active() or not _may_differ(codecs):
        _originals["__init__"](self, **given)
        return
    try:
        _originals["__init__"](self, **given)
    except ValueError as refusal:
        _judge_again(self, given, refusal)
    else:
        problems = losses(self.to_dict())
        if problems:
            raise MetadataValidationError(problems)


def _judge_again(self: Any, given: dict[str, Any], refusal: ValueError) -> None:
    """Make the metadata that zarr refused, if the refusal is its own rule for shards and ours finds nothing wrong."""
    _state.trusted = True
    try:
        _originals["__init__"](self, **given)
    except Exception:
        # Refused for another reason, too.
        raise refusal from None
    finally:
        _state.trusted = False
    if validate_array_metadata(self.to_dict()):
        raise refusal


def metadata_from_dict(cls: Any, /, data: Any, **given: Any) -> Any:
    """`ArrayV3Metadata.from_dict`: a stored document is read."""
    original = _originals["from_dict"].__func__
    if not is_active():
        return original(cls, data, **given)
    before = getattr(_state, "opening", False)
    _state.opening = True
    try:
        return original(cls, spelt_out(data), **given)
    finally:
        _state.opening = before


FROM_DICT = classmethod(metadata_from_dict)


def losses(document: Mapping[str, Any]) -> list[ValidationProblem]:
    """The problems for which an array is refused; at open only those that lose what is stored."""
    opening = getattr(_state, "opening", False)
    return [
        problem
        for problem in validate_array_metadata(document)
        if problem.kind in ("invalid_value", "missing_key")
        and (_is_chunk_shape(problem.loc) or (not opening and "index_codecs" in problem.loc))
    ]


def _is_chunk_shape(loc: tuple[Any, ...]) -> bool:
    """Whether a problem is about a shard's inner chunk shape, or one length of it."""
    return "codecs" in loc and "chunk_shape" in loc[-2:]


# --- a cheap look


def _may_differ(codecs: Any) -> bool:
    """Whether our rules may say otherwise than zarr's: behind another codec, inside a shard, or of an unusual index."""
    if not isinstance(codecs, list | tuple):
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
    if isinstance(codec, ShardingCodec):
        return codec.codecs, codec.index_codecs
    if not isinstance(codec, Mapping) or codec.get("name") != "sharding_indexed":
        return None, None
    configuration = codec.get("configuration")
    if not isinstance(configuration, Mapping):
        return (), ()
    inner, index = configuration.get("codecs", ()), configuration.get("index_codecs", ())
    return (inner if isinstance(inner, list | tuple) else ()), (index if isinstance(index, list | tuple) else ())


def _name_and_endian(codec: Any) -> tuple[Any, Any]:
    """("bytes", byte order) or (another name, None)."""
    if isinstance(codec, Mapping):
        configuration = codec.get("configuration")
        return codec.get("name"), configuration.get("endian") if isinstance(configuration, Mapping) else None
    if isinstance(codec, str):
        return codec, None
    endian = getattr(codec, "endian", None)
    return codec.to_dict()["name"], getattr(endian, "value", endian)


# --- spellings


def spelt_out(document: Any) -> Any:
    """A document with names spelt as zarr knows them; the document itself where it is so already."""
    if not isinstance(document, Mapping):
        return document
    found: dict[str, Any] = {}
    codecs = document.get("codecs")
    if isinstance(codecs, list | tuple) and any(_has_bare(codec) for codec in codecs):
        found["codecs"] = [_with_name(codec) for codec in codecs]
    encoding = document.get("chunk_key_encoding")
    if isinstance(encoding, str):
        found["chunk_key_encoding"] = {"name": encoding}
    data_type = document.get("data_type")
    if isinstance(data_type, Mapping) and _is_only_a_name(data_type):
        found["data_type"] = data_type["name"]
    return {**document, **found} if found else document


def _is_only_a_name(field: Mapping[str, Any]) -> bool:
    """Whether an object says no more than its name."""
    return (
        isinstance(field.get("name"), str)
        and field.get("configuration", {}) == {}
        and field.get("must_understand", True) is True
        and set(field) <= {"name", "configuration", "must_understand"}
    )


def _inner_lists(codec: Any) -> dict[str, Any]:
    """The lists of codecs in a shard's configuration."""
    configuration = codec.get("configuration") if isinstance(codec, Mapping) else None
    if not isinstance(configuration, Mapping) or codec.get("name") != "sharding_indexed":
        return {}
    return {
        name: configuration[name] for name in ("codecs", "index_codecs") if isinstance(configuration.get(name), list)
    }


def _has_bare(codec: Any) -> bool:
    """Whether a codec, or one inside it, is a bare name."""
    return isinstance(codec, str) or any(_has_bare(one) for inner in _inner_lists(codec).values() for one in inner)


def _with_name(codec: Any) -> Any:
    """A codec as an object, those inside it too."""
    if isinstance(codec, str):
        return {"name": codec}
    inner = {name: [_with_name(one) for one in listed] for name, listed in _inner_lists(codec).items()}
    return {**codec, "configuration": {**codec["configuration"], **inner}} if inner else codec
