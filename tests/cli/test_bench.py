"""``cyzarr bench``, and what it shares with ``demo``."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import zarr
from zarr.storage import LocalStore, MemoryStore, StorePath, ZipStore

from cyzarr.cli import engines, measure, peers, plot, reads, report
from cyzarr.cli.ending import UsageError

LABELS = ["one item", "one inner chunk", "plane, axis 0", "plane, axis 1", "plane, axis 2", "unaligned box"]


def test_text(command, folder):
    status, out, err = command("bench", folder, "volume", "--rounds", "1")
    assert (status, err) == (0, "")
    for label in [*LABELS, "1000 points", "everything"]:
        assert len(re.findall(rf"^{label} ", out, re.MULTILINE)) == 2
    assert "8 of 8 reads gave the same result" in out
    assert re.search(r"requests\s+bytes", out)


def test_json(command, folder):
    _, out, _ = command("bench", f"{folder}::volume", "--rounds", "1", "--json")
    found = json.loads(out)
    assert [one["read"] for one in found["reads"]] == [*LABELS, "1000 points", "everything"]
    first = found["reads"][0]
    assert first["selection"] == "34, 34, 34"
    assert set(first["seconds"]) == {engine.name for engine in engines.available()}
    assert first["requests"]["zarr"] == 2
    assert first["bytes_read"]["cyzarr"] > 0
    assert found["shards"] == [32, 32, 32]


@pytest.mark.parametrize("name", ["0", "deep/plain", "point"])
def test_other_arrays(command, folder, name):
    status, out, _ = command("bench", folder, name, "--rounds", "1")
    assert status == 0
    assert "reads gave the same result" in out


def test_nothing_is_read_beyond_the_limit(command, folder):
    _, out, _ = command("bench", folder, "volume", "--rounds", "1", "--max-bytes", "4K", "--json")
    found = json.loads(out)["reads"]
    assert max(one["nbytes"] for one in found if "points" not in one["read"]) <= 4096
    assert [one["read"] for one in found if one["cut"]] == [*LABELS[2:5], "everything"]


@pytest.mark.parametrize(
    ("text", "nbytes"), [("1", 1), ("4K", 4096), ("1.5m", 3 << 19), ("2GiB", 2 << 30), ("1MB", 1 << 20)]
)
def test_lengths(text, nbytes):
    from cyzarr.cli.arguments import nbytes as read

    assert read(text) == nbytes


@pytest.mark.parametrize("wrong", ["0", "-1K", "x", "", "1X", "inf", "nan", "9e99"])
def test_wrong_lengths_end_with_2(command, folder, wrong):
    with pytest.raises(SystemExit) as end:
        command("bench", folder, f"--max-bytes={wrong}")
    assert end.value.code == 2


def test_a_failing_read_ends_with_1(command, tmp_path):
    array = zarr.create_array(tmp_path / "a", shape=(20,), chunks=(20,), dtype="i4", compressors=None)
    array[...] = 1
    os.truncate(tmp_path / "a/c/0", 79)
    status, _, err = command("bench", tmp_path / "a")
    assert status == 1
    assert "one item [6] through zarr: " in err
    assert err.count("\n") == 1


def test_rounds_are_counted():
    class Array:
        taken = 0

        def __getitem__(self, key):
            Array.taken += 1

    found = measure.least_times({engines.ZARR: Array()}, (), measure.Timing(rounds=1))
    assert Array.taken > 0
    assert set(found) == {"zarr"}
    timing = measure.Timing(rounds=3)
    assert [timing.goes_on(done, 0) for done in range(5)] == [True, True, True, False, False]


# --- peers

INSTALLED = [peer.name for peer in peers.available()]


@pytest.mark.skipif(not INSTALLED, reason="no peers are installed")
def test_peers(command, folder):
    _, out, _ = command("bench", folder, "volume", "--peers", "--rounds", "1", "--json")
    found = json.loads(out)
    assert not found["unable"]
    for one in found["reads"]:
        assert not one["differs"]
        assert set(INSTALLED) == set(one["unable"]) | set(one["seconds"]) - {"zarr", "fused", "cyzarr"}
        if "points" not in one["read"]:
            assert not one["unable"]


@pytest.mark.skipif("zarrista" not in INSTALLED, reason="zarrista is not installed")
def test_what_a_peer_cannot_is_said(command, folder, tmp_path):
    _, out, _ = command("bench", folder, "volume", "--peers", "--rounds", "1")
    assert "zarrista: takes integers and slices alone: 1000 points" in out
    with ZipStore(tmp_path / "a.zip", mode="w") as store:
        zarr.create_array(store, shape=(20,), chunks=(20,), dtype="i4")[...] = 1
    status, out, _ = command("bench", tmp_path / "a.zip", "--peers", "--rounds", "1")
    assert status == 0
    assert "zarrista can't read this array: reads folders here, not a ZipStore" in out


def test_a_peers_difference_is_noticed(tmp_path):
    """A peer may give native items for big-endian ones, and no scalars; but not other values."""
    array = zarr.create_array(tmp_path / "a", shape=(8,), chunks=(4,), dtype=">i4")
    array[...] = np.arange(8)
    source = StorePath(LocalStore(tmp_path), "a")

    def rows(values):
        peer = peers.Peer("peer", lambda _: values)
        arrays = {engines.ZARR: engines.ZARR.open(source), peer: values}
        whole = reads.Read("everything", (slice(0, 8),))
        return measure.compare(source, arrays, whole, measure.Timing(rounds=1), lambda: None)

    assert rows(np.arange(8, dtype="<i4")).differs == {}
    assert rows(np.arange(1, 9, dtype="<i4")).differs == {"peer": "values"}
    assert "dtype" in rows(np.arange(8.0)).differs["peer"]


def test_a_peers_strings_may_be_of_another_kind():
    assert measure.difference("a", np.array("a"), is_peer=True) == ""
    assert measure.difference(np.array(["a", "b"], "T"), np.array(["a", "b"], object), is_peer=True) == ""
    assert measure.difference(np.array(["a", "b"], "T"), np.array(["a", "c"], "U1"), is_peer=True) == "values"


def test_a_peer_that_raises_is_left_out(tmp_path):
    class Bad:
        def __getitem__(self, key):
            raise RuntimeError("not today\nnor tomorrow")

    array = zarr.create_array(tmp_path / "a", shape=(8,), chunks=(4,), dtype="i4")
    array[...] = 1
    source = StorePath(LocalStore(tmp_path), "a")
    arrays = {engines.ZARR: engines.ZARR.open(source), engines.CYZARR: engines.CYZARR.open(source)}
    arrays[peers.Peer("bad", Bad)] = Bad()
    whole = reads.Read("everything", (slice(0, 8),))
    row = measure.compare(source, arrays, whole, measure.Timing(rounds=1), lambda: None)
    assert row.unable == {"bad": "RuntimeError: not today nor tomorrow"}
    assert "bad" not in row.seconds
    assert "-" in report.times([row], ["zarr", "cyzarr", "bad"]).splitlines()[-1]
    assert report.notes([row]) == ["bad: RuntimeError: not today nor tomorrow: everything"]


# --- plots


def test_plots_are_refused_before_anything_is_timed(command, folder, tmp_path, monkeypatch):
    assert command("bench", folder, "volume", "--plot", tmp_path / "a.pdf")[0] == 2
    assert "no such folder" in command("bench", folder, "volume", "--plot", tmp_path / "no/a.png")[2]
    monkeypatch.setattr(plot, "find_spec", lambda name: None)
    status, out, err = command("bench", folder, "volume", "--plot", tmp_path / "a.png")
    assert (status, out) == (2, "")
    assert "--plot needs matplotlib: pip install 'cyzarr[plot]'" in err


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
@pytest.mark.parametrize(("name", "head"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_plots(command, folder, tmp_path, name, head):
    status, out, _ = command("bench", folder, "deep/plain", "--rounds", "1", "--plot", tmp_path / name)
    assert status == 0
    assert "The plot is in" in out
    assert (tmp_path / name).read_bytes().startswith(head)


def test_no_command_loads_matplotlib_but_to_plot():
    code = "import sys, cyzarr.cli.bench; raise SystemExit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_drawer_refuses_other_files():
    with pytest.raises(UsageError):
        plot.drawer("a.gif")


# --- reads


@pytest.mark.parametrize("shape", [(), (0, 5), (3,), (100, 100)])
def test_points(shape):
    array = zarr.create_array(MemoryStore(), shape=shape, chunks=tuple(max(n // 3, 1) for n in shape), dtype="i4")
    chosen = reads.with_points(array, reads.choose(array))
    points = [read for read in chosen if not read.is_basic]
    assert len(points) == (array.size > 0 and shape != ())
    assert chosen[-1].label == "everything"
    for read in points:
        assert all(0 <= one.min() <= one.max() < extent for one, extent in zip(read.key, shape, strict=True))
