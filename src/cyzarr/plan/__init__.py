"""From zarr's objects to kernel descriptions; called, `cyzarr.plan(metadata, selection)` is a plan without I/O.

The package and the public function share a name, and importing any module from here puts the package into its place on
`cyzarr`: so the package itself can be called. See `cyzarr.plan.byhand.plan`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyzarr.plan.byhand import ReadPlan


class _CallablePackage(ModuleType):
    def __call__(self, metadata: Any, selection: Any = ..., *, points: bool = False) -> ReadPlan:
        """A plan of what to fetch and how to decode it, without I/O: see `cyzarr.plan.byhand.plan`."""
        from cyzarr.plan.byhand import plan

        return plan(metadata, selection, points=points)


sys.modules[__name__].__class__ = _CallablePackage
