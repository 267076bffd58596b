"""What merely installing cyzarr means to zarr: nothing changes and hardly any time is lost."""

import importlib.metadata
import subprocess
import sys

import pytest

import cyzarr

LOAD = """
import sys, time
import numpy, zarr, zarr.registry as registry

start = time.perf_counter()
registry.get_pipeline_class()
for name in ("bytes", "sharding_indexed"):
    registry.get_codec_class(name)
taken = time.perf_counter() - start

ours = [name for name in sys.modules if name.split(".")[0] == "cyzarr"]
files = [getattr(sys.modules[name], "__file__", None) or "" for name in ours]
assert "cyzarr" in ours, "the entry points are not loaded"
compiled = [file for file in files if not file.endswith(".py")]
assert not compiled, compiled
print(taken)
"""


def run_fresh(code: str) -> str:
    """What ``code`` prints in a new interpreter that warns of nothing."""
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_installed_package_is_tested():
    assert "site-packages" in cyzarr.__file__


def test_version_is_that_of_the_installed_package():
    assert cyzarr.__version__ == importlib.metadata.version("cyzarr")


def test_a_folder_that_is_not_installed_has_no_version_but_works(monkeypatch):
    def version(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.delattr(cyzarr, "__version__", raising=False)
    assert cyzarr.__version__ == "unknown"


def test_loading_the_entry_points_is_cheap_and_imports_nothing_compiled():
    seconds = min(float(run_fresh(LOAD)) for _ in range(5))
    assert seconds < 0.005


def test_zarr_keeps_its_own_choice():
    run_fresh("""
import zarr.registry as registry

assert registry.get_pipeline_class().__module__ == "zarr.core.codec_pipeline"
assert registry.get_codec_class("bytes").__module__ == "zarr.codecs.bytes"
assert registry.get_codec_class("sharding_indexed").__module__ == "zarr.codecs.sharding"
""")


@pytest.mark.parametrize(
    ("key", "name", "getter"),
    [
        ("codec_pipeline.path", "CodecPipeline", "get_pipeline_class()"),
        ("codecs.bytes", "BytesCodec", "get_codec_class('bytes')"),
        ("codecs.sharding_indexed", "ShardingCodec", "get_codec_class('sharding_indexed')"),
    ],
)
def test_config_alone_chooses_ours(key, name, getter):
    run_fresh(f"""
import zarr, zarr.registry as registry

with zarr.config.set({{"{key}": "cyzarr.{name}"}}):
    chosen = registry.{getter}
import cyzarr

assert chosen is cyzarr.{name}, chosen
""")


def test_environment_variable_alone_chooses_our_pipeline(monkeypatch):
    monkeypatch.setenv("ZARR_CODEC_PIPELINE__PATH", "cyzarr.CodecPipeline")
    run_fresh("""
import zarr.registry as registry

assert registry.get_pipeline_class().__module__ == "cyzarr"
""")
