"""``cyzarr info``."""

from __future__ import annotations

import json

import numpy as np
import zarr

import cyzarr
from cyzarr import activate
from cyzarr.cli import info


def test_text(command):
    status, out, err = command("info")
    assert (status, err) == (0, "")
    for words in (f"zarr                          {zarr.__version__}", "C decoders", "cyzarr.threads", "matplotlib"):
        assert words in out
    assert not cyzarr.status().enabled


def test_json(command):
    with zarr.config.set({"cyzarr.threads": 1}):
        _, out, _ = command("info", "--json")
    found = json.loads(out)
    assert found["versions"]["numpy"] == np.__version__
    assert found["settings"]["cyzarr.threads"] == found["threads"] == 1
    assert set(found["decoders"]) == {"zstd", "blosc", "lz4", "gzip", "zlib", "crc32c"}
    assert found["can_be_enabled"]
    assert not found["enabled"]


def test_the_road_is_said(command):
    assert "until cyzarr.enable()" in command("info")[1]
    with zarr.config.set({"codec_pipeline.path": "cyzarr.CodecPipeline"}):
        assert "zarr's configuration names cyzarr's pipeline" in command("info")[1]
    with cyzarr.enabled():
        assert json.loads(command("info", "--json")[1])["enabled"]


def test_what_cannot_be_switched_on_ends_with_1(command, monkeypatch):
    off = activate.Status(enabled=False, notes=["no kernels here"])
    monkeypatch.setattr(info.cyzarr, "status", lambda: off)
    status, out, _ = command("info")
    assert status == 1
    assert "no kernels here" in out
    assert "can't be switched on here" in out
