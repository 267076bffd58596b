"""Reading a whole array document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from cyzarr.metadata.chunk import UNKNOWN, Chunk, Lengths, is_lengths
from cyzarr.metadata.context import Context, default_context
from cyzarr.metadata.definitions import ChunkGridDefinition, fill_value_problems
from cyzarr.metadata.fields import NOTHING, Field
from cyzarr.metadata.jsonvalues import is_array, is_object, json_value
from cyzarr.metadata.pipeline import read_pipeline, read_stage
from cyzarr.metadata.problems import ValidationProblem
from cyzarr.metadata.reader import Reader
from cyzarr.metadata.reading import CodecReading, PipelineReading, Reading
from cyzarr.metadata.text import shown

REQUIRED = (
    "chunk_grid",
    "chunk_key_encoding",
    "codecs",
    "data_type",
    "fill_value",
    "node_type",
    "shape",
    "zarr_format",
)
OPTIONAL = ("attributes", "dimension_names", "storage_transformers")
_KNOWN = frozenset(REQUIRED + OPTIONAL)


def read_array_metadata(document: Any, *, context: Context | None = None, strict_hooks: bool = False) -> Reading:
    """Read and judge an array document of Zarr format 3.

    Parameters
    ----------
    document
        A mapping, or JSON as bytes. Anything else, and bytes that are no JSON, is a problem, not an
        exception.
    context
        The definitions to read with; `default_context()` if None.
    strict_hooks
        Raise what an extension's hook raises, with a note of where; else it ends up in
        ``decoder_problems``.
    """
    if isinstance(document, (bytes, bytearray, memoryview)):
        try:
            document = json.loads(bytes(document))
        except (ValueError, RecursionError) as error:
            return Reading(problems=(ValidationProblem((), f"expected JSON: {error}", "invalid_json"),))
    if not is_object(document):
        message = f"expected an object, got {shown(document)}"
        return Reading(problems=(ValidationProblem((), message, "invalid_type"),))
    return _Document(document, Reader(context or default_context(), strict_hooks)).read()


def validate_array_metadata(document: Any, *, context: Context | None = None) -> list[ValidationProblem]:
    """All that is wrong with an array document (see `read_array_metadata`); an empty list if it is valid."""
    return list(read_array_metadata(document, context=context).problems)


def read_codec_metadata(
    codec: Any, *, incoming: Chunk = UNKNOWN, context: Context | None = None, strict_hooks: bool = False
) -> CodecReading:
    """Read and judge one codec's field (a name or an object) outside a document, and the pipelines inside it.

    Parameters
    ----------
    incoming
        What the codec is handed, as far as it is known. Only that much is judged.
    """
    reader = Reader(context or default_context(), strict_hooks)
    read = reader.field(codec, "codec", ())
    stage, _ = read_stage(read, incoming, (), reader)
    return CodecReading(tuple(reader.problems), stage, tuple(reader.doubts))


def read_pipeline_metadata(
    codecs: Sequence[Any],
    *,
    shape: Sequence[int],
    data_type: Any = None,
    context: Context | None = None,
    strict_hooks: bool = False,
) -> PipelineReading:
    """Read and judge a list of codecs outside a document.

    Parameters
    ----------
    shape
        Of the chunks that the first codec is handed.
    data_type
        Of these chunks, as a document writes it; None if nothing is known of it.
    """
    reader = Reader(context or default_context(), strict_hooks)
    read = [reader.field(codec, "codec", (index,)) for index, codec in enumerate(codecs)]
    items = None if data_type is None else reader.field(data_type, "data_type", ("data_type",))
    stages = read_pipeline(read, Chunk(tuple(frozenset({length}) for length in shape), items), (), reader)
    return PipelineReading(tuple(reader.problems), stages, tuple(reader.doubts))


class _Document:
    """A document being read, member by member."""

    def __init__(self, document: Mapping[Any, Any], reader: Reader) -> None:
        self.document = document
        self.reader = reader
        self.refined: dict[str, Any] = {}
        self.points: dict[str, Field] = {}

    def read(self) -> Reading:
        reader = self.reader
        for key in REQUIRED:
            if key not in self.document:
                reader.report((key,), f"expected a member {shown(key)}, found none", "missing_key")
        members = self.unknown_members()
        self.constant("zarr_format", 3)
        self.constant("node_type", "array")
        shape = self.shape()
        for key in ("data_type", "chunk_grid", "chunk_key_encoding"):
            self.point(key, key)
        self.fill_value()
        chunk = Chunk(self.lengths(shape), self.points.get("data_type"))
        codecs = self.listed("codecs", "codec")
        transformers = self.listed("storage_transformers", "storage_transformer") or []
        pipeline = () if codecs is None else read_pipeline(codecs, chunk, ("codecs",), reader)
        self.attributes()
        self.dimension_names(shape)
        return Reading(
            problems=tuple(reader.problems),
            chunk=chunk,
            pipeline=pipeline,
            storage_transformers=tuple(transformers),
            members=members,
            doubts=tuple(reader.doubts),
            metadata=None if reader.problems else MappingProxyType(self.refined),
            **self.points,
        )

    def json(self, key: str, *, finite: bool = True) -> tuple[Any, bool]:
        """A member in the form of ``jsonvalues``, and whether it has that form throughout."""
        before = len(self.reader.problems)
        value = json_value(self.document[key], (key,), self.reader.problems, finite=finite)
        self.refined[key] = value
        return value, len(self.reader.problems) == before

    def unknown_members(self) -> Mapping[str, Field]:
        if self.document.keys() <= _KNOWN:
            return NOTHING
        found: dict[str, Field] = {}
        for key in self.document:
            if not isinstance(key, str):
                self.reader.report((), f"expected a string as the name of a member, got {shown(key)}", "invalid_type")
            elif key not in _KNOWN:
                # Nobody reads it, so it is the user's own data and may hold NaN.
                value, sound = self.json(key, finite=False)
                found[key] = Field("member", "unclaimed" if sound else "refused", key, value)
        return MappingProxyType(found)

    def constant(self, key: str, expected: int | str) -> None:
        if key not in self.document:
            return
        value = json_value(self.document[key], (key,), [])
        self.refined[key] = value
        if type(value) is not type(expected) or value != expected:
            alike = (str,) if isinstance(expected, str) else (int, float)
            kind = "invalid_value" if type(value) in alike else "invalid_type"
            self.reader.report((key,), f"expected {shown(expected)}, got {shown(self.document[key])}", kind)

    def shape(self) -> tuple[int, ...] | None:
        if "shape" not in self.document:
            return None
        value, sound = self.json("shape")
        if not sound:
            return None
        if type(value) is not tuple or not all(type(extent) is int for extent in value):
            self.reader.report(("shape",), f"expected an array of integers, got {shown(value)}", "invalid_type")
            return None
        if value and min(value) < 0:
            self.reader.report(("shape",), f"expected no negative integer, got {min(value)}", "invalid_value")
            return None
        return value

    def point(self, key: str, role: str) -> None:
        if key in self.document:
            self.points[key] = field = self.reader.field(self.document[key], role, (key,))
            self.refined[key] = field.json

    def fill_value(self) -> None:
        if "fill_value" not in self.document:
            return
        value, sound = self.json("fill_value")
        data_type = self.points.get("data_type")
        if not sound or data_type is None or data_type.definition is None:
            return
        found = self.reader.ask(
            data_type.definition, "fill_value", ("fill_value",), None, lambda: _fill_problems(data_type, value)
        )
        self.reader.problems += found or ()

    def lengths(self, shape: tuple[int, ...] | None) -> Lengths | None:
        """All lengths of the grid's chunks along each axis; unknown where the grid doesn't fit or say."""
        if shape is None:
            return None
        unknown: Lengths = (None,) * len(shape)
        grid = self.points.get("chunk_grid")
        if grid is None or not grid.accepted or not isinstance(grid.definition, ChunkGridDefinition):
            return unknown
        at = ("chunk_grid", "configuration")
        definition, arguments = grid.definition, (grid.configuration, grid.nested, shape)
        found = self.reader.rules(definition, "shape_rules", at, *arguments)
        self.reader.problems += found or ()
        hook = definition.chunk_lengths
        if found is None or found or hook is None:
            return unknown
        return self.reader.ask(
            definition, "chunk_lengths", at, unknown, lambda: _checked(hook(*arguments), definition.name, len(shape))
        )

    def listed(self, key: str, role: str) -> list[Field] | None:
        """The fields of a list; None where there is no list."""
        if key not in self.document:
            return None
        entries = self.document[key]
        if not is_array(entries):
            self.reader.report((key,), f"expected an array, got {shown(entries)}", "invalid_type")
            return None
        fields = [self.reader.field(entry, role, (key, index)) for index, entry in enumerate(entries)]
        self.refined[key] = tuple(field.json for field in fields)
        return fields

    def attributes(self) -> None:
        if "attributes" not in self.document:
            return
        attributes = self.document["attributes"]
        if not is_object(attributes) or not all(isinstance(key, str) for key in attributes):
            self.reader.report(("attributes",), f"expected an object, got {shown(attributes)}", "invalid_type")
        else:
            self.json("attributes", finite=False)

    def dimension_names(self, shape: tuple[int, ...] | None) -> None:
        if "dimension_names" not in self.document:
            return
        names = self.document["dimension_names"]
        at = ("dimension_names",)
        if not is_array(names) or not all(name is None or isinstance(name, str) for name in names):
            self.reader.report(at, f"expected an array of strings and nulls, got {shown(names)}", "invalid_type")
        elif shape is not None and len(names) != len(shape):
            message = f"expected {len(shape)} names, one for each dimension of shape, got {len(names)}"
            self.reader.report(at, message, "invalid_value")
        else:
            self.json("dimension_names")


def _fill_problems(data_type: Field, value: Any) -> list[ValidationProblem] | None:
    return [problem.below(("fill_value",)) for problem in fill_value_problems(data_type, value)]


def _checked(lengths: Any, name: str, rank: int) -> Lengths:
    if not is_lengths(lengths) or len(lengths) != rank:
        raise TypeError(f"{name}: chunk_lengths must give a frozenset of int or None for each of {rank} axes")
    checked: Lengths = lengths
    return checked
