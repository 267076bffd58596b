"""Lazy views: arrays that are indexed without being read.

    documents   what TensorStore's JSON may say
    maps        domains, and the maps from their coordinates to a source's          compiled
    inverse     the transform that leads back
    transform   domain + maps; basic keys, composition, TensorStore's JSON           compiled
    keys        keys with index arrays and masks
    lowering    a transform as what a read is made of: entries, or points
    grid        the grid that a source is divided by
    parts       what of a view lies in each cell of it
    sources     zarr arrays, NumPy arrays, anything else
    reading, writing, blocks, zarrwrites
    display     what a view shows of itself
    view        LazyArray and Partition
    eager       a view that reads when it is indexed

Each module uses those above it, none below. The public names are cyzarr's own.
"""
