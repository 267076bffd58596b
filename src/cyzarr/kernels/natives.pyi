# The table of C functions: for compiled code alone (see natives.pxd).
