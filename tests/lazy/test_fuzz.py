"""Chains of keys against the model (fuzz.py runs more, by a seed), and literal slices against tensorstore."""

import itertools

import pytest

from cyzarr import BoundsCheckError, IndexDomain, IndexTransform
from lazy.fuzz import SOURCES, check_chain, check_transform


@pytest.mark.parametrize("kind", SOURCES)
def test_chains(kind):
    for seed in range(250):
        check_chain(seed, kind, others=seed % 4 == 0)


@pytest.mark.parametrize("kind", SOURCES)
def test_transforms(kind):
    for seed in range(150):
        check_transform(seed, kind, others=seed % 4 == 0)


def literal(domain, key):
    """The domain and map of a literal slice, or which error it is."""
    try:
        made = IndexTransform.identity(domain)[key]
    except IndexError as error:
        return "outside" if isinstance(error, BoundsCheckError) else "wrong"
    (one,) = made.output
    return (
        made.domain.inclusive_min,
        made.domain.exclusive_max,
        [one.offset + one.stride * made.domain.origin[0], one.stride],
    )


def theirs_of(identity, key):
    """The same of tensorstore."""
    try:
        made = identity[key]
    except IndexError as error:
        return "outside" if str(error).startswith("OUT_OF_RANGE") else "wrong"
    (one,) = made.output
    (least,), (beyond,) = made.domain.inclusive_min, made.domain.exclusive_max
    return (least,), (beyond,), [one.offset + one.stride * least, one.stride]


STEPS = (None, 1, 2, 3, 4, 5, 7, 100, 0, -1, -2, -3, -4, -5, -7, -100)


@pytest.mark.parametrize("extent", range(7))
def test_literal_slices_are_tensorstores(extent):
    """All starts, stops and steps within and around domains below, around and above 0: 153,840 slices in all."""
    tensorstore = pytest.importorskip("tensorstore")
    compared = 0
    for least in sorted({-20, -9, -8, -7, -6, *range(-extent - 1, 2), 3, 6, 7, 8, 20}):
        domain = IndexDomain((least,), (least + extent,))
        theirs = tensorstore.IndexTransform(
            tensorstore.IndexDomain(inclusive_min=[least], exclusive_max=[least + extent])
        )
        bounds = [None, *range(least - 2, least + extent + 3)]
        for start, stop, step in itertools.product(bounds, bounds, STEPS):
            key = slice(start, stop, step)
            assert literal(domain, key) == theirs_of(theirs, key), (domain, key)
            compared += 1
    assert compared > 7000
