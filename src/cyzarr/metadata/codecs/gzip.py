"""The ``gzip`` codec.

Status        Zarr core specification 3.0
Specification https://zarr-specs.readthedocs.io/en/latest/v3/codecs/gzip/index.html
Aliases       none
Example       {"name": "gzip", "configuration": {"level": 5}}
"""

from cyzarr.metadata.checks import integer, required
from cyzarr.metadata.definitions import CodecDefinition

GZIP = CodecDefinition(
    name="gzip",
    kind="bytes_bytes",
    size="dynamic",
    configuration={"level": required(integer(0, 9))},
)
