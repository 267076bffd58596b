DECODERS: tuple[str, ...]
