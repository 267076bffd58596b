"""Numbers as people read them, and that there is one way to write them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cyzarr
from cyzarr.words import nbytes_text, short_nbytes, so_many


@pytest.mark.parametrize(
    ("nbytes", "text", "short"),
    [
        (0, "0 B", "0"),
        (999, "999 B", "999"),
        (1000, "0.977 KiB", "0.977K"),
        (1024, "1 KiB", "1K"),
        (65536, "64 KiB", "64K"),
        (1023487, "999 KiB", "999K"),
        (1023488, "0.976 MiB", "0.976M"),
        (2**28, "256 MiB", "256M"),
        (2**50, "1 PiB", "1P"),
        (2**62, "4 EiB", "4E"),
        (2**75, "32768 EiB", "32768E"),
    ],
)
def test_lengths_in_bytes(nbytes, text, short):
    assert nbytes_text(nbytes) == text
    assert short_nbytes(nbytes) == short


def test_so_many():
    assert [so_many(n, "chunk") for n in (0, 1, 2, 2048)] == ["0 chunks", "1 chunk", "2 chunks", "2,048 chunks"]


def test_nobody_else_scales_bytes():
    """What is shown to people is scaled in one place: no unit stands behind a number that is formatted elsewhere."""
    shown = re.compile(r"\}\s*[kKMGT]i?B\b|/ \(?(1000|1024|2 ?\*\* ?[1-6]0|1 << [1-6]0)\b")
    sources = list(Path(cyzarr.__file__).parent.rglob("*.py"))
    assert len(sources) > 50
    found = [one.name for one in sources if one.name != "words.py" and shown.search(one.read_text())]
    assert found == []


def test_one_read_is_one_read():
    status = cyzarr.activate.Status(enabled=True, reads={"direct": 1}, fallbacks={"because": 2})
    assert str(status).splitlines()[1:3] == ["  1 read by direct", "  2 reads left to zarr: because"]
