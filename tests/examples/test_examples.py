"""The examples run, agree with zarr, and their parts do what they say."""

from __future__ import annotations

import asyncio
import importlib
import io
import json
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import cyzarr

FOLDER = Path(__file__).resolve().parents[2] / "examples"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="examples are not here")

SMALL = {
    "loader": {"edge": 96, "window": 24, "batch_size": 6, "batches": 5},
    "tiles": {"edge": 1100, "n_tiles": 5},
    "frames": {"frames": 12, "edge": 128},
    "gather": {"n_rows": 400, "n_wanted": 60},
}


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in (*SMALL, "gain"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("name", SMALL)
def test_prints_its_gain(name, capsys):
    seconds = importlib.import_module(name).main(**SMALL[name])
    printed = capsys.readouterr().out
    # What it was compared with is zarr as it is.
    assert not cyzarr.status().enabled
    assert len(seconds) >= 2
    assert all(way in printed for way in seconds)
    assert printed.count(" x\n") == len(seconds)


def test_every_example_is_tested():
    assert {path.stem for path in FOLDER.glob("*.py")} == {*SMALL, "gain"}


# --- loader


def test_batches_are_the_windows_and_share_what_they_decode(tmp_path):
    loader = importlib.import_module("loader")
    array = loader.make(tmp_path, 96)
    values = array[...]
    twin = loader.WindowLoader(array, (24, 24, 24), 8, 7, seed=3)
    of = loader.WindowLoader(array, (24, 24, 24), 8, 7, ahead=3, seed=3)
    seen = 0
    with cyzarr.trace() as counts:
        for batch in of:
            want = np.stack([values[key] for key in twin.windows()])
            assert (np.asarray(batch) == want).all()
            seen += 1
    assert seen == len(of) == 7
    # 27 inner chunks are all there are.
    assert counts.chunks_decoded <= 7 * 27


def test_a_batch_stays_until_the_one_after_the_next(tmp_path):
    loader = importlib.import_module("loader")
    of = loader.WindowLoader(loader.make(tmp_path, 96), (24, 24, 24), 4, 12, ahead=2)
    before = None
    for batch in of:
        if before is not None:
            assert (np.asarray(before[0]) == before[1]).all()
        before = (batch, np.array(batch))


# --- tiles


def unpacked(data):
    """The pixels of a PNG that uses no filters."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    file, chunks = io.BytesIO(data[8:]), {}
    while head := file.read(8):
        length, name = struct.unpack(">I4s", head)
        chunks[name] = file.read(length)
        assert struct.unpack(">I", file.read(4))[0] == zlib.crc32(name + chunks[name])
    columns, rows, depth, color = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    samples = 3 if color == 2 else 1
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), "u1").reshape(rows, -1)
    assert (lines[:, 0] == 0).all()
    pixels = np.ascontiguousarray(lines[:, 1:]).view(f">u{depth // 8}").reshape(rows, columns, samples)
    return pixels if samples == 3 else pixels[..., 0]


@pytest.fixture
def picture(tmp_path):
    tiles = importlib.import_module("tiles")
    values = tiles.make(tmp_path, 1100)
    return tiles, tiles.Tiles(tiles.Folder(tmp_path), 256), values


def ask(picture, path, method="GET"):
    return asyncio.run(picture[0].request(picture[1], path, method))


@pytest.mark.parametrize(("row", "column"), [(0, 0), (3, 3), (4, 4), (3, 4)])
def test_tiles_as_png_and_raw(picture, row, column):
    want = picture[2][256 * row : 256 * row + 256, 256 * column : 256 * column + 256]
    status, headers, body = ask(picture, f"/{row}/{column}.png")
    assert (status, headers["content-type"], headers["content-length"]) == (200, "image/png", str(len(body)))
    assert (unpacked(body) == want).all()
    status, headers, body = ask(picture, f"/{row}/{column}.raw")
    assert (status, body) == (200, want.tobytes())
    assert headers["x-shape"] == ",".join(map(str, want.shape))


def test_deep_gray_pictures():
    tiles = importlib.import_module("tiles")
    values = np.random.default_rng(0).integers(0, 1 << 16, (5, 7), dtype="u2")
    assert (unpacked(tiles.png(values)) == values).all()


def test_only_what_a_tile_needs_is_fetched_and_indexes_are_kept(picture):
    objects = picture[1].objects
    ask(picture, "/0/0.raw")
    # An index of 64 inner chunks, and four of these in one or two stretches.
    assert objects.requests in (2, 3)
    before = objects.requests
    ask(picture, "/0/0.raw")
    assert objects.requests < 2 * before
    stored = sum(path.stat().st_size for path in objects.root.rglob("c/*/*/*"))
    assert objects.nbytes < stored / 4


@pytest.mark.parametrize(
    "path", ["/", "/5/0.png", "/0/5.raw", "/-1/0.png", "/0/0.gif", "/0/0.png/", "/9999999999/0.png"]
)
def test_no_such_tile(picture, path):
    assert ask(picture, path)[0] == 404


def test_methods_and_info(picture):
    assert ask(picture, "/0/0.png", "POST")[0] == 405
    status, headers, body = ask(picture, "/0/0.png", "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) > 0
    assert json.loads(ask(picture, "/info")[2])["shape"] == [1100, 1100, 3]


def test_missing_shards_are_the_fill_value(picture):
    (picture[1].objects.root / "c/1/0/0").unlink()
    assert not any(ask(picture, "/4/0.raw")[2])


# --- frames


def test_regions_of_frames(tmp_path):
    frames = importlib.import_module("frames")
    values = np.random.default_rng(0).integers(0, 4096, (9, 20, 30)).astype(">u2")
    frames.write(tmp_path / "f", values)
    with frames.FrameFile(tmp_path / "f") as file:
        for wanted, rows, columns in [
            ([0, 8, 3, 3], slice(4, 9), slice(10, 12)),
            (range(9), slice(None), slice(None)),
            (range(2), slice(5, 15), slice(None)),
            ([1], slice(None, None, 3), slice(20, 5, -2)),
        ]:
            found = file.read(wanted, rows, columns)
            assert (found == values[list(wanted)][:, rows, columns]).all()
            into = np.zeros(found.shape[::-1], found.dtype).T
            assert file.read(wanted, rows, columns, into) is into
            assert (into == found).all()
        with pytest.raises(IndexError, match="frame 9: expected 0 to 8"):
            file.read([9], slice(None), slice(None))
    (tmp_path / "f").write_bytes((tmp_path / "f").read_bytes()[:-1])
    with pytest.raises(ValueError, match="expected 9 frames of 1200 bytes"):
        frames.FrameFile(tmp_path / "f")


# --- gather


def test_rows_in_any_order_and_twice(tmp_path):
    gather = importlib.import_module("gather")
    matrix = gather.make(tmp_path, 50)
    wanted = np.array([49, 0, 7, 7, 3])
    with cyzarr.trace() as counts:
        found = matrix.rows(wanted)
    for row, (a, b) in zip(wanted, zip(found.indptr, found.indptr[1:], strict=False), strict=True):
        part = slice(int(matrix.indptr[row]), int(matrix.indptr[row + 1]))
        assert (found.data[a:b] == matrix.data[part]).all()
        assert (found.indices[a:b] == matrix.indices[part]).all()
    # One chunk of each array.
    assert counts.chunks_decoded == 2
