"""``cyzarr validate``: walks, marks, statuses; it changes nothing."""

from __future__ import annotations

import builtins
import io
import json
import sys
import types
import zipfile

import pytest

from cyzarr import cli
from metadata.documents import LE, base, shard

GROUP = {"zarr_format": 3, "node_type": "group"}
BAD = base([shard([3, 4], index=["bytes"])])


def put(folder, document):
    folder.mkdir(parents=True, exist_ok=True)
    text = document if isinstance(document, str) else json.dumps(document)
    (folder / "zarr.json").write_text(text)
    return folder


@pytest.fixture
def group(tmp_path):
    root = put(tmp_path / "root", GROUP)
    put(root / "a", base([LE]))
    put(root / "a" / "c", "chunks lie here, not documents")
    put(root / "b", GROUP)
    put(root / "b" / "bad", BAD)
    put(root / "torn", "{")
    (root / "loose" / "deep").mkdir(parents=True)
    put(root / "loose" / "deep" / "x", base(["acme.x", LE]))
    (root / "old").mkdir()
    (root / "old" / ".zarray").write_text("{}")
    return root


def tree(folder):
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def test_walks_a_group(group, capsys):
    before = tree(group)
    assert cli.main(["validate", str(group)]) == 1
    out = capsys.readouterr().out.splitlines()
    marks = [line.split()[:2] for line in out if not line.startswith(" ")]
    assert marks[:-1] == [
        ["ok", f"{group}/a"],
        ["BAD", f"{group}/b/bad"],
        ["ok", f"{group}/loose/deep/x"],
        ["skip", f"{group}/old"],
        ["BAD", f"{group}/torn"],
    ]
    assert any(line.startswith("        codecs.0.configuration.chunk_shape.0: ") for line in out)
    assert any("note: codecs.0" in line for line in out)
    assert out[-1] == "4 arrays judged, 2 with problems (3 in all); 1 not judged"
    assert tree(group) == before


def test_json(group, capsys):
    assert cli.main(["validate", "--json", str(group)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["valid"] is False
    arrays = {entry["path"].removeprefix(f"{group}/"): entry for entry in found["arrays"]}
    assert {path: entry["valid"] for path, entry in arrays.items()} == {
        "a": True, "b/bad": False, "loose/deep/x": True, "old": None, "torn": False
    }  # fmt: skip
    assert [(problem["loc"], problem["kind"]) for problem in arrays["b/bad"]["problems"]] == [
        (["codecs", 0, "configuration", "chunk_shape", 0], "invalid_value"),
        (["codecs", 0, "configuration", "index_codecs", 0, "configuration", "endian"], "missing_key"),
    ]
    assert [note["kind"] for note in arrays["loose/deep/x"]["notes"]] == ["unclaimed_field"]


def test_one_array(group, capsys):
    assert cli.main(["validate", str(group / "a")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 array judged, 0 with problems"
    assert cli.main(["validate", str(group / "b" / "bad" / "zarr.json")]) == 1


@pytest.mark.parametrize(("document", "status"), [(base([LE]), 0), (BAD, 1), ([], 1)])
def test_standard_input(document, status, capsys, monkeypatch):
    stdin = types.SimpleNamespace(buffer=io.BytesIO(json.dumps(document).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert cli.main(["validate", "-"]) == status
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["absent"], "no such file or folder: absent"),
        ([""], "PATH is empty"),
        (["."], "no array at or below ."),
        (["bare"], "no zarr.json at or below bare"),
        (["empty"], "no array at or below empty"),
        (["empty", "--json"], "no array at or below empty"),
        (["empty/zarr.json"], "no array at or below empty/zarr.json"),
        (["empty", "a"], "no zarr.json at or below empty::a"),
        (["empty::a/b"], "no zarr.json at or below empty::a/b"),
        (["empty/zarr.json", "a"], "no such folder or .zip file: empty/zarr.json"),
        (["file.zip"], "file.zip is no zip file: File is not a zip file"),
        (["file:///nowhere/at/all"], "no such file or folder: /nowhere/at/all"),
    ],
)
def test_nothing_to_judge(tmp_path, capsys, monkeypatch, given, said):
    put(tmp_path / "empty", GROUP)
    (tmp_path / "bare").mkdir()
    (tmp_path / "file.zip").write_bytes(b"none")
    monkeypatch.chdir(tmp_path)
    assert ended(["validate", *given]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"cyzarr validate: {said}")
    assert len(captured.err.splitlines()) == 1


def ended(given):
    """The status that a command line ends with, refused or not."""
    try:
        return cli.main(given)
    except SystemExit as end:
        return end.code


def test_a_file_url_is_a_folder(tmp_path, capsys):
    put(tmp_path / "a", base([LE]))
    assert cli.main(["validate", f"file://{tmp_path}/a"]) == 0
    assert f"ok    {tmp_path}/a\n" in capsys.readouterr().out


def test_url_without_fsspec(capsys, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "fsspec"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    assert cli.main(["validate", "memory://x"]) == 2
    assert "install fsspec" in capsys.readouterr().err


def test_zip_files(capsys, tmp_path):
    """As folders are: all nodes below, one of them, and what is none."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("zarr.json", json.dumps(GROUP))
        archive.writestr("a/b/zarr.json", json.dumps(base([LE])))
        archive.writestr("a/b/c/0/0", b"")
        archive.writestr("bad/zarr.json", json.dumps(BAD))
        archive.writestr("old/.zarray", "{}")
    assert cli.main(["validate", str(path)]) == 1
    said = capsys.readouterr().out
    assert f"ok    {path}/a/b\n" in said
    assert f"BAD   {path}/bad\n" in said
    assert f"skip  {path}/old " in said
    assert cli.main(["validate", str(path), "a/b"]) == 0
    assert cli.main(["validate", f"{path}::bad"]) == 1
    assert cli.main(["validate", str(path), "none"]) == 2
    assert capsys.readouterr().err == f"cyzarr validate: no zarr.json at or below {path}::none\n"
    path.write_bytes(path.read_bytes()[:-30])
    assert cli.main(["validate", str(path)]) == 2
    assert "is no zip file" in capsys.readouterr().err


class FakeSystem:
    """As much of an fsspec file system as is used: files by their full names."""

    def __init__(self, files):
        self.files = files

    def cat_file(self, path):
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def ls(self, path, detail):
        assert detail
        lead = path + "/"
        below = {name.removeprefix(lead).split("/")[0] for name in self.files if name.startswith(lead)}
        kinds = ((lead + name, "file" if lead + name in self.files else "directory") for name in below)
        return [{"name": name, "type": kind} for name, kind in kinds]


@pytest.fixture
def remote(monkeypatch):
    """fsspec where it isn't installed; the files are those of ``fake://bucket``."""
    files = {
        "bucket/zarr.json": json.dumps(GROUP).encode(),
        "bucket/a/zarr.json": json.dumps(base([LE])).encode(),
        "bucket/a/c/0/0": b"",
        "bucket/b/zarr.json": json.dumps(BAD).encode(),
    }
    core = types.ModuleType("fsspec.core")
    core.url_to_fs = lambda url, anon=False: (FakeSystem(files if anon else {}), url.partition("://")[2])
    monkeypatch.setitem(sys.modules, "fsspec", types.ModuleType("fsspec"))
    monkeypatch.setitem(sys.modules, "fsspec.core", core)


def test_url(remote, capsys):
    option = ["--storage-option", "anon=true"]
    assert cli.main(["validate", "fake://bucket", *option]) == 1
    assert cli.main(["validate", "fake://bucket/a", *option]) == 0
    assert cli.main(["validate", "fake://bucket/a/zarr.json", *option]) == 0
    assert cli.main(["validate", "fake://nowhere", *option]) == 2
    captured = capsys.readouterr()
    assert "BAD   bucket/b" in captured.out
    assert captured.err == "cyzarr validate: no zarr.json at or below fake://nowhere\n"
    assert cli.main(["validate", "fake://bucket"]) == 2
    assert cli.main(["validate", "fake://bucket", "--storage-option", "anon"]) == 2
    assert cli.main(["validate", "bucket", *option]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "cyzarr validate: no zarr.json at or below fake://bucket",
        "cyzarr validate: a storage option is NAME=VALUE, found 'anon'",
        "cyzarr validate: storage options are for URLs, and this is none: bucket",
    ]


def test_real_fsspec(tmp_path, capsys):
    pytest.importorskip("fsspec")
    put(tmp_path / "group", GROUP)
    put(tmp_path / "group" / "bad", BAD)
    assert cli.main(["validate", f"local://{tmp_path}/group"]) == 1
    assert cli.main(["validate", "nosuch://x"]) == 2
    assert "cannot open nosuch://x" in capsys.readouterr().err


def test_needs_neither_zarr_nor_kernels(group, monkeypatch, capsys):
    """It works where zarr refuses the document, or can't be loaded."""
    real = builtins.__import__

    def guarded(name, *rest):
        assert name.split(".")[0] != "zarr", name
        assert not name.startswith("cyzarr.kernels"), name
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", guarded)
    assert cli.main(["validate", str(group / "a")]) == 0


def test_help(capsys):
    with pytest.raises(SystemExit):
        cli.main(["validate", "--help"])
    assert "exit status" in capsys.readouterr().out
