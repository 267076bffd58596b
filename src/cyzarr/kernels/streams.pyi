# Both ends of a stream: for compiled code alone (see streams.pxd).
