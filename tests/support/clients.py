"""What tests of real clients share: cyzarr on, compared with cyzarr off, and nothing left to zarr's own code."""

from __future__ import annotations

from contextlib import contextmanager

import cyzarr


@contextmanager
def served():
    """cyzarr switched on; gives the trace, and asserts that cyzarr served every read, and at least one."""
    with cyzarr.enabled() as on, cyzarr.trace() as counts:
        assert on
        yield counts
    assert not counts.fallbacks
    assert "zarr" not in counts.reads
    assert sum(counts.reads.values()) > 0


def on_and_off(read):
    """(what `read()` gives while cyzarr serves it, what it gives without cyzarr)."""
    assert not cyzarr.status().enabled
    off = read()
    with served():
        on = read()
    return on, off
