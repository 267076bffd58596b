"""The envelope of a metadata field: a name alone, or an object of name, configuration, must_understand."""

from __future__ import annotations

from typing import Any

from cyzarr.metadata.definitions import well_named
from cyzarr.metadata.problems import Loc, ValidationProblem
from cyzarr.metadata.text import shown

_MEMBERS = frozenset(("name", "configuration", "must_understand"))


def split(value: Any) -> tuple[str | None, dict[str, Any] | None, bool]:
    """A field's name and configuration, None where there is none, and whether the configuration is no object."""
    if type(value) is str:
        return value, None, False
    if type(value) is not dict or type(value.get("name")) is not str:
        return None, None, False
    configuration = value.get("configuration")
    if type(configuration) is dict:
        return value["name"], configuration, False
    return value["name"], None, "configuration" in value


def envelope_problems(value: Any, loc: Loc, problems: list[ValidationProblem]) -> None:
    """Add all that is wrong with a field (in the form of ``jsonvalues``) apart from its configuration's members."""
    if type(value) is str:
        name_problem(value, loc, problems)
        return
    if type(value) is not dict:
        message = f"expected a name or an object with a name, got {shown(value)}"
        problems.append(ValidationProblem(loc, message, "invalid_type"))
        return
    if not value.keys() <= _MEMBERS:
        for key in value.keys() - _MEMBERS:
            message = f"expected no member {shown(key)}"
            problems.append(ValidationProblem((*loc, key), message, "unknown_key"))
    if "name" not in value:
        problems.append(ValidationProblem((*loc, "name"), "expected a name, found none", "missing_key"))
    else:
        name_problem(value["name"], (*loc, "name"), problems)
    if "configuration" in value and type(value["configuration"]) is not dict:
        message = f"expected an object, got {shown(value['configuration'])}"
        problems.append(ValidationProblem((*loc, "configuration"), message, "invalid_type"))
    if "must_understand" in value:
        _waiver_problem(value["must_understand"], (*loc, "must_understand"), problems)


def name_problem(name: Any, loc: Loc, problems: list[ValidationProblem]) -> None:
    """Add what is wrong with a field's name."""
    if type(name) is not str:
        problems.append(ValidationProblem(loc, f"expected a string, got {shown(name)}", "invalid_type"))
    elif not well_named(name):
        what = "a name of lower-case letters, digits and _.- that starts with a letter, or a URI"
        message = f"expected {what}; got {shown(name)}"
        problems.append(ValidationProblem(loc, message, "invalid_value"))


def _waiver_problem(value: Any, loc: Loc, problems: list[ValidationProblem]) -> None:
    # Bytes can't be decoded, nor values be made sense of, by somebody who leaves a field out.
    if type(value) is not bool:
        problems.append(ValidationProblem(loc, f"expected true or false, got {shown(value)}", "invalid_type"))
    elif not value:
        problems.append(ValidationProblem(loc, "expected true: a reader can't do without this field", "invalid_value"))
