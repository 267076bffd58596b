# blosc: for compiled code alone (see blosc.pxd).
