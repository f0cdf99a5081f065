"""What takes long is computed in a process of its own, once for all, and kept until something changes."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from itertools import pairwise

import pytest

from bopp.dashboard.cache import REST, CachedResult, ResultCache
from bopp.dashboard.worker_process import WorkerProcess
from bopp.errors import StoreError
from support.dashboards import PATIENCE, Inline


def slow(seconds: float) -> int:
    time.sleep(seconds)
    return time.monotonic_ns()


def test_a_result_says_whether_there_is_nothing_newer_to_come() -> None:
    async def found() -> list[tuple[object, bool]]:
        cache = ResultCache(Inline())
        first = await cache.get(1, PATIENCE, slow, 0.5)
        lately = await cache.get(2, PATIENCE, slow, 0.5)  # too soon to compute it anew
        fresh = await cache.get(2, PATIENCE, slow, 0.5, rests=False)
        return [(result.of, result.current) for result in (first, lately, fresh) if result]

    assert asyncio.run(found()) == [(1, True), (1, False), (2, True)]


def test_what_takes_long_is_not_computed_all_the_time_while_a_study_changes() -> None:
    async def watched(seconds: float) -> list[CachedResult]:
        """What one sees who looks all the time, of a study that changes all the time."""
        cache, of = ResultCache(Inline()), 0
        found: dict[int, CachedResult] = {}
        until = time.monotonic() + seconds
        while time.monotonic() < until or len(found) < 3:
            of += 1
            if result := await cache.get(of, 0.05, slow, 0.02):
                found.setdefault(result.value, result)
            await asyncio.sleep(0.01)
        return list(found.values())

    for earlier, later in pairwise(asyncio.run(watched(0.5))):
        assert earlier.error is later.error is None
        assert later.at - later.seconds - earlier.at >= REST * earlier.seconds
        assert later.of > earlier.of  # type: ignore[operator]


@pytest.mark.endurance
def test_a_process_that_is_killed_is_replaced_and_that_it_was_is_told_once() -> None:
    async def check() -> None:
        process = WorkerProcess()
        cache = ResultCache(process)
        try:
            first, same = [await cache.get(1, PATIENCE, os.getpid) for _ in range(2)]
            assert first
            assert first is same
            wrong, same = [await cache.get(1, PATIENCE, int, "words") for _ in range(2)]
            assert wrong
            assert wrong is same
            assert str(wrong.error).startswith("ValueError: invalid literal")

            waiting = asyncio.create_task(cache.get(1, PATIENCE, time.sleep, 3600))
            assert await cache.get(1, 0.1, time.sleep, 3600) is None
            os.kill(first.value, signal.SIGKILL)
            killed = await waiting
            assert killed
            assert "was killed" in str(killed.error)

            second = await process.call(os.getpid)
            os.kill(second, signal.SIGKILL)
            await asyncio.sleep(0.5)  # it dies idle
            third = await process.call(os.getpid)
            with pytest.raises(StoreError, match="killed"):
                await process.call(os.abort)
            assert len({first.value, second, third, await process.call(os.getpid)}) == 4
            assert await cache.get(1, 0.1, time.sleep, 3600) is None  # tried again
        finally:
            process.close()

    asyncio.run(check())
