"""What the end of a `with` says of a hold that was lost inside."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import PATIENCE

import tenure
from tenure import aio, errors


def test_the_end_of_a_scope_raises_when_the_hold_was_lost_inside(tenure_uri: str) -> None:
    with tenure.connect(tenure_uri) as client, client.session(lock_delay=0) as session:

        def lose(held: Any) -> None:
            client.break_lock(held.key, "a test")
            assert held.lost.wait(PATIENCE)

        def lose_and_fail(held: Any) -> None:
            lose(held)
            raise ValueError("on its way")

        with pytest.raises(errors.HoldLost, match="taken_away"), session.lock("scope/lock") as held:
            lose(held)
        with pytest.raises(errors.HoldLost, match="taken_away"), session.lock("scope/held").acquire() as held:
            lose(held)
        with pytest.raises(ValueError, match="on its way"), session.lock("scope/error") as held:
            lose_and_fail(held)
        with session.lock("scope/released") as held:
            held.release()
        with session.lock("scope/closed"):
            session.close()


def test_the_end_of_a_scope_raises_when_the_hold_was_lost_inside_in_asyncio(tenure_uri: str) -> None:
    async def use() -> None:
        async with aio.Client(tenure_uri) as client, client.session(lock_delay=0) as session:

            async def lose(held: Any) -> None:
                await client.break_lock(held.key, "a test")
                await asyncio.wait_for(held.lost.wait(), PATIENCE)

            async def lose_and_fail(held: Any) -> None:
                await lose(held)
                raise ValueError("on its way")

            with pytest.raises(errors.HoldLost, match="taken_away"):
                async with session.lock("ascope/lock") as held:
                    await lose(held)
            with pytest.raises(errors.HoldLost, match="taken_away"):
                async with await session.lock("ascope/held").acquire() as held:
                    await lose(held)
            with pytest.raises(ValueError, match="on its way"):
                async with session.lock("ascope/error") as held:
                    await lose_and_fail(held)
            async with session.lock("ascope/released") as held:
                await held.release()
            async with session.lock("ascope/closed"):
                await session.close()

    asyncio.run(use())
