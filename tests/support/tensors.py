"""Arrays of other libraries, as NumPy sees them."""

from __future__ import annotations


class Tensor:
    """DLPack alone, of its first major version: the capsule says whether it is read-only."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class Unversioned(Tensor):
    """DLPack before that: NumPy takes all such for read-only."""

    def __dlpack__(self, stream=None):
        return self.values.__dlpack__(stream=stream)


class OldTensor(Unversioned):
    """The same with the array that it is a view of."""

    def __array__(self, dtype=None):
        return self.values


class Copying(Unversioned):
    """The same with a copy, to which it would be of no use to write."""

    def __array__(self, dtype=None):
        return self.values.copy()


class Immutable(Unversioned):
    """The same whose values don't change, which its capsule can't say."""

    def __array__(self, dtype=None):
        shown = self.values.view()
        shown.flags.writeable = False
        return shown
