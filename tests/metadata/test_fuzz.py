"""5,000 documents by chance against zarr-metadata; `python tests/metadata/fuzz.py` takes 100,000."""

from __future__ import annotations

import pytest

pytest.importorskip("zarr_metadata.model", reason="zarr-metadata needs Python 3.12")

from metadata import fuzz


def test_agreement():
    reports = []
    seen = fuzz.run(5000, seed=2, report=reports.append)
    assert not reports, "\n".join(reports[:8])
    # The documents must be worth comparing: of all kinds, and deep.
    assert seen["valid"] > 1000
    assert seen["three deep"] > 500
    assert seen["stages"] > 20_000
    for kind in ("missing_key", "invalid_type", "invalid_value", "unknown_key"):
        assert seen[kind] > 300
