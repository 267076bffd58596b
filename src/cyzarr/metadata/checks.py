"""Checks of the type and range of configuration members, to be put together by definitions.

A check looks at one JSON value (in the form that ``jsonvalues`` gives it) and adds what it finds to
``Findings``. Definitions of others may bring functions of their own with the same signature.

    configuration={"level": required(integer(0, 9)), "checksum": optional(boolean)}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cyzarr.metadata.problems import Loc, ValidationProblem
from cyzarr.metadata.text import shown


class NestedField(NamedTuple):
    """A metadata field that stands inside a configuration, found but not read yet."""

    loc: Loc
    value: Any
    role: str
    static: bool


@dataclass(slots=True)
class Findings:
    """What checks find: problems (located from the document's root), and fields to be read."""

    problems: list[ValidationProblem] = field(default_factory=list)
    nested: list[NestedField] = field(default_factory=list)

    def add(self, loc: Loc, message: str, kind: str) -> None:
        self.problems.append(ValidationProblem(loc, message, kind))

    def expect(self, loc: Loc, what: str, value: Any, kind: str = "invalid_type") -> None:
        self.add(loc, f"expected {what}, got {shown(value)}", kind)

    @property
    def usable(self) -> bool:
        """Whether the value can be read all the same: unknown members are no hindrance."""
        return all(problem.kind == "unknown_key" for problem in self.problems)


Check = Callable[[Any, Loc, Findings], None]


class Member(NamedTuple):
    """A member of a configuration."""

    check: Check
    required: bool


Members = Mapping[str, Member]


def required(check: Check) -> Member:
    return Member(check, True)


def optional(check: Check) -> Member:
    return Member(check, False)


def anything(value: Any, loc: Loc, found: Findings) -> None:
    """Any JSON value."""


def boolean(value: Any, loc: Loc, found: Findings) -> None:
    if type(value) is not bool:
        found.expect(loc, "true or false", value)


def string(value: Any, loc: Loc, found: Findings) -> None:
    if type(value) is not str:
        found.expect(loc, "a string", value)


def integer(low: int | None = None, high: int | None = None) -> Check:
    """An integer from ``low`` to ``high``, both included; None leaves a side open."""
    what = _range(low, high)

    def check(value: Any, loc: Loc, found: Findings) -> None:
        if type(value) is not int:
            found.expect(loc, what, value)
        elif (low is not None and value < low) or (high is not None and value > high):
            found.expect(loc, what, value, "invalid_value")

    return check


def _range(low: int | None, high: int | None) -> str:
    if low is None and high is None:
        return "an integer"
    if high is None:
        return f"an integer of at least {low}"
    if low is None:
        return f"an integer of at most {high}"
    return f"an integer from {low} to {high}"


def one_of(*choices: str) -> Check:
    """One of a closed set of strings."""
    what = " or ".join(map(shown, choices))

    def check(value: Any, loc: Loc, found: Findings) -> None:
        if type(value) is not str:
            found.expect(loc, what, value)
        elif value not in choices:
            found.expect(loc, what, value, "invalid_value")

    return check


def array_of(entry: Check) -> Check:
    """An array whose entries all pass ``entry``."""

    def check(value: Any, loc: Loc, found: Findings) -> None:
        if type(value) is not tuple:
            found.expect(loc, "an array", value)
            return
        for index, item in enumerate(value):
            entry(item, (*loc, index), found)

    return check


def pair_of(first: Check, second: Check) -> Check:
    """An array of exactly two entries."""

    def check(value: Any, loc: Loc, found: Findings) -> None:
        if type(value) is not tuple or len(value) != 2:
            found.expect(loc, "an array of two entries", value)
            return
        first(value[0], (*loc, 0), found)
        second(value[1], (*loc, 1), found)

    return check


def object_of(members: Members) -> Check:
    """An object with these members and no others."""

    def check(value: Any, loc: Loc, found: Findings) -> None:
        if type(value) is not dict:
            found.expect(loc, "an object", value)
        else:
            check_members(value, members, loc, found)

    return check


def check_members(value: dict[str, Any], members: Members, loc: Loc, found: Findings) -> None:
    """Check an object's members: unknown ones first, then each known one, in the order of ``members``."""
    for key in value:
        if key not in members:
            found.add((*loc, key), f"expected no member {shown(key)}", "unknown_key")
    for key, member in members.items():
        if key in value:
            member.check(value[key], (*loc, key), found)
        elif member.required:
            found.add((*loc, key), f"expected a member {shown(key)}, found none", "missing_key")


def field_of(role: str, *, static: bool = False) -> Check:
    """A metadata field (a codec, a data type), to be read by whoever claims its name.

    Where ``static`` is set, only codecs may stand whose encoded size follows from the size of
    what they are handed.
    """

    def check(value: Any, loc: Loc, found: Findings) -> None:
        found.nested.append(NestedField(loc, value, role, static))

    return check


codec_fields = array_of(field_of("codec"))
static_codec_fields = array_of(field_of("codec", static=True))
data_type_field = field_of("data_type")
