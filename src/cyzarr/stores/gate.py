"""Many requests at once: how many may be under way, and that none is left behind."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Sequence


class Gate:
    """Lets at most `allowed` requests be under way at once; None: any number. First come, first served.

    For one event loop. Unlike a semaphore it is asked for several places at once, and gives what it has: a store that
    asks for many ranges by itself is told how many of them it may have under way.
    """

    def __init__(self, allowed: int | None) -> None:
        self.allowed = allowed
        self.free = allowed or 0
        self.waiting: deque[tuple[asyncio.Future[int], int, int]] = deque()

    async def take(self, wanted: int = 1) -> int:
        """Wait for places; returns how many were taken, at most `wanted`, to be given back by as many."""
        if self.allowed is None:
            return wanted
        wanted = min(wanted, self.allowed)
        # With few of many places a store would take too many rounds, and could not be given more later.
        least = (wanted + 1) // 2
        if not self.waiting and self.free >= least:
            return self._hand(wanted)
        turn: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.waiting.append((turn, wanted, least))
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                # The places came, and nobody is there to use them.
                self.give(turn.result())
            else:
                # It may have held up those behind it.
                self._serve()
            raise

    def give(self, count: int = 1) -> None:
        """Give places back."""
        if self.allowed is not None:
            self.free += count
            self._serve()

    def _hand(self, wanted: int) -> int:
        taken = min(wanted, self.free)
        self.free -= taken
        return taken

    def _serve(self) -> None:
        while self.waiting:
            turn, wanted, least = self.waiting[0]
            if not turn.cancelled():
                if self.free < least:
                    return
                turn.set_result(self._hand(wanted))
            self.waiting.popleft()

    async def __aenter__(self) -> None:
        await self.take()

    async def __aexit__(self, *_: object) -> None:
        self.give()


async def together(asked: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
    """All answers, in order. With the first error, the others are given up and waited for."""
    if len(asked) == 1:
        return [await asked[0]]
    tasks = [asyncio.ensure_future(one) for one in asked]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await give_up(tasks)


async def give_up(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel what isn't done, and wait until nothing of it runs any more."""
    tasks = list(tasks)
    for one in tasks:
        one.cancel()
    # Those that are done are asked, too: an exception that nobody looks at is printed.
    await asyncio.gather(*tasks, return_exceptions=True)
