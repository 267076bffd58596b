"""The chunk key encodings ``default`` and ``v2``.

Status        Zarr core specification 3.0
Specification https://zarr-specs.readthedocs.io/en/latest/v3/chunk-key-encodings/index.html
Aliases       none
Example       {"name": "default", "configuration": {"separator": "/"}}
"""

from cyzarr.metadata.checks import one_of, optional
from cyzarr.metadata.definitions import ChunkKeyEncodingDefinition

_SEPARATOR = {"separator": optional(one_of("/", "."))}

ENCODINGS = tuple(ChunkKeyEncodingDefinition(name=name, configuration=_SEPARATOR) for name in ("default", "v2"))
