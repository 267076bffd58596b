"""The wheels that a release has, by what cibuildwheel makes of its settings. Building them takes Docker, or a Mac."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = ("cp311", "cp312", "cp313", "cp314", "cp314t")


@pytest.mark.parametrize(
    ("platform", "kinds"),
    [
        ("linux", ("manylinux_x86_64", "manylinux_aarch64")),
        ("macos", ("macosx_x86_64", "macosx_arm64")),
    ],
)
def test_wheels_are_those_that_are_meant(platform, kinds):
    pytest.importorskip("cibuildwheel")
    command = [sys.executable, "-m", "cibuildwheel", "--print-build-identifiers", "--platform", platform, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted(f"{python}-{kind}" for python in PYTHONS for kind in kinds)


def test_what_tries_the_wheels_is_there():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    paths = re.findall(r"\{project\}/(\S+)", " ".join(settings["test-command"]))
    assert len(paths) > 1
    assert all((ROOT / path).exists() for path in paths), paths
