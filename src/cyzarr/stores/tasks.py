"""Many requests at once, and none of them left behind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence


async def together(ask: Callable[[Any], Awaitable[Any]], wanted: Sequence[Any], limit: int | None = None) -> list[Any]:
    """What `ask` answers to each, in order, at most `limit` at once; with the first error the others are given up."""
    if len(wanted) == 1:
        return [await ask(wanted[0])]
    turns = asyncio.Semaphore(max(len(wanted), 1) if limit is None else limit)

    async def in_turn(one: Any) -> Any:
        async with turns:
            return await ask(one)

    return await all_of([asyncio.ensure_future(in_turn(one)) for one in wanted])


async def all_of(tasks: Sequence[asyncio.Future[Any]]) -> list[Any]:
    """The answers, in order; with the first error the others are given up, once each, and waited for."""
    try:
        # Unlike gather, this leaves them alone when it is cancelled, so that what they clean up is not cut short.
        if tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for one in tasks:
            if one.done():
                one.result()
        return [one.result() for one in tasks]
    finally:
        await give_up(tasks)


async def give_up(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel what isn't done, and wait until nothing of it runs any more, even when cancelled meanwhile."""
    tasks = list(tasks)
    cancelled = None
    for one in tasks:
        one.cancel()
    while any(not one.done() for one in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError as error:
            cancelled = error
    for one in tasks:
        # Those that failed are asked: an exception that nobody looks at is printed.
        if not one.cancelled():
            one.exception()
    if cancelled is not None:
        raise cancelled
