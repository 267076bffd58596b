"""What is asked of a stored object, in words that no kind of store owns; and how answers are checked."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest

from cyzarr.errors import CorruptChunkError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np


@dataclass(frozen=True)
class Request:
    """What is asked of a stored object: its length, the bytes from start to stop, its last bytes, or all of it.

    `probe`: about where it ends; a store may refuse to say, which is as if there were nothing.
    """

    size: bool = False
    start: int = 0
    stop: int | None = None
    last: int | None = None
    probe: bool = False

    def byte_range(self) -> Any:
        """The same as zarr's byte request."""
        if self.last is not None:
            return SuffixByteRequest(self.last)
        return None if self.stop is None else RangeByteRequest(self.start, self.stop)


@dataclass(frozen=True)
class Ranges:
    """Many parts of a stored object: (offset, nbytes), ascending. Neighbours up to a gap are asked for as one.

    The answer is Parts. `by_get`: each by `get`, as zarr asks for a plain chunk; a wrapper's `get_ranges` may go by its
    own `get`.
    """

    ranges: tuple[tuple[int, int], ...]
    max_gap: int
    max_nbytes: int
    by_get: bool = False

    def merged(self) -> list[Request]:
        """What is asked for: neighbours together."""
        joined = merge(self.ranges, self.max_gap, self.max_nbytes)
        return [Request(start=start, stop=stop) for start, stop in joined]


# A length that the store could not tell.
UNTOLD = -1


class Parts(list[Any]):
    """The answer to Ranges: (start, stop, buffer or None) each, and how many requests of the store they took.

    `gone`: the store said, by an exception, that there is no such object, and gave no part.
    """

    requests = 0
    gone = False


WHOLE = Request()
SIZE = Request(size=True)
# The length where it is at hand, which is no request.
HELD = Request(size=True)


def merge(ranges: Iterable[tuple[int, int]], max_gap: int, max_nbytes: int) -> list[tuple[int, int]]:
    """Join ascending (offset, nbytes) ranges to (start, stop).

    Neighbours at most max_gap apart are joined, to at most max_nbytes in all.
    """
    joined: list[tuple[int, int]] = []
    for offset, nbytes in ranges:
        start, stop = joined[-1] if joined else (0, 0)
        if joined and offset - stop <= max_gap and max(stop, offset + nbytes) - start <= max_nbytes:
            joined[-1] = (start, max(stop, offset + nbytes))
        else:
            joined.append((offset, offset + nbytes))
    return joined


def check_length(key: str, request: Request, answer: np.ndarray[Any, Any] | bytes) -> None:
    """Refuse an answer with more or fewer bytes than were asked for."""
    expected = (request.stop or 0) - request.start if request.last is None else request.last
    if len(answer) != expected:
        raise wrong_length(key, request.byte_range(), expected, len(answer))


def wrong_length(key: str, byte_range: Any, expected: int, found: int) -> CorruptChunkError:
    """The error that tells key, range and both lengths."""
    offset = getattr(byte_range, "start", None)
    return CorruptChunkError(
        f"chunk {key!r}: the store answered a range with a wrong length: expected {expected} bytes,"
        f" found {found} ({in_words(byte_range)})"
        + (
            "; a server that ignores ranges is read with cyzarr.partial_storage_reads False" if found > expected else ""
        ),
        key,
        offset=offset,
        length=expected,
    )


def asked_nbytes(byte_range: Any) -> int | None:
    """How many bytes one of zarr's byte requests asks for; None where only the store knows."""
    if isinstance(byte_range, RangeByteRequest):
        return byte_range.end - byte_range.start
    return byte_range.suffix if isinstance(byte_range, SuffixByteRequest) else None


def in_words(byte_range: Any) -> str:
    """A byte request as errors tell it."""
    if isinstance(byte_range, RangeByteRequest):
        return f"at offset {byte_range.start}, length {byte_range.end - byte_range.start}"
    if isinstance(byte_range, SuffixByteRequest):
        return f"the last {byte_range.suffix} bytes"
    return f"from offset {byte_range.offset}" if isinstance(byte_range, OffsetByteRequest) else "the whole object"


def cut(data: Any, byte_range: Any) -> Any:
    """What a byte request picks of a whole object's bytes (any sequence of bytes)."""
    if isinstance(byte_range, RangeByteRequest):
        return data[byte_range.start : byte_range.end]
    if isinstance(byte_range, SuffixByteRequest):
        return data[max(len(data) - byte_range.suffix, 0) :]
    return data[byte_range.offset :] if isinstance(byte_range, OffsetByteRequest) else data


@contextmanager
def telling(key: str, byte_range: Any, probe: bool = False) -> Iterator[None]:
    """A store's own error tells what was asked, too; that of a probe is left out."""
    try:
        yield
    except Exception as error:
        if probe:
            return
        error.add_note(f"while reading {key!r} ({in_words(byte_range)})")
        raise
