"""The exceptions that cyzarr raises of its own."""

from __future__ import annotations


class CorruptChunkError(ValueError, RuntimeError):
    """Stored bytes that can't be what the array's metadata says they are.

    It is a ValueError and a RuntimeError because zarr and numcodecs raise one or the other in the same places.

    Attributes
    ----------
    key : str or None
        The stored object's key, as far as the read knows it. In the message, like all that follows.
    inner : str or None
        The grid position of the inner chunk, in the array's axes; of nested ones, one after another.
    offset, length : int or None
        Where in the object the bytes at fault are, in bytes.
    """

    def __init__(
        self,
        message: str = "",
        key: str | None = None,
        inner: str | None = None,
        offset: int | None = None,
        length: int | None = None,
    ) -> None:
        super().__init__(message)
        self.key, self.inner, self.offset, self.length = key, inner, offset, length


class BoundsCheckError(IndexError):
    """A coordinate that lies outside of the domain it is used in."""


class VindexInvalidSelectionError(IndexError):
    """A selection of points by what gives no points, such as a slice."""
