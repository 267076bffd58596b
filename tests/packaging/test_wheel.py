"""The sdist and the wheel: what is in them, and that both work where no checkout is."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
CONSUMER = Path(__file__).with_name("consumer")
SOURCES = ("src", "tests", "asv_bench", "docs", "examples", ".ci")
TOP_FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "CONTRIBUTING.md")
CACHES = ("__pycache__", ".*cache", "cache", ".hypothesis", "env", "html", "results")
NOT_SOURCES = shutil.ignore_patterns(*CACHES, "*.egg-info", "*.so", "*.c")


def run(*command: object, cwd: Path) -> str:
    """What a command prints; nothing of the checkout is on its path."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the sources without anything that was built."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in TOP_FILES:
        shutil.copy(ROOT / name, copy / name)
    for name in SOURCES:
        if (ROOT / name).exists():
            shutil.copytree(ROOT / name, copy / name, ignore=NOT_SOURCES)
    return copy


@pytest.fixture(scope="module")
def built(checkout, tmp_path_factory) -> Path:
    """A folder with the sdist and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, checkout, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    (wheel,) = built.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Path:
    """The Python of a new environment that has the wheel and a compiler's needs."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder, cwd=folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", wheel, "Cython>=3.3", "setuptools>=77", "cffi", cwd=folder)
    return python


def names_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_wheel_holds_what_users_need_and_nothing_else(wheel, checkout):
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = names_below(checkout / "src")
    extensions = {name for name in names if name.endswith(".so")}
    kept = {name for name in sources if name.endswith((".py", ".pxd", ".pyi", "py.typed"))}
    assert {name.split(".")[0] + ".pyx" for name in extensions} == {name for name in sources if name.endswith(".pyx")}
    rest = names - kept - extensions
    assert kept <= names
    assert all(name.startswith("cyzarr-") and ".dist-info/" in name for name in rest), rest


def test_sdist_holds_all_that_building_and_testing_need(built, checkout):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    made = ("build/", "src/cyzarr.egg-info/")
    wanted = {name for name in names_below(checkout) if not name.startswith(made)}
    assert not wanted - names
    assert not [name for name in names if name.endswith((".so", ".c", ".pyc"))]


@pytest.mark.skipif(sys.platform != "linux", reason="about Linux")
def test_wheel_needs_nothing_but_glibc(wheel, tmp_path):
    """`auditwheel` finds nothing to put in: the tag says how old a glibc may be."""
    pytest.importorskip("auditwheel")
    scripts = Path(sys.executable).parent
    audit = [sys.executable, "-m", "auditwheel"]
    said = " ".join(run(*audit, "show", wheel, cwd=tmp_path).split())
    assert re.search(r'following platform tag: "manylinux_2_\d+_\w+"', said), said
    run("env", f"PATH={scripts}:{os.environ['PATH']}", *audit, "repair", "-w", tmp_path, wheel, cwd=tmp_path)
    (repaired,) = tmp_path.glob("*.whl")
    assert "manylinux" in repaired.name
    assert not [name for name in zipfile.ZipFile(repaired).namelist() if ".libs/" in name]


def test_versions_are_those_of_tags(checkout, wheel, tmp_path):
    pytest.importorskip("setuptools_scm")
    assert wheel.name.startswith("cyzarr-0.1.0.dev0-")  # of a copy of the files
    shutil.copytree(checkout, tmp_path / "tagged")
    git = ["git", "-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"], ["tag", "v9.8.7"]):
        run(*git, *command, cwd=tmp_path / "tagged")
    assert run(sys.executable, "-m", "setuptools_scm", cwd=tmp_path / "tagged").strip() == "9.8.7"


def test_wheel_works_without_the_checkout(environment, tmp_path):
    printed = run(
        environment,
        "-c",
        "import numpy as np, cyzarr, cyzarr.auto, zarr\n"
        "array = zarr.create_array({}, shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype='u2')\n"
        "array[...] = np.arange(64).reshape(8, 8)\n"
        "assert (array[3, 2:7] == np.arange(26, 31)).all()\n"
        "status = cyzarr.status()\n"
        "assert status.enabled and not status.notes, status\n"
        "print(cyzarr.__file__)\n",
        cwd=tmp_path,
    )
    assert Path(printed.strip()).is_relative_to(environment.parents[1])


def test_command_line_is_installed(environment, tmp_path):
    assert run(environment.with_name("cyzarr"), "--version", cwd=tmp_path).strip()


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
