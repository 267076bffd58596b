"""Opening what the user named, with one clear line where that is not an array."""

from pathlib import Path
from typing import Any

import zarr
from zarr.storage import StorePath, ZipStore

FEW = 5


class UsageError(Exception):
    """The command can't be carried out as given. The message is one line."""


def find(path: str) -> tuple[StorePath, zarr.Array[Any]]:
    """Where the array at ``path`` is stored, and the array, opened for reading only."""
    if "://" not in path and not Path(path).exists():
        raise UsageError(f"no such file or folder: {path}")
    try:
        zipped = path.endswith(".zip") and Path(path).is_file()
        node = zarr.open(ZipStore(path, mode="r") if zipped else path, mode="r")
    except FileNotFoundError as error:  # zarr's "no group found" is one
        raise UsageError(f"no Zarr array or group in {path}") from error
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"zarr cannot open {path}: {reason}") from error
    if isinstance(node, zarr.Group):
        raise UsageError(f"a group, not an array: {path}; {members(node)}")
    return StorePath(node.store, node.path), node


def members(group: zarr.Group) -> str:
    """Say which arrays stand right below ``group``."""
    try:
        names = sorted(group.array_keys())
    except Exception:  # a store that can't list
        return "name one of its arrays"
    if not names:
        return "it has no arrays of its own"
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return f"name one of its arrays: {', '.join(names[:FEW])}{more}"
