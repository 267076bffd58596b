"""Arrays that the commands are tried on."""

from __future__ import annotations

import numpy as np
import pytest
import zarr


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    """A group: `volume` (sharded), `deep/plain` (uncompressed), `0` (small chunks), `big` (one compressed chunk)."""
    folder = tmp_path_factory.mktemp("arrays")
    group = zarr.create_group(folder)
    rng = np.random.default_rng(0)
    layouts = {
        "volume": {"shape": (64, 64, 64), "shards": (32, 32, 32), "chunks": (8, 8, 8), "dtype": "u2"},
        "deep/plain": {"shape": (100, 200), "chunks": (30, 40), "dtype": "f4", "compressors": None},
        "0": {"shape": (1000,), "chunks": (7,), "dtype": "i4"},
        "big": {"shape": (1024, 1024), "chunks": (1024, 1024), "dtype": "i4"},
        "point": {"shape": (), "dtype": "i2"},
    }
    for name, layout in layouts.items():
        array = group.create_array(name, **layout)
        array[...] = rng.integers(0, 99, array.shape).astype(array.dtype)
    return folder


@pytest.fixture
def command(capsys):
    """Run a command: (status, standard output, standard error)."""
    from cyzarr import cli

    def run(*arguments):
        status = cli.main([str(one) for one in arguments])
        found = capsys.readouterr()
        return status, found.out, found.err

    return run
