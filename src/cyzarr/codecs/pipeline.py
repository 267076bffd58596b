"""The codec pipeline: zarr hands over a list of chunks, the kernels read and place them.

This module is loaded by zarr's entry points: it imports no compiled code until a read asks for it.
"""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any

import zarr.core.codec_pipeline
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.registry import get_pipeline_class, register_pipeline

if TYPE_CHECKING:
    from collections.abc import Iterable

# zarr's own BatchedCodecPipeline.read, for what the kernels don't hold.
_zarr_read: Any = BatchedCodecPipeline.read


def load_reading() -> tuple[Any, Any] | None:
    """The modules that read; None, with one warning, where the kernels can't be loaded: zarr then reads as it did."""
    try:
        from cyzarr import observe
        from cyzarr.planning import chunkreads
    except ImportError as error:
        from cyzarr.notes import warn_once

        warn_once(f"cyzarr's kernels can't be loaded, zarr reads as it did: {error}")
        return None
    return observe, chunkreads


def set_zarr_read(read: Any) -> None:
    """Tell which function was there before ours took its place."""
    global _zarr_read
    _zarr_read = read


# The same of the pipelines that write, for all they write.
_zarr_writes: dict[type, Any] = {BatchedCodecPipeline: BatchedCodecPipeline.write}


def forget_indexes(batch: Iterable[Any]) -> None:
    """Shards were written: an index of theirs that was kept is of no use."""
    kept = sys.modules.get("cyzarr.stores.indexcache")
    if kept is not None and kept.cache.used:
        for setter, *_ in batch:
            kept.cache.invalidate(getattr(setter, "path", ""))


def write_of(owner: type) -> Any:
    """A pipeline's `write` while cyzarr is on: zarr's own, and kept indexes are forgotten."""

    async def write(self: Any, batch_info: Iterable[Any], value: Any, drop_axes: tuple[int, ...] = ()) -> None:
        batch = list(batch_info)
        try:
            await _zarr_writes[owner](self, batch, value, drop_axes)
        finally:
            forget_indexes(batch)

    return write


# The fused pipeline came with zarr 3.3.
WRITES = {
    owner: write_of(owner)
    for name in ("BatchedCodecPipeline", "FusedCodecPipeline")
    if (owner := getattr(zarr.core.codec_pipeline, name, None)) is not None
}


def set_zarr_write(owner: type, write: Any) -> None:
    """Tell which function was there before ours took its place."""
    _zarr_writes[owner] = write


async def _read(pipeline: Any, batch_info: Iterable[Any], out: Any, drop_axes: tuple[int, ...]) -> Any:
    """Read through the kernels, or through zarr's own code where they don't hold the chain."""
    loaded = load_reading()
    batch = list(batch_info)
    if loaded is None:
        return await _zarr_read(pipeline, batch, out, drop_axes)
    observe, chunkreads = loaded
    try:
        plan = chunkreads.plan_batch(pipeline, batch, out, tuple(drop_axes))
    except chunkreads.NotNativeError as error:
        observe.note_fallback(str(error))
        return await _zarr_read(pipeline, batch, out, drop_axes)
    return await plan.run()


class CodecPipeline(BatchedCodecPipeline):
    """zarr's batched pipeline with its reading done by compiled kernels; writing is zarr's own.

    Chosen by ``zarr.config.set({"codec_pipeline.path": "cyzarr.CodecPipeline"})`` or by the environment variable
    ``ZARR_CODEC_PIPELINE__PATH``. It holds for arrays that are opened afterwards.
    """

    # Tells the direct road that this pipeline's arrays are its own, too; a subclass says so itself.
    _cyzarr_pipeline = True

    async def read(self, batch_info: Iterable[Any], out: Any, drop_axes: tuple[int, ...] = ()) -> Any:
        """Read the chunks of a batch into `out`."""
        return await _read(self, batch_info, out, drop_axes)

    async def write(self, batch_info: Iterable[Any], value: Any, drop_axes: tuple[int, ...] = ()) -> None:
        """Write by zarr's own code."""
        batch = list(batch_info)
        try:
            await super().write(batch, value, drop_axes)
        finally:
            forget_indexes(batch)

    def __reduce__(self) -> Any:
        # Pickled as the class that zarr's configuration names where the pickle is opened: ours, in a worker that is
        # configured as we are, and zarr's own where cyzarr is not installed.
        return operator.methodcaller("from_codecs", tuple(self), batch_size=self.batch_size), (_Configured(),)


class _Configured:
    """Stands for the class of pipelines that zarr's configuration names; in a pickle it is looked up on opening."""

    def from_codecs(self, codecs: Iterable[Any], **options: Any) -> Any:
        return get_pipeline_class().from_codecs(codecs, **options)

    def __reduce__(self) -> Any:
        return get_pipeline_class, ()


async def batched_read(self: Any, batch_info: Iterable[Any], out: Any, drop_axes: tuple[int, ...] = ()) -> Any:
    """`BatchedCodecPipeline.read` while cyzarr is on."""
    # A subclass that calls this one has work of its own to do around it: it keeps zarr's.
    if type(self) is not BatchedCodecPipeline or not _is_active():
        return await _zarr_read(self, batch_info, out, drop_axes)
    return await _read(self, batch_info, out, drop_axes)


def _is_active() -> bool:
    from cyzarr.planning import direct

    return bool(direct.is_active())


# zarr's registry knows a pipeline by __module__.__qualname__, which is what users write.
CodecPipeline.__module__ = "cyzarr"
register_pipeline(CodecPipeline)
