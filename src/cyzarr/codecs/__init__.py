"""zarr's extension points: a codec pipeline and two codecs, each chosen by zarr's config."""
