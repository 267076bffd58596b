from typing_extensions import disjoint_base

from cyzarr.kernels.execute import GroupHolder

@disjoint_base
class BatchHolder(GroupHolder):
    """Owns a batch's tables, for as long as helpers may be at work on it."""
