"""Many sessions, waits and watches in one client, on a few streams."""

from __future__ import annotations

import asyncio
import os
import re
import time
import urllib.request
from pathlib import Path

from tenure import aio
from tenure.testing import Member

# How long a test waits for what must come. It is long because machines are slow.
PATIENCE = 600.0
SOAK = os.environ.get("TENURE_SOAK") == "1"
MANY, WATCHES = (3000, 3000) if SOAK else (1100, 100)
AT_A_TIME = 32
# How many lines it takes: a member carries 4 096 waits and watches on one.
LINES = (MANY + WATCHES + 4095) // 4096


def streams_at(member: Member) -> int:
    """Returns how many streams a member serves."""
    with urllib.request.urlopen(f"http://{member.http_address}/metrics", timeout=PATIENCE) as answer:
        metrics = answer.read().decode()
    found = re.search(r"^tenure_server_streams (\d+)$", metrics, re.MULTILINE)
    assert found is not None
    return int(found.group(1))


def resident() -> str:
    """Returns how much memory this process has, as the system says."""
    status = Path("/proc/self/status")
    found = re.search(r"VmRSS:\s*(.*)", status.read_text()) if status.exists() else None
    return found.group(1) if found else "unknown"


class Many:
    """What the sessions of one client do."""

    def __init__(self, client: aio.Client) -> None:
        self.client = client
        self.queued = 0
        self.granted = 0
        self.told = 0
        self.counted = asyncio.Event()

    async def open(self) -> list[aio.Session]:
        few = asyncio.Semaphore(AT_A_TIME)

        async def one() -> aio.Session:
            async with few:
                return await self.client.session(ttl=60, timeout=PATIENCE)

        return await asyncio.gather(*(one() for _ in range(MANY)))

    def note_queued(self, place: object) -> None:
        self.queued += 1

    async def wait(self, session: aio.Session) -> None:
        """Waits for the lock, and gives it to the next."""
        held = await session.lock("lock").acquire(timeout=PATIENCE, on_queued=self.note_queued)
        self.granted += 1
        await held.release()

    async def watch(self, begun: asyncio.Semaphore) -> None:
        async with self.client.watch(key="put") as watch:
            begun.release()
            async for _ in watch:
                self.told += 1
                await self.counted.wait()
                return


async def until(what: str, look: object) -> None:
    """Waits until something is as it should be."""
    assert callable(look)
    deadline = asyncio.get_running_loop().time() + PATIENCE
    while not look():
        assert asyncio.get_running_loop().time() < deadline, what
        await asyncio.sleep(0.05)


async def use(member: Member) -> None:
    async with aio.Client(f"{member.uri}/app", timeout=PATIENCE) as client:
        many = Many(client)
        sessions = await many.open()
        held = await sessions[0].lock("lock").acquire(timeout=PATIENCE)
        begun = asyncio.Semaphore(0)
        watching = [asyncio.ensure_future(many.watch(begun)) for _ in range(WATCHES)]
        waiting = [asyncio.ensure_future(many.wait(session)) for session in sessions]
        for _ in range(WATCHES):
            await asyncio.wait_for(begun.acquire(), PATIENCE)
        await until("all queue", lambda: many.queued == MANY)
        slowest = 0.0
        for key in ("other",) * 9 + ("put",):
            begun_at = time.perf_counter()
            await client.kv.put(key, "beside them", timeout=PATIENCE)
            slowest = max(slowest, time.perf_counter() - begun_at)
        # Renewals, calls, and as many lines as it takes for the rest.
        assert client._link is not None
        assert len(client._link._channels) == 1
        streams = streams_at(member)
        assert streams <= 2 + LINES, "waits and watches have streams of their own"
        print(
            f"{MANY} sessions, {MANY} waits, {WATCHES} watches: "
            f"a put beside them took {slowest * 1000:.1f} ms at most; "
            f"{len(client._link._channels) + 1} connections, {streams} streams, "
            f"resident memory of this process {resident()}"
        )
        many.counted.set()
        await held.release()
        await asyncio.wait_for(asyncio.gather(*waiting, *watching), PATIENCE)
        print(f"{many.granted} waits were granted, {many.told} watches were told")
        assert (many.granted, many.told) == (MANY, WATCHES)
        assert all(session.safe for session in sessions)


def test_many_sessions_waits_and_watches_in_one_client() -> None:
    with Member() as member:
        asyncio.run(use(member))
