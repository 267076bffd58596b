"""Selections as one writes them in Python, `0, 10:20, ::2`: read without eval, and written.

Integers, slices, `...` and lists of integers, one for each axis. Nothing of the array is known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NoReturn

Part = Any  # int | slice | EllipsisType | list[int]

_TOKEN = re.compile(r"\s*(?:([+-]?[0-9]+(?:_[0-9]+)*)|(\.\.\.)|([A-Za-z_]\w*)|(\S))")
_NEWAXIS = ("None", "newaxis", "np", "numpy")
# Positions beyond this are in no array.
_MOST = 1 << 63


class SelectionError(ValueError):
    """A text is no selection. The message is one line, and names the character at fault, from 1 on."""

    def __init__(self, text: str, position: int, why: str) -> None:
        self.position = position
        super().__init__(f"selection {text!r}, character {position + 1}: {why}")


def parse(text: str) -> tuple[Part, ...]:
    """Read a selection.

    Parameters
    ----------
    text : str
        What stands between the brackets of ``array[...]``. Empty, or ``()``, is the selection of an array of no axes.

    Returns
    -------
    tuple of int, slice, Ellipsis and list of int

    Raises
    ------
    SelectionError
    """
    return () if text.strip() in ("", "()") else _Reader(text).selection()


def write(key: Any) -> str:
    """A key as `parse` reads it; index arrays become lists."""
    parts = key if isinstance(key, tuple) else (key,)
    return ", ".join(map(_written, parts)) or "()"


def _written(part: Any) -> str:
    if part is Ellipsis:
        return "..."
    if isinstance(part, slice):
        ends = ["" if one is None else str(int(one)) for one in (part.start, part.stop, part.step)]
        return ":".join(ends[:2] if part.step in (None, 1) else ends)
    if isinstance(part, Iterable):
        return f"[{', '.join(str(int(one)) for one in part)}]"
    return str(int(part))


class _Reader:
    """A text, cut into (kind, value, position); the last is ("end", "", its length)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        for found in _TOKEN.finditer(text):
            kind = ("number", "dots", "name", "sign")[(found.lastindex or 1) - 1]
            self.tokens.append((kind, found[found.lastindex or 0], found.start(found.lastindex or 0)))
        self.tokens.append(("end", "", len(text.rstrip())))
        self.at = 0

    def fail(self, why: str, at: int | None = None) -> NoReturn:
        raise SelectionError(self.text, self.tokens[self.at if at is None else at][2], why)

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    def sees(self, sign: str) -> bool:
        return self.tokens[self.at][1] == sign

    def take(self, sign: str) -> bool:
        """Whether this sign comes next; then it is passed."""
        seen = self.sees(sign)
        self.at += seen
        return seen

    def found(self) -> str:
        kind, value, _ = self.tokens[self.at]
        return "the end" if kind == "end" else repr(value)

    def selection(self) -> tuple[Part, ...]:
        parts: list[Part] = []
        while True:
            begin = self.at
            parts.append(self.part())
            if parts.count(Ellipsis) > 1:
                self.fail("'...' may stand only once", begin)
            if self.kind == "end":
                return tuple(parts)
            if not self.take(","):
                self.fail(f"expected ',' or the end, found {self.found()}")
            if self.kind == "end":  # as in Python
                return tuple(parts)

    def part(self) -> Part:
        """What picks from one axis."""
        if self.take("..."):
            return Ellipsis
        if self.take("["):
            return self.integers()
        if self.kind == "name":
            self.refuse_name()
        if not (self.kind == "number" or self.sees(":")):
            self.fail(f"expected an integer, a slice, '...' or a list of integers, found {self.found()}")
        ends: list[int | None] = [self.number()]
        while self.take(":"):
            if len(ends) == 3:
                self.fail("a slice has at most three parts, start:stop:step", self.at - 1)
            ends.append(self.number())
        if len(ends) == 1:
            return ends[0]
        if ends[2:] == [0]:
            self.fail("a slice's step can't be 0", self.at - 1)
        return slice(*ends)

    def number(self) -> int | None:
        if self.kind != "number":
            return None
        digits = self.tokens[self.at][1]
        value = int(digits) if len(digits) < 40 else _MOST
        if abs(value) >= _MOST:
            self.fail("no array has so many items: the number is beyond 2^63")
        self.at += 1
        return value

    def integers(self) -> list[int]:
        """The rest of a list."""
        found: list[int] = []
        while not self.take("]"):
            value = self.number()
            if value is None:
                self.fail(f"expected an integer of a list, found {self.found()}")
            found.append(value)
            if not (self.sees("]") or self.take(",")):
                self.fail(f"expected ',' or ']', found {self.found()}")
        if not found:
            self.fail("an empty list picks nothing", self.at - 1)
        return found

    def refuse_name(self) -> NoReturn:
        if self.tokens[self.at][1] in _NEWAXIS:
            self.fail("None (np.newaxis) is refused: it makes an axis, and reads nothing")
        if self.tokens[self.at][1] in ("True", "False"):
            self.fail("masks are not taken; write the positions as a list of integers")
        self.fail(f"names are not taken, found {self.found()}")
