"""Members that fall silent while they owe answers."""

from __future__ import annotations

import asyncio

import pytest

from tenure import aio
from tenure.aio import _connection, _vigil
from tenure.aio._vigil import Vigil
from tenure.testing import Cluster

PATIENCE = 60.0


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a vigil look often."""
    monkeypatch.setattr(_vigil, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(_vigil, "REST_SECONDS", 0.01)
    monkeypatch.setattr(_vigil, "PROOF_SECONDS", 0.2)


class Watched:
    """A vigil over a member that answers pings as long as it lives."""

    def __init__(self, lives: bool) -> None:
        self.lives = lives
        self.pings: asyncio.Queue[None] = asyncio.Queue()
        self.silent = asyncio.Event()
        self.vigil = Vigil(self._ping, self.silent.set)
        self.vigil.heard()

    async def _ping(self, seconds: float) -> bool:
        self.pings.put_nowait(None)
        if not self.lives:
            await asyncio.wait({asyncio.ensure_future(self.silent.wait())}, timeout=seconds)
        return self.lives


@pytest.mark.usefixtures("quick")
def test_a_member_that_owes_answers_and_gives_no_sign_of_life_is_given_up() -> None:
    async def run() -> None:
        watched = Watched(lives=False)
        watched.vigil.owe()
        await asyncio.wait_for(watched.silent.wait(), PATIENCE)
        assert watched.pings.qsize() >= 1

    asyncio.run(run())


@pytest.mark.usefixtures("quick")
def test_a_slow_member_is_asked_again_and_not_given_up() -> None:
    async def run() -> None:
        watched = Watched(lives=True)
        watched.vigil.owe()
        for _ in range(5):
            await asyncio.wait_for(watched.pings.get(), PATIENCE)
        assert not watched.silent.is_set()
        watched.lives = False  # And is noticed when it dies.
        await asyncio.wait_for(watched.silent.wait(), PATIENCE)

    asyncio.run(run())


@pytest.mark.usefixtures("quick")
def test_a_member_that_owes_nothing_is_not_asked() -> None:
    async def run() -> None:
        idle, busy = Watched(lives=False), Watched(lives=False)
        idle.vigil.owe()
        idle.vigil.settle()
        busy.vigil.owe()
        await asyncio.wait_for(busy.silent.wait(), PATIENCE)
        assert idle.pings.empty()
        idle.vigil.owe()  # Later it is.
        await asyncio.wait_for(idle.silent.wait(), PATIENCE)

    asyncio.run(run())


def test_a_call_does_not_wait_for_a_member_that_was_stopped() -> None:
    async def run(cluster: Cluster) -> None:
        # Attempts have 20 s each, and nothing else finds out before the list of members is not answered for 5 s.
        async with aio.Client(cluster.uri, timeout=60.0, members_seconds=3600.0) as client:
            await client.kv.get("k")  # Which goes to no other member, as a put may go to the leader.
            stopped = next(m for m in cluster.members if m.address == client.connected_to)
            stopped.pause()
            began = asyncio.get_running_loop().time()
            try:
                await client.kv.get("k")
            finally:
                stopped.resume()
            assert client.connected_to != stopped.address
            assert asyncio.get_running_loop().time() - began < _connection.ATTEMPT_SECONDS

    with Cluster() as cluster:
        asyncio.run(asyncio.wait_for(run(cluster), PATIENCE))
