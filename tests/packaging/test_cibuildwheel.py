"""The wheels that a release has, by what cibuildwheel makes of its settings. Building them takes Docker, or a Mac."""

import subprocess
import sys
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
