"""The exceptions that cyzarr raises of its own."""


class CorruptChunkError(ValueError, RuntimeError):
    """Stored bytes that can't be what the array's metadata says they are.

    The message names the stored object's key, the inner chunk where there is one, the offset and
    length of the bytes in the object, and what was expected and found. It is a ValueError and a
    RuntimeError because zarr and numcodecs raise one or the other in the same places.
    """
