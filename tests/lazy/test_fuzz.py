"""Chains of keys against the model (fuzz.py runs more, by a seed), and literal slices against tensorstore."""

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


def test_literal_slices_are_tensorstores():
    tensorstore = pytest.importorskip("tensorstore")
    compared = 0
    for least, extent in [(0, 0), (0, 5), (3, 4), (-4, 6), (-2, 0), (-9, 3)]:
        domain = IndexDomain((least,), (least + extent,))
        theirs = tensorstore.IndexTransform(
            tensorstore.IndexDomain(inclusive_min=[least], exclusive_max=[least + extent])
        )
        bounds = [None, *range(least - 2, least + extent + 3)]
        for start in bounds:
            for stop in bounds:
                for step in (None, 1, 2, 3, 7, -1, -2, -3, -7):
                    key = slice(start, stop, step)
                    found = literal(domain, key)
                    try:
                        made = theirs[key]
                    except IndexError:
                        assert found in ("outside", "wrong"), (domain, key)
                    else:
                        (one,) = made.output
                        first = one.offset + one.stride * made.domain.inclusive_min[0]
                        expected = (made.domain.inclusive_min, made.domain.exclusive_max, [first, one.stride])
                        assert found == expected, (domain, key)
                    compared += 1
    assert compared > 3000
