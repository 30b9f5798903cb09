"""What is opened and closed leaves nothing behind: no thread, no task, no stream, no session, no place in a queue."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import threading
import urllib.request

import pytest
from conftest import until

import tenure
from tenure import aio
from tenure.testing import Member

# The long form is for `make soak`.
CYCLES = 1000 if os.environ.get("TENURE_SOAK") else 30

# What may be open a little longer: less than one for each cycle.
FEW = 10


def threads() -> list[str]:
    """Returns the names of threads; gRPC's own one ends when its last channel is collected."""
    gc.collect()
    return sorted(t.name for t in threading.enumerate())


def assert_ended(before: list[str]) -> None:
    """Waits until no thread is left that was not there before."""
    event = threading.Event()
    for _ in range(200):
        left = list(threads())
        for name in before:
            if name in left:
                left.remove(name)
        if not left:
            return
        event.wait(0.1)
    raise AssertionError(f"left behind: {left}")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def streams(member: Member) -> int:
    """Returns how many streams and watches the member has, by its own count."""
    with urllib.request.urlopen(f"http://{member.http_address}/metrics", timeout=60) as answer:
        metrics = answer.read().decode()
    counts = re.findall(r"^tenure_(?:server_streams|watch_watchers)(?:\{.*\})? (\d+)$", metrics, re.MULTILINE)
    assert len(counts) >= 2, metrics
    return sum(int(n) for n in counts)


def sessions_of(uri: str, name: str) -> int:
    with tenure.connect(uri) as client:
        from tenure._rpc import LIST_SESSIONS
        from tenure.v1 import session_pb2

        request = session_pb2.ListSessionsRequest(name_prefix=name)
        return len(client._portal.run(client._aio._call(LIST_SESSIONS, request)).sessions)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_cycles_of_the_sync_client_leave_nothing(tenure_member: Member, tenure_uri: str) -> None:
    before = threads()
    name = tenure_uri.rpartition("/")[2]

    def cycle() -> None:
        with tenure.connect(tenure_uri) as client, client.session(name=name) as session:
            session.on_state(lambda change: None)
            with session.lock("k", timeout=60) as held:
                assert held.safe
            with client.watch(key="k") as watch:
                session.kv.put("k", "1")
                assert next(watch).value == b"1"
            session.lock("left-open").acquire()
            client.on_key("k")(lambda kv: None)
            client.watch(key="left-open").start()

    cycle()
    files, few = descriptors(), streams(tenure_member) + FEW
    for _ in range(CYCLES):
        cycle()
    assert_ended(before)
    until(lambda: descriptors() <= files + FEW)
    until(lambda: streams(tenure_member) <= few)
    assert sessions_of(tenure_uri, name) == 0
    with tenure.connect(tenure_uri) as client:
        info = client.lock_info("left-open")
        assert (info.holders, info.waiters, info.delayed_holds) == (0, 0, 0)


def test_cycles_of_the_asyncio_client_leave_nothing(tenure_member: Member, tenure_uri: str) -> None:
    before = threads()
    name = tenure_uri.rpartition("/")[2]

    async def cycle() -> None:
        async with aio.Client(tenure_uri) as client, client.session(name=name) as session:
            session.on_state(lambda change: None)
            async with session.lock("k", timeout=60) as held:
                assert held.safe
            async with client.watch(key="k") as watch:
                await session.kv.put("k", "1")
                assert (await watch.__anext__()).value == b"1"
            await session.lock("left-open").acquire()
            client.on_key("k")(lambda kv: None)
            await client.watch(key="left-open").start()

    async def cycles() -> None:
        await cycle()
        files = descriptors()
        for _ in range(CYCLES):
            await cycle()
            current = asyncio.current_task()
            for _ in range(1000):
                left = [t for t in asyncio.all_tasks() if t is not current]
                if not left:
                    break
                await asyncio.wait(left, timeout=1)
            assert not left
        for _ in range(1000):  # gRPC closes sockets a little later.
            if descriptors() <= files + FEW:
                break
            await asyncio.sleep(0.01)
        assert descriptors() <= files + FEW

    few = streams(tenure_member) + FEW
    asyncio.run(cycles())
    assert_ended(before)
    until(lambda: streams(tenure_member) <= few)
    assert sessions_of(tenure_uri, name) == 0


def test_many_sessions_locks_and_watches_of_one_client_leave_nothing(tenure_member: Member, tenure_uri: str) -> None:
    streams_before = streams(tenure_member)

    async def cycles() -> None:
        async with aio.Client(tenure_uri) as client:
            # What the client itself runs: that does not grow with what is opened and closed.
            few = 12
            for i in range(CYCLES):
                async with client.session() as session:
                    async with session.lock("k"):
                        pass
                    waiter = asyncio.ensure_future(session.lock("k").acquire())
                    waiter.cancel()
                    async with client.watch(key="k") as watch:
                        await client.kv.put("k", str(i))
                        await watch.__anext__()
            for _ in range(3000):
                if len(asyncio.all_tasks()) <= few:
                    break
                await asyncio.sleep(0.01)
            assert len(asyncio.all_tasks()) <= few < CYCLES, [t.get_name() for t in asyncio.all_tasks()]
            assert not client._sessions
            assert not client._closers
            for _ in range(1000):  # The member hears of the last ones a little later.
                if streams(tenure_member) <= streams_before + FEW:
                    break
                await asyncio.sleep(0.02)
            assert streams(tenure_member) <= streams_before + FEW
            info = await client.lock_info("k")
            assert (info.holders, info.waiters) == (0, 0)

    asyncio.run(cycles())
