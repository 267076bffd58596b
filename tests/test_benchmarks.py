"""Every benchmark runs once, with all its parameters: one that nobody runs tests nothing."""

import importlib
import inspect
import itertools
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "asv_bench"
MODULES = ("kernels", "lazy", "limit", "metadata", "reads", "stores")

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="asv_bench is not here")


def benchmarks():
    """(class, method name) of each benchmark, as asv finds them."""
    if not FOLDER.is_dir():
        return
    sys.path.insert(0, str(FOLDER))
    try:
        modules = [importlib.import_module(f"benchmarks.{name}") for name in MODULES]
    finally:
        sys.path.remove(str(FOLDER))
    for module in modules:
        for name, kind in inspect.getmembers(module, inspect.isclass):
            if name.startswith("_") or kind.__module__ != module.__name__:
                continue
            for method in dir(kind):
                if method.startswith(("time_", "track_")):
                    yield pytest.param(kind, method, id=f"{name}.{method}")


@pytest.fixture(scope="module")
def caches(tmp_path_factory):
    """What each ``setup_cache`` returns; like asv, run once, in a folder of its own."""
    found = {}

    def of(kind):
        make = getattr(kind, "setup_cache", None)
        if make is None:
            return ()
        if make not in found:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(tmp_path_factory.mktemp("benchmarks"))
                found[make] = make(kind())
        return (found[make],)

    return of


def run(kind, method, arguments):
    """One call, in the order in which asv makes them; None where setup says it can't be run."""
    benchmark = kind()
    try:
        benchmark.setup(*arguments)
    except NotImplementedError:
        return None
    try:
        getattr(benchmark, method)(*arguments)
        return getattr(benchmark, method)(*arguments)
    finally:
        if hasattr(benchmark, "teardown"):
            benchmark.teardown(*arguments)


@pytest.fixture
def _brief(monkeypatch):
    """As short as they can be: here it counts that a benchmark runs, not what it finds."""
    monkeypatch.setattr(sys.modules["benchmarks.stores"], "LATENCY", 0.001)
    monkeypatch.setattr(sys.modules["benchmarks.limit"], "ROUNDS", 1)
    monkeypatch.setattr(sys.modules["benchmarks.limit"], "SECONDS", 0)


@pytest.mark.usefixtures("_brief")
@pytest.mark.parametrize(("kind", "method"), list(benchmarks()))
def test_runs(caches, kind, method):
    assert kind.version
    assert len(kind.params) == len(kind.param_names)
    ran = {}
    for values in itertools.product(*kind.params):
        result = run(kind, method, (*caches(kind), *values))
        assert method.startswith("time_") or result is None or result > 0
        ran[values] = result
    assert ran


def test_cyzarr_reads_no_more_than_zarr(caches):
    """Where the benchmarks count bytes, ours are never the most."""
    kinds = {p.values[0] for p in benchmarks() if p.values[1] == "track_bytes_read"}
    assert kinds
    for kind in kinds:
        for read in kind.params[1]:
            read_by = {
                engine: run(kind, "track_bytes_read", (*caches(kind), engine, read)) for engine in ("zarr", "cyzarr")
            }
            assert read_by["cyzarr"] <= read_by["zarr"], (kind.__name__, read)
