"""cyzarr's section of zarr's config: what it switches, from where, and what is said of what can't be."""

from __future__ import annotations

import os
import warnings

import numpy as np
import pytest
import zarr
from zarr.storage import WrapperStore

from support import doors
from support.compare import assert_same_values
from support.handmade import le, store, zstd
from support.process import run_python

pytestmark = pytest.mark.skipif(doors.PLAIN, reason="about cyzarr, which this run leaves out")

DEFAULTS = {
    "partial_storage_reads": True,
    "check_remote_size": True,
    "threads": None,
    "index_cache_nbytes": 64 << 20,
    "remote_index_cache": False,
    "native": True,
}


def values_of(settings):
    return {name: getattr(settings, name) for name in DEFAULTS}


@pytest.fixture
def array():
    """A small array in memory, read through the direct road."""
    with doors.DIRECT.through():
        yield zarr.open_array(store(np.arange(20), (5,), [le(), zstd()]).memory(), mode="r")


@pytest.fixture(autouse=True)
def fresh_notes():
    """What was said before in this process is forgotten, so that it is said anew."""
    from cyzarr import config, notes

    notes.settings.clear()
    notes._warned.clear()
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        config.current()


def test_defaults_are_documented():
    """The docstring and the table for users name every setting."""
    from pathlib import Path

    from cyzarr import config

    assert values_of(config.current()) == DEFAULTS
    assert set(config.NAMES) == set(DEFAULTS)
    usage = Path(__file__).parent.parent / "docs" / "usage.md"
    for name in config.NAMES:
        assert f"``cyzarr.{name}``" in config.__doc__
        assert f"| `cyzarr.{name}` |" in usage.read_text()


GOOD = [
    ("partial_storage_reads", False, False),
    ("check_remote_size", 0, False),
    ("native", "false", False),
    ("remote_index_cache", "True", True),
    ("remote_index_cache", 1, True),
    ("threads", 3, 3),
    ("threads", None, None),
    ("index_cache_nbytes", 0, 0),
    ("index_cache_nbytes", 1 << 40, 1 << 40),
]


@pytest.mark.parametrize(("name", "given", "taken"), GOOD)
def test_good_values(name, given, taken):
    from cyzarr import config

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with zarr.config.set({f"cyzarr.{name}": given}):
            assert values_of(config.current()) == DEFAULTS | {name: taken}
            assert config.setting(f"cyzarr.{name}") == taken
        with zarr.config.set({f"cyzarr.{name.replace('_', '-')}": given}):
            assert values_of(config.current()) == DEFAULTS | {name: taken}
        assert values_of(config.current()) == DEFAULTS


BAD = [
    ("partial_storage_reads", 2, "expected True or False, found 2"),
    ("native", "off", "expected True or False, found 'off'"),
    ("check_remote_size", None, "expected True or False, found None"),
    ("threads", 0, "expected an integer from 1 up to .* or None, found 0"),
    ("threads", -4, "expected an integer from 1 up to .* or None, found -4"),
    ("threads", True, "expected an integer from 1 up to .* or None, found True"),
    ("threads", "2", "expected an integer from 1 up to .* or None, found '2'"),
    ("index_cache_nbytes", -1, "expected an integer from 0 up to .*, found -1"),
    ("index_cache_nbytes", 2**63, "expected an integer from 0 up to .*, found 9223372036854775808"),
    ("index_cache_nbytes", 1.5, "expected an integer from 0 up to .*, found 1.5"),
    ("index_cache_nbytes", np.arange(2), "expected an integer from 0 up to .*, found array"),
    ("thread", 2, "there is no such setting .found 2., expected cyzarr.threads"),
    ("colour", "red", "there is no such setting .found 'red'., expected one of partial_storage_reads"),
]


@pytest.mark.parametrize(("name", "given", "said"), BAD)
def test_bad_values(array, name, given, said):
    """One warning at the next read, which goes on with the default; status() tells it later, too."""
    import cyzarr

    with zarr.config.set({f"cyzarr.{name}": given}):
        with pytest.warns(RuntimeWarning, match=rf"cyzarr\.{name}: {said}") as caught:
            assert_same_values(array[3:8], np.arange(3, 8))
        assert len(caught) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            array[0]
            from cyzarr import config

            assert values_of(config.current()) == DEFAULTS
        assert any(f"cyzarr.{name}" in note for note in cyzarr.status().notes)
    assert not any(f"cyzarr.{name}" in note for note in cyzarr.status().notes)


def test_no_section_at_all(array):
    with zarr.config.set({"cyzarr": 5}), pytest.warns(RuntimeWarning, match="expected settings by name, found 5"):
        assert_same_values(array[...], np.arange(20))


def test_a_warning_that_is_an_error(array):
    """It is raised by one read; those after it go on."""
    with zarr.config.set({"cyzarr.threads": -1, "cyzarr.partial_storage_reads": False}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning):
                array[...]
            with doors.trace() as counts:
                assert_same_values(array[...], np.arange(20))
        assert counts.reads == {"pipeline": 1}


def test_enable_says_what_is_wrong():
    import cyzarr

    with zarr.config.set({"cyzarr.treads": 1}), pytest.warns(RuntimeWarning, match="expected cyzarr.threads"):
        cyzarr.enable()


# -- what they switch -------------------------------------------------------------------------


def test_partial_storage_reads(array):
    """By the pipeline, and back by the direct road."""
    for given, road in [(False, "pipeline"), (True, "direct"), (False, "pipeline")]:
        with zarr.config.set({"cyzarr.partial_storage_reads": given}), doors.trace() as counts:
            assert_same_values(array[3:8], np.arange(3, 8))
        assert counts.reads == {road: 1}
    with doors.trace() as counts:
        array[3:8]
    assert counts.reads == {"direct": 1}


def wrapped(array):
    return zarr.open_array(WrapperStore(array.store), mode="r")


@pytest.mark.parametrize("through", [lambda a: a, wrapped], ids=["direct", "pipeline"])
def test_native(array, through):
    """Off, every codec goes through numcodecs; on again as soon as the setting is."""
    import cyzarr

    array = through(array)
    for given, native in [(False, False), (True, True), (False, False)]:
        with zarr.config.set({"cyzarr.native": given}), doors.trace() as counts:
            assert_same_values(array[...], np.arange(20))
            assert set(cyzarr.status().native.values()) == {native}
        assert sum(counts.reads.values()) == 1
    array[...]
    assert set(cyzarr.status().native.values()) == {True}


def test_native_leaves_a_switched_table_alone(array):
    """Only a change of the setting touches the table."""
    import cyzarr

    with doors.native_table(False):
        with zarr.config.set({"cyzarr.threads": 1}):
            array[...]
        array[...]
        assert set(cyzarr.status().native.values()) == {False}


def test_threads():
    import cyzarr

    everything = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limits = [({}, everything), ({"cyzarr.threads": 1}, 1), ({"cyzarr.threads": 3, "threading.max_workers": 2}, 2)]
    for given, expected in limits:
        with zarr.config.set(given):
            assert cyzarr.status().threads == expected


# -- from the environment ---------------------------------------------------------------------


def test_environment():
    code = """
        import warnings
        warnings.simplefilter("error")
        import cyzarr
        from cyzarr import config
        cyzarr.enable()
        status = cyzarr.status()
        print(status.threads, set(status.native.values()), config.current())
    """
    env = {"ZARR_CYZARR__THREADS": "2", "ZARR_CYZARR__NATIVE": "false", "ZARR_CYZARR__INDEX_CACHE_NBYTES": "1_000"}
    env |= {"ZARR_CYZARR__CHECK_REMOTE_SIZE": "0", "ZARR_CYZARR__PARTIAL_STORAGE_READS": "False"}
    out = run_python(code, env=env)
    assert out.startswith("2 {False}")
    for part in ("threads=2", "native=False", "nbytes=1000", "remote_size=False", "storage_reads=False"):
        assert part in out


def test_misspelt_in_the_environment():
    code = """
        import warnings
        import cyzarr
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cyzarr.enable()
        print([str(one.message) for one in caught])
    """
    assert "cyzarr.thread: there is no such setting" in run_python(code, env={"ZARR_CYZARR__THREAD": "2"})
