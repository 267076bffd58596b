"""NumPy's times: ``numpy.datetime64`` and ``numpy.timedelta64``.

Status        registered extensions (zarr-extensions)
Specification https://github.com/zarr-developers/zarr-extensions/tree/main/data-types
Aliases       none
Example       {"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}}
"""

from __future__ import annotations

from typing import Any

from cyzarr.metadata.checks import Findings, integer, one_of, required
from cyzarr.metadata.data_types.fill_values import by
from cyzarr.metadata.definitions import DataTypeDefinition
from cyzarr.metadata.problems import Loc

UNITS = ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as", "generic")

_ticks = integer(-(2**63), 2**63 - 1)


def ticks_or_nat(value: Any, loc: Loc, found: Findings) -> None:
    """So many ticks as int64, or ``"NaT"``."""
    if type(value) is int:
        _ticks(value, loc, found)
    elif value != "NaT":
        found.expect(loc, 'an integer or "NaT"', value, "invalid_value" if type(value) is str else "invalid_type")


def _time(name: str) -> DataTypeDefinition:
    return DataTypeDefinition(
        name=name,
        configuration={"unit": required(one_of(*UNITS)), "scale_factor": required(integer(1, 2**31 - 1))},
        storage="multi_byte",
        numbers="integer",
        fill_value=by(ticks_or_nat),
    )


TIMES = (_time("numpy.datetime64"), _time("numpy.timedelta64"))
