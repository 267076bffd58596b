"""What reading an array document, or a codec alone, gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cyzarr.metadata.chunk import UNKNOWN, Chunk
from cyzarr.metadata.fields import Field, fields_below, nothing
from cyzarr.metadata.pipeline import Stage, stages_below
from cyzarr.metadata.problems import Loc, MetadataValidationError, ValidationProblem
from cyzarr.metadata.text import shown


@dataclass(frozen=True, slots=True)
class Reading:
    """An array document as it was read, valid or not.

    Parameters
    ----------
    problems
        All that makes the document invalid.
    chunk
        What the first codec is handed.
    pipeline
        The codecs, each with what it is handed.
    data_type, chunk_grid, chunk_key_encoding
        The fields; None where the document has none.
    storage_transformers, members
        Fields, and members that no specification knows (key -> unclaimed field).
    doubts
        See ``decoder_problems``.
    metadata
        The document with arrays as tuples, read-only; None if there are problems.
    """

    problems: tuple[ValidationProblem, ...] = ()
    chunk: Chunk = UNKNOWN
    pipeline: tuple[Stage, ...] = ()
    data_type: Field | None = None
    chunk_grid: Field | None = None
    chunk_key_encoding: Field | None = None
    storage_transformers: tuple[Field, ...] = ()
    members: Mapping[str, Field] = field(default_factory=nothing)
    doubts: tuple[ValidationProblem, ...] = ()
    metadata: Mapping[str, Any] | None = None

    @property
    def valid(self) -> bool:
        return not self.problems

    def fields(self) -> Iterator[tuple[Loc, Field]]:
        """All fields with their place, each followed by those inside it."""
        for key in ("data_type", "chunk_grid", "chunk_key_encoding"):
            point = getattr(self, key)
            if point is not None:
                yield from fields_below(point, (key,))
        for index, stage in enumerate(self.pipeline):
            yield from fields_below(stage.codec, ("codecs", index))
        for index, transformer in enumerate(self.storage_transformers):
            yield from fields_below(transformer, ("storage_transformers", index))
        for key, member in self.members.items():
            yield (key,), member

    def stages(self) -> Iterator[tuple[Loc, Stage]]:
        """All stages with their place, at every depth."""
        return stages_below(self.pipeline, ("codecs",))

    @property
    def unclaimed_fields(self) -> dict[Loc, Field]:
        """Fields of which nothing was checked, save members that say that a reader may ignore them.

        Whoever decodes must refuse an array that has any.
        """
        return {loc: one for loc, one in self.fields() if one.state == "unclaimed" and not _waived(one)}

    @property
    def decoder_problems(self) -> tuple[ValidationProblem, ...]:
        """What keeps a decoder from trusting the stages although the document may be valid.

        Kinds: ``unclaimed_field``; ``lossy_index`` (a shard index that need not come back as it was);
        ``failed_hook`` (an extension's definition raised an error, so something stayed unjudged).
        """
        unknown = (
            ValidationProblem(loc, f"nobody here knows what {shown(unclaimed.name)} is", "unclaimed_field")
            for loc, unclaimed in self.unclaimed_fields.items()
        )
        return (*self.doubts, *unknown)

    def raise_problems(self) -> None:
        """Raise `MetadataValidationError` if there are problems."""
        if self.problems:
            raise MetadataValidationError(self.problems)


def _waived(member: Field) -> bool:
    # Only members of the document can say so; a codec that does is a problem.
    return member.role == "member" and type(member.json) is dict and member.json.get("must_understand") is False


@dataclass(frozen=True, slots=True)
class CodecReading:
    """A codec's field that was read alone: its problems, its stage, and a decoder's doubts."""

    problems: tuple[ValidationProblem, ...]
    stage: Stage
    doubts: tuple[ValidationProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class PipelineReading:
    """A list of codecs that was read alone: their problems, their stages, and a decoder's doubts."""

    problems: tuple[ValidationProblem, ...]
    stages: tuple[Stage, ...]
    doubts: tuple[ValidationProblem, ...] = ()
