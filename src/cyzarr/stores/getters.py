"""zarr's byte getters: what its pipelines and codecs hand over to be read."""

from __future__ import annotations

import contextlib
import weakref
from dataclasses import dataclass
from typing import Any

from zarr.core.buffer.cpu import buffer_prototype
from zarr.storage import StorePath

from cyzarr import config
from cyzarr.stores.kinds import StoreKind, kind_of
from cyzarr.stores.ranges import UNTOLD
from cyzarr.stores.zarrstore import as_bytes


class GetterKind(StoreKind):
    """A byte getter that stands for no store's object, such as that of a shard's inner chunks: it is read whole."""

    async def read(self, store: Any, key: str, byte_range: Any = None) -> Any:
        """By its `get`."""
        return as_bytes(await store.get(buffer_prototype, byte_range))

    def read_sync(self, store: Any, key: str, byte_range: Any = None) -> Any:
        """By its `get_sync`."""
        return as_bytes(store.get_sync(prototype=buffer_prototype, byte_range=byte_range))


_GETTER = GetterKind()
# Stores, by their ids while they live, that told no length when they were asked for one.
_untold: set[int] = set()


def key_of(getter: Any) -> str:
    """The key in the store of what a byte getter stands for, as errors tell it; its text where it has none."""
    return str(getter.path) if type(getter) is StorePath else str(getter)


@dataclass(frozen=True)
class Source:
    """One stored object, and how it is asked."""

    kind: StoreKind
    store: Any
    key: str

    @classmethod
    def of(cls, getter: Any, name: str = "") -> Source:
        """The object that a byte getter stands for; `name` is its text, which errors tell for want of a key."""
        if type(getter) is StorePath:
            return cls(kind_of(getter.store), getter.store, getter.path)
        return cls(_GETTER, getter, name)

    @property
    def partial(self) -> bool:
        """Whether parts of the object may be asked for: where they are cheaper, unless the user says no."""
        return (
            bool(config.setting("cyzarr.partial_storage_reads"))
            and self.kind.supports_partial_reads(self.store)
            and not self.kind.is_stream(self.store, self.key)
        )

    def size_at_hand(self) -> int | None:
        """The object's length in bytes; None where there is none; UNTOLD where only the store's methods tell."""
        return self.kind.size_at_hand(self.store, self.key)

    def size_how(self, otherwise: str) -> str:
        """How the object's length is had: "held" at once, else as `fetch.requests_of` has it."""
        if self.size_at_hand() != UNTOLD:
            return "held"
        if otherwise != "probe" and not self.kind.tells_sizes(self.store):
            return "dear"
        return "untold" if otherwise == "ask" and id(self.store) in _untold else otherwise

    def note_untold(self) -> None:
        """The store didn't tell a length: it isn't asked for the next ones, which would cost a round each."""
        if id(self.store) in _untold:
            return
        with contextlib.suppress(TypeError):
            weakref.finalize(self.store, _untold.discard, id(self.store))
            _untold.add(id(self.store))
