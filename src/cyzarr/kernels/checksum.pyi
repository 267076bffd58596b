# CRC32C: for compiled code alone (see checksum.pxd).
