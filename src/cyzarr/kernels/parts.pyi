# Decode a part of a compressed chunk: for compiled code alone (see parts.pxd).
