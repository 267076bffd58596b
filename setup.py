"""Build of the compiled kernels. What is not about compiling stands in pyproject.toml.

``CYZARR_BUILD`` chooses how: ``release`` (default), ``debug`` (bounds, None and initialised
checks on, C division checked, no optimisation) or ``coverage`` (each line tells coverage.py that it
runs, also without the GIL; slow). ``CYZARR_BUILD_JOBS`` says how many compilers run at once,
``CYZARR_ANNOTATE`` writes Cython's annotated pages below build/.
"""

import os
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

BUILD = os.environ.get("CYZARR_BUILD", "release")
if BUILD not in ("release", "debug", "coverage"):
    raise SystemExit(f"CYZARR_BUILD must be 'release', 'debug' or 'coverage', found {BUILD!r}")
CHECKED = BUILD == "debug"
TRACED = BUILD == "coverage"
JOBS = int(os.environ.get("CYZARR_BUILD_JOBS", "2"))

# Every directive stands here. wraparound is off in both builds: with bounds checked and no
# wraparound a negative index is an error, too.
DIRECTIVES = {
    "language_level": 3,
    "binding": True,
    "boundscheck": CHECKED,
    "wraparound": False,
    "initializedcheck": CHECKED,
    "nonecheck": CHECKED,
    "cdivision": not CHECKED,
    "embedsignature": False,
    "linetrace": TRACED,
}
FLAGS = ["-O0", "-g"] if CHECKED else ["-O1", "-g0"] if TRACED else ["-O3", "-g0"]
MACROS = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")]
if TRACED:
    # coverage.py's plugin for Cython knows the older way of tracing alone.
    MACROS += [("CYTHON_TRACE_NOGIL", "1"), ("CYTHON_USE_SYS_MONITORING", "0")]


def mode_stamp() -> str:
    """A file that is newer than what the other mode built, so that nothing of it is kept."""
    stamp = Path("build/mode")
    if not stamp.exists() or stamp.read_text() != BUILD:
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(BUILD)
    return stamp.as_posix()


def extensions() -> list[Extension]:
    """One extension for each .pyx below src/cyzarr, named by its place."""
    found = []
    depends = [mode_stamp()]
    for path in sorted(Path("src/cyzarr").rglob("*.pyx")):
        name = ".".join(path.relative_to("src").with_suffix("").parts)
        found.append(
            Extension(
                name,
                [path.as_posix()],
                extra_compile_args=[*FLAGS, "-fvisibility=hidden", "-pthread"],
                extra_link_args=["-pthread"],
                include_dirs=[numpy.get_include()],
                define_macros=MACROS,
                libraries=["dl"],
                depends=depends,
            )
        )
    return found


setup(
    ext_modules=cythonize(
        extensions(),
        compiler_directives=DIRECTIVES,
        include_path=["src"],
        # The plugin looks for the C beside its source.
        build_dir=None if TRACED else f"build/cython-{BUILD}",
        nthreads=JOBS,
        annotate=bool(os.environ.get("CYZARR_ANNOTATE")),
    ),
    options={"build_ext": {"parallel": JOBS}},
)
