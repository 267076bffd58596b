"""Whether a selection fits an array: refused here, in words, rather than by whoever reads it."""

from __future__ import annotations

from typing import Any, NoReturn

from cyzarr.cli import selection
from cyzarr.cli.ending import UsageError


def fitted(key: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The key, if ``array[...]`` takes it of an array of this shape.

    Of a key with a list ``...`` is written out, which ``array[...]`` doesn't take beside one.

    Parameters
    ----------
    key : tuple of int, slice, Ellipsis and list of int
        As `selection.parse` gives it.
    shape : tuple of int

    Raises
    ------
    UsageError
        It doesn't fit. The message says what was expected and what was found.
    """
    named = [part for part in key if part is not Ellipsis]
    if len(named) > len(shape):
        refuse(key, f"expected at most {len(shape)} of the axes of {shape}, found {len(named)}")
    at = key.index(Ellipsis) if Ellipsis in key else len(key)
    full = [*key[:at], *[slice(None)] * (len(shape) - len(named)), *key[at + 1 :]]
    for axis, (part, extent) in enumerate(zip(full, shape, strict=True)):
        check_axis(key, axis, part, extent)
    lists = [part for part in full if isinstance(part, list)]
    if any(isinstance(part, slice) for part in full):
        if len(lists) > 1:
            slices = "slices" if any(isinstance(part, slice) for part in key) else f"axes left out, of {len(shape)}"
            refuse(
                key, f"beside {slices}, only one list can be taken, found {len(lists)}; lists for all axes are points"
            )
    elif len({len(part) for part in lists} - {1}) > 1:
        lengths = ", ".join(str(len(part)) for part in lists)
        refuse(key, f"lists alone are points, and of equal lengths; found {lengths}")
    return tuple(full) if lists else key


def check_axis(key: tuple[Any, ...], axis: int, part: Any, extent: int) -> None:
    """Refuse positions that an axis doesn't have, and steps that zarr doesn't take."""
    if isinstance(part, slice):
        if part.step is not None and part.step < 1:
            refuse(key, f"axis {axis}: the step of a slice must be at least 1, found {part.step}")
        return
    for position in part if isinstance(part, list) else [part]:
        if not -extent <= position < extent:
            has = f"has positions 0 to {extent - 1}" if extent else "is empty"
            refuse(key, f"axis {axis} {has}, found {position}")


def refuse(key: tuple[Any, ...], why: str) -> NoReturn:
    """Raise UsageError."""
    raise UsageError(f"selection [{selection.write(key)}]: {why}")
