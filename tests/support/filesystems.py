"""What kind of file system a folder is on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

# Those that keep change times by this machine's own clock.
LOCAL = {"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "f2fs", "bcachefs"}


def kind_of(folder):
    """The kind of a folder's file system, as Linux calls it; None elsewhere."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return None
    found = {}
    for line in mounts.read_text().splitlines():
        _, place, kind, *_ = line.split(" ")
        # A later mount hides an earlier one.
        found[Path(re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), place))] = kind
    folder = Path(folder).resolve()
    return next((found[place] for place in (folder, *folder.parents) if place in found), None)


def skip_without_local_clock(folder):
    """Skip where files count as young for 2 s."""
    kind = kind_of(folder)
    if kind not in LOCAL:
        pytest.skip(f"change times may be another machine's on this file system: {kind}")
