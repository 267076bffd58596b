"""Make the NumPy twins importable as ``reference``, however pytest was started."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1].as_posix()
if TESTS not in sys.path:
    sys.path.insert(0, TESTS)
