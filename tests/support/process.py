"""Run Python code in a process of its own, so that a crash or a hang fails one test only."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import zarr

from support.doors import doors

TESTS = Path(__file__).parent.parent

# As where it is not installed: neither a module nor entry points.
WITHOUT_CYZARR = """
import importlib.metadata, sys
sys.modules["cyzarr"] = None
installed = importlib.metadata.distributions
importlib.metadata.distributions = lambda **k: (d for d in installed(**k) if d.metadata["Name"] != "cyzarr")
"""


def run_python(code, *arguments, timeout=60, env=None):
    """Run code (dedented) with sys.argv[1:] = arguments; its standard output.

    Fails with the process's errors if it ends badly or takes longer than `timeout` seconds.
    """
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths, **(env or {})}
    command = [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def read_in_child(folder, door_name):
    """What a spawned process does: read a part through a door; the sum."""
    door = {each.name: each for each in doors()}[door_name]
    with door.through():
        return zarr.open_array(folder, mode="r")[3:50, 9].sum()
