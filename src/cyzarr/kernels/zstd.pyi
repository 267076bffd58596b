# zstd: for compiled code alone (see zstd.pxd).
