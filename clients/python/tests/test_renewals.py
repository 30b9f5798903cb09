"""Only the sessions for which something is due are looked at, however many a client has."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from fake import PATIENCE, FakeMember
from test_ends import Clock

import tenure
from tenure import _rpc, aio
from tenure._core.agenda import CLEAR_AT, Agenda
from tenure.v1 import session_pb2, types_pb2

MANY = 50
ROUNDS = 10


class Scanned(dict[str, aio.Session]):
    """Sessions; it counts those that are gone through to find what is due."""

    count = 0

    def values(self) -> Any:
        self.count += len(self)
        return super().values()


async def open_many(member: FakeMember, client: aio.Client) -> list[aio.Session]:
    """Opens sessions, and waits until each has been renewed once."""
    numbers = itertools.count()

    def create(request: Any) -> Any:
        return session_pb2.CreateSessionResponse(session_id=f"session-{next(numbers)}", ttl=request.ttl, epoch=1)

    member.calls[_rpc.CREATE_SESSION.path] = create
    sessions = [await client.session(ttl=15) for _ in range(MANY)]
    await member.until(lambda: all(renewed(session, 1) for session in sessions))
    return sessions


def renewed(session: aio.Session, times: int) -> bool:
    lease = session._machine.lease
    return lease.number >= times and not lease.outstanding


def test_sessions_for_which_nothing_is_due_are_not_looked_at(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work() -> None:
        looked: list[aio.Session] = []
        look = aio.Session._look

        def note(session: aio.Session) -> None:
            looked.append(session)
            look(session)

        monkeypatch.setattr(aio.Session, "_look", note)
        async with member.client(Clock()) as client:
            scanned = Scanned()
            client._sessions = scanned  # type: ignore[assignment]
            sessions = await open_many(member, client)
            scanned.count = 0
            looked.clear()
            for session in sessions[:ROUNDS]:
                session._renew_now()
                await member.until(lambda session=session: renewed(session, 2))  # type: ignore[misc]
            assert (scanned.count, len(looked)) == (0, 0)

    asyncio.run(asyncio.wait_for(work(), 10 * PATIENCE))


def test_each_of_many_sessions_is_renewed_and_looked_at_in_time(member: FakeMember) -> None:
    async def work() -> None:
        clock = Clock()
        async with member.client(clock) as client:
            sessions = await open_many(member, client)
            clock.time += 6
            sessions[0]._renew_now()  # It looks at the clock now, not when it would have.
            await member.until(lambda: all(renewed(session, 2) for session in sessions))
            assert {session.state for session in sessions} == {tenure.State.CONNECTED}
            member.renewing = False
            clock.time += 15
            await member.until(lambda: all(session._machine.state is tenure.State.JEOPARDY for session in sessions))
            member.renewing = True
            member.cut()
            await member.until(lambda: all(session._machine.state is tenure.State.CONNECTED for session in sessions))

    asyncio.run(asyncio.wait_for(work(), 10 * PATIENCE))


def test_a_renewal_brings_the_secret_until_one_was_answered(member: FakeMember) -> None:
    async def work() -> None:
        member.refused = types_pb2.ERROR_REASON_NO_LEADER
        async with member.client(Clock()) as client:
            session = await client.session(ttl=15)

            def renewals() -> list[session_pb2.SessionRenewal]:
                return [r for message in member.requests(_rpc.KEEP_ALIVE) for r in message.renewals]

            async def renewed(times: int) -> None:  # One that waits for its answer is not sent again.
                await member.until(lambda: len(renewals()) >= times and not session._machine.lease.outstanding)

            await renewed(1)
            session._renew_now()
            await renewed(2)
            assert all(renewal.secret for renewal in renewals())
            member.refused = 0
            sent = len(renewals())
            session._renew_now()
            await renewed(sent + 1)
            before = len(renewals())
            session._renew_now()
            await renewed(before + 1)
            assert not renewals()[-1].secret

    asyncio.run(asyncio.wait_for(work(), 10 * PATIENCE))


def test_an_agenda_has_one_time_for_each_thing_and_gives_the_earliest_first() -> None:
    agenda: Agenda[str] = Agenda()
    for thing, at in [("a", 3.0), ("b", 1.0), ("c", 2.0), ("d", 4.0), ("a", 1.5), ("d", float("inf")), ("c", 9.0)]:
        agenda.put(thing, at)
    assert (agenda.next(), len(agenda)) == (1.0, 3)
    agenda.drop("b")
    agenda.drop("b")
    assert agenda.next() == 1.5
    assert agenda.take(1.0) == []
    agenda.put("b", 1.0)
    assert agenda.take(8.0, most=1) == ["b"]
    assert agenda.take(8.0) == ["a"]
    assert (agenda.take(9.0), agenda.next(), len(agenda)) == (["c"], float("inf"), 0)


def test_an_agenda_remembers_no_more_than_it_needs() -> None:
    agenda: Agenda[str] = Agenda()
    for number in range(100 * CLEAR_AT):
        agenda.put("often put off", float(number))
        agenda.put(str(number), 0.0)
        agenda.drop(str(number))
    assert len(agenda._heap) <= CLEAR_AT
    assert agenda.take(float("inf")) == ["often put off"]
