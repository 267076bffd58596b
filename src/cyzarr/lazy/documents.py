"""TensorStore's JSON of index domains and transforms, looked at member by member.

Whatever is wrong is a ValueError that says which member it is; so is a member that is not known.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import numpy as np

_BOUNDS = ("input_exclusive_max", "input_inclusive_max", "input_shape")
_OF_DOMAINS = ("input_rank", "input_inclusive_min", *_BOUNDS, "input_labels", "output")
_OF_MAPS = ("offset", "stride", "input_dimension", "index_array", "index_array_bounds")


def domain_from(data: Any) -> tuple[list[int], list[int], list[str] | None]:
    """The minima, the maxima (exclusive) and the labels of a document."""
    _known(data, _OF_DOMAINS, "an index domain or transform")
    given = [name for name in _BOUNDS if name in data]
    if not given and data.get("input_rank") == 0 and not data.get("input_inclusive_min"):
        # Without axes there are no bounds to give.
        return [], [], _labels(data, 0)
    if len(given) != 1:
        found = " and ".join(given) or "none of them"
        raise ValueError(f"a domain has one of {', '.join(_BOUNDS)}, found {found}")
    (name,) = given
    upper = _bounds(data, name)
    least = _bounds(data, "input_inclusive_min") if "input_inclusive_min" in data else [0] * len(upper)
    if len(least) != len(upper):
        raise ValueError(f"input_inclusive_min has {len(least)} entries, {name} {len(upper)}")
    if "input_rank" in data and _integer(data["input_rank"], "input_rank") != len(upper):
        raise ValueError(f"input_rank is {data['input_rank']} for the {len(upper)} entries of {name}")
    if name == "input_shape":
        beyond = [lo + extent for lo, extent in zip(least, upper, strict=True)]
    else:
        beyond = [one + (name == "input_inclusive_max") for one in upper]
    for at, (lo, hi) in enumerate(zip(least, beyond, strict=True)):
        if hi < lo:
            raise ValueError(f"{name}[{at}] is {upper[at]}, for a minimum of {lo}")
    return least, beyond, _labels(data, len(upper))


def map_from(member: Any, at: int, rank: int) -> tuple[str, Any, int, int]:
    """Which map a member of `output` is ("constant", "dimension", "array"), of what, its offset and its stride."""
    name = f"output[{at}]"
    _known(member, _OF_MAPS, name)
    offset = _integer(member.get("offset", 0), f"{name}.offset")
    stride = _integer(member.get("stride", 1), f"{name}.stride")
    if "index_array" in member:
        if "input_dimension" in member:
            raise ValueError(f"{name} has both an index_array and an input_dimension")
        return "array", _index_array(member, name), offset, stride
    if "index_array_bounds" in member:
        raise ValueError(f"{name}.index_array_bounds without an index_array")
    if "input_dimension" in member:
        axis = _integer(member["input_dimension"], f"{name}.input_dimension")
        if not 0 <= axis < rank:
            raise ValueError(f"{name}.input_dimension is {axis}, for a domain of rank {rank}")
        return "dimension", axis, offset, stride
    if "stride" in member:
        raise ValueError(f"{name}.stride without an input_dimension or index_array")
    return "constant", None, offset, stride


def sequence_of(value: Any, name: str) -> Any:
    """A list or tuple."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name} is to be a list, found {value!r}")
    return value


def _known(value: Any, names: tuple[str, ...], what: str) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} is to be an object, found {value!r}")
    for name in value:
        if name not in names:
            raise ValueError(f"{what} has an unknown member {name!r}")


def _integer(value: Any, name: str) -> int:
    if not isinstance(value, bool | np.bool_):
        try:
            return int(operator.index(value))
        except TypeError:
            pass
    raise ValueError(f"{name} is to be an integer, found {value!r}")


def _bounds(data: Any, name: str) -> list[int]:
    """Finite bounds; an implicit one stands in a list of one."""
    found = []
    for at, one in enumerate(sequence_of(data[name], name)):
        bound = one[0] if isinstance(one, list) and len(one) == 1 else one
        if bound in ("-inf", "+inf"):
            raise ValueError(f"{name}[{at}] is to be finite, found {bound!r}")
        found.append(_integer(bound, f"{name}[{at}]"))
    return found


def _labels(data: Any, rank: int) -> list[str] | None:
    if "input_labels" not in data:
        return None
    labels = list(sequence_of(data["input_labels"], "input_labels"))
    if len(labels) != rank or not all(isinstance(one, str) for one in labels):
        raise ValueError(f"input_labels are to be {rank} strings, found {labels!r}")
    return labels


def _index_array(member: Any, name: str) -> np.ndarray[Any, Any]:
    array = _integers(member["index_array"], f"{name}.index_array")
    name = f"{name}.index_array_bounds"
    bounds = sequence_of(member.get("index_array_bounds", ("-inf", "+inf")), name)
    if len(bounds) != 2:
        raise ValueError(f"{name} are to be two, found {bounds!r}")
    low = None if bounds[0] == "-inf" else _integer(bounds[0], name)
    high = None if bounds[1] == "+inf" else _integer(bounds[1], name)
    if array.size:
        ends = int(array.min()), int(array.max())
        if (low is not None and ends[0] < low) or (high is not None and ends[1] > high):
            raise ValueError(f"{name} are {list(bounds)}, found indices from {ends[0]} to {ends[1]}")
    return array


def _integers(value: Any, name: str) -> np.ndarray[Any, Any]:
    """Nested lists, or an array, of integers, as intp."""
    if not isinstance(value, np.ndarray):
        sequence_of(value, name)
        try:
            value = np.asarray(value, object)
        except ValueError:
            raise ValueError(f"{name} is ragged") from None
        # NumPy would take booleans among integers, and integers that are too large as floats.
        wrong = {kind for kind in map(type, value.flat) if not issubclass(kind, int | np.integer) or kind is bool}
        if wrong:
            raise ValueError(f"{name} holds a {wrong.pop().__name__}, or is ragged")
    elif value.dtype.kind not in "iu":
        raise ValueError(f"{name} holds {value.dtype}, not integers")
    try:
        return np.asarray(value.astype(object), np.intp) if value.dtype.kind == "u" else value.astype(np.intp)
    except OverflowError:
        raise ValueError(f"{name} holds integers of more than 64 bits") from None
