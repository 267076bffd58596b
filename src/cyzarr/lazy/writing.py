def write(v, x): raise NotImplementedError
converted=None
