"""Every truncation and every single-byte flip of small shards: right, or an error, never a crash.

Each shard is read in a process of its own (support/hostile.py), so that a crash fails its test.
Where nothing protects a byte, changed values are right if zarr alone gives the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from support.doors import PLAIN, zarr_differs
from support.hostile import SHARDS
from support.process import TESTS


def _shard(name):
    differs = zarr_differs("c-blosc trusts its input") if "blosc" in name or "nested" in name else ()
    return pytest.param(name, marks=differs)


@pytest.mark.parametrize("shard", [_shard(name) for name in SHARDS])
def test_damaged_shards(shard, tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "support.hostile", shard]
    with open(tmp_path / "progress", "w+b") as progress:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=progress, timeout=120, env=environment)
        progress.seek(0)
        last = progress.read().decode(errors="replace")
    assert done.returncode == 0, f"exit {done.returncode} in: {last}"
    told = json.loads(done.stdout)
    assert not told["failures"], f"{len(told['failures'])} of {told['reads']}: {told['failures'][:10]}"
    assert 0 < told["errors"] < told["reads"]
    assert PLAIN or told["reads"] > 500
