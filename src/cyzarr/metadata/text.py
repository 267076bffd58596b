"""Values as messages show them: as JSON, and never longer than a message can bear."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

LIMIT = 60

_MORE = "..."


def shown(value: Any, limit: int = LIMIT) -> str:
    """``value`` as JSON text of about ``limit`` characters at most.

    The cost depends on ``limit`` and not on the size of the value. What is no JSON is named by
    its type.
    """
    if limit <= 0:
        return _MORE
    if isinstance(value, str):
        return _text(value, limit)
    if value is None or isinstance(value, (bool, int, float)):
        return _scalar(value, limit)
    if isinstance(value, Mapping):
        return _container("{}", ((_text(str(key), limit) + ": ", item) for key, item in value.items()), limit)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return _container("[]", (("", item) for item in value), limit)
    return f"a Python {type(value).__name__}"


def _text(value: str, limit: int) -> str:
    cut = value if len(value) <= limit else value[:limit] + _MORE
    return json.dumps(cut, ensure_ascii=False)


def _scalar(value: Any, limit: int) -> str:
    # Writing out a huge integer is slow, and refused by Python from some length on.
    if isinstance(value, int) and value.bit_length() > 3 * limit:
        return f"an integer of {value.bit_length()} bits"
    try:
        return json.dumps(value)
    except (TypeError, ValueError):
        return f"a Python {type(value).__name__}"


def _container(brackets: str, items: Any, limit: int) -> str:
    parts: list[str] = []
    left = limit
    for lead, item in items:
        # Two for the brackets, so that depth is bounded, too.
        part = lead + shown(item, left - 2) if left > 2 else _MORE
        parts.append(part)
        left -= len(part) + 2
        if part == _MORE:
            break
    return brackets[0] + ", ".join(parts) + brackets[1]
