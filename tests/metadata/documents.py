"""Parts of documents, so that tests say only what they are about."""

from __future__ import annotations


def codec(name, **configuration):
    return {"name": name, "configuration": configuration} if configuration else {"name": name}


LE = codec("bytes", endian="little")
CRC32C = codec("crc32c")
INDEX = [LE, CRC32C]


def transpose(*order):
    return codec("transpose", order=list(order))


def cast(data_type):
    return codec("cast_value", data_type=data_type)


def shard(chunk_shape, codecs=None, index=None, **more):
    codecs = [LE] if codecs is None else codecs
    index = INDEX if index is None else index
    return codec("sharding_indexed", chunk_shape=chunk_shape, codecs=codecs, index_codecs=index, **more)


def regular(*chunk_shape):
    return codec("regular", chunk_shape=list(chunk_shape))


def rectilinear(*chunk_shapes):
    return codec("rectilinear", kind="inline", chunk_shapes=list(chunk_shapes))


def base(codecs, *, chunks=(8, 8), grid=None, shape=None, data_type="uint16", fill_value=0, **more):
    """A document; 16 items along each axis if no shape is given."""
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [16] * len(chunks) if shape is None else shape,
        "data_type": data_type,
        "chunk_grid": regular(*chunks) if grid is None else grid,
        "chunk_key_encoding": {"name": "default"},
        "fill_value": fill_value,
        "codecs": codecs,
        **more,
    }
