# basic: for compiled code alone (see basic.pxd).
