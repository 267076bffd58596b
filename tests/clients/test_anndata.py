"""anndata: whole objects, their sparse matrices row by row, and what is read lazily."""

from __future__ import annotations

import numpy as np
import pytest
import zarr

import cyzarr
from support.clients import on_and_off, served
from support.compare import assert_same_values

anndata = pytest.importorskip("anndata")
pd = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")

# From 0.13 on, read_zarr chooses zarr's fused pipeline where the configuration names zarr's default, and what was
# chosen is kept: configured, ours is left in place.
CHOSEN = "anndata chooses zarr's fused pipeline for its reads"
CONFIGURED = {"codec_pipeline.path": "cyzarr.CodecPipeline"}
CELLS, GENES = 200, 50


def example():
    random = np.random.default_rng(5)
    counts = sparse.random(CELLS, GENES, 0.1, format="csr", dtype="f4", random_state=6)
    names = {"obs": [f"cell {i}" for i in range(CELLS)], "var": [f"gene {i}" for i in range(GENES)]}
    obs = pd.DataFrame(
        {
            "kind": pd.Categorical(random.choice(["B", "T", "NK"], CELLS)),
            "note": random.choice(["", "Zürich", "a longer note"], CELLS),
            "depth": random.normal(size=CELLS),
            "kept": random.random(CELLS) < 0.5,
        },
        index=names["obs"],
    )
    return anndata.AnnData(
        counts,
        obs,
        pd.DataFrame({"length": random.integers(1, 10**4, GENES)}, index=names["var"]),
        obsm={"pca": random.normal(size=(CELLS, 4))},
        layers={"columns": counts.tocsc()},
        obsp={"near": sparse.random(CELLS, CELLS, 0.02, format="csr", random_state=8)},
        uns={"n": np.arange(5)},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("anndata") / "example.zarr"
    example().write_zarr(folder)
    return folder


def assert_same_sparse(got, want):
    assert type(got) is type(want)
    assert got.shape == want.shape
    for part in ("data", "indices", "indptr"):
        assert_same_values(getattr(got, part), getattr(want, part))


@pytest.mark.parametrize(
    "config",
    [pytest.param({}, marks=pytest.mark.xfail(reason=CHOSEN, strict=False)), CONFIGURED],
    ids=["enabled", "enabled and configured"],
)
def test_read_zarr(folder, config):
    want = anndata.read_zarr(folder)
    with zarr.config.set(config), served():
        got = anndata.read_zarr(folder)
    assert_same_anndata(got, want)


def test_read_zarr_configured_alone(folder):
    want = anndata.read_zarr(folder)
    with zarr.config.set(CONFIGURED), cyzarr.trace() as counts:
        got = anndata.read_zarr(folder)
    assert_same_anndata(got, want)
    assert not counts.fallbacks
    assert set(counts.reads) == {"pipeline"}


def assert_same_anndata(got, want):
    assert_same_sparse(got.X, want.X)
    assert_same_sparse(got.layers["columns"], want.layers["columns"])
    assert_same_sparse(got.obsp["near"], want.obsp["near"])
    assert_same_values(got.obsm["pca"], want.obsm["pca"])
    pd.testing.assert_frame_equal(got.obs, want.obs, check_exact=True)
    pd.testing.assert_frame_equal(got.var, want.var, check_exact=True)


def test_read_zarr_is_right(folder):
    """Whatever serves it."""
    with cyzarr.enabled():
        got = anndata.read_zarr(folder)
    want = example()
    assert_same_anndata(got, anndata.read_zarr(folder))
    assert_same_sparse(got.X, want.X)
    assert got.obs["note"].tolist() == want.obs["note"].tolist()
    assert got.obs["kind"].tolist() == want.obs["kind"].tolist()


ROWS = {
    "a slice": np.s_[20:45],
    "one row": np.s_[7:8],
    "a list": [3, 90, 150],
    "a mask": np.arange(CELLS) % 7 == 0,
    "a block": np.s_[10:50, 5:20],
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("path", ["X", "layers/columns", "obsp/near"])
def test_rows_of_a_sparse_matrix(folder, path, rows):
    def read():
        return anndata.io.sparse_dataset(zarr.open_group(folder, mode="r")[path])[rows]

    assert_same_sparse(*on_and_off(read))


@pytest.mark.parametrize(
    "part", ["X", "layers/columns", "obsm/pca", "obs/depth", "obs/kept", "obs/kind/codes", "uns/n"]
)
def test_elements(folder, part):
    def read():
        return anndata.io.read_elem(zarr.open_group(folder, mode="r")[part])

    on, off = on_and_off(read)
    (assert_same_sparse if sparse.issparse(off) else assert_same_values)(on, off)


def test_lazy_element(folder):
    """A sparse matrix as a dask array, some of its rows computed."""
    pytest.importorskip("dask")

    def lazy():
        return anndata.experimental.read_elem_lazy(zarr.open_group(folder, mode="r")["X"], chunks=(50, GENES))

    want = lazy()[60:130].compute(scheduler="threads")
    with served():
        got = lazy()[60:130].compute(scheduler="threads")
    assert_same_sparse(got, want)
