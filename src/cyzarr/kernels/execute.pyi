from typing import Any

from typing_extensions import disjoint_base

@disjoint_base
class ReadHolder:
    """Owns a read and what it uses, for as long as helpers may be at work on it."""

    uses: Any

@disjoint_base
class GroupHolder:
    """Owns a group's table, for as long as helpers may be at work on it."""
