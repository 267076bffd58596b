"""The documents' code runs: the blocks of a page one after the other, in a process and a folder of their own.

A block that needs more says so, ```python needs=dask,xarray, and runs where that is installed. `server` is S3 on
loopback.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import zarr

from support.doors import PLAIN

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])
if PLAIN or not (ROOT / "docs").is_dir():
    pytest.skip("the documents are not here, or cyzarr is left out", allow_module_level=True)


@dataclass
class Block:
    """A fenced block."""

    language: str
    needs: set
    line: int
    text: str


def blocks_of(page):
    found = []
    text = page.read_text()
    for match in re.finditer(r"^```(\w+)([^\n]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        language, info, body = match.groups()
        named = re.fullmatch(r"\s*(?:needs=([\w,]+))?\s*", info)
        assert named, f"{page}: what does {info!r} mean?"
        needs = set(named.group(1).split(",")) if named.group(1) else set()
        found.append(Block(language, needs, text.count("\n", 0, match.start(3)) + 1, body))
    return found


def script(blocks):
    """Their text, each line where it stands in the page."""
    lines = []
    for block in blocks:
        lines += [""] * (block.line - 1 - len(lines)) + block.text.rstrip("\n").split("\n")
    return "\n".join(lines) + "\n"


def run(page, blocks, folder, **environment):
    path = folder / page.with_suffix(".py").name
    path.write_text(script(blocks))
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", str(path)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{page.relative_to(ROOT)}\n{done.stdout}\n{done.stderr}"


def missing(needs):
    return sorted(one for one in needs - {"server"} if importlib.util.find_spec(one) is None)


def named(pages):
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in pages]


def python_of(page):
    return [block for block in blocks_of(page) if block.language == "python"]


@pytest.mark.parametrize("page", named([page for page in PAGES if any(not one.needs for one in python_of(page))]))
def test_python(page, tmp_path):
    run(page, [block for block in python_of(page) if not block.needs], tmp_path)


@pytest.mark.parametrize("page", named([page for page in PAGES if any(one.needs for one in python_of(page))]))
def test_python_that_needs_more(page, tmp_path):
    blocks = python_of(page)
    here = [block for block in blocks if not missing(block.needs)]
    absent = sorted({name for block in blocks for name in missing(block.needs)})
    if not any(block.needs for block in here):
        pytest.skip(f"not installed: {', '.join(absent)}")
    if any("server" in block.needs for block in here):
        pytest.importorskip("moto.server")
        from support.servers import KEYS, bucket_of

        values = np.arange(10 * 20, dtype="i4").reshape(10, 20)
        zarr.create_array(tmp_path / "bucket" / "array.zarr", shape=(10, 20), chunks=(5, 5), dtype="i4")[...] = values
        with bucket_of(tmp_path / "bucket") as (endpoint, _log):
            environment = {name.upper(): value for name, value in KEYS.items()}
            environment |= {"AWS_REGION": KEYS["region_name"], "AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true"}
            run(page, here, tmp_path, **environment)
        return
    # The workers of a cluster run their parent's script again, so that one stands alone.
    alone = [block for block in here if "distributed" in block.needs]
    for blocks in ([block for block in here if block not in alone], *([block] for block in alone)):
        run(page, blocks, tmp_path)


def commands(page):
    """The `cyzarr` commands of console blocks, but for those that reach out, and the demo, which CI runs."""
    found = []
    for block in blocks_of(page):
        if block.language == "console":
            lines = block.text.splitlines()
            # With prompts, what is not behind one is what was printed.
            for line in [one for one in lines if one.startswith("$ ")] or lines:
                words = line.removeprefix("$ ").split("#")[0].strip()
                if words.startswith("cyzarr ") and "://" not in words and not words.startswith("cyzarr demo"):
                    found.append(words)
    return found


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    """What the pages' commands name."""
    folder = tmp_path_factory.mktemp("arrays")
    options = {"shape": (64, 64, 64), "shards": (32, 32, 32), "chunks": (8, 8, 8), "dtype": "u2"}
    values = np.arange(64**3, dtype="u2").reshape(64, 64, 64)
    group = zarr.create_group(folder / "scans.zarr")
    for array in (
        zarr.create_array(folder / "brain.zarr", **options),
        zarr.create_array(folder / "volume.zarr", **options),
        group.create_array("image/0", **options),
        group.create_array("image/1", **options),
        group.create_array("labels", **options),
    ):
        array[...] = values
    (folder / "zarr.json").write_bytes((folder / "brain.zarr" / "zarr.json").read_bytes())
    return folder


@pytest.mark.parametrize("page", named([page for page in PAGES if commands(page)]))
def test_commands(page, arrays):
    command = [sys.executable, "-c", "from cyzarr.cli import script; raise SystemExit(script())"]
    for line in commands(page):
        if "--plot" in line and missing({"matplotlib"}):
            continue
        words, _, given = line.partition(" < ")
        done = subprocess.run(
            [*command, *shlex.split(words)[1:]],
            cwd=arrays,
            input=(arrays / given).read_text() if given else "",
            capture_output=True,
            text=True,
            check=False,
        )
        # A group alone is refused with the names of its arrays, as the page shows.
        refused = f"$ {line}\n{done.stderr}" in page.read_text()
        assert done.returncode == 0 or (done.returncode == 2 and refused), (line, done.stdout, done.stderr)


def test_nothing_is_left_out():
    """Each fence is of a language that is known here; Cython's are compiled where they stand in the sources."""
    known = {"python", "console", "cython", "json", "text", "toml"}
    assert {block.language for page in PAGES for block in blocks_of(page)} <= known


def test_every_public_kernel_is_listed():
    from cyzarr import kernels

    listed = set(re.findall(r"^\| `(\w+)\(", (ROOT / "docs" / "kernels.md").read_text(), re.MULTILINE))
    assert listed == set(kernels.__all__) - {"AxisTable"}
