"""The settings that cyzarr reads from zarr's config.

===================================  =======  ==========================================================
key                                  default  meaning
===================================  =======  ==========================================================
``cyzarr.partial_storage_reads``     True     fetch only the bytes that a selection needs; False: whole
                                              objects (decoding stays partial)
``cyzarr.check_remote_size``         True     ask a store for the size of an uncompressed chunk that is
                                              read in part
``cyzarr.index_cache_nbytes``        64 MiB   how many bytes of shard indexes are kept; 0: none
``cyzarr.remote_index_cache``        False    True is a promise that objects in stores other than local ones do
                                              not change: their shards' indexes are kept
``cyzarr.threads``                   None     how many threads one read may use; None: as below
``threading.max_workers``            None     zarr's own: an upper limit for the threads of one read
``codec_pipeline.max_workers``       None     zarr's own, likewise
===================================  =======  ==========================================================

Without any of the last three, a read may use the processors that the process may use.
"""

from __future__ import annotations

from typing import Any

import zarr

from cyzarr.kernels.pool import available_cpus

LIMITS = [("cyzarr", "threads"), ("threading", "max_workers"), ("codec_pipeline", "max_workers")]
MAX_THREADS = 1024
DEFAULTS = {
    "cyzarr.partial_storage_reads": True,
    "cyzarr.check_remote_size": True,
    "cyzarr.index_cache_nbytes": 64 << 20,
    "cyzarr.remote_index_cache": False,
}


def setting(key: str) -> Any:
    """A setting, or its default where zarr's config doesn't hold it (zarr's own reset drops it)."""
    section, name = key.split(".")
    held = zarr.config.config.get(section)
    return held.get(name, DEFAULTS.get(key)) if isinstance(held, dict) else DEFAULTS.get(key)


def index_cache_nbytes() -> int:
    """How many bytes of shard indexes may be kept."""
    given = setting("cyzarr.index_cache_nbytes")
    return given if type(given) is int and given > 0 else 0


def threads() -> int:
    """How many threads one read may use, the calling one included."""
    settings = zarr.config.config
    sections = [(settings.get(section), key) for section, key in LIMITS]
    limits = [section.get(key) for section, key in sections if isinstance(section, dict)]
    given = [one for one in limits if type(one) is int and one > 0]
    return min(*given, MAX_THREADS) if given else available_cpus()
