"""Many requests at once, and none of them left behind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Sequence


async def together(asked: Sequence[Coroutine[Any, Any, Any]], limit: int | None = None) -> list[Any]:
    """All answers, in order, at most `limit` at once. With the first error, the others are given up and waited for."""
    if len(asked) == 1:
        return [await asked[0]]
    turns = asyncio.Semaphore(len(asked) if limit is None else limit)
    tasks = [asyncio.ensure_future(_in_turn(turns, one)) for one in asked]
    try:
        return await asyncio.gather(*tasks)
    finally:
        await give_up(tasks)
        # One that never had its turn is not left un-awaited.
        for one in asked:
            one.close()


async def _in_turn(turns: asyncio.Semaphore, asked: Coroutine[Any, Any, Any]) -> Any:
    async with turns:
        return await asked


async def give_up(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel what isn't done, and wait until nothing of it runs any more."""
    tasks = list(tasks)
    for one in tasks:
        one.cancel()
    # Those that are done are asked, too: an exception that nobody looks at is printed.
    await asyncio.gather(*tasks, return_exceptions=True)
