# lz4: for compiled code alone (see lz4.pxd).
