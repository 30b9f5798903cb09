"""What is opened and closed leaves nothing behind: no thread, no task, no stream, no session, no place in a queue."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import secrets
import threading
import urllib.request
from collections.abc import Callable, Iterator

import pytest
from conftest import until

import tenure
from tenure import aio
from tenure.testing import Member

# The long form is for `make soak` and for CI.
CYCLES = 1000 if "1" in (os.environ.get("TENURE_SOAK"), os.environ.get("TENURE_CI")) else 30


@pytest.fixture(scope="module")
def lone_member() -> Iterator[Member]:
    """A member that only these tests use, so that nothing of others is counted."""
    with Member() as member:
        yield member


@pytest.fixture
def lone_uri(lone_member: Member) -> str:
    return f"{lone_member.uri}/leaks-{secrets.token_hex(6)}"


def threads() -> list[str]:
    """Returns the names of threads; gRPC's own one ends when its last channel is collected."""
    gc.collect()
    return sorted(t.name for t in threading.enumerate())


def assert_ended(before: list[str]) -> None:
    """Waits until no thread is left that was not there before."""
    event = threading.Event()
    for _ in range(600):
        left = list(threads())
        for name in before:
            if name in left:
                left.remove(name)
        if not left:
            return
        event.wait(0.1)
    raise AssertionError(f"left behind: {left}")


def descriptors() -> int:
    """Returns how many files and sockets are open; gRPC closes those of a channel when it is collected."""
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


async def settled(what: Callable[[], bool], left: Callable[[], object]) -> None:
    """Waits, without holding up the loop, until nothing is left."""
    for _ in range(3000):
        if what():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"left behind: {left()}")


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
def test_cycles_of_the_sync_client_leave_nothing(lone_member: Member, lone_uri: str) -> None:
    before = threads()
    name = lone_uri.rpartition("/")[2]

    def cycle() -> None:
        with tenure.connect(lone_uri) as client, client.session(name=name) as session:
            session.on_state(lambda change: None)
            with session.lock("k", timeout=60) as held:
                assert held.safe
            with client.watch(key="k") as watch:
                session.kv.put("k", "1")
                assert next(watch).value == b"1"
            session.lock("left-open").acquire()
            client.on_key("k")(lambda kv: None)
            client.watch(key="left-open").start()

    files = descriptors()
    for _ in range(CYCLES):
        cycle()
    assert_ended(before)
    until(lambda: descriptors() <= files)
    until(lambda: streams(lone_member) == 0)
    assert sessions_of(lone_uri, name) == 0
    with tenure.connect(lone_uri) as client:
        info = client.lock_info("left-open")
        assert (info.holders, info.waiters, info.delayed_holds) == (0, 0, 0)


def test_cycles_of_the_asyncio_client_leave_nothing(lone_member: Member, lone_uri: str) -> None:
    before = threads()
    name = lone_uri.rpartition("/")[2]

    async def cycle() -> None:
        async with aio.Client(lone_uri) as client, client.session(name=name) as session:
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
        await settled(lambda: descriptors() <= files, descriptors)

    asyncio.run(cycles())
    assert_ended(before)
    until(lambda: streams(lone_member) == 0)
    assert sessions_of(lone_uri, name) == 0


def test_many_sessions_locks_and_watches_of_one_client_leave_nothing(lone_member: Member, lone_uri: str) -> None:
    async def cycles() -> None:
        async with aio.Client(lone_uri) as client:

            async def cycle(i: int) -> None:
                async with client.session() as session:
                    async with session.lock("k"):
                        pass
                    waiter = asyncio.ensure_future(session.lock("k").acquire())
                    waiter.cancel()
                    async with client.watch(key="k") as watch:
                        await client.kv.put("k", str(i))
                        await watch.__anext__()

            def tasks() -> list[str]:
                return sorted(task.get_name() for task in asyncio.all_tasks())

            # What the client itself runs stays.
            await cycle(0)
            await settled(lambda: not client._sessions and not client._closers, lambda: client._closers)
            own, own_streams = len(tasks()), streams(lone_member)
            for i in range(CYCLES):
                await cycle(i)
            await settled(lambda: not client._sessions and not client._closers, lambda: client._closers)
            await settled(lambda: len(tasks()) <= own, tasks)
            await settled(lambda: streams(lone_member) <= own_streams, lambda: streams(lone_member))
            info = await client.lock_info("k")
            assert (info.holders, info.waiters) == (0, 0)

    asyncio.run(cycles())
