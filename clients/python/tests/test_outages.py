"""How long the library goes on when members do not answer, and how it bears what it does not know. In memory."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fake import ADDRESS, PATIENCE, Dice, FakeMember, at_once, run
from test_ends import Clock, never, unreachable
from test_watch_cuts import HEADER, deleted, initial, put, started

import tenure
from tenure import EventType, _rpc, aio, errors
from tenure.aio import _connection
from tenure.v1 import cluster_pb2, kv_pb2, lock_pb2, watch_pb2

ACQUIRE, TRY, CANCEL, LIST_MEMBERS = _rpc.ACQUIRE_LOCK, _rpc.TRY_ACQUIRE_LOCK, _rpc.CANCEL_WAIT, _rpc.LIST_MEMBERS


def refuse_connections(request: Any) -> Any:
    raise errors.LinkLost("refused", applied=None)


# Connecting.


def test_a_cluster_that_cannot_be_reached_is_unavailable_by_name(member: FakeMember) -> None:
    member.calls[LIST_MEMBERS.path] = refuse_connections

    async def connect() -> None:
        with pytest.raises(errors.Unavailable, match=ADDRESS):
            await aio.connect(f"tenure://{ADDRESS}", timeout=0.05, rng=Dice())
        async with aio.Client(f"tenure://{ADDRESS}", rng=Dice()) as client:
            with pytest.raises(errors.Unavailable, match=ADDRESS):
                await client.wait_connected(0.05)

    asyncio.run(asyncio.wait_for(connect(), PATIENCE))
    with pytest.raises(tenure.Unavailable, match=ADDRESS):
        tenure.connect(f"tenure://{ADDRESS}", timeout=0.05, rng=Dice())


class Bounds(Dice):
    """Notes the bounds of delays: what is drawn from zero on."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn: list[float] = []

    def uniform(self, a: float, b: float) -> float:
        if a == 0.0:
            self.drawn.append(b)
        return super().uniform(a, b)


@pytest.mark.parametrize("what", ["attach", "renew"])
def test_a_member_that_only_lists_members_is_tried_ever_more_slowly(member: FakeMember, what: str) -> None:
    def stopping(request: Any) -> Any:
        raise errors.Stopping("stopping", applied=False)

    async def work() -> None:
        rng = Bounds()
        async with aio.Client(f"tenure://{ADDRESS}", rng=rng) as client, client.session():
            await member.asked_for(_rpc.KEEP_ALIVE)
            if what == "attach":
                member.calls[_rpc.ATTACH_SESSION.path] = stopping
            else:
                member.cut_off = True
            member.cut()
            await member.asked_for(LIST_MEMBERS, 10)
            assert sum(1 for bound in rng.drawn if bound >= 0.3) >= 2, rng.drawn
            # One that serves again ends that.
            member.cut_off = False
            member.calls[_rpc.ATTACH_SESSION.path] = lambda r: member.attached()
            renewed = len(member.requests(_rpc.KEEP_ALIVE))
            await member.asked_for(_rpc.KEEP_ALIVE, renewed + 1)
            await member.until(lambda: client._link is not None and client._link.served)
            rng.drawn.clear()
            listed = len(member.requests(LIST_MEMBERS))
            member.cut()
            await member.asked_for(LIST_MEMBERS, listed + 1)
            assert not rng.drawn

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


# Ends of calls.


def test_a_timeout_counts_also_while_there_is_no_room_for_a_request(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.calls[_rpc.PUT.path] = never
        session._requests.window._size = 1
        first = asyncio.ensure_future(session.kv.put("k", "1"))
        await member.asked_for(_rpc.PUT)
        with pytest.raises(errors.DeadlineExceeded) as raised:
            await session.kv.put("k", "2", timeout=0.05)
        assert raised.value.applied is False
        assert len(member.requests(_rpc.PUT)) == 1
        member.calls[_rpc.PUT.path] = lambda r: kv_pb2.PutResponse()
        member.cut()
        await first

    run(member, work)


def test_a_member_that_answers_slowly_is_reached_in_the_end(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_connection, "CONNECT_SECONDS_MIN", 0.01)
    monkeypatch.setattr(_connection, "CONNECT_SECONDS_MAX", PATIENCE)

    async def slow(request: Any) -> Any:
        await asyncio.sleep(0.1)
        return cluster_pb2.ListMembersResponse()

    async def work() -> None:
        member.deadlines = True
        member.calls[LIST_MEMBERS.path] = slow
        client = member.client()
        client.address = dataclasses.replace(client.address, ttl=0.03)
        async with client:
            await client.wait_connected()

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


AT_ONCE: dict[str, Any] = {
    "try_acquire": lambda session, membership: session.lock("k").try_acquire(),
    "attempt": lambda session, membership: session.lock("k").attempt(),
    "acquire with timeout 0": lambda session, membership: session.lock("k").acquire(timeout=0),
    "leave a group": lambda session, membership: membership.leave(),
    "leave a double barrier": lambda session, membership: session.double_barrier("d", 2).leave(),
}


async def times_out(call: asyncio.Future[Any], clock: Clock) -> None:
    """Sets the clock forward until a call has ended: not before, however slow the machine is."""
    while not call.done():
        clock.time += 1
        await asyncio.wait({call}, timeout=0.01)


@pytest.mark.parametrize("sent", [True, False])
@pytest.mark.parametrize("case", AT_ONCE)
def test_what_does_not_wait_ends_within_the_clients_timeout(member: FakeMember, case: str, sent: bool) -> None:
    async def work() -> None:
        clock = Clock()
        member.calls[_rpc.PUT.path] = lambda r: kv_pb2.PutResponse()
        async with member.client(clock) as client, client.session(ttl=3600) as session:
            membership = await session.presence("g").join()
            client.timeout = 0.05
            if sent:
                member.deadlines = True
                member.calls[TRY.path] = member.calls[_rpc.DELETE.path] = never
            else:
                await unreachable(member)
            calling = asyncio.ensure_future(AT_ONCE[case](session, membership))
            if sent:
                await member.until(lambda: member.requests(TRY) or member.requests(_rpc.DELETE))
            await times_out(calling, clock)
            with pytest.raises(errors.DeadlineExceeded) as raised:
                await calling
            assert raised.value.applied is (None if sent else False)
            client.timeout, member.deadlines = 10.0, False
            member.calls[LIST_MEMBERS.path] = lambda r: cluster_pb2.ListMembersResponse()
            if sent and "leave" not in case:
                await member.asked_for(CANCEL)

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_a_try_does_not_wait_for_a_session_that_cannot_be_renewed(member: FakeMember) -> None:
    async def work() -> None:
        clock = Clock()
        async with member.client(clock) as client, client.session(ttl=3600) as session:

            def answer(request: Any) -> Any:
                session._machine.lease.safe_until = float("-inf")
                member.renewing = False
                hold = member.hold(request.key, request.options.owner)
                return lock_pb2.TryAcquireLockResponse(acquired=True, hold=hold)

            await member.asked_for(_rpc.KEEP_ALIVE)
            member.calls[TRY.path] = answer
            client.timeout = 0.05
            trying = asyncio.ensure_future(session.lock("k").try_acquire())
            await member.asked_for(TRY)
            await times_out(trying, clock)
            with pytest.raises(errors.InJeopardy):
                await trying
            client.timeout = 10.0
            member.renewing = True
            member.cut()
            await member.asked_for(CANCEL)

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


@pytest.mark.parametrize("timeout", [float("inf"), 1e18])
def test_a_wait_may_have_no_end(member: FakeMember, timeout: float) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        assert (await session.lock("k").acquire(timeout=timeout)).safe
        assert not (await member.asked_for(ACQUIRE)).HasField("wait")

    run(member, work)


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), 1e18])
def test_what_is_no_duration_is_a_typed_error(member: FakeMember, seconds: float) -> None:
    async def work(client: Any, session: Any) -> None:
        with pytest.raises(errors.InvalidArgument):
            await client.session(ttl=seconds)

    run(member, work)


# Recipes whose session ends.


@pytest.mark.parametrize("what", ["enter", "leave"])
def test_who_waits_in_a_double_barrier_is_told_of_the_sessions_end(member: FakeMember, what: str) -> None:
    async def work(client: Any, session: Any) -> None:
        watching = asyncio.Event()

        async def serve(request: Any) -> AsyncIterator[Any]:
            yield started()
            yield initial("d/members/another", complete=True)
            watching.set()
            await asyncio.Event().wait()

        member.streams[_rpc.WATCH.path] = serve
        member.calls[_rpc.PUT.path] = lambda r: kv_pb2.PutResponse()
        member.calls[_rpc.DELETE.path] = lambda r: kv_pb2.DeleteResponse(deleted=True)
        barrier = session.double_barrier("d", 3)
        waiting = asyncio.ensure_future(barrier.enter() if what == "enter" else barrier.leave())
        await watching.wait()
        session._stop(tenure.CloseCause.EXPIRED)
        with pytest.raises(errors.SessionExpired):
            await waiting

    run(member, work)


def test_who_leaves_a_double_barrier_last_sees_the_end_though_the_next_round_begins(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        left = asyncio.Event()

        async def serve(request: Any) -> AsyncIterator[Any]:
            yield started()
            if left.is_set():  # It would see the next round only.
                yield initial("d/members/another", complete=True)
            else:
                yield initial("d/members/me", complete=True)
                await left.wait()
                yield deleted("d/members/me", 8, put("d/members/another", 9))
            await asyncio.Event().wait()

        def delete(request: Any) -> Any:
            left.set()
            return kv_pb2.DeleteResponse(deleted=True)

        member.streams[_rpc.WATCH.path] = serve
        member.calls[_rpc.DELETE.path] = delete
        await session.double_barrier("d", 2, name="me").leave()

    run(member, work)


def test_who_enters_a_double_barrier_again_is_not_taken_out_by_what_it_gave_up(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        async def serve(request: Any) -> AsyncIterator[Any]:
            yield started()
            yield initial(*(["d/ready"] if len(member.requests(_rpc.PUT)) > 1 else []), complete=True)
            await asyncio.Event().wait()

        go = asyncio.Event()

        async def delete(request: Any) -> Any:
            await go.wait()
            return kv_pb2.DeleteResponse(deleted=True)

        member.streams[_rpc.WATCH.path] = serve
        member.calls[_rpc.PUT.path], member.calls[_rpc.DELETE.path] = lambda r: kv_pb2.PutResponse(), delete
        barrier = session.double_barrier("d", 2, name="me")
        entering = asyncio.ensure_future(barrier.enter())
        await member.asked_for(_rpc.WATCH)
        entering.cancel()
        await asyncio.wait({entering})
        again = asyncio.ensure_future(barrier.enter())
        done, _ = await asyncio.wait({again}, timeout=0.05)
        assert not done
        assert len(member.requests(_rpc.PUT)) == 1
        go.set()
        await again

    run(member, work)


@pytest.mark.parametrize("answers", [True, False])
def test_who_is_cancelled_while_entering_a_double_barrier_leaves_it_soon(member: FakeMember, answers: bool) -> None:
    async def work(client: Any, session: Any) -> None:
        async def serve(request: Any) -> AsyncIterator[Any]:
            yield started()
            yield initial(complete=True)
            await asyncio.Event().wait()

        go = asyncio.Event()

        async def delete(request: Any) -> Any:
            if not answers:
                await go.wait()
            return kv_pb2.DeleteResponse(deleted=True)

        member.streams[_rpc.WATCH.path] = serve
        member.calls[_rpc.PUT.path], member.calls[_rpc.DELETE.path] = lambda r: kv_pb2.PutResponse(), delete
        client.timeout = 2 * PATIENCE
        entering = asyncio.ensure_future(session.double_barrier("d", 3, name="me").enter())
        await member.asked_for(_rpc.WATCH)
        entering.cancel()
        assert (await asyncio.wait({entering}, timeout=PATIENCE / 2))[0]
        assert entering.cancelled()
        assert (await member.asked_for(_rpc.DELETE)).key == "d/members/me"
        go.set()

    run(member, work)


def test_who_waits_for_a_barrier_watches_its_key_alone(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        async def serve(request: Any) -> AsyncIterator[Any]:
            yield started()
            yield initial(complete=True)
            await asyncio.Event().wait()

        member.streams[_rpc.WATCH.path] = serve
        await client.barrier("b").wait()
        request = await member.asked_for(_rpc.WATCH)
        assert (list(request.keys), list(request.prefixes)) == (["b"], [])

    run(member, work)


# Locks that are left by another task or thread than entered them.


def test_a_lock_may_be_left_by_another_task(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        lock = session.semaphore("k", 3)
        mine = await lock.__aenter__()
        other = await asyncio.create_task(lock.__aenter__())
        newest = await asyncio.create_task(lock.__aenter__())
        await asyncio.create_task(lock.__aexit__(None, None, None))
        assert [held.ended for held in (mine, other, newest)] == [False, False, True]
        await lock.__aexit__(None, None, None)  # Its own, though there is a newer one.
        assert [held.ended for held in (mine, other, newest)] == [True, False, True]
        await lock.__aexit__(None, None, None)
        assert other.ended
        assert not lock._entered

    run(member, work)


def test_a_lock_may_be_left_by_another_thread(member: FakeMember) -> None:
    member.streams[ACQUIRE.path] = at_once(member)
    with tenure.Client(f"tenure://{ADDRESS}", rng=Dice()) as client, client.session() as session:
        lock = session.lock("k")
        held = lock.__enter__()
        leaving = threading.Thread(target=lock.__exit__, args=(None, None, None))
        leaving.start()
        leaving.join(PATIENCE)
        assert held.ended
        assert not lock._entered


# What a newer cluster may say.


def test_kinds_that_this_version_does_not_know_are_told_as_such(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        hold = member.hold("k", "me")
        hold.mode = 9  # type: ignore[assignment]
        event = watch_pb2.Event(revision=8, key="k", hold=hold)
        event.type, event.hold_end_cause = 99, 99  # type: ignore[assignment]
        odd = watch_pb2.WatchResponse(header=HEADER, resume_token="t8", events=watch_pb2.WatchEvents(events=[event]))

        async def serve(request: Any) -> AsyncIterator[Any]:
            for message in (started(), odd, put("a", 9)):
                yield message
            await asyncio.Event().wait()

        member.streams[_rpc.WATCH.path] = serve
        async with client.watch(prefix="") as watch:
            strange, known = await watch.__anext__(), await watch.__anext__()
        assert (strange.type, strange.key, strange.cause) == (EventType.UNKNOWN, "k", "UNKNOWN")
        assert (int(strange.hold.mode), strange.hold.mode.name) == (9, "UNKNOWN_9")
        assert (known.type, known.key) == (EventType.PUT, "a")
        with pytest.raises(ValueError, match="many"):
            tenure.Mode("many")  # type: ignore[arg-type]

    run(member, work)


def test_a_refusal_to_renew_that_this_version_does_not_know_is_borne(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        await member.asked_for(_rpc.KEEP_ALIVE)
        member.refused = 9999
        renewed = len(member.requests(_rpc.KEEP_ALIVE))
        session._renew_now()
        await member.asked_for(_rpc.KEEP_ALIVE, renewed + 3)
        member.refused = 0
        await asyncio.wait_for(session._renewals.acknowledged.wait(), PATIENCE)
        assert len(member.links) == 1
        assert session.cause is None

    run(member, work)
