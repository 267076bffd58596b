"""Fixtures for the tests of reading, and hypothesis profiles.

A road is a door (support/doors.py), a kind of store, and the table of C decoders on or off.
`--hypothesis-profile=long` searches for minutes instead of seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import hypothesis
import pytest
import zarr

from support import doors

_QUIET = {
    "deadline": None,
    "suppress_health_check": list(hypothesis.HealthCheck),
    "print_blob": True,
}
hypothesis.settings.register_profile("ci", max_examples=15, derandomize=True, **_QUIET)
hypothesis.settings.register_profile("long", max_examples=3000, **_QUIET)
hypothesis.settings.load_profile("ci")


def pytest_configure(config):
    for line in (
        "ignore:Numcodecs codecs are not in the Zarr version 3 specification",
        "ignore:.*does not have a Zarr V3 specification",
        "ignore:.*not part of the Zarr format 3 specification",
        "ignore:.*fork\\(\\).*:DeprecationWarning",
        "ignore:.*zarr.core.dtype.npy.structured",
    ):
        config.addinivalue_line("filterwarnings", line)


@pytest.fixture(autouse=True)
def _clean_state():
    """Each test starts and ends with zarr as it is, and zarr's own configuration."""
    with zarr.config.set({}):
        yield
    if not doors.PLAIN:
        import cyzarr

        cyzarr.disable()


@pytest.fixture(params=doors.doors(), ids=repr)
def door(request):
    """The way through which arrays are opened and read, already entered."""
    with request.param.through() as door:
        yield door


@pytest.fixture(params=doors.tables(), ids=lambda on: "native" if on else "numcodecs")
def native(request):
    """The table of C decoders, on and off."""
    with doors.native_table(request.param):
        yield request.param


@pytest.fixture(params=["local", "memory"])
def put(request, tmp_path):
    """A function that makes a store of a `handmade.Stored`."""
    if request.param == "memory":
        return lambda stored: stored.memory()
    folders = iter(range(10**6))
    return lambda stored: stored.local(tmp_path / f"array{next(folders)}")


@dataclass
class Road:
    """A door and a kind of store; `open` gives a zarr array to read."""

    door: doors.Door
    put: object

    def open(self, stored):
        return zarr.open_array(self.put(stored), mode="r")


@pytest.fixture
def road(door, put):
    return Road(door, put)
