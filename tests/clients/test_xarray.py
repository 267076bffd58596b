"""xarray: every way to index lazily, with and without dask, encoded values, both formats."""

from __future__ import annotations

import numpy as np
import pytest

from support.clients import on_and_off
from support.compare import assert_same_values

xr = pytest.importorskip("xarray")

pytestmark = [
    pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part"),
    pytest.mark.filterwarnings("ignore:Failed to open Zarr store with consolidated metadata"),
]

LAYOUTS = {
    "v2": {"zarr_format": 2},
    "v3": {"zarr_format": 3},
    "v3 without consolidated metadata": {"zarr_format": 3, "consolidated": False},
}


def example():
    """Values of many kinds on (time, y, x)."""
    random = np.random.default_rng(7)
    time = np.datetime64("2001-01-01T06:00:00", "ns") + np.arange(20) * np.timedelta64(6, "h")
    temperature = random.normal(280, 10, (20, 12, 15)).round(1)
    temperature[random.random(temperature.shape) < 0.1] = np.nan
    return xr.Dataset(
        {
            "temperature": (("time", "y", "x"), temperature, {"units": "K"}),
            "wind": (("time", "y", "x"), random.normal(size=(20, 12, 15)).astype("f4")),
            "station": (("y",), np.array([f"st{i:02}" for i in range(12)], dtype="U4")),
            "lead": (("time",), np.arange(20).astype("m8[h]").astype("m8[ns]")),
            "land": (("y", "x"), random.random((12, 15)) < 0.3),
        },
        {"time": time, "y": np.linspace(-30, 30, 12), "x": np.arange(15.0)},
        {"title": "a small example"},
    )


@pytest.fixture(scope="module", params=LAYOUTS.values(), ids=LAYOUTS)
def folder(request, tmp_path_factory):
    """A store that xarray wrote, cyzarr switched off; in v3, `wind` is sharded."""
    folder = tmp_path_factory.mktemp("xarray") / "example.zarr"
    chunks = {"chunks": (6, 5, 4)}
    packed = {"dtype": "i2", "scale_factor": 0.1, "add_offset": 280.0, "_FillValue": -32768}
    shards = {"shards": (12, 10, 8)} if request.param["zarr_format"] == 3 else {}
    encoding = {"temperature": chunks | packed, "wind": chunks | shards, "land": {"chunks": (5, 15)}}
    example().to_zarr(folder, encoding=encoding, **request.param)
    return folder


INDEXERS = {
    "basic": {"time": slice(3, 17, 2), "y": 4, "x": slice(2, 11)},
    "negative": {"time": -1, "y": slice(None, None, -1)},
    "orthogonal": {"time": [7, 1, 1, 19], "y": np.array([0, 11, 5])},
    "orthogonal and a slice": {"x": [14, 0], "time": slice(2, 9)},
    "mask": {"y": np.arange(12) % 3 == 0},
    "vectorised": {
        "time": xr.DataArray([5, 0, 19, 5], dims="point"),
        "y": xr.DataArray([1, 11, 0, 1], dims="point"),
        "x": xr.DataArray([2, 3, 14, 2], dims="point"),
    },
    "vectorised in two dimensions": {
        "time": xr.DataArray([[5, 0], [19, 2]], dims=("a", "b")),
        "x": xr.DataArray([2, 14], dims="b"),
    },
    "vectorised and a slice": {"y": xr.DataArray([3, 3, 9], dims="point"), "x": slice(1, 14, 3)},
    "everything": {},
    "nothing": {"time": slice(5, 5)},
}


def assert_same_dataset(got, want):
    """Identical by xarray's word, and equal to the last bit."""
    xr.testing.assert_identical(got, want)
    assert set(got.variables) == set(want.variables)
    for name, variable in want.variables.items():
        assert_same_values(got.variables[name].values, variable.values)
        assert str(got.variables[name].encoding) == str(variable.encoding)


@pytest.mark.parametrize("chunks", [None, {}, {"time": 5, "y": 7}], ids=["lazy", "dask", "dask, other chunks"])
@pytest.mark.parametrize("indexers", INDEXERS.values(), ids=INDEXERS)
def test_isel(folder, indexers, chunks):
    if chunks is not None:
        pytest.importorskip("dask")

    def read():
        with xr.open_zarr(folder, chunks=chunks) as opened:
            return opened.isel(indexers).load(**({} if chunks is None else {"scheduler": "threads"}))

    assert_same_dataset(*on_and_off(read))


SELECTIONS = {
    "times": {"time": slice("2001-01-02", "2001-01-04")},
    "one time": {"time": "2001-01-03T12:00:00", "y": slice(-10, 20)},
    "labels": {"x": [3.0, 14.0]},
}


@pytest.mark.parametrize("selection", SELECTIONS.values(), ids=SELECTIONS)
def test_sel(folder, selection):
    assert_same_dataset(*on_and_off(lambda: xr.open_zarr(folder, chunks=None).sel(selection).load()))


def test_nearest(folder):
    def read():
        opened = xr.open_zarr(folder, chunks=None)
        return opened.sel(y=xr.DataArray([-29.0, 1.0, 12.0], dims="point"), x=4.2, method="nearest").load()

    assert_same_dataset(*on_and_off(read))


def test_lazy_steps_are_composed(folder):
    """Indexing of what is not loaded yet, several times over, reaches the store as one selection."""

    def read():
        wind = xr.open_zarr(folder, chunks=None)["wind"]
        return wind[2:18][::3, 1:].isel(x=[9, 2, 4])[:, ::-2].load().to_dataset()

    assert_same_dataset(*on_and_off(read))


def test_arithmetic_on_chunks(folder):
    pytest.importorskip("dask")

    def read():
        opened = xr.open_zarr(folder, chunks={})
        made = (opened["temperature"] - opened["temperature"].mean("time")).groupby("time.day").max()
        return made.compute(scheduler="threads").to_dataset(name="made")

    assert_same_dataset(*on_and_off(read))


def test_raw_values(folder):
    """What is stored, not decoded: packed integers, times as numbers."""
    assert_same_dataset(*on_and_off(lambda: xr.open_zarr(folder, chunks=None, decode_cf=False).load()))


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_strings_of_any_length(tmp_path, layout):
    words = np.array(["", "a", "Zürich", "a longer one " * 9] * 5, dtype=object)
    xr.Dataset({"word": ("n", words)}).to_zarr(tmp_path / "a", encoding={"word": {"chunks": (6,)}}, **layout)

    def read():
        return xr.open_zarr(tmp_path / "a", chunks=None).isel(n=slice(2, 15, 3)).load()

    off = read()
    assert off["word"].values.tolist() == words[2:15:3].tolist()
    xr.testing.assert_identical(*on_and_off(read))


def test_tree(folder, tmp_path):
    """A group of groups."""
    tree = xr.DataTree.from_dict({"/": example()[["land"]], "/deep/er": example()[["wind"]]})
    tree.to_zarr(tmp_path / "tree.zarr", zarr_format=3)

    def read():
        with xr.open_datatree(tmp_path / "tree.zarr", engine="zarr") as opened:
            return opened.load()

    on, off = on_and_off(read)
    for node in off.subtree:
        assert_same_dataset(on[node.path].to_dataset(), node.to_dataset())
