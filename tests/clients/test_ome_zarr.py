"""ome-zarr: the reader's pyramid of a small image with labels."""

from __future__ import annotations

import numpy as np
import pytest
import zarr

pytest.importorskip("ome_zarr")

from ome_zarr.io import parse_url
from ome_zarr.reader import Reader
from ome_zarr.writer import write_image, write_labels

from support.clients import on_and_off
from support.compare import assert_same_values

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module", params=["0.4", "0.5"])
def folder(request, tmp_path_factory):
    """An image of two channels, in OME-Zarr 0.4 (Zarr v2) or 0.5 (v3), with labels."""
    from ome_zarr.format import FormatV04, FormatV05

    made = {"0.4": FormatV04, "0.5": FormatV05}[request.param]()
    folder = tmp_path_factory.mktemp("ome") / "image.zarr"
    group = zarr.open_group(folder, mode="w", zarr_format=2 if request.param == "0.4" else 3)
    random = np.random.default_rng(9)
    image = random.integers(0, 2**16, (2, 100, 130), dtype="u2")
    write_image(image, group, axes="cyx", fmt=made, storage_options={"chunks": (1, 32, 48)})
    labels = random.integers(0, 9, (100, 130), dtype="i4")
    write_labels(labels, group, "cells", axes="yx", fmt=made, storage_options={"chunks": (32, 48)})
    return folder, image, labels


def read(folder):
    """{node name: the levels of its pyramid}, computed."""
    nodes = list(Reader(parse_url(folder))())
    return {str(node): [level.compute(scheduler="threads") for level in node.data] for node in nodes if node.data}


def test_pyramid(folder):
    folder, image, labels = folder
    on, off = on_and_off(lambda: read(folder))
    assert on.keys() == off.keys()
    for name, levels in off.items():
        assert len(on[name]) == len(levels) > 1
        for got, want in zip(on[name], levels, strict=True):
            assert_same_values(got, want)
    full = [levels[0] for levels in on.values()]
    assert any(np.array_equal(one, image) for one in full)
    assert any(np.array_equal(one, labels) for one in full)


def test_a_part(folder):
    """A window of one channel of the finest level, as a viewer asks for it."""
    folder, image, _ = folder

    def window():
        node = next(iter(Reader(parse_url(folder))()))
        return node.data[0][1, 20:90, 40:111].compute(scheduler="threads")

    on, off = on_and_off(window)
    assert_same_values(on, off)
    assert_same_values(on, image[1, 20:90, 40:111])
