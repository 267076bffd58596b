"""Many requests at once (`stores.tasks`): order, limit, and nothing left running, whenever they are given up."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest

from support.doors import PLAIN

if PLAIN:
    pytest.skip("about cyzarr, which this run leaves out", allow_module_level=True)

from cyzarr.stores.tasks import give_up, together


class Requests:
    """Makes requests that take a few turns of the loop, and knows how many are under way."""

    def __init__(self):
        self.under_way = self.most = 0

    async def ask(self, answer, turns=3):
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            for _ in range(turns):
                await asyncio.sleep(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        finally:
            # Cleaning up takes turns, too.
            try:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            finally:
                self.under_way -= 1


@pytest.mark.parametrize(("limit", "most"), [(None, 6), (2, 2), (9, 6), (1, 1)])
def test_answers_in_order(limit, most):
    requests = Requests()
    assert asyncio.run(together(lambda i: requests.ask(i, 6 - i), range(6), limit)) == list(range(6))
    assert requests.most == most


@pytest.mark.parametrize("limit", [None, 1, 2])
@pytest.mark.parametrize("turns", range(25))
def test_nothing_is_left(limit, turns):
    """Given up after any number of turns: while all are asked, while one has failed and the others end, or over."""
    requests = Requests()

    async def main():
        wanted = [0, OSError("lost"), OSError("lost, too"), 3]
        task = asyncio.ensure_future(together(requests.ask, wanted, limit))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises((OSError, asyncio.CancelledError)):
            await task
        # By then, not later.
        assert requests.under_way == 0

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(main())
        gc.collect()
    assert [str(one.message) for one in caught] == []


def test_errors_nobody_asks_for_are_not_printed(caplog):
    async def main():
        requests = Requests()
        tasks = [asyncio.ensure_future(requests.ask(OSError("lost"), 0)) for _ in range(2)]
        for _ in range(5):
            await asyncio.sleep(0)
        await give_up(tasks)

    asyncio.run(main())
    gc.collect()
    assert not caplog.records
