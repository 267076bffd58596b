"""Floating-point and complex numbers.

Status        Zarr core specification 3.0
Specification https://zarr-specs.readthedocs.io/en/latest/v3/data-types/index.html
Aliases       none
Example       "float32" (fill values: a number, "NaN", "-Infinity", or its bits as "0x7fc00000")
"""

from __future__ import annotations

import re
from typing import Any

from cyzarr.metadata.checks import Check, Findings, pair_of
from cyzarr.metadata.data_types.fill_values import by
from cyzarr.metadata.definitions import Configuration, DataTypeDefinition, Problems
from cyzarr.metadata.fields import Nested
from cyzarr.metadata.problems import Loc

_NAMED = frozenset(("NaN", "Infinity", "-Infinity"))


def _number(value: Any, loc: Loc, found: Findings) -> None:
    """A number, or a string that may stand for one."""
    if type(value) not in (int, float, str):
        found.expect(loc, "a number or a string that stands for one", value)


def _spelling(bits: int) -> Check:
    """Strings must name a special value, or hold all bits in hexadecimal digits."""
    pattern = re.compile(f"0x[0-9a-fA-F]{{{bits // 4}}}")

    def check(value: Any, loc: Loc, found: Findings) -> None:
        if type(value) is str and value not in _NAMED and not pattern.fullmatch(value):
            what = f'a number, "NaN", "Infinity", "-Infinity", or 0x and {bits // 4} hexadecimal digits'
            found.expect(loc, what, value, "invalid_value")

    return check


def _float(bits: int) -> DataTypeDefinition:
    spelling = _spelling(bits)

    def check(value: Any, loc: Loc, found: Findings) -> None:
        _number(value, loc, found)
        spelling(value, loc, found)

    return DataTypeDefinition(name=f"float{bits}", storage="multi_byte", numbers="real", fill_value=by(check))


def _complex(bits: int) -> DataTypeDefinition:
    types = by(pair_of(_number, _number))
    spellings = by(pair_of(_spelling(bits), _spelling(bits)))

    def hook(configuration: Configuration, nested: Nested, value: Any) -> Problems:
        return types(configuration, nested, value) or spellings(configuration, nested, value)

    return DataTypeDefinition(name=f"complex{2 * bits}", storage="multi_byte", numbers="complex", fill_value=hook)


FLOATS = (_float(16), _float(32), _float(64), _complex(32), _complex(64))
