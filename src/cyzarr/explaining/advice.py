"""Where a layout, or a setting, makes reads cost more than they must, and what helps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cyzarr import config
from cyzarr.explaining.stages import TWIN
from cyzarr.words import nbytes_text, so_many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyzarr.explaining.explain import Explanation

# From so much decoded for each byte that is wanted on, a unit of at least so many bytes is called too large.
WASTE, LARGE = 16, 1 << 20
# An index of at least so many bytes that outweighs the data is worth a word.
INDEX = 4096
# So many objects below such a length are called many and small.
MANY, SMALL = 1000, 64 << 10


def advise(found: Explanation) -> list[str]:
    """What could be better, a sentence each; empty where nothing is known."""
    return [*_of_codecs(found), *_of_sizes(found), *_of_stores(found)]


def _of_codecs(found: Explanation) -> Iterator[str]:
    if found.fallback:
        yield f"zarr's own code reads this array ({found.fallback}); cyzarr doesn't speed it up."
    outer = [stage for stage in found.stages if stage.depth == 0]
    case = "" if found.layout is None else found.layout.case
    if case == "shard within codecs":
        after = [stage.name for stage in outer if stage.part == "bytes to bytes"]
        kind = "checksum" if after == ["crc32c"] else "compressor"
        yield (
            f"A {kind} around the shard ({', '.join(after)}) forces whole objects: have it among the codecs of the"
            " inner chunks instead."
        )
    if case == "shard behind whole-chunk codecs":
        before = [stage.name for stage in outer if stage.part == "array to array" and not stage.is_native]
        yield f"A codec before the shard ({', '.join(before)}) needs whole chunks: have it within the inner chunks."
    if case == "chunk" and [stage.name for stage in outer if stage.part == "bytes to bytes"] == ["crc32c"]:
        yield "A checksum after uncompressed chunks has them read whole, to be verified: smaller chunks read less."
    slow = sorted({stage.name for stage in found.stages if stage.decoded_by == TWIN})
    if slow:
        yield f"No C function decodes {', '.join(slow)} here, so it is slow: see `cyzarr info`."
    # The items themselves, of format 2, are no codec to be rid of.
    own = sorted({one.name for one in found.stages if not one.is_native and one.decoded_by != TWIN} - {"bytes"})
    if own and not found.fallback:
        yield f"Decoded in Python, and so by one thread at a time: {', '.join(own)}."


def _of_sizes(found: Explanation) -> Iterator[str]:
    wanted, layout = found.wanted, found.layout
    if wanted is None or layout is None or not wanted.nbytes:
        return
    sharded = layout.inner_shape is not None
    unit = math.prod(layout.inner_shape or layout.chunk_shape) * found.itemsize
    stored = len(wanted.objects) - wanted.missing
    units = stored if wanted.inner is None else wanted.inner if stored else 0
    if layout.decodes_whole and unit >= LARGE and units * unit >= WASTE * wanted.nbytes:
        what = "inner chunk" if sharded else "chunk"
        better = "smaller inner chunks" if sharded else "smaller chunks, or shards with small inner chunks,"
        yield (
            f"Each touched {what} holds {nbytes_text(unit)}, and {units * unit / wanted.nbytes:,.0f} times what is"
            f" wanted is decoded: {better} suit such selections better."
        )
    if wanted.index_nbytes >= INDEX and wanted.index_nbytes > wanted.data_nbytes:
        yield (
            f"Shard indexes ({nbytes_text(wanted.index_nbytes)}) outweigh the data ({nbytes_text(wanted.data_nbytes)}):"
            " larger inner chunks, or fewer of them in a shard, have smaller indexes."
        )
    if stored >= MANY and wanted.stored_nbytes < SMALL * stored:
        mean = nbytes_text(round(wanted.stored_nbytes / stored))
        yield f"{stored:,} objects of {mean} on average: shards would gather many of them in one object."


def _of_stores(found: Explanation) -> Iterator[str]:
    settings, wanted = config.current(), found.wanted
    if not settings.partial_storage_reads:
        yield "cyzarr.partial_storage_reads is off: whole objects are fetched."
    if wanted is None or found.is_direct:
        return
    if wanted.size_requests:
        yield (
            f"{so_many(wanted.size_requests, 'request')} for lengths of uncompressed chunks, to notice damage:"
            " cyzarr.check_remote_size=False does without."
        )
    if wanted.index_requests and not settings.remote_index_cache:
        yield (
            "Shard indexes are asked for by every read: cyzarr.remote_index_cache=True keeps them, where nobody else"
            " writes to the array."
        )
    gaps = wanted.data_nbytes - wanted.pieces_nbytes
    if gaps >= LARGE and gaps > wanted.pieces_nbytes:
        yield (
            f"{nbytes_text(gaps)} of the data lie between what is wanted: a smaller"
            " array.sharding_coalesce_max_gap_bytes makes more requests of fewer bytes."
        )
    if wanted.unknown:
        yield f"The store doesn't tell the length of {so_many(wanted.unknown, 'object')}: not in the counts."
