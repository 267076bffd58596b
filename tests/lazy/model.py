"""A small NumPy model of lazy views: a view is its axes' origins, and each cell's place in the source."""

from __future__ import annotations

import numpy as np


def trunc(a, b):
    """a / b toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


class Model:
    """`origin` per axis; `cells` holds, for each cell, its flat place in the source."""

    def __init__(self, shape):
        self.source_shape = tuple(shape)
        self.cells = np.arange(int(np.prod(shape, dtype=int))).reshape(shape)
        self.origin = (0,) * len(shape)

    def made(self, cells, origin):
        other = Model.__new__(Model)
        other.source_shape, other.cells, other.origin = self.source_shape, cells, tuple(origin)
        return other

    @property
    def domain(self):
        return [[lo, lo + extent] for lo, extent in zip(self.origin, self.cells.shape, strict=True)]

    def basic(self, key):
        key = list(key)
        missing = self.cells.ndim - sum(one is not None and one is not Ellipsis for one in key)
        at = next((n for n, one in enumerate(key) if one is Ellipsis), len(key))
        key[at : at + 1] = [slice(None)] * missing
        origin, axis, index = [], 0, []
        for one in key:
            if one is None:
                origin.append(0)
            else:
                if isinstance(one, slice):
                    start, _, step = one.indices(self.cells.shape[axis])
                    origin.append(trunc(self.origin[axis] + start, step))
                axis += 1
            index.append(one)
        return self.made(self.cells[tuple(index)], origin)

    def _scalars_first(self, key, together):
        key = list(key)
        axes = sum(1 if one is Ellipsis else _axes(one, together) for one in key) - sum(one is Ellipsis for one in key)
        at = next((n for n, one in enumerate(key) if one is Ellipsis), len(key))
        key[at : at + 1] = [slice(None)] * (self.cells.ndim - axes)
        basic = []
        for one in key:
            basic += [one] if isinstance(one, int | slice) else [slice(None)] * _axes(one, together)
        return self.basic(basic), [one for one in key if not isinstance(one, int)]

    def oindex(self, key):
        inner, key = self._scalars_first(key, False)
        cells, origin = inner.cells, list(inner.origin)
        for axis, one in enumerate(key):
            if not isinstance(one, slice):
                one = np.asarray(one) if len(one) else np.asarray(one, int)
                one = np.flatnonzero(one) if one.dtype == bool else one
                cells = np.take(cells, np.where(one < 0, one + cells.shape[axis], one), axis)
                origin[axis] = 0
        return self.made(cells, origin)

    def vindex(self, key):
        inner, key = self._scalars_first(key, True)
        arrays, places, axis = [], [], 0
        for one in key:
            if isinstance(one, slice):
                axis += 1
                continue
            one = np.asarray(one) if np.size(one) else np.asarray(one, getattr(one, "dtype", int))
            for along in np.nonzero(one) if one.dtype == bool else [one]:
                arrays.append(along)
                places.append(axis)
                axis += 1
        if not arrays:
            return inner
        index = [slice(None)] * inner.cells.ndim
        for place, along in zip(places, arrays, strict=True):
            index[place] = along.astype(int)
        kept = [lo for place, lo in enumerate(inner.origin) if place not in places]
        adjacent = places == list(range(places[0], places[-1] + 1))
        block = len(np.broadcast_shapes(*[along.shape for along in arrays]))
        at = places[0] if adjacent else 0
        return self.made(inner.cells[tuple(index)], [*kept[:at], *[0] * block, *kept[at:]])

    def restrict(self, least, beyond):
        index = tuple(slice(lo - o, hi - o) for lo, hi, o in zip(least, beyond, self.origin, strict=True))
        return self.made(self.cells[index], least)

    def values(self, source):
        return source.reshape(-1)[self.cells]

    def write(self, source, values):
        """The source afterwards: the last in C order stays."""
        flat = source.copy().reshape(-1)
        for place, value in zip(
            self.cells.reshape(-1), np.broadcast_to(values, self.cells.shape).reshape(-1), strict=True
        ):
            flat[place] = value
        return flat.reshape(source.shape)


def _axes(one, together):
    if not together or isinstance(one, int | slice):
        return 1
    array = np.asarray(one)
    return array.ndim if array.dtype == bool and array.size else 1


class Chains:
    """Random shapes and steps, by a seed."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def integer(self, low, high):
        return int(self.random.integers(low, high + 1))

    def shape(self):
        return tuple(
            self.integer(0, 1) if self.integer(0, 7) == 0 else self.integer(1, 7) for _ in range(self.integer(0, 3))
        )

    def step(self, model):
        """A step that holds, as (operation, key)."""
        operation = ("basic", "basic", "oindex", "vindex", "domain")[self.integer(0, 4)]
        if operation == "domain":
            pairs = [sorted((self.integer(lo, hi), self.integer(lo, hi))) for lo, hi in model.domain]
            return operation, ([lo for lo, _ in pairs], [hi for _, hi in pairs])
        return operation, tuple(getattr(self, operation)(model.cells.shape))

    def slice(self, extent):
        bound = [None if self.integer(0, 2) == 0 else self.integer(-extent - 2, extent + 2) for _ in range(2)]
        return slice(*bound, (None, 1, 2, 3, -1, -2, -3, 7)[self.integer(0, 7)])

    def one(self, extent):
        return self.integer(-extent, extent - 1)

    def basic(self, shape):
        key = [self.one(extent) if extent and self.integer(0, 4) == 0 else self.slice(extent) for extent in shape]
        return self.ellipsis(key, shape, none=True)

    def ellipsis(self, key, shape, none=False):
        if self.integer(0, 3) == 0 and len(key):
            start = self.integer(0, len(key))
            key[start : self.integer(start, len(key))] = [Ellipsis]
        elif self.integer(0, 3) == 0:
            del key[self.integer(0, len(key)) :]
        if none and len(shape) < 5 and self.integer(0, 5) == 0:
            key.insert(self.integer(0, len(key)), None)
        return key

    def array(self, extent, count=None):
        count = self.integer(0, 5) if count is None else count
        if not extent:
            return np.zeros(0, int) if self.integer(0, 1) else np.zeros(0, bool)
        if self.integer(0, 3) == 0:
            return self.random.integers(0, 2, extent).astype(bool)
        return self.random.integers(-extent, extent, count)

    def oindex(self, shape):
        key = []
        for extent in shape:
            kind = self.integer(0, 3)
            if kind == 0 and extent:
                key.append(self.one(extent))
            else:
                key.append(self.slice(extent) if kind == 1 else self.array(extent))
        return self.ellipsis(key, shape)

    def vindex(self, shape):
        """Arrays for some axes, others kept by an Ellipsis in one place; or a mask of several axes."""
        rank = len(shape)
        first = self.integer(0, rank)
        last = self.integer(first, rank)
        block = tuple(self.integer(0, 3) for _ in range(self.integer(1, 2)))
        if last - first > 1 and self.integer(0, 3) == 0:
            # A mask in front, or at the end.
            mask = self.random.integers(0, 2, shape[: last - first]).astype(bool)
            return [mask] if self.integer(0, 1) else [mask, Ellipsis]
        key = []
        for axis, extent in enumerate(shape):
            if first <= axis < last:
                if not any(one is Ellipsis for one in key):
                    key.append(Ellipsis)
            elif extent and self.integer(0, 3) == 0:
                key.append(self.one(extent))
            else:
                shaped = tuple(1 if self.integer(0, 4) == 0 else one for one in block)
                shaped = shaped if extent else (0,) * len(block)
                low = -extent if extent else 0
                key.append(self.random.integers(low, max(extent, 1), shaped) if extent else np.zeros(shaped, int))
        return key


def apply_model(model, operation, key):
    if operation == "domain":
        return model.restrict(*key)
    return getattr(model, operation)(key)
