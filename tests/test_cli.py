"""``cyzarr demo``: what it reads, that it notices a difference, and how it ends."""

import argparse
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import zarr
from zarr.storage import LocalStore, MemoryStore, StorePath, ZipStore

from cyzarr import cli
from cyzarr.cli import arguments, demo, engines, measure, reads, report, volume


def make(path, shape, dtype="f4", **how):
    """An array of consecutive numbers."""
    array = zarr.create_array(path, shape=shape, dtype=dtype, **how)
    array[...] = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    return array


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Everything below a folder: name -> size and time of change."""
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*")}


# --- the command -------------------------------------------------------------------------


def test_demo_of_its_own_volume(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert cli.main(["demo", "--edge", "70", "--seconds", "0"]) == 0
    out = capsys.readouterr().out
    for label in ("one item", "one inner chunk", "plane, axis 2", "unaligned box", "everything"):
        assert re.search(rf"^{label} ", out, re.MULTILINE)
    assert "7 of 7 reads gave the same result" in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("shape", "how"),
    [
        ((), {}),
        ((0, 5), {"chunks": (1, 5)}),
        ((1,), {"chunks": (1,)}),
        ((1000,), {"chunks": (70,)}),
        ((13, 17), {"chunks": (5, 4)}),
        ((13, 17), {"chunks": (5, 4), "zarr_format": 2}),
        ((40, 50, 30), {"chunks": (8, 5, 10), "shards": (16, 20, 30)}),
        ((2, 3, 1, 6, 5), {"chunks": (1, 2, 1, 4, 5)}),
    ],
)
def test_demo_of_a_users_array_writes_nothing(capsys, tmp_path, monkeypatch, shape, how):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    make(tmp_path / "a", shape, **how)
    before = tree(tmp_path)
    assert cli.main(["demo", str(tmp_path / "a"), "--seconds", "0"]) == 0
    assert "everything" in capsys.readouterr().out
    assert tree(tmp_path) == before


def test_demo_of_a_zip_file(tmp_path):
    with ZipStore(tmp_path / "a.zip", mode="w") as store:
        make(store, (20, 20), chunks=(6, 6))
    assert cli.main(["demo", str(tmp_path / "a.zip"), "--seconds", "0"]) == 0


@pytest.mark.parametrize(
    "how",
    [
        {"chunks": [[10, 20, 30], [50, 50]]},
        {"shards": [[10, 20, 30], [50, 50]], "chunks": (5, 10)},
    ],
)
def test_demo_of_an_array_with_chunks_of_various_shapes(tmp_path, how):
    try:
        with zarr.config.set({"array.rectilinear_chunks": True}):
            make(tmp_path / "a", (60, 100), **how)
    except (TypeError, ValueError):
        pytest.skip("this zarr has no rectilinear grids")
    with zarr.config.set({"array.rectilinear_chunks": True}):
        assert cli.main(["demo", str(tmp_path / "a"), "--seconds", "0"]) == 0


def test_a_difference_ends_with_1_and_is_named(capsys, tmp_path, monkeypatch):
    make(tmp_path / "a", (20, 20), chunks=(5, 5))
    kept = measure.difference
    calls = iter(range(1000))
    monkeypatch.setattr(measure, "difference", lambda a, b: "values" if next(calls) == 2 else kept(a, b))
    assert cli.main(["demo", str(tmp_path / "a"), "--seconds", "0"]) == 1
    assert "DIFFERS: one item" in capsys.readouterr().out


def test_a_failing_read_ends_with_1_and_is_named(capsys, tmp_path):
    make(tmp_path / "a", (20, 20), chunks=(20, 20), compressors=None)
    os.truncate(tmp_path / "a/c/0/0", 1599)
    assert cli.main(["demo", str(tmp_path / "a")]) == 1
    err = capsys.readouterr().err
    assert err.startswith("cyzarr demo: one item [6, 6] through zarr: ")


def test_kernels_that_cannot_be_loaded_end_with_1(capsys, tmp_path, monkeypatch):
    class Off:
        enabled = False
        notes = ("no kernels here",)

    make(tmp_path / "a", (20,), chunks=(20,))
    monkeypatch.setattr(demo.cyzarr, "status", Off)
    assert cli.main(["demo", str(tmp_path / "a")]) == 1
    assert "could not be switched on: no kernels here" in capsys.readouterr().err


def test_wrong_paths_end_with_2_and_one_line(capsys, tmp_path):
    group = zarr.create_group(tmp_path / "group")
    for name in "abcdefg":
        group.create_array(name, shape=(2,), dtype="i2")
    zarr.create_group(tmp_path / "empty")
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("no array")
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn/zarr.json").write_text('{"zarr_format": 3, "node_type"')
    for name, words in {
        "missing": "no such file or folder",
        "folder": "no Zarr array or group",
        "file": "no Zarr array or group",
        "torn": "zarr cannot open",
        "empty": "it has no arrays",
        "group": "name one of its arrays, as PATH::NAME: a, b, c, d, e and 2 more",
    }.items():
        assert cli.main(["demo", str(tmp_path / name)]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert err.count("\n") == 1


@pytest.mark.parametrize("wrong", [["nonsense"], ["demo", "--edge", "0"], ["demo", "--edge", "x"]])
def test_wrong_commands_end_with_2(wrong):
    with pytest.raises(SystemExit) as end:
        cli.main(wrong)
    assert end.value.code == 2


def test_no_command_shows_the_help(capsys):
    assert cli.main([]) == 2
    assert "demo" in capsys.readouterr().out


def test_the_package_is_run_as_the_command_is():
    done = subprocess.run([sys.executable, "-m", "cyzarr", "bench"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("cyzarr bench: PATH is missing")


@pytest.mark.parametrize("flag", ["--help", "--version"])
def test_help_and_version_load_no_zarr(flag):
    code = (
        "import sys; from cyzarr import cli\n"
        "try: cli.main(sys.argv[1:])\n"
        "finally: assert 'zarr' not in sys.modules and 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code, flag], capture_output=True, text=True, check=True)
    assert "cyzarr" in done.stdout


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_nothing_behind(tmp_path, number, status):
    # A shell's background jobs, which a test run may be one of, ignore interrupts, and hand that down.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from cyzarr import cli; raise SystemExit(cli.main(['demo']))"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 30
        while not list(tmp_path.rglob("c/*")) and time.monotonic() < end:
            time.sleep(0.02)
        assert list(tmp_path.iterdir())
        run.send_signal(number)
        assert run.wait(30) == status
    finally:
        run.kill()
        run.wait()
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_is_one_line(tmp_path):
    """Also while zarr's own loop and threads are at work, which have complaints of their own."""
    array = zarr.create_array(tmp_path / "a", shape=(1000, 1000), chunks=(2, 2), dtype="i4")
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from cyzarr import cli, explaining\n"
        "import cyzarr.explaining.dryrun as dryrun\n"
        "plan = dryrun.dry_run\n"
        "def told(*given): print('planning', flush=True); return plan(*given)\n"
        "import cyzarr.explaining.explain as module; module.dry_run = told\n"
        "cli.script()"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code, "explain", str(array.store.root), "--max-chunks", "1000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert run.stdout.readline() == "planning\n"
        time.sleep(0.3)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=30)
    finally:
        run.kill()
    assert (run.returncode, out, err) == (130, "", "cyzarr explain: interrupted\n")


# --- what is read ------------------------------------------------------------------------


def test_reads_of_a_sharded_volume():
    array = zarr.create_array(MemoryStore(), shape=(64, 64, 64), shards=(32,) * 3, chunks=(8,) * 3, dtype="u2")
    found = {read.label: str(read) for read in reads.choose(array)}
    assert found == {
        "one item": "[34, 34, 34]",
        "one inner chunk": "[32:40, 32:40, 32:40]",
        "plane, axis 0": "[34, 0:64, 0:64]",
        "plane, axis 1": "[0:64, 34, 0:64]",
        "plane, axis 2": "[0:64, 0:64, 34]",
        "unaligned box": "[36:46, 36:46, 36:46]",
        "everything": "[0:64, 0:64, 0:64]",
    }


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((10**6, 10**6), (1000, 1000)),
        ((10**6, 10**6), (1, 1)),
        ((10**12,), (10**9,)),
        ((50, 10**5, 10**5), (50, 10**5, 1)),
    ],
)
def test_reads_of_a_huge_array_keep_to_the_limits(shape, chunks):
    array = zarr.create_array(MemoryStore(), shape=shape, chunks=chunks, dtype="f8")
    for read in reads.choose(array):
        lengths = [1 if isinstance(k, int) else k.stop - k.start for k in read.key]
        assert min(lengths) > 0
        assert math.prod(lengths) * 8 <= reads.LIMIT_NBYTES
        touched = [-(-n // c) for n, c in zip(lengths, chunks, strict=True)]
        assert math.prod(touched) <= reads.LIMIT_CHUNKS
        assert read.cut or read.label != "everything"


# --- what is counted and compared --------------------------------------------------------


@pytest.mark.parametrize("engine", engines.available(), ids=lambda e: e.name)
@pytest.mark.parametrize("store", ["local", "memory", "zip"])
def test_counted_bytes_are_the_objects_bytes(tmp_path, engine, store):
    """Whole plain chunks: what is read is what is stored, in one request each."""
    if store == "memory":
        held = MemoryStore()
    elif store == "local":
        held = LocalStore(tmp_path / "a")
    else:
        held = ZipStore(tmp_path / "a.zip", mode="w")
    make(held, (64, 64), name="deep/array", chunks=(16, 64), compressors=None)
    if store == "zip":  # what a zip file holds is known once it is closed
        held.close()
        held = zarr.open(ZipStore(tmp_path / "a.zip", mode="r")).store
    source = StorePath(held, "deep/array")
    result, traffic = engines.counted_read(engine, source, (slice(0, 64), slice(0, 64)))
    assert np.array_equal(result, np.arange(64 * 64).reshape(64, 64))
    assert (traffic.requests, traffic.nbytes) == (4, 64 * 64 * 4)


@pytest.mark.parametrize("engine", engines.available(), ids=lambda e: e.name)
def test_counted_bytes_of_one_inner_chunk(tmp_path, engine):
    """The index (of 16 entries and a checksum) and the one chunk."""
    source = StorePath(LocalStore(tmp_path), "a")
    make(source, (64,), shards=(64,), chunks=(4,), compressors=None)
    _, traffic = engines.counted_read(engine, source, (slice(8, 12),))
    assert (traffic.requests, traffic.nbytes) == (2, 16 * 16 + 4 + 16)


NAN = np.array([0x7FF8000000000001, 0], "u8").view("f8")


@pytest.mark.parametrize(
    ("expected", "found", "what"),
    [
        (np.zeros(3), np.zeros(3), ""),
        (np.zeros(3)[::-1], np.zeros(3), ""),
        (NAN, NAN.copy(), ""),
        (NAN, np.array([np.nan, 0.0]), "values"),
        (np.array([0.0]), np.array([-0.0]), "values"),
        (np.zeros(3, "<i2"), np.zeros(3, ">i2"), "dtype >i2 for int16"),
        (np.zeros(3), np.zeros((3, 1)), "shape (3, 1) for (3,)"),
        (np.float64(1), np.array(1.0), "type ndarray for float64"),
        (np.array(["a", None], object), np.array(["a", None], object), ""),
        (np.array(["a", None], object), np.array(["a", "b"], object), "values"),
    ],
)
def test_difference(expected, found, what):
    assert measure.difference(expected, found) == what


def test_the_volume_is_the_same_each_time(tmp_path):
    for name in ("a", "b"):
        volume.write(volume.create(tmp_path / name, 50), lambda: None)
    a, b = (zarr.open_array(tmp_path / name)[...] for name in ("a", "b"))
    assert a.shape == (50, 50, 50)
    assert a.min() >= 100
    assert np.array_equal(a, b)


# --- how it is printed -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "nbytes"), [("1", 1), ("1K", 1024), ("64 MiB", 1 << 26), ("1.5g", 3 << 29), ("2tb", 2 << 40)]
)
def test_nbytes(text, nbytes):
    assert arguments.nbytes(text) == nbytes


@pytest.mark.parametrize("text", ["1KK", "1KM", "K", "1B2", "", "1KK B"])
def test_no_nbytes(text):
    with pytest.raises(argparse.ArgumentTypeError, match="expected a number of bytes"):
        arguments.nbytes(text)


@pytest.mark.parametrize(("number", "text"), [(0.00481, "0.00481"), (1, "1.00"), (12.34, "12.3"), (1690.2, "1690")])
def test_short_number(number, text):
    assert report.short_number(number) == text


def test_the_table_fits_a_terminal():
    row = measure.Row(reads.Read("one inner chunk", ()), 10**9)
    for name in ("zarr", "fused", "cyzarr"):
        row.seconds[name] = 0.0123456
        row.traffic[name] = engines.Traffic(1, 123456)
    assert max(map(len, report.table([row], list(row.seconds)).splitlines())) <= 80


# --- what the documents promise ----------------------------------------------------------

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.skipif(not README.is_file(), reason="no README here")
@pytest.mark.parametrize("which", ["main", "test"])
def test_the_readmes_commands_are_marked(which):
    """What runs them in CI looks for the markers."""
    found = re.findall(rf"<!-- {which}-command -->\n```console\n(.+)\n```", README.read_text())
    assert len(found) == 1
