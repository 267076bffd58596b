# What only Python can do for a read: for compiled code alone (see callbacks.pxd).
