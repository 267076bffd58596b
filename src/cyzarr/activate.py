"""Switch cyzarr on and off: enable, disable, enabled, status.

enable() patches classes of zarr and never touches zarr's config, which tests and users reset.
"""

from __future__ import annotations

import threading
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_lock = threading.RLock()
# What is patched: (class, attribute) -> (what was there, what we put there).
_patches: dict[tuple[type, str], tuple[Any, Any]] = {}
_notes: list[str] = []
_warned = False
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
        What keeps cyzarr from being on, and what it leaves alone.
    """

    enabled: bool
    reads: dict[str, int] = field(default_factory=dict)
    fallbacks: dict[str, int] = field(default_factory=dict)
    native: dict[str, bool] = field(default_factory=dict)
    threads: int = 0
    notes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"cyzarr is {'on' if self.enabled else 'off'}"]
        lines += [f"  {count} reads by {road}" for road, count in sorted(self.reads.items())]
        lines += [f"  {count} reads left to zarr: {reason}" for reason, count in sorted(self.fallbacks.items())]
        if self.native:
            lines.append("  C decoders: " + (", ".join(sorted(n for n, yes in self.native.items() if yes)) or "none"))
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


def _warn(message: str) -> None:
    """One warning in a process; status() keeps the note."""
    global _warned
    if message not in _notes:
        _notes.append(message)
    if not _warned:
        _warned = True
        warnings.warn(message, RuntimeWarning, stacklevel=4)


def _wanted() -> dict[tuple[type, str], Any] | None:
    """What to patch with what; None (and a warning) where it can't be done."""
    try:
        import zarr.core.array

        from cyzarr import _zarr
        from cyzarr.codecs import pipeline
        from cyzarr.plan import direct
    except ImportError as error:
        _warn(f"cyzarr's kernels can't be loaded, zarr stays as it was: {error}")
        return None
    unknown = _zarr.unknown_signatures()
    if unknown:
        _warn(
            "this zarr is not as cyzarr knows it, and stays as it was; "
            'zarr.config.set({"codec_pipeline.path": "cyzarr.CodecPipeline"}) may still do. '
            f"Other than known: {', '.join(unknown)}"
        )
        return None
    array = zarr.core.array.Array
    return {
        (array, "__getitem__"): direct.getitem,
        (array, "get_basic_selection"): direct.get_basic_selection,
        (array, "get_orthogonal_selection"): direct.get_orthogonal_selection,
        (array, "get_coordinate_selection"): direct.get_coordinate_selection,
        (array, "get_mask_selection"): direct.get_mask_selection,
        (array, "get_block_selection"): direct.get_block_selection,
        (_zarr.Batched, "read"): pipeline.batched_read,
    }


def enable() -> bool:
    """Switch cyzarr on for every array of this process, those that are open included.

    Returns
    -------
    bool
        Whether it is on. False, with one warning, where the kernels can't be loaded or zarr is not as expected.
    """
    global _baseline
    with _lock:
        if _patches:
            return True
        wanted = _wanted()
        if wanted is None:
            return False
        from cyzarr import _zarr, observe
        from cyzarr.codecs import pipeline
        from cyzarr.plan import direct

        before = {key: key[0].__dict__[key[1]] for key in wanted}
        direct.set_zarr_functions({name: function for (_, name), function in before.items()})
        pipeline.set_zarr_read(before[_zarr.Batched, "read"])
        for (owner, name), ours in wanted.items():
            ours.__doc__ = before[owner, name].__doc__
            setattr(owner, name, ours)
            _patches[owner, name] = (before[owner, name], ours)
        _baseline = observe.counts()
        direct.set_active(True)
        return True


def disable() -> None:
    """Switch cyzarr off: zarr's own functions are put back.

    A patch that another library made after ours is left in place; what it calls of ours goes to zarr's own code.
    """
    with _lock:
        if not _patches:
            return
        from cyzarr.plan import direct

        direct.set_active(False)
        for (owner, name), (before, ours) in _patches.items():
            if owner.__dict__.get(name) is ours:
                setattr(owner, name, before)
        _patches.clear()


@contextmanager
def enabled() -> Iterator[bool]:
    """Switch cyzarr on for a while; afterwards it is as it was before.

    It holds for the whole process, not for the calling thread alone.
    """
    with _lock:
        was_on = bool(_patches)
        is_on = enable()
    try:
        yield is_on
    finally:
        if not was_on:
            disable()


def status() -> Status:
    """Whether cyzarr is on, how many reads each road served since enable(), and which decoders are native."""
    with _lock:
        try:
            from cyzarr import config, observe
            from cyzarr.kernels import decompress
        except ImportError as error:
            return Status(enabled=False, notes=[*_notes, f"the kernels can't be loaded: {error}"])
        reads, fallbacks = observe.counts()
        if _baseline is not None:
            reads = reads - _baseline[0]
            fallbacks = fallbacks - _baseline[1]
        return Status(
            enabled=bool(_patches),
            reads={road: reads[road] for road in ("direct", "pipeline", "codec", "zarr")},
            fallbacks=dict(fallbacks),
            native=decompress.native(),
            threads=config.threads(),
            notes=list(_notes),
        )
