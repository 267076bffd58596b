# Decode the part of a chunk that a selection picks: for compiled code alone (see decode.pxd).
