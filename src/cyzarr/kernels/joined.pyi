# Ranges of bytes that are asked for: for compiled code alone (see joined.pxd).
