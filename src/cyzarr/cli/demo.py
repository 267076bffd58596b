"""``cyzarr demo``: would it help me? See the command's own --help for what it does."""

import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zarr
from zarr.storage import StorePath

import cyzarr
from cyzarr.cli import report, volume
from cyzarr.cli.ending import BAD, FINE, FailedError, UsageError, print_json
from cyzarr.cli.engines import available
from cyzarr.cli.measure import Arrays, Row, Timing, compare
from cyzarr.cli.progress import progress
from cyzarr.cli.reads import choose, one_shape
from cyzarr.cli.source import find
from cyzarr.words import nbytes_text

# After this long each read is timed once only, so that a slow machine gets an answer too.
ENOUGH_SECONDS = 25


def run(
    path: str | None,
    name: str | None = None,
    options: Sequence[str] = (),
    *,
    edge: int = 512,
    seconds: float = 1.0,
    as_json: bool = False,
) -> int:
    """Run the demo on the array at ``path``, or on a volume of its own; its exit status."""
    if path is not None:
        return show(*find(path, name, options), seconds, as_json)
    with temporary_folder() as folder:
        return show(*written(folder / "volume.zarr", edge, as_json), seconds, as_json)


def written(path: Path, edge: int, quiet: bool) -> tuple[StorePath, zarr.Array[Any]]:
    """The demo's own volume, written by zarr alone."""
    room, needed = shutil.disk_usage(path.parent).free, volume.nbytes(edge)
    if needed > room:
        raise UsageError(
            f"a volume of {nbytes_text(needed)} is asked for by --edge {edge}, and {tempfile.gettempdir()} has room for"
            f" {nbytes_text(room)}"
        )
    array = volume.create(path, edge)
    if not quiet:
        print(f"Writing a volume of {nbytes_text(array.nbytes)} to a temporary folder.", flush=True)
    with progress(len(volume.regions(array)), "writing") as step:
        volume.write(array, step)
    return find(str(path))


def show(source: StorePath, array: zarr.Array[Any], seconds: float, as_json: bool) -> int:
    """Compare, print, and judge."""
    must_work()
    if not as_json:
        print(heading(array), flush=True)
    rows = measured(source, array, seconds)
    names = list(rows[0].seconds)
    if as_json:
        print_json(described(array) | {"reads": [report.as_json(row) for row in rows]})
    else:
        print(report.table(rows, names), "", sep="\n")
        print(*report.notes(rows), report.verdict(rows, names), sep="\n")
    return BAD if any(row.differs for row in rows) else FINE


def must_work() -> None:
    """Refuse to compare where cyzarr is only named, and zarr reads."""
    with cyzarr.enabled():
        status = cyzarr.status()
    if not status.enabled:
        raise FailedError(f"cyzarr could not be switched on: {'; '.join(status.notes)}")


def described(array: zarr.Array[Any]) -> dict[str, Any]:
    """What is read, and with what, in plain types."""
    return {
        "shape": array.shape,
        "dtype": str(array.dtype),
        "chunks": one_shape(array, "chunks"),
        "shards": one_shape(array, "shards"),
        "versions": {"cyzarr": cyzarr.__version__, "zarr": zarr.__version__},
        "processors": os.cpu_count(),
    }


def heading(array: zarr.Array[Any], cache: str = "warm page cache") -> str:
    """What is read, and with what."""
    where = f"zarr {zarr.__version__}, {os.cpu_count()} processors, {cache}"
    return f"{array.dtype} {array.shape}, {grid(array)}; {where}.\n"


def grid(array: zarr.Array[Any]) -> str:
    """How the array is cut."""
    chunks, shards = one_shape(array, "chunks"), one_shape(array, "shards")
    if chunks is None:
        return "chunks of various shapes"
    return f"shards {shards}, inner chunks {chunks}" if shards else f"chunks {chunks}"


def measured(source: StorePath, array: zarr.Array[Any], seconds: float) -> list[Row]:
    """One row for each read."""
    arrays: Arrays = {engine: engine.open(source) for engine in available()}
    reads = choose(array)
    timing = Timing(seconds=seconds, deadline=time.monotonic() + ENOUGH_SECONDS)
    with progress(len(reads) * (len(arrays) + 1), "reading") as step:
        return [compare(source, arrays, read, timing, step) for read in reads]


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, gone at the end: also after Ctrl-C or a termination signal."""
    folder = Path(tempfile.mkdtemp(prefix="cyzarr-demo-"))
    try:
        with termination_raises():
            yield folder
    finally:
        remove(folder)


@contextmanager
def termination_raises() -> Iterator[None]:
    """Let SIGTERM unwind the stack, as Ctrl-C does, instead of ending the process there."""

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set handlers
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def remove(folder: Path, patience: float = 5.0) -> None:
    """Remove a folder into which a write that was broken off may still be going on.

    zarr writes in a thread that an interrupt doesn't reach, and makes missing parents anew:
    so look again until the folder stays away.
    """
    end = time.monotonic() + patience
    quiet = 0
    while quiet < 3 and time.monotonic() < end:
        if folder.exists():
            shutil.rmtree(folder, ignore_errors=True)
            quiet = 0
        else:
            quiet += 1
        if quiet < 3:
            time.sleep(0.05)
