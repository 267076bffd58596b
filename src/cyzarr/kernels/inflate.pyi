# gzip and zlib: for compiled code alone (see inflate.pxd).
