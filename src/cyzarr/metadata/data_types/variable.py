"""Values of varying size: ``string`` and ``bytes``.

Status        registered extensions (zarr-extensions)
Specification https://github.com/zarr-developers/zarr-extensions/tree/main/data-types
Aliases       none
Example       "string"
"""

from __future__ import annotations

import re
from typing import Any

from cyzarr.metadata.checks import Findings, array_of, integer, string
from cyzarr.metadata.data_types.fill_values import by
from cyzarr.metadata.definitions import DataTypeDefinition
from cyzarr.metadata.problems import Loc

_BASE64 = re.compile("[A-Za-z0-9+/]*={0,2}")
_octets = array_of(integer(0, 255))


def octets_or_base64(value: Any, loc: Loc, found: Findings) -> None:
    """Bytes as an array of numbers below 256, or as Base64."""
    if type(value) is tuple:
        _octets(value, loc, found)
    elif type(value) is not str:
        found.expect(loc, "an array of numbers or Base64", value)
    elif len(value) % 4 or not _BASE64.fullmatch(value):
        found.expect(loc, "Base64 of the standard alphabet", value, "invalid_value")


STRING = DataTypeDefinition(name="string", storage="variable_length", numbers="none", fill_value=by(string))
BYTES = DataTypeDefinition(name="bytes", storage="variable_length", numbers="none", fill_value=by(octets_or_base64))
