# Run reads that share stored objects: for compiled code alone (see batch.pxd).
