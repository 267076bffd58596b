"""A trace that can't see what is read says so; others are quiet."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import zarr

import cyzarr
from support.doors import needs_cyzarr

CODECS = {"codecs.sharding_indexed": "cyzarr.ShardingCodec"}


@pytest.fixture
def array():
    made = zarr.create_array({}, shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype="i4")
    made[...] = np.arange(64).reshape(8, 8)
    return made


@pytest.fixture
def quiet():
    """No warning comes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_off(array):
    with pytest.warns(RuntimeWarning, match="nothing was traced: cyzarr is off") as caught, cyzarr.trace() as trace:
        array[3]
    assert caught[0].filename == __file__
    assert trace.note in repr(trace)
    assert "cyzarr.enable()" in trace.note
    assert (trace.requests, dict(trace.reads)) == (0, {})


@needs_cyzarr
def test_on(array, quiet):
    with cyzarr.enabled(), cyzarr.trace() as trace:
        array[3]
    assert (trace.note, trace.requests > 0) == ("", True)
    with cyzarr.enabled(), cyzarr.trace() as trace:
        pass
    assert trace.note == ""


@needs_cyzarr
def test_on_for_a_part(array, quiet):
    with cyzarr.trace() as trace:
        with cyzarr.enabled():
            array[3]
        array[3]
    assert (trace.note, sum(trace.reads.values())) == ("", 1)


@needs_cyzarr
def test_off_but_its_own_functions_are_called(array, quiet):
    with cyzarr.trace() as trace:
        cyzarr.LazyArray(array)[3].result()
        cyzarr.read_many(array, [3, 4])
    assert (trace.note, bool(trace.reads)) == ("", True)


@needs_cyzarr
@pytest.mark.parametrize("named", [{"codec_pipeline.path": "cyzarr.CodecPipeline"}, CODECS])
def test_by_configuration(array, quiet, named):
    with zarr.config.set(named), cyzarr.trace() as trace:
        pass
    assert trace.note == ""


def test_the_block_failed(array, quiet):
    """Its own error is all there is to say."""
    with pytest.raises(KeyError), cyzarr.trace():
        raise KeyError(1)


@needs_cyzarr
def test_off_again(array):
    cyzarr.enable()
    cyzarr.disable()
    with pytest.warns(RuntimeWarning, match="nothing was traced"), cyzarr.trace():
        array[3]
