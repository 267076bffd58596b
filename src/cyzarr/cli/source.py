"""Opening what the user named, with one clear line where that is not an array."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import zarr
from zarr.storage import StorePath, ZipStore

from cyzarr.cli.ending import UsageError, one_line, reason
from cyzarr.cli.urls import packages_for, split, storage_options, store_reason

FEW = 5
# Groups within groups that are looked into for the names of arrays.
DEPTH = 3


def find(path: str, name: str | None = None, options: Sequence[str] = ()) -> tuple[StorePath, zarr.Array[Any]]:
    """Where an array is stored, and the array, opened for reading only.

    Parameters
    ----------
    path : str
        A folder, a .zip file or a URL; the name of an array in it may follow after ``::``.
    name : str, optional
        The same name, given apart.
    options : sequence of str
        For fsspec, as NAME=VALUE.

    Raises
    ------
    UsageError
    """
    node, path = reached(path, options)
    return located(node if name is None else member(node, path, name), path)


def find_and_rest(
    path: str, given: Sequence[str], options: Sequence[str] = ()
) -> tuple[StorePath, zarr.Array[Any], list[str]]:
    """The same, where an array's name may come first in `given`; and what of that is left.

    In a group the first is a name. So it is of two, whatever is there.
    """
    node, path = reached(path, options)
    rest = list(given)
    if rest and (isinstance(node, zarr.Group) or len(rest) > 1):
        node = member(node, path, rest.pop(0))
    return *located(node, path), rest


def reached(path: str, options: Sequence[str]) -> tuple[zarr.Group | zarr.Array[Any], str]:
    """What stands at a path, and the path without what follows ``::``."""
    path, within = split(path)
    node = open_node(path, storage_options(options, path))
    return node if within is None else member(node, path, within), path


def located(node: zarr.Group | zarr.Array[Any], path: str) -> tuple[StorePath, zarr.Array[Any]]:
    """An array and where it is stored; a group is refused, and says what it holds."""
    if isinstance(node, zarr.Group):
        raise UsageError(f"a group, not an array: {named(node, path)}; {members(node)}")
    return StorePath(node.store, node.path), node


def open_node(path: str, options: dict[str, Any]) -> zarr.Group | zarr.Array[Any]:
    """What zarr finds at a path."""
    is_url = "://" in path
    if not is_url and not Path(path).exists():
        raise UsageError(f"no such file or folder: {path}")
    try:
        # A text with "::" zarr takes for a URL.
        where: Any = path if is_url else Path(path)
        if not is_url and path.endswith(".zip") and Path(path).is_file():
            where = ZipStore(path, mode="r")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of slow layouts, which the command itself is about
            return zarr.open(where, mode="r", storage_options=options or None)
    except FileNotFoundError as error:  # zarr's "no group found" is one
        raise UsageError(f"no Zarr array or group in {path}") from error
    except ImportError as error:
        raise UsageError(f"to open {path}, install {packages_for(path)}: {reason(error)}") from error
    except BadZipFile as error:
        raise UsageError(f"{path} is no zip file: {one_line(error)}") from error
    except Exception as error:
        # What is wrong with metadata zarr says by these, and not always in words.
        unsound = isinstance(error, ValueError | TypeError | KeyError) and not is_url
        more = f"; `cyzarr validate {path}` says more" if unsound else ""
        raise UsageError(f"zarr cannot open {path}: {store_reason(error)}{more}") from error


def named(node: zarr.Group | zarr.Array[Any], path: str) -> str:
    """A node as it can be named on the command line."""
    return f"{path}::{node.path}" if node.path else path


def member(node: Any, path: str, name: str) -> zarr.Group | zarr.Array[Any]:
    """What a group holds by a name."""
    if not isinstance(node, zarr.Group):
        raise UsageError(f"{named(node, path)} is an array, and holds no {name!r}")
    try:
        return node[name]
    except KeyError:
        raise UsageError(f"no {name!r} in {named(node, path)}; {members(node)}") from None
    except Exception as error:
        raise UsageError(f"zarr cannot open {name!r} in {path}: {reason(error)}") from error


def members(group: zarr.Group) -> str:
    """Say which arrays stand below ``group``."""
    try:
        names = sorted(array_names(group))
    except Exception:  # a store that can't list
        return "name one of its arrays, as PATH::NAME"
    if not names:
        return "it has no arrays"
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return f"name one of its arrays, as PATH::NAME: {', '.join(names[:FEW])}{more}"


def array_names(group: zarr.Group, depth: int = DEPTH) -> Iterator[str]:
    """The paths, from the group, of the arrays in it and in groups within."""
    yield from group.array_keys()
    for name, below in group.groups() if depth > 1 else ():
        yield from (f"{name}/{one}" for one in array_names(below, depth - 1))
