"""The snippets of docs/lazy.md hold."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "lazy.md"


@pytest.mark.skipif(not GUIDE.is_file(), reason="docs are not here")
def test_snippets():
    snippets = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(snippets) >= 4
    names = {}
    for snippet in snippets:
        exec(snippet, names)
