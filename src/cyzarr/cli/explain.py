"""``cyzarr explain``: how is this array read, and what would this selection cost? See the command's own --help."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import zarr
from zarr.storage import StorePath

import cyzarr
from cyzarr.cli import selection
from cyzarr.cli.drawing import draw
from cyzarr.cli.ending import FINE, FailedError, UsageError, one_line, print_json, reason
from cyzarr.cli.fitting import fitted
from cyzarr.cli.progress import progress
from cyzarr.cli.reads import Limits, axes_of, bounded, one_shape
from cyzarr.cli.source import find_and_rest
from cyzarr.words import nbytes_text, so_many

# A result of more bytes than this is not planned: zarr makes room for it.
MOST_NBYTES = 4 << 30
# Selections that need no more than this are read, where that is from local files or memory.
READ_NBYTES = 64 << 20


def run(path: str, given: Sequence[str], options: Sequence[str], max_chunks: int, read: bool | None, **how: Any) -> int:
    """Explain an array and a selection of it; its exit status. ``given``: an array's name, a selection, or both."""
    with cyzarr.enabled():
        source, array, rest = find_and_rest(path, given, options)
        key, cut = chosen(array, fitted(parsed(rest[0]), array.shape) if rest else None, max_chunks)
        found = planned(array, key)
        counts = None
        if read or (read is None and found.is_direct and is_small(found)):
            counts = counted(array, key)
    if how["as_json"]:
        print_json(as_json(path, source, found, key, cut, counts))
    else:
        width = how["width"] or shutil.get_terminal_size().columns
        print(*lines(path, source, array, found, key, cut, counts, width), sep="\n")
    return FINE


def parsed(text: str) -> tuple[Any, ...]:
    """The key that a text stands for."""
    try:
        return selection.parse(text)
    except selection.SelectionError as error:
        raise UsageError(str(error)) from None


def chosen(array: zarr.Array[Any], key: tuple[Any, ...] | None, max_chunks: int) -> tuple[tuple[Any, ...], bool]:
    """The key to explain, and whether it is only a part of all, for want of one: as much as the limits allow."""
    shards = axes_of(array, "shards")
    if key is None:
        everything = tuple(axis.all() for axis in shards)
        read = bounded("everything", everything, shards, array.dtype.itemsize, Limits(MOST_NBYTES, max_chunks))
        return read.key, read.cut
    touched, nbytes = bounds(array, key, [axis.chunk for axis in shards])
    if touched > max_chunks:
        raise UsageError(
            f"the selection touches up to {touched:,} chunks; to plan more than {max_chunks:,} takes --max-chunks"
        )
    if nbytes > MOST_NBYTES:
        raise UsageError(f"the selection gives {nbytes_text(nbytes)}; plan at most {nbytes_text(MOST_NBYTES)} at once")
    return key, False


def bounds(array: zarr.Array[Any], key: tuple[Any, ...], chunks: list[int]) -> tuple[int, int]:
    """At most how many chunks a key touches, and how many bytes it gives."""
    if Ellipsis in key:
        at = key.index(Ellipsis)
        key = (*key[:at], *[slice(None)] * (array.ndim - len(key) + 1), *key[at + 1 :])
    key = (*key, *[slice(None)] * (array.ndim - len(key)))
    if key and all(isinstance(one, list | int) for one in key):
        count = max((len(one) for one in key if isinstance(one, list)), default=1)
        return count, count * array.dtype.itemsize
    items, touched = [], []
    for part, extent, chunk in zip(key, array.shape, chunks, strict=True):
        along = range(*part.indices(extent)) if isinstance(part, slice) else part if isinstance(part, list) else [0]
        items.append(len(along))
        spanned = abs(along[-1] // chunk - along[0] // chunk) + 1 if isinstance(along, range) and along else len(along)
        touched.append(min(len(along), spanned))
    return math.prod(touched), math.prod(items) * array.dtype.itemsize


def planned(array: zarr.Array[Any], key: Any) -> cyzarr.Explanation:
    """The explanation of a key."""
    try:
        with progress(bounds(array, key, [axis.chunk for axis in axes_of(array, "shards")])[0], "planning") as step:
            return cyzarr.explain(array, key, step=step)
    except (IndexError, TypeError, NotImplementedError) as error:
        raise UsageError(f"selection [{selection.write(key)}]: {reason(error)}") from error
    except cyzarr.CorruptChunkError as error:
        raise FailedError(one_line(error)) from error
    except Exception as error:  # a store's own, or zarr's of a selection
        bad = isinstance(error, ValueError) and type(error).__module__.startswith("zarr")
        kind = UsageError if bad else FailedError
        raise kind(f"selection [{selection.write(key)}]: {reason(error)}") from error


def is_small(found: cyzarr.Explanation) -> bool:
    """Whether the selection may be read for the sake of counting."""
    wanted = found.wanted
    return wanted is not None and max(wanted.nbytes, wanted.fetched_nbytes) <= READ_NBYTES


def counted(array: zarr.Array[Any], key: Any) -> cyzarr.Trace:
    """The counts of the read itself."""
    try:
        with progress(None, "reading"), cyzarr.trace() as trace:
            array[key]
    except Exception as error:
        raise FailedError(f"reading [{selection.write(key)}]: {reason(error)}") from error
    return trace


# --- what is printed


def as_json(
    path: str, source: StorePath, found: cyzarr.Explanation, key: Any, cut: bool, counts: cyzarr.Trace | None
) -> dict[str, Any]:
    """All that is known, in plain types."""
    read = (
        None if counts is None else {**vars(counts), "reads": dict(counts.reads), "fallbacks": dict(counts.fallbacks)}
    )
    named = {"path": path, "array": source.path, "selection": selection.write(key), "selection_was_cut": cut}
    return named | found.as_json() | {"read": read}


def lines(
    path: str,
    source: StorePath,
    array: zarr.Array[Any],
    found: cyzarr.Explanation,
    key: Any,
    cut: bool,
    counts: cyzarr.Trace | None,
    width: int,
) -> Iterator[str]:
    """The same for people."""
    named = path if not source.path or path.endswith(f"::{source.path}") else f"{path}::{source.path}"
    yield f"{named}: {heading(array, found)}"
    yield ""
    yield "codecs, in the order of encoding"
    yield from stage_lines(found)
    yield ""
    yield found.layout.said if found.layout is not None else f"Read by zarr's own code: {found.fallback}."
    yield ""
    part = "  (only this part of everything is planned: see --max-chunks)" if cut else ""
    yield f"selection [{selection.write(key)}]{part}"
    if found.wanted is not None:
        yield from wanted_lines(found, found.wanted)
    if counts is not None:
        yield from counted_lines(counts)
    yield from drawings(found, width)
    if found.advice:
        yield ""
        yield "advice"
        yield from (f"  - {one}" for one in found.advice)


def heading(array: zarr.Array[Any], found: cyzarr.Explanation) -> str:
    """What the array is."""
    chunks, shards = one_shape(array, "chunks"), one_shape(array, "shards")
    cut = "chunks of various shapes" if chunks is None else f"chunks {chunks}"
    cut = f"shards {shards}, inner {cut}" if shards else cut
    road = "read directly" if found.is_direct else "asked through its own methods"
    size = nbytes_text(found.nbytes)
    return f"{found.dtype} {found.shape}, {size}, {cut}; Zarr format {found.zarr_format}, {found.store}, {road}"


def stage_lines(found: cyzarr.Explanation) -> Iterator[str]:
    """A line for each codec."""
    rows = []
    for stage in found.stages:
        name = ("index: " if stage.part == "index" else "") + stage.name
        settings = ", ".join(f"{key}={_short(value)}" for key, value in stage.configuration.items())
        rows.append((f"  {'  ' * stage.depth}{name}", settings, stage.decoded_by))
    name_width, width = (max(len(row[at]) for row in rows) for at in (0, 1))
    for row in rows:
        yield f"{row[0]:<{name_width}}  {row[1]:<{width}}  {row[2]}"


def _short(value: Any) -> str:
    text = "x".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def wanted_lines(found: cyzarr.Explanation, wanted: Any) -> Iterator[str]:
    """What the plan needs, against what there is."""
    sharded = wanted.inner is not None
    missing = f", {wanted.missing:,} of them not stored" if wanted.missing else ""
    yield f"  result        {nbytes_text(wanted.nbytes)}"
    what = so_many(
        len(wanted.objects) if found.grid is None else math.prod(found.grid), "shard" if sharded else "chunk"
    )
    yield f"  touched       {'' if found.grid is None else f'{len(wanted.objects):,} of '}{what}{missing}"
    if sharded and found.layout is not None and found.layout.inner_shape is not None:
        pairs = zip(found.layout.chunk_shape, found.layout.inner_shape, strict=True)
        inside = math.prod(-(-outer // inner) for outer, inner in pairs) * len(wanted.objects)
        yield f"                {wanted.inner:,} of their {so_many(inside, 'inner chunk')}"
    if wanted.fallback:
        return
    yield "  asked of a store, by the plan"
    if wanted.index_requests:
        yield _counts("indexes", wanted.index_requests, wanted.index_nbytes)
    if wanted.size_requests:
        yield _counts("lengths", wanted.size_requests, 0)
    what = "whole objects" if wanted.whole == wanted.data_requests else "data"
    pieces = f"   {wanted.ranges:,} pieces, neighbours together" if wanted.ranges > wanted.data_requests else ""
    if wanted.data_requests:
        yield _counts(what, wanted.data_requests, wanted.data_nbytes) + pieces
    yield _counts("in all", wanted.requests, wanted.fetched_nbytes)
    yield f"  against       {_against(wanted)}"


def _counts(what: str, requests: int, nbytes: int) -> str:
    return f"    {what:<14}{requests:>8,} request{'s' if requests != 1 else ' '}  {nbytes_text(nbytes):>9}"


def _against(wanted: Any) -> str:
    parts = []
    if wanted.nbytes:
        parts.append(f"{wanted.fetched_nbytes / wanted.nbytes:.3g} x the result's bytes")
    if wanted.stored_nbytes:
        share = wanted.fetched_nbytes / wanted.stored_nbytes
        parts.append(f"{share:.3g} x the {nbytes_text(wanted.stored_nbytes)} of the touched objects")
    return "; ".join(parts) or "nothing is stored there"


def counted_lines(counts: cyzarr.Trace) -> Iterator[str]:
    """What the read itself took."""
    by = {
        "direct": "straight from files or memory",
        "pipeline": "through the store's methods",
        "zarr": "by zarr's own code",
    }
    roads = ", ".join(by.get(road, road) for road in counts.reads) or "nothing was read"
    yield f"  read once, to count: {roads}"
    if set(counts.reads) != {"zarr"}:
        yield (
            _counts("in all", counts.requests, counts.bytes_read)
            + f"   {so_many(counts.chunks_decoded, 'chunk')} decoded"
        )


def drawings(found: cyzarr.Explanation, width: int) -> Iterator[str]:
    """The grid of stored objects, and that of inner chunks in the first that is touched."""
    wanted, layout = found.wanted, found.layout
    if wanted is None or found.grid is None or not wanted.objects:
        return
    drawn = draw(found.grid, wanted.objects, width)
    if drawn:
        yield ""
        yield f"grid of {'shards' if wanted.inner is not None else 'chunks'}, {' x '.join(map(str, found.grid))}"
        yield from drawn
    if wanted.inner is None or layout is None or layout.inner_shape is None:
        return
    pairs = zip(layout.chunk_shape, layout.inner_shape, strict=True)
    within = tuple(-(-outer // inner) for outer, inner in pairs)
    drawn = draw(within, wanted.first_inner, width)
    if drawn:
        at = tuple(np.array(wanted.objects[0]).tolist())
        yield ""
        yield f"inner chunks of shard {at}, {' x '.join(map(str, within))}"
        yield from drawn
