"""JSON as Python holds it: checked and brought to one form before anything is read from it.

Objects become ``dict``, arrays ``tuple``, and scalars exactly ``str``, ``int``, ``float``, ``bool``
or None. Whatever reads a value after that can tell its JSON type by its Python type alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cyzarr.metadata.problems import Loc, ValidationProblem
from cyzarr.metadata.text import shown

#: A container more than this many levels below the document's root is refused, not walked. It
#: keeps every later walk, too, within Python's recursion limit.
DEPTH = 256

_PLAIN = frozenset((str, bool, type(None)))
_SMALL = 1 << 64


def is_object(value: Any) -> bool:
    """Whether ``value`` stands for a JSON object."""
    return isinstance(value, Mapping)


def is_array(value: Any) -> bool:
    """Whether ``value`` stands for a JSON array."""
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def json_value(value: Any, loc: Loc, problems: list[ValidationProblem], *, finite: bool = True) -> Any:
    """``value`` in the one form; what is no JSON in it is added to ``problems``.

    Parameters
    ----------
    value
        Anything.
    loc
        Where it stands, counted from the document's root.
    problems
        Grows by one problem for each leaf that is no JSON. The result is then of no use.
    finite
        Whether NaN and the infinities are refused, as JSON does. User data may hold them.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict or isinstance(value, Mapping):
        return _object(value, loc, problems, finite)
    if kind is list or kind is tuple or is_array(value):
        return _array(value, loc, problems, finite)
    return _scalar(value, loc, problems, finite)


def _object(value: Mapping[Any, Any], loc: Loc, problems: list[ValidationProblem], finite: bool) -> Any:
    if len(loc) >= DEPTH:
        return _too_deep(loc, problems)
    made: dict[str, Any] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            message = f"expected a string as the name of a member, got {shown(key)}"
            problems.append(ValidationProblem(loc, message, "invalid_type"))
        elif type(item) in _PLAIN:
            made[str(key)] = item
        else:
            made[str(key)] = json_value(item, (*loc, str(key)), problems, finite=finite)
    return made


def _array(value: Sequence[Any], loc: Loc, problems: list[ValidationProblem], finite: bool) -> Any:
    if len(loc) >= DEPTH:
        return _too_deep(loc, problems)
    made = list(value)
    for index, item in enumerate(made):
        # Grids list thousands of lengths: they are looked at here, without a call for each.
        if type(item) in _PLAIN or (type(item) is int and -_SMALL < item < _SMALL):
            continue
        made[index] = json_value(item, (*loc, index), problems, finite=finite)
    return tuple(made)


def _scalar(value: Any, loc: Loc, problems: list[ValidationProblem], finite: bool) -> Any:
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        if not -_SMALL < value < _SMALL and not _writable(value):
            message = f"expected a number that JSON text can hold, got {shown(value)}"
            problems.append(ValidationProblem(loc, message, "invalid_value"))
        return int(value)
    if isinstance(value, float):
        if finite and not math.isfinite(value):
            problems.append(ValidationProblem(loc, f"expected a finite number, got {float(value)}", "invalid_value"))
        return float(value)
    problems.append(ValidationProblem(loc, f"expected a JSON value, got {shown(value)}", "invalid_type"))
    return None


def _writable(value: int) -> bool:
    """Whether Python turns the integer into text (it has a limit, ``sys.set_int_max_str_digits``)."""
    try:
        str(value)
    except ValueError:
        return False
    return True


def _too_deep(loc: Loc, problems: list[ValidationProblem]) -> None:
    message = f"expected no array or object more than {DEPTH} levels down"
    problems.append(ValidationProblem(loc, message, "invalid_value"))
