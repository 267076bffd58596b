"""Run zarr's own test suite without and with cyzarr, and compare.

    python tests/upstream/run.py                    # the files about reading
    python tests/upstream/run.py --all              # everything but zarr's benchmarks (minutes)
    python tests/upstream/run.py tests/test_v2.py   # some of zarr's files

The source distribution of the zarr that is installed is fetched by pip into the project's cache.
Whatever passes without cyzarr must pass with it; otherwise, or where cyzarr served no read, the
exit code is 1. Needs cyzarr and its ``upstream`` extra in the environment that runs this.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from pathlib import Path

from packaging.specifiers import SpecifierSet

HERE = Path(__file__).resolve().parent
CACHE = HERE.parents[1] / ".ci" / "cache"

# About reading, or about what enabling and registering touches. A zarr that lacks one skips it.
FILES_ABOUT_READING = [
    "tests/test_api.py",
    "tests/test_array.py",
    "tests/test_array_stateful.py",
    "tests/test_buffer.py",
    "tests/test_chunk_grids.py",
    "tests/test_chunk_transform.py",
    "tests/test_codec_entrypoints.py",
    "tests/test_codec_pipeline.py",
    "tests/test_codec_pipeline_suite.py",
    "tests/test_codecs",
    "tests/test_config.py",
    "tests/test_fastpath_equivalence.py",
    "tests/test_fused_pipeline.py",
    "tests/test_indexing.py",
    "tests/test_pipeline_parity.py",
    "tests/test_registry.py",
    "tests/test_resize.py",
    "tests/test_unified_chunk_grid.py",
    "tests/test_v2.py",
]

# Left out: the examples install packages from the network while they run.
IGNORED = ["tests/test_examples.py"]


def main(argv: list[str] | None = None) -> int:
    args = parse(argv)
    version = importlib.metadata.version("zarr")
    if args.all and version in SpecifierSet("<3.2"):
        # Some of its tests have memory addresses in their names, which differ between workers.
        args.workers = "0"
    suite = fetch_suite(version, args.cache)
    paths = chosen_paths(suite, args)
    without = run_suite(suite, "without", paths, args)
    with_cyzarr = run_suite(suite, "with", paths, args)
    return judge(version, without, with_cyzarr)


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", help="files of zarr's suite, as tests/test_v2.py")
    parser.add_argument("--all", action="store_true", help="the whole suite, without benchmarks")
    parser.add_argument("--benchmarks", action="store_true", help="zarr's benchmarks, too")
    parser.add_argument("-n", "--workers", default="2", help="xdist workers; 0 for none")
    parser.add_argument("--seed", default="0", help="hypothesis seed, the same for both runs")
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder for zarr's sources")
    return parser.parse_args(argv)


def fetch_suite(version: str, cache: Path) -> Path:
    """The unpacked source distribution of zarr ``version``; fetched where the cache lacks it."""
    folder = cache / f"zarr-{version}"
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as temporary:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", temporary]
        subprocess.run([*pip, "--no-deps", "--no-binary", "zarr", f"zarr=={version}"], check=True)
        (archive,) = Path(temporary).glob("zarr-*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(temporary, filter="data")
        (Path(temporary) / folder.name).rename(folder)
    return folder


def chosen_paths(suite: Path, args: argparse.Namespace) -> list[str]:
    if args.paths:
        return args.paths
    if args.all:
        return ["tests"]
    paths = [*FILES_ABOUT_READING, *(["tests/benchmarks"] if args.benchmarks else [])]
    return [path for path in paths if (suite / path).exists()]


def run_suite(suite: Path, mode: str, paths: list[str], args: argparse.Namespace) -> dict:
    """Outcomes and counts of one run, as plugin.py writes them."""
    ignored = IGNORED + ([] if args.benchmarks else ["tests/benchmarks"])
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "plugin", "-r", "fE"]
    command += ["-p", "no:cacheprovider", f"--hypothesis-seed={args.seed}"]
    # The suite's own settings list the slowest tests.
    command += ["--durations-min=60", *(f"--ignore={path}" for path in ignored)]
    command += [] if args.workers == "0" else [f"-n{args.workers}"]
    with tempfile.TemporaryDirectory() as temporary:
        result = Path(temporary) / "result.json"
        environment = os.environ | {
            "CYZARR_UPSTREAM_MODE": mode,
            "CYZARR_UPSTREAM_RESULT": str(result),
            # An example that the first run found must not steer the second.
            "HYPOTHESIS_STORAGE_DIRECTORY": str(Path(temporary) / "hypothesis"),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH", "")])),
        }
        print(f"== zarr's tests {mode} cyzarr", flush=True)
        start = time.monotonic()
        code = subprocess.run([*command, *paths], cwd=suite, env=environment).returncode
        # 1 is "some tests failed": the comparison judges that.
        if code not in (0, 1) or not result.exists():
            raise SystemExit(f"pytest {mode} cyzarr ended with exit code {code}")
        print(f"== took {time.monotonic() - start:.0f} s", flush=True)
        return json.loads(result.read_text())


def judge(version: str, without: dict, with_cyzarr: dict) -> int:
    """Print the comparison; 0 where nothing was lost and cyzarr served reads."""
    passed = {name for name, outcome in without["tests"].items() if outcome == "passed"}
    now = with_cyzarr["tests"]
    lost = {name for name in passed if now.get(name) != "passed"}
    reasons = exceptions(version)
    excused = {name for name in lost if function_of(name) in reasons}
    for name in sorted(excused):
        print(f"excused: {name}: {reasons[function_of(name)]}")
    unneeded = reasons.keys() & {function_of(name) for name in now} - {function_of(name) for name in excused}
    for name in sorted(unneeded):
        print(f"an exception that is no longer needed: {name}")
    served = sum(count for road, count in with_cyzarr["reads"].items() if road != "zarr")
    kept = len(passed) - len(lost)
    print(f"zarr {version}: {len(passed)} tests pass without cyzarr, {kept} of them with it")
    print(f"reads served by cyzarr: {served}, by road: {with_cyzarr['reads']}")
    print(f"fallbacks: {with_cyzarr['fallbacks']}")
    return report_problems(sorted(lost - excused), now, served, with_cyzarr["always_on"])


def report_problems(lost: list[str], now: dict[str, str], served: int, always_on: bool) -> int:
    for name in lost:
        print(f"LOST: {name}: {now.get(name, 'not run')}")
    if not served:
        print("FAILED: cyzarr served no read, so this run shows nothing")
    if not always_on:
        print("FAILED: a worker ended with cyzarr switched off")
    return 0 if served and always_on and not lost else 1


def function_of(test: str) -> str:
    """A test's name without its parameters."""
    return test.partition("[")[0]


def exceptions(version: str) -> dict[str, str]:
    """Test function -> reason, for this zarr."""
    with open(HERE / "exceptions.toml", "rb") as file:
        entries = tomllib.load(file).get("exception", [])
    return {entry["test"]: entry["reason"] for entry in entries if version in SpecifierSet(entry["zarr"])}


if __name__ == "__main__":
    sys.exit(main())
