"""The settings that cyzarr reads from zarr's config.

=================================  =======  ==========================================================================
key                                default  meaning, and when to change it
=================================  =======  ==========================================================================
``cyzarr.partial_storage_reads``   True     fetch only the bytes that a selection needs. False: whole objects
                                            (decoding stays partial), to compare, and for stores on which one large
                                            read beats many small ones
``cyzarr.check_remote_size``       True     ask a store for the size of an uncompressed chunk, or a shard of such, that
                                            is read in part. False: one request less, and less damage is noticed
``cyzarr.threads``                 None     how many threads one read may use, from 1 up; None: as below. Lower it
                                            where many processes or readers share the processors
``cyzarr.index_cache_nbytes``      64 MiB   how many bytes of shard indexes a process keeps; 0: none, to save memory.
                                            The bound holds for those of local files and of remote stores each
``cyzarr.remote_index_cache``      False    keep those of remote stores, too. True: where nobody else writes to the
                                            arrays that are read. False forgets them
``cyzarr.native``                  True     call the C decoders without the GIL. False: numcodecs' Python functions,
                                            to compare, or to see whether a decoder is at fault
``threading.max_workers``          None     zarr's own: an upper limit for the threads of one read
``codec_pipeline.max_workers``     None     zarr's own, likewise
=================================  =======  ==========================================================================

Without any limit, a read may use the processors that the process may use.

They are looked at when the section's content has changed. A key that doesn't exist, or a value that can't be, is warned
of once, and the default is used.
"""

from __future__ import annotations

import difflib
import sys
from dataclasses import dataclass, fields
from typing import Any

import zarr

from cyzarr.kernels import decompress
from cyzarr.kernels.indexcache import index_cache_nbytes, set_index_cache
from cyzarr.kernels.pool import available_cpus
from cyzarr.notes import tell_of_settings

LIMITS = [("threading", "max_workers"), ("codec_pipeline", "max_workers")]
MAX_THREADS = 1024


@dataclass(frozen=True)
class Settings:
    """cyzarr's section of zarr's config, checked."""

    partial_storage_reads: bool = True
    check_remote_size: bool = True
    threads: int | None = None
    index_cache_nbytes: int = 64 << 20
    remote_index_cache: bool = False
    native: bool = True


DEFAULTS = Settings()
NAMES = tuple(one.name for one in fields(Settings))
# The least value of those that are numbers.
LEAST = {"threads": 1, "index_cache_nbytes": 0}
# The kernels count by these.
TOO_MUCH = 1 << 63

# The section as it was last looked at, and what it says.
_seen: Any = object()
_settings = DEFAULTS


def same(section: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two sections have equal content."""
    try:
        return bool(section == other)
    except Exception:
        # Values of some types, such as arrays, can't be compared; they are no settings.
        return False


def current() -> Settings:
    """The settings as they are now. Where they have changed, the kernels are told those that are theirs."""
    global _seen, _settings
    section = zarr.config.config.get("cyzarr")
    if section is _seen or (type(section) is dict and type(_seen) is dict and same(section, _seen)):
        return _settings
    before = _settings
    # Before a warning, which may be an error.
    _settings, problems = checked(section)
    _seen = dict(section) if type(section) is dict else section
    if before.native != _settings.native:
        decompress.set_native(_settings.native)
    if _settings.index_cache_nbytes != index_cache_nbytes():
        set_index_cache(_settings.index_cache_nbytes)
    bound_remote_indexes(_settings)
    tell_of_settings([f"zarr's config: {problem}" for problem in problems])
    return _settings


def bound_remote_indexes(settings: Settings) -> None:
    """Forget kept indexes of stores that the settings don't allow any more."""
    module = sys.modules.get("cyzarr.stores.indexcache")
    if module is not None:
        module.cache.trim(settings.index_cache_nbytes if settings.remote_index_cache else 0)


def checked(section: Any) -> tuple[Settings, list[str]]:
    """The settings that a section holds, with defaults in place of what can't be, and what that is."""
    problems: list[str] = []
    if section is None:
        return DEFAULTS, problems
    given: dict[str, Any] = {}
    if not isinstance(section, dict):
        problems.append(f"cyzarr: expected settings by name, found {section!r}")
        section = {}
    for key, value in section.items():
        # zarr's config takes both for the same.
        name = str(key).replace("-", "_")
        if name not in NAMES:
            problems.append(f"cyzarr.{key}: there is no such setting (found {value!r}), {_known(name)}")
            continue
        taken, expected = _take(name, value)
        if expected is None:
            given[name] = taken
        else:
            default = getattr(DEFAULTS, name)
            problems.append(f"cyzarr.{key}: expected {expected}, found {value!r}; the default, {default}, is used")
    return Settings(**given), problems


def _known(name: str) -> str:
    """What a name that is none may have meant."""
    near = difflib.get_close_matches(name, NAMES, 1)
    return f"expected cyzarr.{near[0]}" if near else f"expected one of {', '.join(NAMES)}"


def _take(name: str, value: Any) -> tuple[Any, str | None]:
    """A setting's value, and what was expected where it can't be one."""
    if name not in LEAST:
        # An environment variable says 0, false or False.
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true", None
        if type(value) is bool or (type(value) is int and value in (0, 1)):
            return bool(value), None
        return value, "True or False"
    least, none = LEAST[name], getattr(DEFAULTS, name) is None
    if (none and value is None) or (type(value) is int and least <= value < TOO_MUCH):
        return value, None
    return value, f"an integer from {least} up to 2**63 - 1{' or None' if none else ''}"


def setting(key: str) -> Any:
    """The setting "cyzarr.<name>" as it is now."""
    return getattr(current(), key.removeprefix("cyzarr."))


def threads() -> int:
    """How many threads one read may use, the calling one included."""
    settings = zarr.config.config
    sections = [(settings.get(section), key) for section, key in LIMITS]
    limits = [current().threads, *(section.get(key) for section, key in sections if isinstance(section, dict))]
    given = [one for one in limits if type(one) is int and one > 0]
    return min(*given, MAX_THREADS) if given else available_cpus()
