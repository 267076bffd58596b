"""Definitions: what one name means. Adding a codec is writing one of these; nothing here need be touched.

Every hook gets a read-only configuration (declared members only) and the fields inside it, keyed by
their place, such as ``("codecs", 0)``. Rules yield ``ValidationProblem`` with ``loc`` relative to the
configuration. A hook may only state what holds of any document, also one in which rules found problems.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

from cyzarr.metadata.checks import Member
from cyzarr.metadata.chunk import Chunk, Lengths
from cyzarr.metadata.fields import Field, Nested, nothing
from cyzarr.metadata.problems import ValidationProblem

Configuration = Mapping[str, Any]
Problems = Iterable[ValidationProblem]
Shape = tuple[int, ...]

CODEC_KINDS = ("array_array", "array_bytes", "bytes_bytes")
CODEC_SIZES = ("static", "dynamic")
STORAGES = ("single_byte", "multi_byte", "variable_length")
NUMBERS = ("integer", "real", "complex", "none")

#: The name under which raw bits of any size are defined; documents write r8, r16 ...
RAW_BITS = "r*"

_NAME = re.compile(r"[a-z][a-z0-9_.-]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")
_UNASKED = {
    "array_array": (),
    "array_bytes": ("transition",),
    "bytes_bytes": ("chunk_rules", "transition", "pipelines"),
}


@lru_cache(maxsize=1024)
def well_named(name: str) -> bool:
    """Whether a document may use ``name`` for an extension."""
    return _NAME.fullmatch(name) is not None or _URI.fullmatch(name) is not None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Definition:
    """What all definitions have. Raises TypeError if it could never be used.

    Parameters
    ----------
    name
        As documents write it.
    configuration
        The members that the configuration may have (see ``checks``); no others.
    rules
        ``rules(configuration, nested)`` yields what is wrong in a well-typed configuration.
    """

    role: ClassVar[str] = ""
    hooks: ClassVar[tuple[str, ...]] = ("rules",)

    name: str
    configuration: Mapping[str, Member] = field(default_factory=nothing)
    rules: Callable[[Configuration, Nested], Problems] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not (well_named(self.name) or self.name == RAW_BITS):
            raise TypeError(f"no document may use the name {self.name!r}")
        if not isinstance(self.configuration, Mapping):
            raise TypeError(f"{self.name}: configuration must map names to members, found {self.configuration!r}")
        for key, member in self.configuration.items():
            if not isinstance(key, str) or not isinstance(member, Member):
                raise TypeError(f"{self.name}: configuration must map names to members, found {key!r}: {member!r}")
        for hook in self.hooks:
            value = getattr(self, hook)
            if value is not None and not callable(value):
                raise TypeError(f"{self.name}: {hook} must be a function, found {value!r}")

    def _one_of(self, member: str, choices: tuple[str, ...]) -> None:
        value = getattr(self, member)
        if value not in choices:
            raise TypeError(f"{self.name}: {member} must be one of {', '.join(choices)}, found {value!r}")

    @property
    def needs_configuration(self) -> bool:
        """Whether a bare name says too little."""
        return any(member.required for member in self.configuration.values())


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CodecDefinition(Definition):
    """A codec.

    Parameters
    ----------
    kind
        ``array_array``, ``array_bytes`` or ``bytes_bytes``.
    size
        ``static`` if the encoded size follows from the size of what the codec is handed, else
        ``dynamic``.
    lossless
        Whether decoding gives back what was encoded, to the bit.
    chunk_rules
        ``chunk_rules(configuration, nested, chunk)`` yields what is wrong with being handed
        ``chunk``, a `Chunk` of which anything may be unknown.
    transition
        ``transition(configuration, nested, chunk)`` gives the `Chunk` that is handed on.
    pipelines
        ``pipelines(configuration, nested, chunk)`` gives, for each configuration member that holds
        a list of codec fields, the `Chunk` handed to the first of them. A member that the document
        leaves out is passed over.

    Raises
    ------
    TypeError
        Also for a hook that a codec of this kind is never asked.
    """

    role: ClassVar[str] = "codec"
    hooks: ClassVar[tuple[str, ...]] = ("rules", "chunk_rules", "transition", "pipelines")

    kind: str
    size: str
    lossless: bool = True
    chunk_rules: Callable[[Configuration, Nested, Chunk], Problems] | None = None
    transition: Callable[[Configuration, Nested, Chunk], Chunk] | None = None
    pipelines: Callable[[Configuration, Nested, Chunk], Mapping[str, Chunk]] | None = None

    def __post_init__(self) -> None:
        Definition.__post_init__(self)
        self._one_of("kind", CODEC_KINDS)
        self._one_of("size", CODEC_SIZES)
        for hook in _UNASKED[self.kind]:
            if getattr(self, hook) is not None:
                raise TypeError(f"{self.name}: no {self.kind} codec is ever asked for its {hook}")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class DataTypeDefinition(Definition):
    """A data type.

    Parameters
    ----------
    storage
        ``single_byte``, ``multi_byte`` (a byte order applies) or ``variable_length``; None if
        unknown; or ``storage(configuration, nested)`` giving one of these.
    numbers
        What the values are: ``integer``, ``real``, ``complex``, or ``none`` for no numbers. None if
        unknown.
    fill_value
        ``fill_value(configuration, nested, value)`` yields what is wrong with ``value`` (JSON) as
        a fill value, located in the value. None takes any.
    """

    role: ClassVar[str] = "data_type"
    hooks: ClassVar[tuple[str, ...]] = ("rules", "fill_value")

    storage: str | Callable[[Configuration, Nested], str | None] | None = None
    numbers: str | None = None
    fill_value: Callable[[Configuration, Nested, Any], Problems] | None = None

    def __post_init__(self) -> None:
        Definition.__post_init__(self)
        if self.storage is not None and not callable(self.storage):
            self._one_of("storage", STORAGES)
        if self.numbers is not None:
            self._one_of("numbers", NUMBERS)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ChunkGridDefinition(Definition):
    """A chunk grid.

    Parameters
    ----------
    shape_rules
        ``shape_rules(configuration, nested, shape)`` yields why the grid doesn't fit an array of
        that shape.
    chunk_lengths
        ``chunk_lengths(configuration, nested, shape)`` gives, for a grid that fits, all lengths of
        its chunks along each axis (or None for an axis). Without it they are unknown.
    """

    role: ClassVar[str] = "chunk_grid"
    hooks: ClassVar[tuple[str, ...]] = ("rules", "shape_rules", "chunk_lengths")

    shape_rules: Callable[[Configuration, Nested, Shape], Problems] | None = None
    chunk_lengths: Callable[[Configuration, Nested, Shape], Lengths] | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ChunkKeyEncodingDefinition(Definition):
    """A chunk key encoding."""

    role: ClassVar[str] = "chunk_key_encoding"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StorageTransformerDefinition(Definition):
    """A storage transformer."""

    role: ClassVar[str] = "storage_transformer"


def data_type_of(data_type: Field | None) -> DataTypeDefinition | None:
    """The definition of an accepted data type; None if it says nothing."""
    if data_type is None or not data_type.accepted or not isinstance(data_type.definition, DataTypeDefinition):
        return None
    return data_type.definition


def storage_of(data_type: Field | None) -> str | None:
    """How values of a data type are stored; None if unknown."""
    definition = data_type_of(data_type)
    if definition is None or data_type is None:
        return None
    if callable(definition.storage):
        return definition.storage(data_type.configuration, data_type.nested)
    return definition.storage


def fill_value_problems(data_type: Field | None, value: Any) -> Problems:
    """What is wrong with ``value`` (JSON) as a value of a data type, located in the value."""
    definition = data_type_of(data_type)
    if definition is None or definition.fill_value is None or data_type is None:
        return ()
    return definition.fill_value(data_type.configuration, data_type.nested, value)
