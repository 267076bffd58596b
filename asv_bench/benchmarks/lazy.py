"""Lazy views beside TensorStore's and zarr-indexing's, where these are installed, and beside the array itself.

The array is 1000 x 1000 int64 in 100 x 100 chunks, in memory.
"""

import importlib
import time

import numpy as np
import zarr

import cyzarr

SHAPE, CHUNKS = (1000, 1000), (100, 100)
random = np.random.default_rng(0)
ROWS = random.integers(0, 1000, 50)
POINTS = tuple(random.integers(0, 1000, (2, 2000)))
# TensorStore's slices are coordinates: the second and third step are the same cells as the view's.
SELECTIONS = {
    "box": lambda view: view[10:500, 5:900],
    "strided": lambda view: view[10:500, 5:900:3],
    "oindex": lambda view: view.oindex[ROWS, :],
    "vindex": lambda view: view.vindex[POINTS],
}


def array():
    made = zarr.create_array({}, shape=SHAPE, chunks=CHUNKS, dtype="i8", compressors=None)
    made[...] = np.arange(10**6).reshape(SHAPE)
    return made


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        raise NotImplementedError(f"{name} is not installed") from None


def tensorstore_array():
    tensorstore = optional("tensorstore")
    grid = {"name": "regular", "configuration": {"chunk_shape": list(CHUNKS)}}
    metadata = {"shape": list(SHAPE), "data_type": "int64", "chunk_grid": grid}
    spec = {"driver": "zarr3", "kvstore": {"driver": "memory"}, "metadata": metadata}
    made = tensorstore.open(spec, create=True).result()
    made.write(np.arange(10**6).reshape(SHAPE)).result()
    return made


def opened(library):
    """A view of the whole array, by library."""
    if library == "tensorstore":
        return tensorstore_array()
    if library == "zarr-indexing":
        return optional("zarr_indexing").LazyArray(array())
    return array() if library == "array" else cyzarr.LazyArray(array())


def reader(library, view, selection):
    """What reads a selection: views are made in the call."""
    if library == "tensorstore":
        return lambda: selection(view).read().result()
    return (lambda: selection(view)) if library == "array" else lambda: selection(view).result()


def best(call, repeats=5, seconds=0.02):
    """Of one call, the least mean of several rounds."""
    started = time.perf_counter()
    call()
    count = max(1, int(seconds / max(time.perf_counter() - started, 1e-7)))
    found = []
    for _ in range(repeats):
        started = time.perf_counter()
        for _ in range(count):
            call()
        found.append((time.perf_counter() - started) / count)
    return min(found)


class MakingViews:
    version = "1"
    params = (["cyzarr", "tensorstore", "zarr-indexing"], ["one step", "three steps"])
    param_names = ("library", "steps")

    def setup(self, library, steps):
        view = opened(library)
        if steps == "one step":
            self.make = lambda: view[10:500, 5:900:3]
        elif library == "tensorstore":
            self.make = lambda: view[10:500, 5:900:3][::-1][-496:, 2:300:2]
        else:
            self.make = lambda: view[10:500, 5:900:3][::-1][3:, ::2]

    def time_make(self, library, steps):
        self.make()

    def track_times_tensorstore(self, library, steps):
        other = MakingViews()
        other.setup("tensorstore", steps)
        return best(self.make) / best(other.make)

    track_times_tensorstore.unit = "ratio"


class Reads:
    version = "1"
    params = (["cyzarr", "array", "tensorstore", "zarr-indexing"], list(SELECTIONS))
    param_names = ("library", "selection")

    def setup(self, library, selection):
        self.read = reader(library, opened(library), SELECTIONS[selection])
        cyzarr.enable()
        # zarr-indexing is to read through zarr as it is.
        if library == "zarr-indexing":
            cyzarr.disable()

    def teardown(self, library, selection):
        cyzarr.disable()

    def time_read(self, library, selection):
        self.read()

    def track_times_cyzarr(self, library, selection):
        """How many times as long as cyzarr's lazy view."""
        return best(self.read) / best(reader("cyzarr", opened("cyzarr"), SELECTIONS[selection]))

    track_times_cyzarr.unit = "ratio"


class Writes:
    """zarr itself is handed the same without duplicates."""

    version = "1"
    params = (["cyzarr", "zarr", "zarr-indexing"], ["vindex", "oindex", "slab"])
    param_names = ("library", "selection")

    def setup(self, library, selection):
        self.write = self.writer(library, selection)

    def writer(self, library, selection):
        if library == "zarr":
            target = array()
            rows = np.unique(ROWS)
            points = np.divmod(np.unique(POINTS[0] * 1000 + POINTS[1]), 1000)
            keys = {"vindex": points, "oindex": (rows, slice(None))}
            shapes = {"vindex": (len(points[0]),), "oindex": (len(rows), 1000)}
        else:
            target = opened(library)
            keys = {"vindex": POINTS, "oindex": (ROWS, slice(None))}
            shapes = {"vindex": (2000,), "oindex": (50, 1000)}
        if selection == "slab":
            values = np.ones((590, 950), int)
            return lambda: target.__setitem__((slice(10, 600), slice(5, 955)), values)
        values = np.ones(shapes[selection], int)
        return lambda: getattr(target, selection).__setitem__(keys[selection], values)

    def time_write(self, library, selection):
        self.write()

    def track_times_zarr(self, library, selection):
        return best(self.write) / best(self.writer("zarr", selection))

    track_times_zarr.unit = "ratio"
