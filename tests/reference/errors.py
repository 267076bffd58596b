"""The error of the twins for stored bytes that can't be right."""


class CorruptChunkError(ValueError):
    """Stored bytes contradict their description."""
