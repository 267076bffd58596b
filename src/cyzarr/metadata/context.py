"""Which names are claimed, and by which definition."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from cyzarr.metadata.definitions import (
    RAW_BITS,
    ChunkGridDefinition,
    ChunkKeyEncodingDefinition,
    CodecDefinition,
    DataTypeDefinition,
    Definition,
    StorageTransformerDefinition,
)

ROLES = tuple(
    kind.role
    for kind in (
        CodecDefinition,
        DataTypeDefinition,
        ChunkGridDefinition,
        ChunkKeyEncodingDefinition,
        StorageTransformerDefinition,
    )
)

# More digits than this are no size, and the name is one like any other.
_RAW_BITS_NAME = re.compile("r([0-9]{1,100})")


class Context:
    """A set of definitions, at most one for each role and name. It doesn't change; `with_` gives a new one.

    Raises
    ------
    TypeError
        For what is no definition.
    ValueError
        For two definitions of one role and name.
    """

    __slots__ = ("_tables",)

    def __init__(self, definitions: Iterable[Definition] = ()) -> None:
        self._tables: dict[str, dict[str, Definition]] = {role: {} for role in ROLES}
        for definition in definitions:
            self._add(definition, replace=False)

    def with_(self, *definitions: Definition, replace: bool = False) -> Context:
        """This context and ``definitions``, which may take over names that are claimed only if ``replace``."""
        made = Context()
        for role in ROLES:
            made._tables[role].update(self._tables[role])
        for definition in definitions:
            made._add(definition, replace)
        return made

    def find(self, role: str, name: str) -> Definition | None:
        """Who claims ``name`` (as a document writes it); None if nobody does."""
        table = self._tables[role]
        found = table.get(name)
        if found is None and role == "data_type" and _RAW_BITS_NAME.fullmatch(name):
            return table.get(RAW_BITS)
        return found

    def _add(self, definition: Definition, replace: bool) -> None:
        table = self._tables.get(definition.role) if isinstance(definition, Definition) else None
        if table is None:
            raise TypeError(f"expected a definition, found {definition!r}")
        if not replace and table.get(definition.name, definition) is not definition:
            raise ValueError(f"a {definition.role} named {definition.name} is defined already")
        table[definition.name] = definition


def raw_bits(name: str) -> dict[str, Any]:
    """The configuration that the name of a raw bits type carries: ``r16`` has 16 bits."""
    return {"bits": int(name[1:])}


_default: list[Context] = []


def default_context() -> Context:
    """The context of a reader that is given none: all that cyzarr knows, and what was registered."""
    if not _default:
        from cyzarr.metadata.known import KNOWN

        _default.append(Context(KNOWN))
    return _default[0]


def register(*definitions: Definition, replace: bool = False) -> None:
    """Let readers that are given no context know ``definitions``, from now on and in this process.

    Raises ValueError for a name that is claimed already, unless ``replace``.
    """
    _default[:] = [default_context().with_(*definitions, replace=replace)]
