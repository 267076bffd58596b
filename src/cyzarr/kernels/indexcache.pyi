from typing import NamedTuple

class IndexCache(NamedTuple):
    """What the cache holds: its bound and its size in bytes, and how many indexes."""

    limit: int
    nbytes: int
    indexes: int

def set_index_cache(nbytes: int) -> None:
    """Bound the cache of shard indexes of this process, in bytes; 0 empties it and turns it off."""

def index_cache_nbytes() -> int:
    """The cache's bound in bytes; 0: off."""

def index_cache() -> IndexCache:
    """What the cache holds now."""

def _set_least_nbytes(nbytes: int) -> int: ...
def before_fork() -> None: ...
def after_fork_in_parent() -> None: ...
def after_fork_in_child() -> None: ...
