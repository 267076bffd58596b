"""`python -m cyzarr`: the command, of the Python that is run."""

from cyzarr.cli import script

script()
