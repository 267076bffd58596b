"""From zarr's objects to kernel descriptions."""
