"""The ways to read one array by zarr that are compared, and what each reads from the store.

The benchmarks use this module too.
"""

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import zarr
import zarr.core.codec_pipeline
from zarr.abc.store import Store
from zarr.storage import StorePath, WrapperStore

import cyzarr
from cyzarr.cli.reads import Key

PIPELINES = "zarr.core.codec_pipeline"


@dataclass(frozen=True)
class Engine:
    """A way to read: zarr with one of its pipelines, and cyzarr switched on or not."""

    name: str
    pipeline: str = f"{PIPELINES}.BatchedCodecPipeline"
    switched_on: bool = False
    # One that others make: it may not be able to do everything.
    is_peer: bool = False

    def open(self, source: StorePath) -> zarr.Array[Any]:
        """Open the array for reading; it keeps the pipeline that it is opened with."""
        with zarr.config.set({"codec_pipeline.path": self.pipeline}):
            return zarr.open_array(source.store, path=source.path, mode="r")

    def active(self) -> AbstractContextManager[Any]:
        """Reads of this engine's arrays belong inside this."""
        return cyzarr.enabled() if self.switched_on else nullcontext()


ZARR = Engine("zarr")
FUSED = Engine("fused", f"{PIPELINES}.FusedCodecPipeline")
CYZARR = Engine("cyzarr", switched_on=True)


def available() -> list[Engine]:
    """The engines of this installation: zarr gained its fused pipeline after 3.1.6."""
    fused = hasattr(zarr.core.codec_pipeline, "FusedCodecPipeline")
    return [ZARR, FUSED, CYZARR] if fused else [ZARR, CYZARR]


@dataclass
class Traffic:
    """What one read asked of the store: number of answers and their length in bytes."""

    requests: int = 0
    nbytes: int = 0
    fallbacks: dict[str, int] = field(default_factory=dict)


class CountingStore(WrapperStore[Store]):
    """A store that counts into ``traffic`` what the wrapped one gives, whoever asks.

    zarr makes read-only copies of it, which go on counting into the same.
    """

    def __init__(self, store: Store, traffic: Traffic) -> None:
        super().__init__(store)
        self.traffic = traffic
        self._lock = threading.Lock()

    def _with_store(self, store: Store) -> "CountingStore":
        return type(self)(store, self.traffic)

    def _counted(self, buffer: Any) -> Any:
        with self._lock:  # zarr's fused pipeline asks from several threads
            self.traffic.requests += 1
            self.traffic.nbytes += 0 if buffer is None else len(buffer)
        return buffer

    async def get(self, key: str, prototype: Any = None, byte_range: Any = None) -> Any:
        return self._counted(await self._store.get(key, prototype, byte_range))

    async def get_partial_values(self, prototype: Any, key_ranges: Any) -> Any:
        return list(map(self._counted, await self._store.get_partial_values(prototype, key_ranges)))

    # Merged ranges are to be counted with the gaps between them, so they must come through
    # our ``get``: the general ``get_ranges`` does that, the wrapper's forwards past it.
    if hasattr(Store, "get_ranges"):
        get_ranges: Any = Store.get_ranges


class SyncCountingStore(CountingStore):
    """The same over a store with synchronous reads, which zarr's fused pipeline prefers."""

    def get_sync(self, key: str, *, prototype: Any = None, byte_range: Any = None) -> Any:
        store: Any = self._store
        return self._counted(store.get_sync(key, prototype=prototype, byte_range=byte_range))


def counting(store: Store, traffic: Traffic) -> CountingStore:
    """Wrap ``store`` in something that can do what it can, and counts into ``traffic``."""
    kind = SyncCountingStore if hasattr(store, "get_sync") else CountingStore
    return kind(store, traffic)


def counted_read(engine: Engine, source: StorePath, key: Key) -> tuple[Any, Traffic]:
    """Read once, and count what is read from the store apart from the metadata.

    cyzarr counts its own reads, because a wrapped store would take it off the direct road;
    what it leaves to zarr's code is counted as zarr's reads are.
    """
    fallbacks: dict[str, int] = {}
    if engine.switched_on:
        array = engine.open(source)
        with engine.active(), cyzarr.trace() as trace:
            result = array[key]
        fallbacks = dict(trace.fallbacks)
        if not trace.reads.get("zarr"):
            return result, Traffic(trace.requests, trace.bytes_read, fallbacks)
    traffic = Traffic(fallbacks=fallbacks)
    array = engine.open(StorePath(counting(source.store, traffic), source.path))
    traffic.requests = traffic.nbytes = 0  # opening read the metadata
    with engine.active():
        result = array[key]
    return result, traffic
