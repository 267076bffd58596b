"""Integers, ``bool``, and the data type of a shard index.

Status        Zarr core specification 3.0
Specification https://zarr-specs.readthedocs.io/en/latest/v3/data-types/index.html
Aliases       none
Example       "uint16"
"""

from __future__ import annotations

from cyzarr.metadata.checks import boolean, integer
from cyzarr.metadata.data_types.fill_values import by
from cyzarr.metadata.definitions import DataTypeDefinition
from cyzarr.metadata.fields import Field


def _integer(name: str, low: int, high: int) -> DataTypeDefinition:
    storage = "single_byte" if high < 256 else "multi_byte"
    return DataTypeDefinition(name=name, storage=storage, numbers="integer", fill_value=by(integer(low, high)))


BOOL = DataTypeDefinition(name="bool", storage="single_byte", numbers="none", fill_value=by(boolean))

SIGNED = tuple(_integer(f"int{bits}", -(1 << (bits - 1)), (1 << (bits - 1)) - 1) for bits in (8, 16, 32, 64))
UNSIGNED = tuple(_integer(f"uint{bits}", 0, (1 << bits) - 1) for bits in (8, 16, 32, 64))

INTEGERS = (BOOL, *SIGNED, *UNSIGNED)

#: What index codecs are handed, whatever a context holds.
UINT64_FIELD = Field("data_type", "accepted", "uint64", "uint64", UNSIGNED[-1])
