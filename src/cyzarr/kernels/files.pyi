# Open, measure and read files at an offset: for compiled code alone (see files.pxd).
