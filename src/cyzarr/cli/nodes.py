"""Metadata documents below a folder or a URL, found without zarr: it refuses what must be judged here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from zipfile import BadZipFile, ZipFile

from cyzarr.cli.ending import UsageError, one_line, reason
from cyzarr.cli.urls import packages_for, split, storage_options, store_reason

DOCUMENT = "zarr.json"
OLD_DOCUMENTS = (".zarray", ".zgroup")


class NodeError(UsageError):
    """Nothing to judge could be found or read. The message is one line."""


@dataclass(frozen=True, slots=True)
class Node:
    """An array or a group: its document as bytes, None for one of Zarr format 2."""

    path: str
    document: bytes | None

    @property
    def is_group(self) -> bool:
        """Whether the document says so; one that can't be read is taken for an array's, and judged."""
        try:
            found = json.loads(self.document or b"")
        except (ValueError, RecursionError):
            return False
        return isinstance(found, dict) and found.get("node_type") == "group"


class Tree(Protocol):
    """Where documents are stored. Paths are as `folders` gives them."""

    root: str

    def read(self, folder: str, name: str) -> bytes | None:
        """A file's content; None if there is no such file."""

    def folders(self, folder: str) -> list[str]:
        """The folders right in a folder, in order."""


def nodes(path: str, options: Sequence[str] = ()) -> Iterator[Node]:
    """All nodes at and below ``path``: a folder, a .zip file, a zarr.json, a URL, or ``-`` for standard input.

    ``options``: for fsspec, as NAME=VALUE. Raises NodeError.
    """
    if path == "-":
        yield Node("-", sys.stdin.buffer.read())
        return
    path, name = split(path)
    known = storage_options(options, path)
    if "://" in path:
        tree: Tree = Remote(path.removesuffix("/" + DOCUMENT), known)
    elif path.endswith(".zip") and Path(path).is_file():
        tree = Zipped(path)
    elif Path(path).is_file() and not name:
        yield Node(path, _content(Path(path)))
        return
    elif Path(path).is_dir():
        tree = Local(path)
    else:
        missing = "such folder or .zip file" if name else "such file or folder"
        raise NodeError(f"no {missing}: {path}")
    found = False
    for node in walk(tree, f"{tree.root}/{name}" if name else tree.root):
        found = True
        yield node
    if not found:
        raise NodeError(f"no {DOCUMENT} at or below {path}{f'::{name}' if name else ''}")


def walk(tree: Tree, folder: str) -> Iterator[Node]:
    """The node in a folder, and those below it; below an array are chunks, and nobody looks there."""
    document = tree.read(folder, DOCUMENT)
    if document is not None:
        node = Node(folder, document)
        yield node
        if not node.is_group:
            return
    elif tree.read(folder, OLD_DOCUMENTS[0]) is not None:
        yield Node(folder, None)
        return
    for below in tree.folders(folder):
        yield from walk(tree, below)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise NodeError(f"cannot read {path}: {error.strerror or error}") from error


class Local:
    """A folder on this machine. Links to folders are not followed, for they may lead around in a circle."""

    def __init__(self, path: str) -> None:
        self.root = path

    def read(self, folder: str, name: str) -> bytes | None:
        path = Path(folder, name)
        return _content(path) if path.is_file() else None

    def folders(self, folder: str) -> list[str]:
        try:
            if not Path(folder).exists():  # a name in a group that has none such
                return []
            found = sorted(entry.name for entry in Path(folder).iterdir() if entry.is_dir() and not entry.is_symlink())
        except OSError as error:
            raise NodeError(f"cannot list {folder}: {error.strerror or error}") from error
        return [str(Path(folder, name)) for name in found]


class Zipped:
    """A .zip file, by the names of its members."""

    def __init__(self, path: str) -> None:
        try:
            self.archive = ZipFile(path)
        except BadZipFile as error:
            raise NodeError(f"{path} is no zip file: {one_line(error)}") from error
        except OSError as error:
            raise NodeError(f"cannot open {path}: {error.strerror or error}") from error
        self.root = path
        self.names = set(self.archive.namelist())

    def read(self, folder: str, name: str) -> bytes | None:
        member = f"{self._below(folder)}{name}"
        if member not in self.names:
            return None
        try:
            return self.archive.read(member)
        except (BadZipFile, OSError, RuntimeError, NotImplementedError) as error:  # the last of passwords and methods
            raise NodeError(f"cannot read {member} in {self.root}: {reason(error)}") from error

    def folders(self, folder: str) -> list[str]:
        below = self._below(folder)
        inside = (name[len(below) :] for name in self.names if name.startswith(below))
        return [f"{folder}/{name}" for name in sorted({name.split("/")[0] for name in inside if "/" in name})]

    def _below(self, folder: str) -> str:
        """What the names of a folder's members start with."""
        within = folder[len(self.root) :].strip("/")
        return f"{within}/" if within else ""


class Remote:
    """What fsspec can open."""

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        try:
            core = import_module("fsspec.core")
            system, root = core.url_to_fs(url, **options)
        except ImportError as error:
            raise NodeError(f"to open {url}, install {packages_for(url)}: {reason(error)}") from error
        except Exception as error:  # each file system has errors of its own
            raise NodeError(f"cannot open {url}: {reason(error)}") from error
        self.system: Any = system
        self.root: str = str(root).rstrip("/")

    def read(self, folder: str, name: str) -> bytes | None:
        path = f"{folder}/{name}"
        try:
            return bytes(self.system.cat_file(path))
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        except Exception as error:
            raise NodeError(f"cannot read {path}: {store_reason(error)}") from error

    def folders(self, folder: str) -> list[str]:
        try:
            found = self.system.ls(folder, detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except Exception as error:
            raise NodeError(f"cannot list {folder}: {reason(error)}") from error
        names = (entry["name"].rstrip("/") for entry in found if entry["type"] == "directory")
        return sorted(name for name in names if name != folder)
