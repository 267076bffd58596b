"""The ``zstd`` codec.

Status        registered extension (zarr-extensions)
Specification https://github.com/zarr-developers/zarr-extensions/tree/main/codecs/zstd
Aliases       none
Example       {"name": "zstd", "configuration": {"level": 3, "checksum": false}}
"""

from cyzarr.metadata.checks import boolean, integer, optional, required
from cyzarr.metadata.definitions import CodecDefinition

ZSTD = CodecDefinition(
    name="zstd",
    kind="bytes_bytes",
    size="dynamic",
    configuration={"level": required(integer(-131072, 22)), "checksum": optional(boolean)},
)
