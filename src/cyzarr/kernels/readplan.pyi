# Plan a read over stored objects: for compiled code alone (see readplan.pxd).
