"""asv benchmarks: kernels beside NumPy's or numcodecs' own way, reads beside zarr's.

From the folder above, with cyzarr installed in the running Python:

    asv check --python=same
    asv run --python=same --quick --bench Sharded

Each benchmark has a ``version``: raise it when what is timed changes, not when code is tidied.
"""
