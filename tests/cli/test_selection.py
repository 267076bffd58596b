"""Selections as text: read, written, refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cyzarr.cli.selection import SelectionError, parse, write

NUMBERS = st.integers(-(2**63) + 1, 2**63 - 1)
MAYBE = st.none() | NUMBERS
SLICES = st.builds(slice, MAYBE, MAYBE, st.none() | NUMBERS.filter(lambda step: step not in (0, 1)))
PARTS = st.one_of(NUMBERS, SLICES, st.lists(NUMBERS, min_size=1, max_size=5))


@st.composite
def selections(draw):
    parts = draw(st.lists(PARTS, max_size=5))
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), Ellipsis)
    return tuple(parts)


@given(selections())
def test_what_is_written_is_read_again(key):
    assert parse(write(key)) == key


@given(selections(), st.text(" \t", max_size=3))
def test_blanks_make_no_difference(key, blank):
    text = write(key)
    for sign in ",:[]":
        text = text.replace(sign, f"{blank}{sign}{blank}")
    assert parse(blank + text + blank) == key


def tried(text):
    """What a text is read as, and the error where it isn't."""
    try:
        return parse(text), None
    except SelectionError as error:
        return None, error


@given(st.text(max_size=30) | st.text("0123456789,:[]. -+_NonestepTru()", max_size=30))
def test_anything_is_read_or_refused_with_a_place(text):
    key, error = tried(text)
    if error is not None:
        assert 0 <= error.position <= len(text)
        assert f"character {error.position + 1}: " in str(error)
        assert len(str(error).splitlines()) == 1
        return
    assert parse(write(key)) == key
    # Python's own reading of it is the same.
    taken = eval(f"taker[{text.strip() or '()'}]", {"taker": np.s_})
    assert (taken if isinstance(taken, tuple) else (taken,)) == key


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("0, 10:20, ::2", (0, slice(10, 20), slice(None, None, 2))),
        ("...", (Ellipsis,)),
        ("..., -1", (Ellipsis, -1)),
        ("[1, 5, 9]", ([1, 5, 9],)),
        ("[1,],", ([1],)),
        ("1_000:", (slice(1000, None),)),
        (":", (slice(None),)),
        ("::-1", (slice(None, None, -1),)),
        ("", ()),
        (" () ", ()),
    ],
)
def test_examples(text, key):
    assert parse(text) == key


@pytest.mark.parametrize(
    ("text", "position", "why"),
    [
        ("0, None", 4, "None (np.newaxis) is refused"),
        ("0, 1O", 5, "expected ',' or the end, found 'O'"),
        ("0, 10:x", 7, "expected ',' or the end, found 'x'"),
        ("0,,1", 3, "found ','"),
        ("1:2:3:4", 6, "at most three parts"),
        ("1:2:0", 5, "step can't be 0"),
        ("..., 1, ...", 9, "only once"),
        ("[1, 2", 6, "expected ',' or ']', found the end"),
        ("[0, 10:20]", 7, "expected ',' or ']', found ':'"),
        ("[]", 2, "picks nothing"),
        ("[True]", 2, "expected an integer of a list, found 'True'"),
        ("True", 1, "masks"),
        ("import os", 1, "names are not taken, found 'import'"),
        ("9" * 5000, 1, "beyond 2^63"),
        ("(0, 1)", 1, "found '('"),
    ],
)
def test_refused(text, position, why):
    with pytest.raises(SelectionError) as caught:
        parse(text)
    assert f"character {position}: " in str(caught.value)
    assert why in str(caught.value)
