"""docs/kernels.md: its code runs, and it lists all public functions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cyzarr import kernels

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "kernels.md"
pytestmark = pytest.mark.skipif(not GUIDE.is_file(), reason="docs are not here")


def test_the_code_runs():
    names = {"__name__": "guide"}
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)


def test_every_public_kernel_is_listed():
    listed = set(re.findall(r"^\| `(\w+)\(", GUIDE.read_text(), re.MULTILINE))
    assert listed == set(kernels.__all__) - {"AxisTable"}
