"""What becomes of what waits, or is used, when its client is closed, or its session handed over."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import pytest
from conftest import Twin, until
from fake import ADDRESS, PATIENCE, Dice, FakeMember, at_once, cancelled, in_queue, run
from test_fork import in_child
from test_watch_cuts import Script, initial, started

import tenure
from tenure import CloseCause, _rpc, aio, errors
from tenure.aio import _acquire, _tasks
from tenure.sync._portal import Portal
from tenure.v1 import kv_pb2, lock_pb2

ACQUIRE, TRY, CANCEL = _rpc.ACQUIRE_LOCK, _rpc.TRY_ACQUIRE_LOCK, _rpc.CANCEL_WAIT


# What waits for keys.


def test_who_waits_at_a_barrier_does_not_pass_when_the_client_closes(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        Script(member, [started(), initial("b", complete=True)])
        waiting = asyncio.ensure_future(client.barrier("b").wait())
        await member.asked_for(_rpc.WATCH)
        await client.close()
        with pytest.raises(errors.ClientClosed):
            await waiting

    run(member, work)


def test_a_thread_that_waits_at_a_barrier_does_not_pass_when_the_client_closes(member: FakeMember) -> None:
    Script(member, [started(), initial("b", complete=True)])
    outcome: list[str] = []
    client = tenure.Client(f"tenure://{ADDRESS}", rng=Dice())

    def wait() -> None:
        try:
            client.barrier("b").wait()
            outcome.append("passed")
        except errors.ClientClosed:
            outcome.append("closed")

    waiting = threading.Thread(target=wait)
    waiting.start()
    until(lambda: member.requests(_rpc.WATCH))
    client.close()
    waiting.join(PATIENCE)
    assert outcome == ["closed"]


def test_who_waits_for_others_has_not_entered_a_double_barrier_when_the_client_closes(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.calls[_rpc.PUT.path] = lambda r: kv_pb2.PutResponse()
        member.calls[_rpc.DELETE.path] = lambda r: kv_pb2.DeleteResponse()
        Script(member, [started(), initial("d/members/me", complete=True)])
        entering = asyncio.ensure_future(session.double_barrier("d", 5, name="me").enter())
        await member.asked_for(_rpc.WATCH)
        await client.close()
        with pytest.raises((errors.ClientClosed, errors.SessionClosed)):
            await entering

    run(member, work)


class HoldUp:
    """A function of the user that holds the close of its client up: sessions end after that."""

    def __init__(self, kind: str) -> None:
        self.began = threading.Event()
        self.ends: Any = threading.Event() if kind == "sync" else asyncio.Event()
        self.function = self._block if kind == "sync" else self._clean_up

    def _block(self, _: object) -> None:
        self.began.set()
        self.ends.wait(PATIENCE)

    async def _clean_up(self, _: object) -> None:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await self.ends.wait()


def test_who_leaves_a_double_barrier_does_not_end_it_for_others_when_the_client_closes(
    twin: Twin, tenure_uri: str
) -> None:
    client, other = twin.client(tenure_uri), twin.client(tenure_uri)
    sessions = [twin.do(client.session), twin.do(other.session)]
    mine, others = (session.double_barrier("d", 2) for session in sessions)
    entering = twin.spawn(mine.enter)
    twin.do(others.enter)
    entering.result(PATIENCE)
    hold_up = twin.do(HoldUp, twin.name)
    twin.do(client.on_key("k"), hold_up.function)
    until(hold_up.began.is_set)
    leaving = twin.spawn(mine.leave)
    until(lambda: [kv.key for kv in twin.all(other.kv.list("d/members/"))] == [f"d/members/{sessions[1].id}"])
    closing = twin.spawn(client.close)
    try:
        with pytest.raises((errors.ClientClosed, errors.SessionClosed)):
            leaving.result(PATIENCE)
    finally:
        twin.do(hold_up.ends.set)
        closing.result(PATIENCE)
    assert twin.do(other.kv.get, "d/ready") is not None


def test_what_has_not_begun_when_the_client_closes_never_begins(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    twin.do(client.kv.put, "k", "1")
    watch, observer = twin.do(client.watch), twin.do(client.observe, "e")
    states = twin.do(lambda: client.presence("g").watch())
    twin.do(client.close)
    for what in (watch, observer, states):
        with pytest.raises(errors.ClientClosed):
            twin.next(what)


def test_what_has_begun_ends_with_the_client(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    twin.do(client.kv.put, "k", "1")
    watch, observer = twin.do(lambda: client.watch(initial=True)), twin.do(client.observe, "e")
    states = twin.do(lambda: client.presence("g").watch())
    assert twin.next(watch).key == "k"
    assert twin.next(observer) is None
    assert twin.next(states) == {}
    twin.do(client.close)
    for what in (watch, observer, states):
        left = twin.all(what)
        assert all(event.type is tenure.EventType.SYNCED for event in left)


CLOSES: dict[str, Any] = {
    "session": lambda client, session: session,
    "watch": lambda client, session: client.watch(key="k"),
    "cache": lambda client, session: client.cache("k"),
    "key": lambda client, session: client.on_key("k")(lambda kv: None),
    "observer": lambda client, session: client.observe("e"),
    "election": lambda client, session: session.elect("e")(lambda leadership: leadership.lost.wait()),
}


@pytest.mark.parametrize("what", CLOSES)
def test_what_is_closed_while_its_client_closes_is_closed(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The thread that closes it has looked whether the client is closed just before it was."""
    Script(member, [started(), initial(complete=True)])
    member.streams[ACQUIRE.path] = at_once(member)
    with tenure.Client(f"tenure://{ADDRESS}", rng=Dice()) as client:
        opened = CLOSES[what](client, client.session())
        client.close()
        monkeypatch.setattr(Portal, "closed", False)
        monkeypatch.setattr(tenure.aio.Session, "cause", None)
        opened.close()
        if what == "cache":
            assert opened.keys() == []


# A session that is handed over.


def test_a_leader_that_hands_its_session_over_goes_on_and_has_the_text(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        texts: list[str] = []

        @session.elect("e")  # type: ignore[untyped-decorator]
        async def lead(leadership: Any) -> None:
            text = await session.export()
            for _ in range(10):  # A cancellation would come here.
                await asyncio.sleep(0)
            texts.append(text)

        await lead.wait()
        assert [tenure.Credentials.from_text(text).session_id for text in texts] == [session.id]
        assert session.cause is CloseCause.EXPORTED

    run(member, work)


@pytest.mark.parametrize("value", [None, b"v"])
def test_a_wait_that_an_export_ended_says_so_though_the_export_was_cancelled(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch, value: bytes | None
) -> None:
    monkeypatch.setattr(_acquire, "LEAVE_SECONDS", PATIENCE)

    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = in_queue(member)
        gives_up = asyncio.Event()

        async def cancel_wait(request: Any) -> Any:
            await gives_up.wait()
            return lock_pb2.CancelWaitResponse(cancelled=True)

        member.calls[CANCEL.path] = cancel_wait
        waiting = asyncio.ensure_future(session.lock("k").acquire(value=value))
        await member.asked_for(ACQUIRE)
        exporting = asyncio.ensure_future(session.export())
        await member.asked_for(CANCEL)
        await cancelled(exporting)
        gives_up.set()
        with pytest.raises(errors.SessionClosed, match="handed over") as raised:
            await waiting
        assert raised.value.applied is False
        assert session.cause is None

    run(member, work)


def test_an_export_goes_on_without_waits_when_another_is_cancelled(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        member.renewing = False
        first, second = (asyncio.ensure_future(session.export()) for _ in range(2))
        await member.until(session._no_waits.is_set)
        await cancelled(first)
        with pytest.raises(errors.SessionClosed, match="handed over"):
            await session.lock("k").acquire()
        await cancelled(second)
        assert (await session.lock("k").acquire()).safe
        member.renewing = True

    run(member, work)


# Locks that are left by another task or thread than entered them.


def test_a_task_that_did_not_enter_a_lock_leaves_for_who_has_ended(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        lock = session.semaphore("k", 5)
        ended = await asyncio.create_task(lock.__aenter__())
        entered, leave = asyncio.Event(), asyncio.Event()

        async def stay() -> bool:
            async with lock as held:
                entered.set()
                await leave.wait()
                return bool(held.safe)

        stays = [asyncio.create_task(stay()) for _ in range(2)]
        await asyncio.wait_for(entered.wait(), PATIENCE)
        await member.asked_for(ACQUIRE, 3)
        await member.until(lambda: len(lock._entered) == 3)
        await asyncio.create_task(lock.__aexit__(None, None, None))
        assert ended.ended
        with pytest.raises(RuntimeError, match="did not enter"):
            await asyncio.create_task(lock.__aexit__(None, None, None))
        leave.set()
        assert await asyncio.gather(*stays) == [True, True]
        with pytest.raises(RuntimeError, match="did not enter"):
            await lock.__aexit__(None, None, None)

    run(member, work)


def test_a_thread_that_did_not_enter_a_lock_leaves_for_who_has_ended(member: FakeMember) -> None:
    member.streams[ACQUIRE.path] = at_once(member)
    with tenure.Client(f"tenure://{ADDRESS}", rng=Dice()) as client, client.session() as session:
        lock = session.semaphore("k", 5)
        leave, safe = threading.Event(), []

        def stay() -> None:
            with lock as held:
                leave.wait(PATIENCE)
                safe.append(held.safe)

        stays = [threading.Thread(target=stay) for _ in range(2)]
        for thread in stays:
            thread.start()

        def entered() -> int:
            with lock._lock:
                return len(lock._entered)

        until(lambda: entered() == 2)
        entering = threading.Thread(target=lock.__enter__)  # After the others: its number cannot be used again.
        entering.start()
        entering.join(PATIENCE)
        assert len(session._aio._holdings._helds) == 3
        lock.__exit__(None, None, None)
        assert len(session._aio._holdings._helds) == 2
        with pytest.raises(RuntimeError, match="did not enter"):
            lock.__exit__(None, None, None)
        leave.set()
        for thread in stays:
            thread.join(PATIENCE)
        assert safe == [True, True]
        with pytest.raises(RuntimeError, match="did not enter"):
            lock.__exit__(None, None, None)


# A forked child.


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_that_leaves_a_double_barrier_does_nothing(tenure_uri: str) -> None:
    with tenure.connect(tenure_uri) as client, client.session() as session:
        lock = session.lock("k")
        with session.double_barrier("d", 1) as barrier, lock:
            assert in_child(lambda: barrier.__exit__(None, None, None)) == "None"
            assert in_child(lambda: lock.__exit__(None, None, None)) == "None"
            assert in_child(barrier.leave) == "ForkedError"  # It cannot say that all have left.
            assert len([kv.key for kv in client.kv.list("d/")]) == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_of_an_asyncio_client_that_leaves_a_double_barrier_does_nothing(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        barrier = session.double_barrier("d", 1)

        def leave() -> None:
            leaving = barrier.__aexit__(None, None, None)
            with pytest.raises(StopIteration):
                leaving.send(None)

        assert in_child(leave) == "None"

    run(member, work)


# Cancellations while a connection breaks.


async def takes_its_time(request: Any) -> Any:
    """Never answers, and takes some steps of the loop to end when it is cancelled."""
    try:
        await asyncio.Event().wait()
    finally:
        for _ in range(5):
            await asyncio.sleep(0)


@pytest.mark.parametrize("steps", range(8))
def test_a_call_that_is_cancelled_while_its_connection_breaks_is_cancelled(member: FakeMember, steps: int) -> None:
    async def work() -> None:
        async with member.client() as client:
            member.calls[_rpc.PUT.path] = takes_its_time
            putting = asyncio.ensure_future(client.kv.put("k", "v"))
            await member.asked_for(_rpc.PUT)
            member.cut()
            for _ in range(steps):
                await asyncio.sleep(0)
            putting.cancel()
            await asyncio.wait({putting}, timeout=1.0)
            assert putting.cancelled()

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


@pytest.mark.parametrize("steps", range(8))
def test_a_client_that_is_closed_while_its_connection_breaks_closes(
    member: FakeMember, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_tasks, "CANCEL_AGAIN_SECONDS", PATIENCE)  # Once is enough.

    async def work() -> None:
        client = aio.Client(f"tenure://{ADDRESS}", rng=Dice(), members_seconds=0.01)
        await client.wait_connected()
        member.calls[_rpc.LIST_MEMBERS.path] = takes_its_time
        await member.asked_for(_rpc.LIST_MEMBERS, 2)
        member.cut()
        for _ in range(steps):
            await asyncio.sleep(0)
        await asyncio.wait_for(client.close(), 2.0)

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_what_takes_a_cancellation_for_anothers_is_cancelled_again(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_tasks, "CANCEL_AGAIN_SECONDS", 0.01)

    async def deaf() -> None:
        for _ in range(3):
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    async def work() -> None:
        async with member.client() as client:
            await client.wait_connected()
            task = client._tasks.spawn(deaf(), "deaf")
            await asyncio.sleep(0)
        assert task.done()

    asyncio.run(asyncio.wait_for(work(), PATIENCE))
