"""The chunk grids: which shapes they fit, and which lengths their chunks have."""
