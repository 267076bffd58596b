"""Switch cyzarr on and off: enable, disable, enabled, status.

enable() patches classes of zarr and never touches zarr's config, which tests and users reset.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from cyzarr.notes import notes, settings, warn_once
from cyzarr.words import so_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_lock = threading.RLock()


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()


# Another thread may have held it.
os.register_at_fork(after_in_child=_after_fork)
_on = False
# How many `with enabled()` are open, and whether cyzarr was on before the first of them.
_contexts = 0
_was_on = False
# What was there before we first patched it, and a later patch of another library's that was left in place: both may
# call the other, so each is kept apart and put back no more than once.
_originals: dict[tuple[type, str], Any] = {}
_foreign: dict[tuple[type, str], Any] = {}
# What enable() has placed the first time; later it is placed anew and taken back.
_patches: list[Patch] = []
_baseline: tuple[Any, Any] | None = None


@dataclass
class Status:
    """Whether cyzarr is on, what it served since, and what it found.

    Attributes
    ----------
    enabled : bool
    reads : dict
        Reads since enable(), by road: "direct", "pipeline", "codec", "zarr".
    fallbacks : dict
        Why reads went to zarr's own code since enable(), and how often.
    native : dict
        Which decoders are C functions of installed libraries.
    threads : int
        How many threads one read may use.
    notes : list of str
        What keeps cyzarr from being on, what it leaves alone, and settings that can't be.
    """

    enabled: bool
    reads: dict[str, int] = field(default_factory=dict)
    fallbacks: dict[str, int] = field(default_factory=dict)
    native: dict[str, bool] = field(default_factory=dict)
    threads: int = 0
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"cyzarr is {'on' if self.enabled else 'off'}"]
        lines += [f"  {so_many(count, 'read')} by {road}" for road, count in sorted(self.reads.items())]
        lines += [
            f"  {so_many(count, 'read')} left to zarr: {reason}" for reason, count in sorted(self.fallbacks.items())
        ]
        if self.native:
            lines.append("  C decoders: " + (", ".join(sorted(n for n, yes in self.native.items() if yes)) or "none"))
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


@dataclass(frozen=True)
class Patch:
    """One function of zarr's that ours takes the place of, and whom to tell what was there before."""

    owner: type
    name: str
    ours: Any
    tell: Callable[[str, Any], None]

    @property
    def key(self) -> tuple[type, str]:
        return self.owner, self.name

    @property
    def current(self) -> Any:
        """What is there now; None: nothing, or what the class inherits."""
        return self.owner.__dict__.get(self.name)


def _wanted() -> list[Patch] | None:
    """What to patch with what; None (and a warning) where it can't be done."""
    try:
        from zarr.codecs import ShardingCodec
        from zarr.core.array import Array, AsyncArray
        from zarr.core.metadata.v3 import ArrayV3Metadata

        from cyzarr import _zarr, rules
        from cyzarr.codecs import pipeline
        from cyzarr.planning import asyncread, direct
    except ImportError as error:
        warn_once(f"cyzarr's kernels can't be loaded, zarr stays as it was: {error}")
        return None
    unknown = [] if _patches else _zarr.unknown_signatures()
    reads = ["__getitem__", "get_basic_selection", "get_orthogonal_selection", "get_coordinate_selection"]
    reads += ["get_mask_selection", "get_block_selection"]
    functions = {name: getattr(direct, "getitem" if name == "__getitem__" else name) for name in reads}
    awaited = ["getitem", "get_orthogonal_selection", "get_coordinate_selection", "get_mask_selection"]
    patches = [
        *(Patch(Array, name, ours, direct.set_zarr_function) for name, ours in functions.items()),
        *(Patch(AsyncArray, name, getattr(asyncread, name), asyncread.set_zarr_function) for name in awaited),
        Patch(_zarr.Batched, "read", pipeline.batched_read, lambda _, read: pipeline.set_zarr_read(read)),
        *(Patch(owner, "write", ours, partial(_tell_write, owner)) for owner, ours in pipeline.WRITES.items()),
        Patch(ShardingCodec, "validate", rules.sharding_validate, rules.set_original),
        Patch(ArrayV3Metadata, "__init__", rules.metadata_init, rules.set_original),
        Patch(ArrayV3Metadata, "from_dict", rules.FROM_DICT, rules.set_original),
    ]
    absent = [f"{one.owner.__name__}.{one.name}" for one in patches if one.current is None]
    unknown += [name for name in absent if not any(one.startswith(name) for one in unknown)]
    if unknown:
        _warn_of_unknown(unknown)
        return None
    return patches


def _warn_of_unknown(unknown: list[str]) -> None:
    warn_once(
        "this zarr is not as cyzarr knows it, and stays as it was; "
        'zarr.config.set({"codec_pipeline.path": "cyzarr.CodecPipeline"}) may still do. '
        f"Other than known: {', '.join(unknown)}"
    )


def _tell_write(owner: type, _: str, write: Any) -> None:
    from cyzarr.codecs import pipeline

    pipeline.set_zarr_write(owner, write)


def enable() -> bool:
    """Switch cyzarr on for every array of this process, those that are open included.

    Returns
    -------
    bool
        Whether it is on. False, with one warning, where the kernels can't be loaded or zarr is not as expected.
    """
    global _baseline, _on
    with _lock:
        if _on:
            return True
        wanted = _wanted()
        if wanted is None:
            return False
        from cyzarr import config, observe
        from cyzarr.planning import direct

        if not _place_all(wanted):
            return False
        _baseline = observe.counts()
        direct.set_active(True)
        observe.switched(True)
        _on = True
        # What is wrong with them is said now, not at the first read.
        config.current()
        return True


def _place_all(wanted: list[Patch]) -> bool:
    """Place every patch, or none, with a warning."""
    placed: list[Patch] = []
    try:
        for patch in wanted:
            placed.append(patch)
            _place(patch)
    except BaseException as error:
        for patch in reversed(placed):
            _take_back(patch)
        if not isinstance(error, Exception):
            raise
        warn_once(f"zarr can't be patched, and stays as it was: {type(error).__name__}: {error}")
        return False
    _patches[:] = wanted
    return True


def _place(patch: Patch) -> None:
    """Put ours in place of what is there, which it then calls for what it doesn't take."""
    current = patch.current
    if current is patch.ours or current is _foreign.get(patch.key):
        # Ours is there still, or under another library's patch of it.
        return
    _originals[patch.key] = current
    patch.tell(patch.name, current)
    if not isinstance(current, classmethod):
        patch.ours.__doc__ = current.__doc__
    setattr(patch.owner, patch.name, patch.ours)


def disable() -> None:
    """Switch cyzarr off: zarr's own functions are put back.

    A patch that another library made after ours is left in place; what it calls of ours goes to zarr's own code.
    """
    global _on
    with _lock:
        if not _on:
            return
        from cyzarr import observe
        from cyzarr.planning import direct

        direct.set_active(False)
        observe.switched(False)
        _on = False
        for patch in _patches:
            _take_back(patch)


def _take_back(patch: Patch) -> None:
    """Put back what was there before ours; another library's patch of ours stays."""
    current = patch.current
    if current is patch.ours:
        setattr(patch.owner, patch.name, _originals[patch.key])
        _foreign.pop(patch.key, None)
    elif current is not _originals.get(patch.key):
        _foreign[patch.key] = current


@contextmanager
def enabled() -> Iterator[bool]:
    """Switch cyzarr on for a while; afterwards it is as it was before.

    It holds for the whole process, not for the calling thread alone, until the last of several that overlap is left.
    """
    global _contexts, _was_on
    with _lock:
        if _contexts == 0:
            _was_on = _on
        _contexts += 1
        is_on = enable()
    try:
        yield is_on
    finally:
        with _lock:
            _contexts -= 1
            if _contexts == 0 and not _was_on:
                disable()


def status() -> Status:
    """Whether cyzarr is on, how many reads each road served since enable(), and which decoders are native."""
    with _lock:
        try:
            from cyzarr import config, observe
            from cyzarr.kernels import decompress
        except ImportError as error:
            return Status(enabled=False, notes=[*notes, f"the kernels can't be loaded: {error}"])
        reads, fallbacks = observe.counts()
        if _baseline is not None:
            reads = reads - _baseline[0]
            fallbacks = fallbacks - _baseline[1]
        return Status(
            enabled=_on,
            reads=dict(+reads),
            fallbacks=dict(fallbacks),
            native=decompress.native(),
            threads=config.threads(),
            notes=[*notes, *settings],
        )
