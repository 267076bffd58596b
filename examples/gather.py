"""Rows of a sparse matrix in CSR form, as single-cell data has them: a random thousand at once.

`data` and `indices` are long 1-D arrays, and row r is what lies between indptr[r] and indptr[r + 1]. Plain zarr reads
row by row, or all positions by one long index array. `cyzarr.read_many` takes the rows as windows: each touched chunk
is decoded once, and each row goes straight to its place.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import gain
import numpy as np
import zarr

import cyzarr


class Rows(NamedTuple):
    """Some rows of a matrix, in CSR form themselves."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray


class Matrix:
    """A sparse matrix in a zarr group, as anndata stores it."""

    def __init__(self, group: Any) -> None:
        self.data, self.indices = group["data"], group["indices"]
        # Small: a number for each row.
        self.indptr = group["indptr"][...]

    def rows(self, wanted: np.ndarray) -> Rows:
        """Rows in the order given; one may be there twice."""
        starts, stops = self.indptr[wanted], self.indptr[wanted + 1]
        indptr = np.concatenate([[0], np.cumsum(stops - starts)])
        windows = [slice(int(a), int(b)) for a, b in zip(starts, stops, strict=True)]
        found = []
        for array in (self.data, self.indices):
            out = np.empty(indptr[-1], array.dtype)
            cyzarr.read_many(array, windows, np.split(out, indptr[1:-1]))
            found.append(out)
        return Rows(*found, indptr)

    def rows_one_by_one(self, wanted: np.ndarray) -> Rows:
        """By plain zarr."""
        bounds = [(int(self.indptr[row]), int(self.indptr[row + 1])) for row in wanted]
        data = np.concatenate([self.data[a:b] for a, b in bounds])
        indices = np.concatenate([self.indices[a:b] for a, b in bounds])
        return Rows(data, indices, np.concatenate([[0], np.cumsum([b - a for a, b in bounds])]))

    def rows_by_positions(self, wanted: np.ndarray) -> Rows:
        """By plain zarr, all positions at once."""
        lengths = self.indptr[wanted + 1] - self.indptr[wanted]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        at = np.arange(indptr[-1]) + np.repeat(self.indptr[wanted] - indptr[:-1], lengths)
        return Rows(self.data.oindex[at], self.indices.oindex[at], indptr)


def make(folder: Path, n_rows: int, n_columns: int = 20_000) -> Matrix:
    """Rows of 0 to 400 numbers, in shards of 2^18 and chunks of 2^14."""
    rng = np.random.default_rng(0)
    indptr = np.concatenate([[0], np.cumsum(rng.integers(0, 400, n_rows))])
    group = zarr.create_group(folder)
    layout = {"shards": (1 << 18,), "chunks": (1 << 14,)}
    values = rng.poisson(2, indptr[-1]).astype("f4")
    group.create_array("data", shape=values.shape, dtype="f4", **layout)[...] = values
    columns = rng.integers(0, n_columns, indptr[-1]).astype("i4")
    group.create_array("indices", shape=columns.shape, dtype="i4", **layout)[...] = columns
    group.create_array("indptr", shape=indptr.shape, dtype="i8", chunks=indptr.shape)[...] = indptr
    return Matrix(zarr.open_group(folder, mode="r"))


def main(n_rows: int = 10_000, n_wanted: int = 1000) -> dict[str, float]:
    """Compare reads of the same rows."""
    with tempfile.TemporaryDirectory() as folder:
        matrix = make(Path(folder), n_rows)
        wanted = np.random.default_rng(1).integers(0, n_rows, n_wanted)
        expected = matrix.rows_one_by_one(wanted)
        for found in (matrix.rows(wanted), matrix.rows_by_positions(wanted)):
            assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))
        return gain.table(
            f"{n_wanted} of {n_rows} rows",
            {
                "zarr, row by row": lambda: matrix.rows_one_by_one(wanted),
                "zarr, all positions at once": lambda: matrix.rows_by_positions(wanted),
                "read_many": lambda: matrix.rows(wanted),
            },
            repeats=2,
        )


if __name__ == "__main__":
    main()
