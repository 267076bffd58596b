"""A metadata field (a codec, a data type, a grid) as it was read: accepted, unclaimed or refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cyzarr.metadata.problems import Loc

if TYPE_CHECKING:
    from cyzarr.metadata.definitions import Definition

Nested = Mapping[Loc, "Field"]
NOTHING: Mapping[Any, Any] = MappingProxyType({})


def nothing() -> Mapping[Any, Any]:
    """The empty mapping, as a default (Python 3.11 takes no read-only view as one)."""
    return NOTHING


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One metadata field.

    Parameters
    ----------
    role
        ``codec``, ``data_type``, ``chunk_grid``, ``chunk_key_encoding``, ``storage_transformer``,
        or ``member`` for a member of the document that no specification knows.
    state
        ``accepted``: its definition found nothing wrong with it. ``unclaimed``: nobody claims the
        name, nothing was checked. ``refused``: its problems say why; nothing is known of it.
    name
        As written; None where there is none.
    json
        As written, arrays as tuples; None where it is no JSON.
    definition
        Who claims the name. A refused codec still has its kind by it.
    configuration
        Read-only, declared members only; empty unless accepted.
    nested
        The fields inside the configuration, keyed by their place in it.
    """

    role: str
    state: str
    name: str | None
    json: Any
    definition: Definition | None = None
    configuration: Mapping[str, Any] = field(default_factory=nothing)
    nested: Nested = field(default_factory=nothing)

    @property
    def accepted(self) -> bool:
        return self.state == "accepted"

    def __eq__(self, other: object) -> bool:
        """Whether both say the same: ``"bytes"`` and ``{"name": "bytes"}`` do."""
        if not isinstance(other, Field):
            return NotImplemented
        return (
            self._key() == other._key()
            and self.configuration == other.configuration
            and (self.nested == other.nested and (self.accepted or self.json == other.json))
        )

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return self.role, self.state, self.name, None if self.definition is None else self.definition.name


def fields_below(outer: Field, loc: Loc) -> Iterator[tuple[Loc, Field]]:
    """``outer`` at ``loc``, then all fields inside it, at every depth."""
    yield loc, outer
    for place, inner in outer.nested.items():
        yield from fields_below(inner, (*loc, "configuration", *place))
