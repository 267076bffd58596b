"""The ``crc32c`` codec: a checksum of four bytes behind the data.

Status        Zarr core specification 3.0
Specification https://zarr-specs.readthedocs.io/en/latest/v3/codecs/crc32c/index.html
Aliases       none
Example       {"name": "crc32c"}
"""

from cyzarr.metadata.definitions import CodecDefinition

CRC32C = CodecDefinition(name="crc32c", kind="bytes_bytes", size="static")
