"""Twin of the intersection kernel: every position is asked for its chunk, one after the other."""

from typing import NamedTuple

import numpy as np

from .selection import is_int, positions


class AxisTable(NamedTuple):
    """One axis of a selection, cut along the chunk grid.

    entries: int64 (n, 5), one row for each touched chunk, ascending by chunk:
        (chunk, start, step, count, out). A slice or int puts positions start, start + step, ...
        of the chunk at out, out + 1, ... With an index array step is 0, and start and out are
        both an offset k: positions index[k:k+count] of the chunk go to place[k:k+count].
    index, place: int64 arrays for an index array, else None.
    """

    entries: np.ndarray
    index: np.ndarray | None
    place: np.ndarray | None


def _slice_table(picked, step, chunk_size):
    by_chunk = {}
    for out, position in enumerate(picked.tolist()):
        by_chunk.setdefault(position // chunk_size, []).append((out, position % chunk_size))
    rows = []
    for chunk, members in sorted(by_chunk.items()):
        # A falling slice meets the positions of one chunk from the far end: the first to be met
        # is where the run starts, whatever the sign of the step.
        out, start = members[0]
        rows.append((chunk, start, step, len(members), out))
    return AxisTable(np.array(rows, dtype=np.int64).reshape(-1, 5), None, None)


def _array_table(picked, chunk_size):
    order = np.argsort(picked // chunk_size, kind="stable")
    chunks, counts = np.unique(picked // chunk_size, return_counts=True)
    rows, k = [], 0
    for chunk, count in zip(chunks.tolist(), counts.tolist(), strict=True):
        rows.append((chunk, k, 0, count, k))
        k += count
    entries = np.array(rows, dtype=np.int64).reshape(-1, 5)
    return AxisTable(entries, picked[order] % chunk_size, order.astype(np.int64))


def intersections(selection, shape, chunk_shape):
    """Cut ``selection`` of an array of ``shape`` along its chunks: one AxisTable per axis."""
    tables = []
    for entry, size, chunk_size in zip(selection, shape, chunk_shape, strict=True):
        picked = positions(entry, size)
        if isinstance(entry, slice):
            tables.append(_slice_table(picked, entry.indices(size)[2], chunk_size))
        elif is_int(entry):
            tables.append(_slice_table(picked, 1, chunk_size))
        else:
            tables.append(_array_table(picked, chunk_size))
    return tuple(tables)
