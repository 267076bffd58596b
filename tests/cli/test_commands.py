"""What all commands have in common: help, JSON, progress, paths, statuses."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
import zarr
from zarr.storage import ZipStore

from cyzarr import cli
from cyzarr.cli import arguments, ending, progress, source, urls
from support.servers import file_server, s3_server

COMMANDS = list(arguments.COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_teaches(capsys, name):
    with pytest.raises(SystemExit) as end:
        cli.main([name, "--help"])
    out = capsys.readouterr().out
    assert end.value.code == 0
    assert "exit status: 0 " in out
    assert "--json" in out
    assert name == "demo" or f"  cyzarr {name}" in out
    assert max(map(len, out.splitlines())) <= 110


@pytest.mark.parametrize("name", COMMANDS)
def test_help_loads_no_zarr(name):
    code = (
        "import sys; from cyzarr import cli\n"
        "try: cli.main(sys.argv[1:])\n"
        "finally: assert not {'zarr', 'numpy', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, name, "--help"], capture_output=True, check=True)


@pytest.mark.parametrize(
    "given",
    [
        ["demo", "--edge", "20", "--seconds", "0"],
        ["demo", "FOLDER::0", "--seconds", "0"],
        ["bench", "FOLDER::0", "--rounds", "1"],
        ["explain", "FOLDER::0", "1"],
        ["validate", "FOLDER"],
        ["info"],
    ],
)
def test_json_is_all_that_is_printed(command, folder, given):
    status, out, err = command(*(one.replace("FOLDER", str(folder)) for one in given), "--json")
    assert (status, err) == (0, "")
    assert isinstance(json.loads(out), dict)


@pytest.mark.parametrize("name", ["demo", "bench", "explain"])
def test_arrays_in_groups(command, folder, name):
    some = {"demo": ["--seconds", "0"], "bench": ["--rounds", "1"], "explain": []}[name]
    assert command(name, f"{folder}::deep/plain", *some)[0] == 0
    assert command(name, folder, "deep/plain", *some)[0] == 0
    assert command(name, f"{folder}::deep", "plain", *some)[0] == 0
    status, _, err = command(name, f"{folder}::deep", *some)
    assert status == 2
    assert "as PATH::NAME: plain" in err


def test_validate_names_arrays_too(command, folder):
    status, out, _ = command("validate", f"{folder}::deep")
    assert status == 0
    assert out.splitlines() == [f"ok    {folder}/deep/plain", "1 array judged, 0 with problems"]
    assert command("validate", f"{folder}::nothing")[0] == 2


def test_zip_files(command, tmp_path):
    with ZipStore(tmp_path / "a.zip", mode="w") as store:
        zarr.create_array(store, name="x/y", shape=(20,), chunks=(6,), dtype="i4")[...] = 1
    status, out, _ = command("explain", tmp_path / "a.zip", "x/y", "3")
    assert status == 0
    assert "ZipStore, asked through its own methods" in out
    (tmp_path / "b.zip").write_bytes(b"no zip")
    status, _, err = command("explain", tmp_path / "b.zip")
    assert status == 2
    assert err == f"cyzarr explain: {tmp_path / 'b.zip'} is no zip file: File is not a zip file\n"


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("a/b", ("a/b", None)),
        ("a/b::c/d", ("a/b", "c/d")),
        ("a/b::/c/", ("a/b", "c")),
        ("s3://b/k::c", ("s3://b/k", "c")),
        ("file:///b/k::c", ("/b/k", "c")),
        ("zip://a::s3://b/k.zip", ("zip://a::s3://b/k.zip", None)),
        ("zip://a::k.zip", ("zip://a::k.zip", None)),
        ("zip://a::s3://b/k.zip::c", ("zip://a::s3://b/k.zip", "c")),
        ("simplecache::https://h/a::c", ("simplecache::https://h/a", "c")),
    ],
)
def test_names_behind_paths(path, split):
    assert urls.split(path) == split


def test_a_path_with_colons_is_a_path(tmp_path):
    zarr.create_array(tmp_path / "a::b", shape=(2,), dtype="i4")
    assert source.find(str(tmp_path / "a::b"))[1].shape == (2,)


def test_a_store_that_wants_credentials():
    class NoCredentialsError(Exception):
        """As botocore has one."""

    said = urls.store_reason(NoCredentialsError("none\nfound"))
    assert said == "NoCredentialsError: none found; what is public takes --storage-option anon=true"
    assert urls.store_reason(ValueError("x")) == "ValueError: x"


def test_storage_options():
    given = ["anon=true", "key=abc", 'client_kwargs={"a": 1}', "x=a=b", "n=3"]
    assert urls.storage_options(given, "s3://a") == {
        "anon": True,
        "key": "abc",
        "client_kwargs": {"a": 1},
        "x": "a=b",
        "n": 3,
    }


def chunk_requests(log):
    """How many requests for chunks there were, of each kind."""
    return Counter(one.kind for one in log.data() if "/c/" in one.path)


def check_served(command, url, log, options=()):
    """What is explained of a sharded array at a URL is what a server is asked for by the read itself."""
    log.clear()
    status, out, _ = command("explain", url, "10:40", "--json", *options)
    found = json.loads(out)
    planning = chunk_requests(log)
    assert (status, found["store"]) == (0, "FsspecStore")
    assert planning["range"] == planning["whole"] == 0
    wanted = found["wanted"]
    assert (planning["suffix"], wanted["index_requests"]) == (2, 2)
    log.clear()
    status, out, _ = command("explain", url, "10:40", "--json", "--read", *options)
    reading = chunk_requests(log) - planning
    assert sum(reading.values()) == wanted["requests"] == json.loads(out)["read"]["requests"]
    assert wanted["fetched_nbytes"] == json.loads(out)["read"]["bytes_read"]
    status, out, _ = command("bench", url, "--rounds", "1", *options)
    assert status == 0
    assert "reads gave the same result" in out
    status, _, err = command("explain", url + "/nothing", *options)
    assert status == 2
    assert err.count("\n") == 1


@pytest.fixture
def sharded(tmp_path):
    """A folder with a sharded array, `a`."""
    array = zarr.create_array(tmp_path / "a", shape=(64,), shards=(32,), chunks=(8,), dtype="i4")
    array[...] = np.arange(64)
    return tmp_path


def test_http(command, sharded):
    pytest.importorskip("fsspec")
    pytest.importorskip("aiohttp")
    with file_server(sharded) as (url, log):
        check_served(command, f"{url}/a", log)


def test_s3(command, sharded):
    pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    boto3 = pytest.importorskip("boto3")
    names = {"aws_access_key_id": "nobody", "aws_secret_access_key": "nothing", "region_name": "us-east-1"}
    with s3_server() as (endpoint, log):
        client = boto3.client("s3", endpoint_url=endpoint, **names)
        client.create_bucket(Bucket="bucket")
        for path in sharded.rglob("*"):
            if path.is_file():
                client.put_object(Bucket="bucket", Key=path.relative_to(sharded).as_posix(), Body=path.read_bytes())
        client.close()
        given = ["key=nobody", "secret=nothing", f"endpoint_url={endpoint}"]
        options = [one for option in given for one in ("--storage-option", option)]
        check_served(command, "s3://bucket/a", log, options)


def test_without_fsspec_urls_are_refused_clearly(command, monkeypatch):
    for name in [one for one in sys.modules if one.split(".")[0] == "fsspec"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    status, _, err = command("explain", "https://localhost:1/a")
    assert status == 2
    assert "fsspec" in err
    assert err.count("\n") == 1


# --- progress


@pytest.mark.parametrize(("given", "shown"), [([], False), (["--progress"], True), (["--no-progress"], False)])
def test_progress_is_shown_where_asked(command, folder, given, shown):
    pytest.importorskip("tqdm")
    _, out, err = command("explain", folder, "0", "--json", *given)
    assert ("planning" in err) == shown
    json.loads(out)
    progress.ask(None)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_long_work_is_seen_on_a_terminal_and_short_work_is_not(monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(progress, "PATIENCE", 0.1)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.progress(None, "short"):
        pass
    assert "short" not in sys.stderr.getvalue()
    with progress.progress(None, "long"):
        deadline = time.monotonic() + 10
        while "long" not in sys.stderr.getvalue() and time.monotonic() < deadline:
            time.sleep(0.05)
    assert "long" in sys.stderr.getvalue()


def test_progress_can_do_without_tqdm(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with progress.progress(3, "trying") as step:
        step()
    assert capsys.readouterr().err == ""
    progress.ask(True)
    with progress.progress(3, "trying") as step:
        step()
    assert "no progress bar without tqdm" in capsys.readouterr().err
    progress.ask(None)


# --- ends


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ending.UsageError("two\nlines"), 2),
        (ending.FailedError("so"), 1),
        (OSError("no disk"), 1),
        (MemoryError(), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_errors_become_statuses(capsys, error, status):
    def work():
        raise error

    assert ending.run("explain", work) == status
    err = capsys.readouterr().err
    assert err.startswith("cyzarr explain: ")
    assert err.count("\n") == 1


def test_a_closed_pipe_is_no_error(folder):
    """As in `cyzarr explain ... | head -1`."""
    code = "from cyzarr.cli import script; script()"
    read, write = os.pipe()
    os.close(read)
    given = [sys.executable, "-c", code, "explain", str(folder), "volume", "--no-read"]
    done = subprocess.run(given, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("given", "places"),
    [
        (["explain", "a"], ["a"]),
        (["explain", "a", "b", "-1:, 2"], ["a", "b", "-1:, 2"]),
        (["explain", "a", "--json", "-20:"], ["a", "-20:"]),
        (["explain", "--read", "a", "--width", "5", "0", "--no-progress", "1"], ["a", "0", "1"]),
        (["explain", "--json", "--", "a", "-1"], ["a", "-1"]),
        (["explain", "a", "--", "--1"], ["a", "--1"]),
        (["demo"], []),
        (["bench", "--json", "a", "--rounds", "3", "b"], ["a", "b"]),
        (["validate", "-"], ["-"]),
        (["info"], []),
    ],
)
def test_places_and_options_in_any_order(given, places):
    options = arguments.parse(arguments.parser("1"), given)
    assert [one for one in [options.path, *options.given] if one is not None] == places


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["explain"], "explain: PATH is missing"),
        (["explain", ""], "explain: PATH is empty"),
        (["explain", "a", "b", "c", "d"], "explain: unrecognized arguments: d"),
        (["explain", "a", "--nonsense"], "explain: unrecognized arguments: --nonsense"),
        (["explain", "a", "-x"], "unrecognized arguments: -x"),
        (["validate", "a", "b", "c"], "unrecognized arguments: c"),
        (["info", "a"], "unrecognized arguments: a"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["bench", "a", "--rounds", "0"], "must be at least 1"),
        (["bench", "a", "--rounds", "x"], "expected a whole number, found 'x'"),
        (["bench", "a", "--max-bytes", "x"], "expected a number of bytes, as 64M or 2G, found 'x'"),
        (["bench", "a", "--max-bytes", "nan"], "must be at least 1 and below 4 EiB, found nan"),
        (["demo", "--seconds", "-1"], "expected a number of seconds, 0 or more, found '-1'"),
        (["demo", "--seconds", "nan"], "found 'nan'"),
        (["demo", "--seconds", "soon"], "found 'soon'"),
    ],
)
def test_wrong_command_lines_end_with_2(capsys, given, words):
    with pytest.raises(SystemExit) as end:
        cli.main(given)
    assert end.value.code == 2
    captured = capsys.readouterr()
    assert (captured.out, len(captured.err.splitlines())) == ("", 1)
    assert words in captured.err
    assert captured.err.startswith("cyzarr")
    assert captured.err.endswith(" --help`\n")


@pytest.fixture
def odd(tmp_path, monkeypatch):
    """A folder, which is the working one, of what is no array."""
    monkeypatch.chdir(tmp_path)
    zarr.open_group("empty", mode="w")
    zarr.create_array("group/a", shape=(4,), dtype="i4")
    zarr.open_group("group", mode="a")
    for name, text in {
        "folder/x": "x",
        "torn/zarr.json": "{",
        "less/zarr.json": '{"zarr_format": 3, "node_type": "array"}',
        "z.zip": "x",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)


@pytest.mark.parametrize("name", ["bench", "demo", "explain"])
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("absent", "no such file or folder: absent"),
        ("folder", "no Zarr array or group in folder"),
        ("folder/x", "no Zarr array or group in folder/x"),
        ("empty", "a group, not an array: empty; it has no arrays"),
        ("group", "a group, not an array: group; name one of its arrays, as PATH::NAME: a"),
        ("group::b", "no 'b' in group; name one of its arrays, as PATH::NAME: a"),
        ("group::a/b", "no 'a/b' in group; name one of its arrays, as PATH::NAME: a"),
        ("z.zip", "z.zip is no zip file: File is not a zip file"),
        ("torn", "zarr cannot open torn: "),
        ("less", "zarr cannot open less: "),
        ("file:///nowhere/at/all", "no such file or folder: /nowhere/at/all"),
    ],
)
def test_what_is_no_array(command, odd, name, path, said):
    status, out, err = command(name, path, "--json")
    assert (status, out) == (2, "")
    assert err.startswith(f"cyzarr {name}: {said}")
    assert len(err.splitlines()) == 1
    assert err.endswith(f"; `cyzarr validate {path}` says more\n") == (path in ("torn", "less"))


def test_an_array_holds_nothing(command, odd):
    status, _, err = command("explain", "group::a", "b", "1")
    assert status == 2
    assert err == "cyzarr explain: group::a is an array, and holds no 'b'\n"


def test_a_volume_beyond_the_disk(command):
    status, out, err = command("demo", "--edge", "100000000")
    assert (status, out) == (2, "")
    assert "a volume of 1734723 EiB is asked for by --edge 100000000" in err


@pytest.mark.parametrize("name", ["bench", "demo", "explain"])
def test_a_damaged_chunk_is_one_line(tmp_path, name):
    """Tasks that zarr leaves behind when a read fails have nothing to say."""
    array = zarr.create_array(tmp_path / "a", shape=(64, 64), chunks=(16, 16), dtype="u2")
    array[...] = np.arange(64 * 64).reshape(64, 64)
    for chunk in (tmp_path / "a" / "c").rglob("*"):
        if chunk.is_file():
            chunk.write_bytes(chunk.read_bytes()[:20])
    code = "from cyzarr.cli import script; script()"
    done = subprocess.run(
        [sys.executable, "-c", code, name, str(tmp_path / "a"), *([":"] if name == "explain" else [])],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"cyzarr {name}: ")


def test_the_name_of_an_array_is_told_once(command, folder):
    for given in ([f"{folder}::deep/plain"], [folder, "deep/plain"]):
        status, out, _ = command("explain", *given)
        assert status == 0
        assert out.startswith(f"{folder}::deep/plain: ")


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("s3://a", "fsspec and s3fs"),
        ("https://a", "fsspec and aiohttp"),
        ("q://a", "fsspec, and what"),
        ("memory://a", "fsspec"),
    ],
)
def test_what_to_install(url, names):
    from cyzarr.cli.urls import packages_for

    assert packages_for(url).startswith(names)
