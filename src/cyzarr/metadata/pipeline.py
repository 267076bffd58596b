"""Reading a list of codecs as a pipeline: each codec against what it is handed.

An array's codecs and the codecs inside a codec (a shard's inner codecs, its index codecs) are read by
the same procedure, to any depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from cyzarr.metadata.chunk import UNKNOWN, Chunk
from cyzarr.metadata.definitions import CodecDefinition
from cyzarr.metadata.fields import NOTHING, Field, nothing
from cyzarr.metadata.problems import Loc
from cyzarr.metadata.reader import Reader

_POSITIONS = {"array_array": 0, "array_bytes": 1, "bytes_bytes": 2}
_SPOKEN = {"array_array": "array-to-array", "array_bytes": "array-to-bytes", "bytes_bytes": "bytes-to-bytes"}


@dataclass(frozen=True, slots=True)
class Stage:
    """A codec and what it is handed.

    Parameters
    ----------
    codec
        The codec's field.
    incoming
        The chunk it is handed. None if that is bytes; None, too, for an unclaimed codec of which
        isn't known that it is handed an array.
    inner
        The pipelines inside the codec: configuration member -> stages. Read-only.
    """

    codec: Field
    incoming: Chunk | None
    inner: Mapping[str, tuple[Stage, ...]] = field(default_factory=nothing)


def read_pipeline(codecs: Sequence[Field], handed: Chunk, loc: Loc, reader: Reader) -> tuple[Stage, ...]:
    """Judge codecs, located at ``loc``, of which the first is handed ``handed``; problems go to the reader."""
    _judge_order(codecs, loc, reader)
    stages = []
    # None where what is handed on isn't known to be an array.
    current: Chunk | None = handed
    for index, codec in enumerate(codecs):
        stage, current = read_stage(codec, current, (*loc, index), reader)
        stages.append(stage)
    return tuple(stages)


def read_stage(codec: Field, handed: Chunk | None, loc: Loc, reader: Reader) -> tuple[Stage, Chunk | None]:
    """Judge one codec by what it is handed, and say what it hands on (None if no array)."""
    definition = codec.definition
    if not isinstance(definition, CodecDefinition):
        return Stage(codec, handed), None
    if definition.kind == "bytes_bytes":
        return Stage(codec, None), None
    incoming = UNKNOWN if handed is None else handed
    if not codec.accepted:
        return Stage(codec, incoming), UNKNOWN if definition.kind == "array_array" else None
    at = (*loc, "configuration")
    if definition.chunk_rules is not None:
        found = reader.rules(definition, "chunk_rules", at, codec.configuration, codec.nested, incoming)
        reader.problems += found or ()
    inner = NOTHING if definition.pipelines is None else _inner_pipelines(codec, definition, incoming, at, reader)
    handed_on = _handed_on(codec, definition, incoming, at, reader) if definition.kind == "array_array" else None
    return Stage(codec, incoming, inner), handed_on


def _judge_order(codecs: Sequence[Field], loc: Loc, reader: Reader) -> None:
    """Array-to-array codecs, then one array-to-bytes codec, then bytes-to-bytes codecs; anything may be unclaimed."""
    furthest, encoder, unclaimed = -1, False, False
    for index, codec in enumerate(codecs):
        definition = codec.definition
        if not isinstance(definition, CodecDefinition):
            unclaimed = True
            continue
        position = _POSITIONS[definition.kind]
        if position < furthest:
            message = f"expected no {_SPOKEN[definition.kind]} codec any more, got {codec.name}"
            reader.report((*loc, index), message, "invalid_value")
        elif position == 1 and encoder:
            message = f"expected a single array-to-bytes codec, got {codec.name} as another one"
            reader.report((*loc, index), message, "invalid_value")
        furthest = max(furthest, position)
        encoder = encoder or position == 1
    if not encoder and not unclaimed:
        reader.report(loc, "expected an array-to-bytes codec, found none", "invalid_value")


def _inner_pipelines(
    codec: Field, definition: CodecDefinition, incoming: Chunk, at: Loc, reader: Reader
) -> Mapping[str, tuple[Stage, ...]]:
    silent: dict[str, Chunk] = {}
    handed = reader.ask(definition, "pipelines", at, silent, lambda: _handed_inside(codec, definition, incoming))
    return MappingProxyType(
        {
            member: read_pipeline(_codecs_in(codec, member), chunk, (*at, member), reader)
            for member, chunk in handed.items()
        }
    )


def _handed_inside(codec: Field, definition: CodecDefinition, incoming: Chunk) -> dict[str, Chunk]:
    """What the hook says, checked, without the members that the document leaves out."""
    assert definition.pipelines is not None
    given: Any = definition.pipelines(codec.configuration, codec.nested, incoming)
    if not isinstance(given, Mapping):
        raise TypeError(f"{definition.name}: pipelines must give a mapping, found {given!r}")
    for member, chunk in given.items():
        if not isinstance(member, str) or not isinstance(chunk, Chunk):
            raise TypeError(f"{definition.name}: pipelines must map str to Chunk, found {member!r}: {chunk!r}")
        declared = definition.configuration.get(member)
        if declared is None or (member in codec.configuration and not _holds_codecs(codec, member)):
            raise TypeError(f"{definition.name}: {member} holds no list of codecs")
    return {member: chunk for member, chunk in given.items() if member in codec.configuration}


def _holds_codecs(codec: Field, member: str) -> bool:
    entries = codec.configuration[member]
    if type(entries) is not tuple:
        return False
    places = [codec.nested.get((member, index)) for index in range(len(entries))]
    return all(inner is not None and inner.role == "codec" for inner in places)


def _codecs_in(codec: Field, member: str) -> list[Field]:
    return [codec.nested[member, index] for index in range(len(codec.configuration[member]))]


def _handed_on(codec: Field, definition: CodecDefinition, incoming: Chunk, at: Loc, reader: Reader) -> Chunk:
    """What an array-to-array codec hands on; the unknown chunk where it doesn't say."""
    hook = definition.transition
    if hook is None:
        return UNKNOWN

    def call() -> Chunk:
        given: Any = hook(codec.configuration, codec.nested, incoming)
        if not isinstance(given, Chunk):
            raise TypeError(f"{definition.name}: transition must give a Chunk, found {given!r}")
        return given

    return reader.ask(definition, "transition", at, UNKNOWN, call)


def stages_below(stages: Sequence[Stage], loc: Loc) -> Iterator[tuple[Loc, Stage]]:
    """All stages of a pipeline at ``loc``, each followed by those inside it."""
    for index, stage in enumerate(stages):
        yield (*loc, index), stage
        for member, inner in stage.inner.items():
            yield from stages_below(inner, (*loc, index, "configuration", member))
