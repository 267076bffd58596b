"""Comparison of what reads give: every bit, the type, the dtype, the memory order, the exception."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Outcome:
    """What a call gave: a value, or an exception."""

    value: object = None
    error: BaseException | None = None

    @classmethod
    def of(cls, call, *args, **kwargs):
        try:
            return cls(value=call(*args, **kwargs))
        except Exception as error:
            return cls(error=error)


def bits(value):
    """The items' bytes in C order, so that NaN payloads and signed zeros count."""
    return np.asarray(value).tobytes()


def assert_same_values(got, want):
    """Equal shape, dtype and bits."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if bits(got) != bits(want):
        np.testing.assert_array_equal(got, want)
        raise AssertionError(f"equal values, other bits: {bits(got)!r} != {bits(want)!r}")


def assert_same_result(got, want):
    """Equal values, and the same kind of object: scalar or array, memory order, writability."""
    assert type(got) is type(want)
    assert_same_values(got, want)
    if isinstance(want, np.ndarray):
        for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "ALIGNED"):
            assert got.flags[flag] == want.flags[flag], flag


def assert_same_outcome(got: Outcome, want: Outcome):
    """The same result, or an exception of the same type."""
    if want.error is not None or got.error is not None:
        assert type(got.error) is type(want.error), (got.error, want.error)
    else:
        assert_same_result(got.value, want.value)
