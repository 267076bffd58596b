"""Makes the NumPy twins importable as ``reference``, however pytest was started."""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1].as_posix()
if TESTS not in sys.path:
    sys.path.insert(0, TESTS)


@pytest.fixture(params=[True, False], ids=["native", "python"])
def native(request):
    """The table of C decoders on, and off: then a program's Python codecs decode."""
    from cyzarr.kernels import decompress

    decompress.set_native(request.param)
    yield request.param
    decompress.set_native(True)
