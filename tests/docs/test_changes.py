"""A release moves the fragments of docs/changes into the changelog."""

import runpy
import shutil
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
if not DOCS.is_dir():
    pytest.skip("the documents are not here", allow_module_level=True)


@pytest.fixture
def release():
    return runpy.run_path(str(DOCS / "_ext" / "fragments.py"))["release"]


@pytest.fixture
def docs(tmp_path):
    """The page as it is, and two fragments."""
    shutil.copy(DOCS / "changelog.md", tmp_path)
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes" / "README.md").write_text("What this folder is for.\n")
    (tmp_path / "changes" / "7.second.md").write_text("Two\nlines, see [a page](../cli.md).\n")
    (tmp_path / "changes" / "2.first.md").write_text("One.\n")
    return tmp_path


def test_fragments_become_the_newest_version(docs, release):
    release(docs, "9.8.7")
    (docs / "changes" / "3.later.md").write_text("Later.\n")
    release(docs, "9.8.8")
    expected = """```{changes}
```

## 9.8.8

**Metadata**

- Later.

## 9.8.7

**Reading**

- One.

**Kernels, commands, documents**

- Two
  lines, see [a page](cli.md).
"""
    assert expected in (docs / "changelog.md").read_text()
    assert [path.name for path in (docs / "changes").iterdir()] == ["README.md"]


def test_nothing_is_lost_where_something_is_missing(docs, release):
    page = docs / "changelog.md"
    page.write_text("# Changelog\n")
    with pytest.raises(SystemExit, match="no place"):
        release(docs, "9.8.7")
    assert len(list((docs / "changes").iterdir())) == 3
    shutil.copy(DOCS / "changelog.md", docs)
    for path in (docs / "changes").glob("[0-9]*"):
        path.unlink()
    before = page.read_text()
    with pytest.raises(SystemExit, match="no changes"):
        release(docs, "9.8.7")
    assert page.read_text() == before
