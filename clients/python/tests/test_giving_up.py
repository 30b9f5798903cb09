"""Callers that give up, against a member in memory: what they began is undone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fake import PATIENCE, SESSION, FakeMember, at_once, cancelled, in_queue, lost, refuse, run
from test_ends import Clock

from tenure import State, _rpc, errors
from tenure._core.clock import system_clock
from tenure.v1 import session_pb2


def test_a_session_whose_caller_gave_up_is_destroyed(member: FakeMember) -> None:
    async def give_up() -> None:
        answered = asyncio.Event()

        async def create(request: Any) -> Any:
            await answered.wait()
            return session_pb2.CreateSessionResponse(session_id=SESSION, ttl=request.ttl, epoch=1)

        member.calls[_rpc.CREATE_SESSION.path] = create
        async with member.client() as client:
            opening = asyncio.ensure_future(client.session(ttl=0).__aenter__())
            await member.asked_for(_rpc.CREATE_SESSION)
            await cancelled(opening)
            answered.set()
            assert (await member.asked_for(_rpc.DESTROY_SESSION)).session_id == SESSION
            assert not client._sessions

    asyncio.run(asyncio.wait_for(give_up(), PATIENCE))


def test_a_close_that_is_cancelled_leaves_nothing_running(member: FakeMember) -> None:
    async def never(request: Any) -> Any:
        await asyncio.Event().wait()

    async def close() -> None:
        member.calls[_rpc.DESTROY_SESSION.path] = never
        client = member.client()
        await client.session()
        closing = asyncio.ensure_future(client.close())
        await member.asked_for(_rpc.DESTROY_SESSION)
        await cancelled(closing)
        assert client.state is State.CLOSED
        assert all(link.broken for link in member.links)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not [t for t in others if t.get_name().startswith("tenure-")]

    asyncio.run(asyncio.wait_for(close(), PATIENCE))


def test_what_is_printed_shows_no_secret(member: FakeMember) -> None:
    async def show() -> None:
        member.streams[_rpc.ACQUIRE_LOCK.path] = at_once(member)
        async with member.client() as client, client.session() as session:
            async with session.lock("k") as held:
                texts = [repr(client), repr(session), repr(held), repr(session.credentials())]
                assert texts[2] == "<Held 'k' token 2, safe>"
                with pytest.raises(ValueError, match="not both"):
                    await held.release(put="v", delete=True)
                assert held.safe
            assert repr(held) == "<Held 'k' token 2, ended: released>"
            secret = session._secret
            assert texts[1] == f"<Session {SESSION} CONNECTED>"
            assert not [t for t in texts if repr(secret)[2:-1] in t or secret.hex() in t]

    asyncio.run(asyncio.wait_for(show(), PATIENCE))


class ShiftedClock:
    """The system's clock, which a test may set forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return system_clock().now() + self.ahead


def test_the_state_of_a_session_goes_by_the_clock(member: FakeMember) -> None:
    async def work() -> None:
        clock = ShiftedClock()
        async with member.client(clock) as client, client.session() as session:
            assert session.state is State.CONNECTED
            member.renewing = False
            clock.ahead += 3600  # As after the process was stopped for a while; nothing has run since.
            assert (session.safe, session.state) == (False, State.JEOPARDY)
            told: list[State] = []
            session.on_state(lambda change: told.append(change.new))
            await member.until(lambda: told)
            assert told == [State.JEOPARDY]
            member.renewing = True

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_a_session_of_which_nothing_is_heard_is_suspended_before_its_lease_ends(member: FakeMember) -> None:
    async def work() -> None:
        clock = Clock()
        states: list[State] = []
        async with member.client(clock) as client, client.session() as session:
            lease = session._machine.lease
            await member.until(lambda: lease.number > 0 and not lease.outstanding)
            session.on_state(lambda change: states.append(change.new))
            member.renewing = False
            session._renew_now()
            await member.until(lambda: lease.outstanding)
            clock.time += lease.silence
            await member.until(lambda: State.SUSPENDED in states)
            clock.time += lease.ttl - lease.silence
            await member.until(lambda: State.JEOPARDY in states)
            member.renewing = True
        assert states == [State.CONNECTED, State.SUSPENDED, State.JEOPARDY, State.CLOSED]

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_a_long_call_without_ttl_bears_a_break(member: FakeMember) -> None:
    async def never(request: Any) -> Any:
        await asyncio.Event().wait()

    async def put() -> None:
        clock, member.ttl = ShiftedClock(), 0
        member.calls[_rpc.PUT.path] = never
        async with member.client(clock) as client, client.session(ttl=0) as session:
            putting = asyncio.ensure_future(session.kv.put("k", b"v"))
            await member.asked_for(_rpc.PUT)
            clock.ahead += 3600
            answer = member.calls[_rpc.LIST_MEMBERS.path]
            member.calls[_rpc.LIST_MEMBERS.path] = refuse(10**9, lost, answer)
            asked = len(member.requests(_rpc.LIST_MEMBERS))
            member.cut()
            await member.asked_for(_rpc.LIST_MEMBERS, asked + 5)
            assert not putting.done()
            clock.ahead += 60
            with pytest.raises(errors.OutcomeUnknown):
                await putting
            member.calls[_rpc.LIST_MEMBERS.path] = answer

    asyncio.run(asyncio.wait_for(put(), PATIENCE))


@pytest.mark.parametrize("turns", range(1, 5))
def test_a_wait_that_is_cancelled_twice_leaves_the_queue(member: FakeMember, turns: int) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[_rpc.ACQUIRE_LOCK.path] = in_queue(member)
        acquiring = asyncio.ensure_future(session.lock("k").acquire())
        await member.asked_for(_rpc.ACQUIRE_LOCK)
        acquiring.cancel()
        for _ in range(turns):  # So far into what the first began.
            await asyncio.sleep(0)
        await cancelled(acquiring)
        assert (await member.asked_for(_rpc.CANCEL_WAIT)).key == "k"

    run(member, work)
