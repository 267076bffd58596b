"""The stubs beside the compiled modules: mypy's stubtest holds each to what the module really has."""

import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

import cyzarr

PACKAGE = Path(cyzarr.__file__).parent
ALLOWED = Path(__file__).with_name("stubtest.txt")


def modules(suffixes: tuple[str, ...]) -> set[str]:
    """The names of the installed modules whose files end in one of these."""
    found = set()
    for path in PACKAGE.rglob("*"):
        if path.name.endswith(suffixes):
            parts = path.relative_to(PACKAGE.parent).parts
            found.add(".".join((*parts[:-1], path.name.partition(".")[0])))
    return found


def test_each_compiled_module_has_a_stub_and_each_stub_a_module():
    compiled = modules(tuple(EXTENSION_SUFFIXES))
    assert compiled
    assert compiled == modules((".pyi",))


def test_stubs_tell_the_truth(tmp_path):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "--allowlist", str(ALLOWED), *sorted(modules((".pyi",)))]
    # Elsewhere than in the checkout, so that neither its configuration nor its sources are taken.
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
