"""Stores: how any of them is asked for parts of its objects.

    read_range, getsize ──► kinds ──► a zarr Store, a mapping, a registered class
    a read's bytes ──► fetch ──┘

The functions here take a zarr Store or StorePath, a mapping from key to bytes, or an object of a class that `register`
was told about. Byte ranges are zarr's own (`zarr.abc.store`).
"""

from cyzarr.stores.interface import getsize, getsize_async, read_range, read_range_async, supports_partial_reads
from cyzarr.stores.registered import register

__all__ = ["getsize", "getsize_async", "read_range", "read_range_async", "register", "supports_partial_reads"]
