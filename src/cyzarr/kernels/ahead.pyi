# Small inner chunks read together: for compiled code alone (see ahead.pxd).
