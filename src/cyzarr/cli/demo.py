"""``cyzarr demo``: would it help me? See the command's own --help for what it does."""

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zarr
from zarr.storage import StorePath

import cyzarr
from cyzarr.cli import report, volume
from cyzarr.cli.engines import available
from cyzarr.cli.measure import ReadError, Row, compare
from cyzarr.cli.progress import progress
from cyzarr.cli.reads import choose, one_shape
from cyzarr.cli.source import UsageError, find

# After this long each read is timed once only, so that a slow machine gets an answer too.
ENOUGH_SECONDS = 25


def run(path: str | None, edge: int = 512, seconds: float = 1.0) -> int:
    """Run the demo on the array at ``path``, or on a volume of its own; its exit status."""
    try:
        if path is not None:
            return show(*find(path), seconds)
        with temporary_folder() as folder:
            return show(*written(folder / "volume.zarr", edge), seconds)
    except UsageError as error:
        return failed(error, 2)
    except (ReadError, OSError) as error:
        return failed(error, 1)
    except KeyboardInterrupt:
        return failed("interrupted", 130)


def failed(why: object, status: int) -> int:
    print(f"cyzarr demo: {why}", file=sys.stderr)
    return status


def written(path: Path, edge: int) -> tuple[StorePath, zarr.Array[Any]]:
    """The demo's own volume, written by zarr alone."""
    array = volume.create(path, edge)
    print(f"Writing a volume of {array.nbytes / 2**20:.0f} MiB to a temporary folder.", flush=True)
    with progress(len(volume.regions(array)), "writing") as step:
        volume.write(array, step)
    return find(str(path))


def show(source: StorePath, array: zarr.Array[Any], seconds: float) -> int:
    """Compare, print, and judge."""
    with cyzarr.enabled():
        status = cyzarr.status()
    if not status.enabled:
        return failed(f"cyzarr could not be switched on: {'; '.join(status.notes)}", 1)
    print(heading(array), flush=True)
    rows = measured(source, array, seconds)
    names = list(rows[0].seconds)
    print(report.table(rows, names), "", sep="\n")
    print(*report.notes(rows), report.verdict(rows, names), sep="\n")
    return 1 if any(row.differs for row in rows) else 0


def heading(array: zarr.Array[Any]) -> str:
    """What is read, and with what."""
    where = f"zarr {zarr.__version__}, {os.cpu_count()} processors, warm page cache"
    return f"{array.dtype} {array.shape}, {grid(array)}; {where}.\n"


def grid(array: zarr.Array[Any]) -> str:
    """How the array is cut."""
    chunks, shards = one_shape(array, "chunks"), one_shape(array, "shards")
    if chunks is None:
        return "chunks of various shapes"
    return f"shards {shards}, inner chunks {chunks}" if shards else f"chunks {chunks}"


def measured(source: StorePath, array: zarr.Array[Any], seconds: float) -> list[Row]:
    """One row for each read."""
    arrays = {engine: engine.open(source) for engine in available()}
    reads = choose(array)
    deadline = time.monotonic() + ENOUGH_SECONDS
    with progress(len(reads) * (len(arrays) + 1), "reading") as step:
        return [compare(source, arrays, read, seconds, deadline, step) for read in reads]


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
