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
_on = False
# What was there before we first patched it, and a later patch of another library's that was left in place: both may
# call the other, so each is kept apart and put back no more than once.
_originals: dict[tuple[type, str], Any] = {}
_foreign: dict[tuple[type, str], Any] = {}
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
    unknown = [] if _originals else _zarr.unknown_signatures()
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
    global _baseline, _on
    with _lock:
        if _on:
            return True
        wanted = _wanted()
        if wanted is None:
            return False
        from cyzarr import observe
        from cyzarr.plan import direct

        for key, ours in wanted.items():
            _patch(key, ours)
        _baseline = observe.counts()
        direct.set_active(True)
        _on = True
        return True


def _patch(key: tuple[type, str], ours: Any) -> None:
    """Put ours in place of what is there, which it then calls for what it doesn't take."""
    from cyzarr.codecs import pipeline
    from cyzarr.plan import direct

    owner, name = key
    current = owner.__dict__[name]
    if current is ours or current is _foreign.get(key):
        # Ours is there still, or under another library's patch of it.
        return
    _originals[key] = current
    ours.__doc__ = current.__doc__
    if name == "read":
        pipeline.set_zarr_read(current)
    else:
        direct.set_zarr_function(name, current)
    setattr(owner, name, ours)


def disable() -> None:
    """Switch cyzarr off: zarr's own functions are put back.

    A patch that another library made after ours is left in place; what it calls of ours goes to zarr's own code.
    """
    global _on
    with _lock:
        if not _on:
            return
        from cyzarr.plan import direct

        direct.set_active(False)
        _on = False
        for (owner, name), ours in (_wanted() or {}).items():
            current = owner.__dict__[name]
            if current is ours:
                setattr(owner, name, _originals[owner, name])
                _foreign.pop((owner, name), None)
            else:
                _foreign[owner, name] = current


@contextmanager
def enabled() -> Iterator[bool]:
    """Switch cyzarr on for a while; afterwards it is as it was before.

    It holds for the whole process, not for the calling thread alone.
    """
    with _lock:
        was_on = _on
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
            enabled=_on,
            reads=dict(+reads),
            fallbacks=dict(fallbacks),
            native=decompress.native(),
            threads=config.threads(),
            notes=list(_notes),
        )
