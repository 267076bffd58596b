# Put items where they go in the output: for compiled code alone (see placing.pxd).
