"""How the examples measure and print what they gain."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def best(function: Callable[[], Any], repeats: int = 3) -> float:
    """The least time of several calls, in seconds."""
    found = []
    for _ in range(repeats):
        started = time.perf_counter()
        function()
        found.append(time.perf_counter() - started)
    return min(found)


def table(title: str, ways: dict[str, Callable[[], Any]], repeats: int = 3) -> dict[str, float]:
    """Time each way and print them; the first is what the others are compared with."""
    seconds = {name: best(function, repeats) for name, function in ways.items()}
    first = next(iter(seconds.values()))
    print(title)
    for name, taken in seconds.items():
        print(f"  {name:<32} {taken * 1e3:10.2f} ms {first / taken:8.1f} x")
    return seconds
