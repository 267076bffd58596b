"""Run xarray's own tests of its zarr backend without and with cyzarr, and compare.

    python tests/upstream/xarray_backends.py

They are in xarray's wheel. As for zarr's own suite (run.py): whatever passes without cyzarr must pass with it, and
cyzarr must serve reads, or the exit code is 1. Needs cyzarr and its ``clients`` extra.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import run

FILES = ["test_backends.py", "test_backends_datatree.py"]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-k", default="zarr", help="which tests, as pytest's -k")
    parser.add_argument("-n", "--workers", default="2", help="xdist workers; 0 for none")
    args = parser.parse_args(argv)
    package = installed("xarray")
    # Neither the settings of a project around this environment nor those of a cache.
    options = ["-c", os.devnull, f"--rootdir={package}", "-k", args.k, "--disable-warnings"]
    options += [str(package / "tests" / name) for name in FILES]
    outcomes = {}
    for mode in ("without", "with"):
        with tempfile.TemporaryDirectory() as folder:
            outcomes[mode] = run.run_suite(Path(folder), mode, options, run.parse(["-n", args.workers]))
    print(f"xarray {importlib.metadata.version('xarray')}")
    return run.judge(importlib.metadata.version("zarr"), outcomes["without"], outcomes["with"])


def installed(package: str) -> Path:
    """The folder of an installed package."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed")
    return Path(spec.origin).parent


if __name__ == "__main__":
    sys.exit(main())
