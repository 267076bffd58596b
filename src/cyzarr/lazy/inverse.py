"""The transform that leads back, where there is one."""

from __future__ import annotations

from cyzarr.lazy.maps import ArrayMap, ConstantMap, DimensionMap, IndexDomain

Map = ConstantMap | DimensionMap | ArrayMap


def inverse(domain: IndexDomain, output: tuple[Map, ...]) -> tuple[IndexDomain, tuple[Map, ...]]:
    """Domain and outputs of the inverse of a transform.

    Raises
    ------
    ValueError
        Where an axis is read more than once, with a stride that is neither 1 nor -1, or by index arrays; or is not
        read, and has not just one coordinate.
    """
    rank = domain.ndim
    if len(output) != rank:
        raise ValueError(f"{rank} axes and {len(output)} outputs; what can be inverted has as many")
    back: list[Map | None] = [None] * rank
    bounds = []
    labels = [""] * rank
    for at, one in enumerate(output):
        if isinstance(one, ConstantMap):
            bounds.append((one.offset, one.offset + 1))
            continue
        if isinstance(one, ArrayMap) or one.stride not in (1, -1) or back[one.input_dimension] is not None:
            raise ValueError(f"output {at}: {one!r} can't be inverted: no steps of 1, or not the only one of its axis")
        axis = one.input_dimension
        lo, hi = domain.inclusive_min[axis], domain.exclusive_max[axis]
        first = one.offset + (lo if one.stride == 1 else 1 - hi)
        bounds.append((first, first + hi - lo))
        back[axis] = DimensionMap(at, -one.offset * one.stride, one.stride)
        labels[at] = domain.labels[axis] if domain.labels else ""
    for axis, (made, extent) in enumerate(zip(back, domain.shape, strict=True)):
        if made is None and extent != 1:
            raise ValueError(f"axis {axis}, of extent {extent}, is read by no output: that can't be inverted")
    maps = [ConstantMap(lo) if one is None else one for one, lo in zip(back, domain.inclusive_min, strict=True)]
    return IndexDomain([lo for lo, _ in bounds], [hi for _, hi in bounds], labels), tuple(maps)
