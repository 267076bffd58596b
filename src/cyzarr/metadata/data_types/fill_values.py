"""Fill values of data types, judged by the checks that judge configurations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cyzarr.metadata.checks import Check, Findings
from cyzarr.metadata.definitions import Configuration, Problems
from cyzarr.metadata.fields import Nested

FillValue = Callable[[Configuration, Nested, Any], Problems]


def by(check: Check) -> FillValue:
    """A ``fill_value`` hook that runs ``check``."""

    def hook(configuration: Configuration, nested: Nested, value: Any) -> Problems:
        found = Findings()
        check(value, (), found)
        return found.problems

    return hook
