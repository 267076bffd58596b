"""What is found wrong in a document, and the error that carries it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

Loc = tuple[str | int, ...]

#: Kinds of problems that make a document invalid.
PROBLEM_KINDS = ("missing_key", "invalid_type", "invalid_value", "unknown_key", "invalid_json")

#: Kinds that leave a document valid, yet keep a decoder from trusting what it says.
DECODER_KINDS = ("unclaimed_field", "lossy_index", "failed_hook")

_KINDS = frozenset(PROBLEM_KINDS + DECODER_KINDS)


@dataclass(frozen=True, slots=True)
class ValidationProblem:
    """One thing found wrong, and where.

    Parameters
    ----------
    loc
        The path from the document's root to the value: object members and array positions. A
        missing member is located where it would stand.
    message
        For people: what was expected and what was found. Bounded, whatever the document lists.
    kind
        One of ``PROBLEM_KINDS``; one of ``DECODER_KINDS`` in ``Reading.decoder_problems``.

    Raises
    ------
    TypeError
        If an argument is of another type, or the kind is none of those.
    """

    loc: Loc
    message: str
    kind: str

    def __post_init__(self) -> None:
        loc: Any = self.loc
        if type(loc) is not tuple or not all(type(part) in (str, int) for part in loc):
            raise TypeError(f"loc must be a tuple of str and int, found {loc!r}")
        if not isinstance(self.message, str):
            raise TypeError(f"message must be a str, found {self.message!r}")
        if self.kind not in _KINDS:
            raise TypeError(f"kind must be one of {sorted(_KINDS)}, found {self.kind!r}")

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.loc)) or '<root>'}: {self.message}"

    def below(self, loc: Loc) -> ValidationProblem:
        """The same problem where the root of its ``loc`` stands at ``loc``."""
        return ValidationProblem((*loc, *self.loc), self.message, self.kind)


class MetadataValidationError(ValueError):
    """A document is not valid; ``problems`` holds all that was found, the text has a line for each."""

    def __init__(self, problems: Iterable[ValidationProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)
