"""Random chains of keys against a NumPy model, and where they are installed against zarr-indexing and tensorstore.

python tests/lazy/fuzz.py --count 20000 --seed 1 --others 4
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import zarr

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import cyzarr
from cyzarr import ArrayMap, ConstantMap, DimensionMap, IndexDomain, IndexTransform, LazyArray
from lazy.model import Chains, Model, apply_model
from lazy.support import Recorder

SOURCES = ("numpy", "plain", "sharded", "other")


def source_of(kind, values, chains):
    """A source of these values, and what gives its contents."""
    if kind == "numpy":
        own = values.copy()
        return own, lambda: own
    chunks = tuple(chains.integer(1, max(extent, 1)) for extent in values.shape)
    if kind == "other":
        recorder = Recorder(values.copy(), chunks if chains.integer(0, 2) else None)
        return recorder, lambda: recorder.array
    options = {"chunks": chunks, "shards": None}
    if kind == "sharded" and values.ndim:
        options["shards"] = tuple(chunk * chains.integer(1, 3) for chunk in chunks)
    array = zarr.create_array({}, shape=values.shape, dtype=values.dtype, compressors=None, filters=None, **options)
    array[...] = values
    return array, lambda: np.asarray(array[...])


def indexed(view, operation, key, domain_type=IndexDomain):
    if operation == "domain":
        return view[domain_type(tuple(key[0]), tuple(key[1]))]
    return view[key] if operation == "basic" else getattr(view, operation)[key]


def check_same(what, found, wanted):
    if not (np.shape(found) == np.shape(wanted) and np.array_equal(found, wanted)):
        raise AssertionError(f"{what}: {found!r} instead of {wanted!r}")


def check_chain(seed, kind, others=False):
    """One chain; raises where anything differs."""
    chains = Chains(seed)
    shape = chains.shape()
    values = np.arange(100, 100 + int(np.prod(shape, dtype=int))).reshape(shape)
    source, contents = source_of(kind, values, chains)
    view, model = LazyArray(source), Model(shape)
    if chains.integer(0, 2) == 0:
        view = view.with_parts([chains.integer(1, 4) for _ in shape])
    steps = []
    for _ in range(chains.integer(1, 4)):
        operation, key = chains.step(model)
        steps.append((operation, key))
        try:
            model = apply_model(model, operation, key)
        except (IndexError, ValueError) as error:
            check_refused(view, operation, key, error)
            steps.pop()
            break
        view = indexed(view, operation, key)
        check_domain(view, model, (kind, shape, steps))
    told = (seed, kind, shape, steps)
    wanted = model.values(values)
    check_same((*told, "values"), view.result(), wanted)
    check_parts(view, wanted, told)
    if others:
        check_others(values, steps, view, wanted, told)
    check_write(chains, view, model, values, contents, told)


def check_refused(view, operation, key, error):
    try:
        indexed(view, operation, key)
    except (IndexError, ValueError):
        return
    raise AssertionError(f"{operation} {key} is taken, where the model says {error!r}")


def check_domain(view, model, told):
    domain = view.transform.domain
    found = [[lo, hi] for lo, hi in zip(domain.inclusive_min, domain.exclusive_max, strict=True)]
    if found != model.domain:
        raise AssertionError(f"{told}: domain {found} instead of {model.domain}")


def check_parts(view, wanted, told):
    again = np.full(wanted.shape, -1)
    seen = np.zeros(wanted.shape, int)
    cells = []
    for part in view.parts():
        again[part.out_selection] = part.view.result()
        seen[part.out_selection] += 1
        cells.append(part.base_coords)
        for (lo, hi), bounds in zip(part.box, part.view.bounding_box(), strict=True):
            assert lo <= bounds[0] <= bounds[1] <= hi, told
    check_same((*told, "parts"), again, wanted)
    assert (seen == 1).all(), told
    assert len(set(cells)) == len(cells), told
    assert cells == sorted(cells), told


def check_write(chains, view, model, values, contents, told):
    new = -np.arange(1, view.size + 1).reshape(view.shape)
    if view.size and chains.integer(0, 3) == 0:
        new = new.reshape(-1)[0]
    view.write(new)
    check_same((*told, "write"), contents(), model.write(values, new))


def check_others(values, steps, view, wanted, told):
    """zarr-indexing on the same steps, and tensorstore on the transform they made."""
    try:
        import zarr_indexing
    except ImportError:
        return
    theirs = zarr_indexing.LazyArray(values)
    try:
        for operation, key in steps:
            theirs = indexed(theirs, operation, key, zarr_indexing.IndexDomain)
        domain, mine = theirs.transform.domain, view.transform.domain
        assert (domain.inclusive_min, domain.exclusive_max) == (mine.inclusive_min, mine.exclusive_max), told
        check_same((*told, "zarr-indexing"), wanted, theirs.result())
    except NotImplementedError:
        pass
    if 0 in view.shape:
        # It refuses empty domains that are composed through an offset.
        return
    check_tensorstore(values, view, wanted, told)


def check_tensorstore(values, view, wanted, told):
    try:
        import tensorstore
    except ImportError:
        return
    store = tensorstore.array(values)
    made = tensorstore.IndexTransform(json=view.transform.to_json())
    check_same((*told, "tensorstore"), wanted, store[made].read().result())
    check_same((*told, "JSON"), cyzarr.IndexTransform.from_json(made.to_json()).domain.shape, view.shape)


def random_map(chains, domain, extent):
    """A map of a domain whose coordinates lie in [0, extent); diagonals and strides of 0 come up."""
    kind = chains.integer(0, 3)
    if kind == 0 or not domain.ndim:
        return ConstantMap(chains.integer(0, extent - 1))
    axis = chains.integer(0, domain.ndim - 1)
    count = max(domain.shape[axis], 1)
    if kind == 3:
        shape = [one if chains.integer(0, 1) else 1 for one in domain.shape]
        index = chains.random.integers(0, extent, shape)
        return ArrayMap(extent - 1 - index) if chains.integer(0, 1) else ArrayMap(index, extent - 1, -1)
    most = (extent - 1) // (count - 1) if count > 1 else 3
    stride = chains.integer(-most, most)
    lowest = min(0, stride * (count - 1)) if count > 1 else 0
    highest = max(0, stride * (count - 1)) if count > 1 else 0
    first = chains.integer(-lowest, extent - 1 - highest)
    return DimensionMap(axis, first - stride * domain.origin[axis], stride)


def check_transform(seed, kind, others=False):
    """One transform as key, diagonals and all, against what it says of each cell."""
    chains = Chains(seed)
    shape = tuple(chains.integer(1, 6) for _ in range(chains.integer(1, 3)))
    values = np.arange(100, 100 + int(np.prod(shape, dtype=int))).reshape(shape)
    source, contents = source_of(kind, values, chains)
    least = [chains.integer(-5, 5) for _ in range(chains.integer(0, 3))]
    domain = IndexDomain(least, [lo + chains.integer(0 if chains.integer(0, 5) == 0 else 1, 4) for lo in least])
    key = IndexTransform(domain, [random_map(chains, domain, extent) for extent in shape])
    view, model = LazyArray(source)[key], Model(shape)
    points = [[at + lo for at, lo in zip(point, least, strict=True)] for point in np.ndindex(domain.shape)]
    places = [int(np.ravel_multi_index(key.apply(point), shape)) for point in points]
    model = model.made(np.array(places, int).reshape(domain.shape), least)
    told = (seed, kind, shape, key)
    check_domain(view, model, told)
    wanted = model.values(values)
    check_same((*told, "values"), view.result(), wanted)
    check_parts(view, wanted, told)
    if others and 0 not in domain.shape:
        check_tensorstore(values, view, wanted, told)
    check_write(chains, view, model, values, contents, told)


def run(count, seed, others):
    for number in range(count):
        check_transform(seed * 1_000_000 + number, SOURCES[number % len(SOURCES)], others and number % others == 0)
        check_chain(seed * 1_000_000 + number, SOURCES[number % len(SOURCES)], others and number % others == 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--others", type=int, default=0, help="compare every so many chains with the other libraries")
    given = parser.parse_args()
    run(given.count, given.seed, given.others)
    print(f"{given.count} chains of seed {given.seed} agree")
