"""Build of the compiled kernels. What is not about compiling stands in pyproject.toml.

``CYZARR_BUILD`` chooses how: ``release`` (default), ``debug`` (bounds, None and initialised
checks on, C division checked, no optimisation), ``coverage`` (each line tells coverage.py that it
runs, also without the GIL; slow) or ``asan`` (each access to memory, and what C leaves undefined,
looked at; Python has to be run with the sanitizer's library). ``CYZARR_BUILD_JOBS`` says how
many compilers run at once, ``CYZARR_ANNOTATE`` writes Cython's annotated pages below build/.
"""

import os
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

BUILD = os.environ.get("CYZARR_BUILD", "release")
FLAGS_OF = {
    "release": ["-O3", "-g0"],
    "debug": ["-O0", "-g"],
    "coverage": ["-O1", "-g0"],
    "asan": ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
}
if BUILD not in FLAGS_OF:
    raise SystemExit(f"CYZARR_BUILD must be one of {', '.join(FLAGS_OF)}, found {BUILD!r}")
FLAGS = FLAGS_OF[BUILD]
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
}
MACROS = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")]
# A traced line takes the GIL. These take locks that other threads wait for with the GIL.
UNTRACED = {"cyzarr.kernels.indexcache", "cyzarr.kernels.pool", "cyzarr.kernels.workers"}
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
                extra_link_args=["-pthread", *(flag for flag in FLAGS if "sanitize" in flag)],
                include_dirs=[numpy.get_include()],
                define_macros=MACROS,
                libraries=["dl"],
                depends=depends,
            )
        )
    return found


def compiled(modules: list[Extension], traced: bool) -> list[Extension]:
    """Their C."""
    return cythonize(
        modules,
        compiler_directives={**DIRECTIVES, "linetrace": traced},
        include_path=["src"],
        # The plugin looks for the C beside its source.
        build_dir=None if TRACED else f"build/cython-{BUILD}",
        nthreads=JOBS,
        annotate=bool(os.environ.get("CYZARR_ANNOTATE")),
    )


setup(
    ext_modules=[
        *compiled([one for one in extensions() if one.name not in UNTRACED], TRACED),
        *compiled([one for one in extensions() if one.name in UNTRACED], False),
    ],
    options={"build_ext": {"parallel": JOBS}},
)
