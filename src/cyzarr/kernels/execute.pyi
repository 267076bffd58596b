from typing import Any

class ReadHolder:
    """Owns a read and what it uses, for as long as helpers may be at work on it."""

    uses: Any

class GroupHolder:
    """Owns a group's table, for as long as helpers may be at work on it."""
