"""What a codec is handed: lengths of chunks along each axis, and a data type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cyzarr.metadata.fields import Field

#: For each axis all lengths that chunks have along it, or None where they aren't known.
Lengths = tuple[frozenset[int] | None, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk, as far as it is known.

    Parameters
    ----------
    lengths
        One entry for each axis: a frozenset of all lengths that occur along it (in items), or None
        if unknown. None altogether if not even the rank is known.
    data_type
        The data type's field, as it was read; None if nothing names it.

    Raises
    ------
    TypeError
        If the lengths are anything else (bool is no int here), or the data type is no field.
    """

    lengths: Lengths | None = None
    data_type: Field | None = None

    def __post_init__(self) -> None:
        if self.lengths is not None and not is_lengths(self.lengths):
            raise TypeError(f"lengths must hold a frozenset of int or None for each axis, found {self.lengths!r}")
        if self.data_type is not None and not isinstance(self.data_type, Field):
            raise TypeError(f"data_type must be a Field, found {self.data_type!r}")

    @property
    def rank(self) -> int | None:
        """The number of axes; None if unknown."""
        return None if self.lengths is None else len(self.lengths)

    @property
    def known(self) -> bool:
        """Whether every axis has known lengths, and the data type was accepted."""
        return (
            self.lengths is not None
            and None not in self.lengths
            and self.data_type is not None
            and self.data_type.accepted
        )


UNKNOWN = Chunk()


def is_lengths(lengths: Any) -> bool:
    """Whether ``lengths`` has the type that ``Chunk`` asks for."""
    return type(lengths) is tuple and all(
        axis is None or (type(axis) is frozenset and all(type(length) is int for length in axis)) for axis in lengths
    )
