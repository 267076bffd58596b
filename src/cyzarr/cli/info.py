"""``cyzarr info``: what runs here, to be pasted into a report. See the command's own --help."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Any

import cyzarr
from cyzarr.cli.ending import BAD, FINE, print_json

# What cyzarr stands on, and what it can do more with.
PACKAGES = ("cyzarr", "zarr", "numcodecs", "numpy", "google-crc32c")
OPTIONAL = {
    "progress bars": "tqdm",
    "URLs": "fsspec",
    "http": "aiohttp",
    "s3": "s3fs",
    "object stores": "obstore",
    "plots": "matplotlib",
    "dask workers": "distributed",
    "peer zarrs": "zarrs",
    "peer zarrista": "zarrista",
    "peer tensorstore": "tensorstore",
}


def run(as_json: bool = False) -> int:
    """Print what runs here; 1 where cyzarr can't be switched on."""
    found = gather()
    if as_json:
        print_json(found)
    else:
        print(*lines(found), sep="\n")
    return FINE if found["can_be_enabled"] else BAD


def gather() -> dict[str, Any]:
    """All that is told, in plain types."""
    before = cyzarr.status()
    with cyzarr.enabled():
        status = cyzarr.status()
    return {
        "versions": {name: version(name) for name in PACKAGES},
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "free_threaded": not getattr(sys, "_is_gil_enabled", lambda: True)(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processors": {"all": os.cpu_count(), "usable": usable_processors()},
        "enabled": before.enabled,
        "can_be_enabled": status.enabled,
        "pipeline": zarr_setting("codec_pipeline.path"),
        "road": road(status.enabled),
        "decoders": status.native,
        "threads": status.threads,
        "settings": settings(),
        "optional": {name: version(name) for name in OPTIONAL.values()},
        "notes": status.notes,
    }


def version(name: str) -> str | None:
    """A package's version; None where it isn't installed."""
    try:
        return installed(name)
    except PackageNotFoundError:
        return cyzarr.__version__ if name == "cyzarr" else None


def usable_processors() -> int | None:
    """How many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count()


def zarr_setting(name: str) -> Any:
    """A setting of zarr's."""
    import zarr

    return zarr.config.get(name, None)


def settings() -> dict[str, Any]:
    """cyzarr's settings as they are, and those of zarr's that it heeds."""
    try:
        from cyzarr import config
    except ImportError:
        return {}
    ours = {f"cyzarr.{name}": getattr(config.current(), name) for name in config.NAMES}
    names = ("async.concurrency", "threading.max_workers", "codec_pipeline.max_workers")
    return ours | {name: zarr_setting(name) for name in names}


def road(can_be_enabled: bool) -> str:
    """Which way reads go in a process like this one."""
    pipeline = str(zarr_setting("codec_pipeline.path"))
    if pipeline == "cyzarr.CodecPipeline":
        return "zarr's configuration names cyzarr's pipeline: every array that is opened reads through it"
    if not can_be_enabled:
        return "zarr's own code: cyzarr can't be switched on here"
    return "zarr's own code until cyzarr.enable() or `import cyzarr.auto`, then cyzarr"


def lines(found: dict[str, Any]) -> list[str]:
    """The same for people."""
    rows: list[tuple[str, Any]] = [(name, one or "not installed") for name, one in found["versions"].items()]
    rows += [
        ("Python", found["python"] + (", free-threaded" if found["free_threaded"] else "")),
        ("platform", found["platform"]),
        ("processors", f"{found['processors']['usable']} of {found['processors']['all']}"),
        ("", ""),
        ("enabled", "yes" if found["enabled"] else "no"),
        ("can be enabled", "yes" if found["can_be_enabled"] else "NO"),
        ("zarr's pipeline", found["pipeline"]),
        ("reads go", found["road"]),
        ("threads a read", found["threads"]),
        ("C decoders", ", ".join(name for name, yes in found["decoders"].items() if yes) or "none"),
    ]
    slow = [name for name, yes in found["decoders"].items() if not yes]
    if slow:
        rows.append(("without C", f"{', '.join(slow)}: by numcodecs' Python functions, slower"))
    rows.append(("", ""))
    rows += found["settings"].items()
    rows.append(("", ""))
    rows += [(what, f"{name} {found['optional'][name] or 'not installed'}") for what, name in OPTIONAL.items()]
    rows += [("note", note) for note in found["notes"]]
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}".rstrip() for name, value in rows]
