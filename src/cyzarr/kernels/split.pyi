# Cut tasks into parts: for compiled code alone (see split.pxd).
