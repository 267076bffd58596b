"""cyzarr: compiled kernels that make reading Zarr arrays fast."""
