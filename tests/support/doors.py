"""The doors into cyzarr, and what a trace must show after a read through each.

With CYZARR_TESTS_PLAIN=1 in the environment the doors are zarr's own pipelines and cyzarr is not
imported: that tests the tests, with zarr as the oracle.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field

import pytest
import zarr
import zarr.core.codec_pipeline
from packaging.version import Version

PLAIN = os.environ.get("CYZARR_TESTS_PLAIN", "") == "1"
ZARR = Version(zarr.__version__)
HAS_FUSED = hasattr(zarr.core.codec_pipeline, "FusedCodecPipeline")

_BATCHED = {"codec_pipeline.path": "zarr.core.codec_pipeline.BatchedCodecPipeline"}
_FUSED = {"codec_pipeline.path": "zarr.core.codec_pipeline.FusedCodecPipeline"}
_PIPELINE = {"codec_pipeline.path": "cyzarr.CodecPipeline"}
_CODECS = {"codecs.sharding_indexed": "cyzarr.ShardingCodec", "codecs.bytes": "cyzarr.BytesCodec"}


@dataclass(frozen=True)
class Door:
    """A way to read; `with door.through():` arrays opened and read take it."""

    name: str
    config: dict = field(default_factory=dict, hash=False)
    patch: bool = False  # cyzarr.enable()
    roads: tuple = ()  # the roads on which cyzarr may serve a read

    @contextmanager
    def through(self):
        with ExitStack() as stack:
            stack.enter_context(zarr.config.set(self.config))
            if self.patch:
                stack.enter_context(_cyzarr().enabled())
            yield self

    def __repr__(self):
        return self.name


def _cyzarr():
    import cyzarr

    return cyzarr


_ZARR_CODECS = {
    "codecs.sharding_indexed": "zarr.codecs.sharding.ShardingCodec",
    "codecs.bytes": "zarr.codecs.bytes.BytesCodec",
}

ZARR_DOOR = Door("zarr", _BATCHED | _ZARR_CODECS)
FUSED_DOOR = Door("zarr-fused", _FUSED | _ZARR_CODECS)
DIRECT = Door("direct", patch=True, roads=("direct", "pipeline"))
PIPELINE = Door("pipeline", _PIPELINE, roads=("pipeline",))
CODECS = Door("codecs", _BATCHED | _CODECS, roads=("codec",))
CODECS_FUSED = Door("codecs-fused", _FUSED | _CODECS, roads=("codec",))
ALL = Door("all", _PIPELINE | _CODECS, patch=True, roads=("direct", "pipeline", "codec"))


def doors():
    """The doors that this zarr has; zarr's own if cyzarr is left out."""
    fused = [FUSED_DOOR] if HAS_FUSED else []
    if PLAIN:
        return [ZARR_DOOR, *fused]
    return [DIRECT, PIPELINE, CODECS, *([CODECS_FUSED] if HAS_FUSED else []), ALL]


@contextmanager
def plain_zarr():
    """zarr as it is, also inside a door: what the oracle reads through."""
    enabled = not PLAIN and _cyzarr().status().enabled
    if enabled:
        _cyzarr().disable()
    try:
        with ZARR_DOOR.through():
            yield
    finally:
        if enabled:
            _cyzarr().enable()


def tables():
    """The states of the table of C decoders: on, and off (the same codecs through numcodecs)."""
    return [True] if PLAIN else [True, False]


@contextmanager
def native_table(on):
    if PLAIN:
        yield
        return
    from cyzarr.kernels import decompress

    before = decompress.set_native(on)
    try:
        yield
    finally:
        decompress.set_native(True if before is None else before)


def trace():
    """cyzarr.trace(), or a stand-in without counts."""
    return nullcontext() if PLAIN else _cyzarr().trace()


def assert_native(counts, door, *, served=True):
    """cyzarr served the read: nothing fell back, and zarr's own code read nothing.

    served: False where it may be that nothing had to be decoded (an empty selection, missing
    chunks), so that a door behind zarr's pipeline is not asked at all.
    """
    if PLAIN:
        return
    assert not counts.fallbacks
    assert set(counts.reads) <= set(door.roads)
    if served:
        assert sum(counts.reads.values()) > 0


def asks_our_codecs(codecs):
    """Whether zarr's pipeline leaves the decoding of these codecs to ours.

    A bytes codec behind or before other codecs only gives a view of what they decoded.
    """
    return len(codecs) == 1 or any(each["name"] == "sharding_indexed" for each in codecs)


def by_codecs_alone(door):
    """A door through which zarr's own pipeline reads, and undoes what stands around our codecs."""
    return door.roads == ("codec",)


def corrupt_error():
    """What bad stored bytes raise."""
    return Exception if PLAIN else _cyzarr().CorruptChunkError


def needs_cyzarr(test):
    """A test that says nothing about zarr alone."""
    return pytest.mark.skipif(PLAIN, reason="about cyzarr, which this run leaves out")(test)


def zarr_differs(reason, before=None):
    """Where zarr itself (or zarr before a version) is known to be wrong, a run of zarr alone may fail."""
    known = PLAIN and (before is None or Version(before) > ZARR)
    return pytest.mark.xfail(known, reason=reason, strict=False)
