"""One session that may not be renewed: the others, and the connection that all share, are as before."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from typing import Any

from fake import PATIENCE, FakeMember
from test_ends import Clock

from tenure import CloseCause, State, _rpc, aio, errors
from tenure.v1 import session_pb2


async def open_two(member: FakeMember, client: aio.Client) -> tuple[aio.Session, aio.Session]:
    """Opens two sessions, and waits until each has been renewed once."""
    numbers = itertools.count()

    def create(request: Any) -> Any:
        return session_pb2.CreateSessionResponse(session_id=f"session-{next(numbers)}", ttl=request.ttl, epoch=1)

    member.calls[_rpc.CREATE_SESSION.path] = create
    first, second = await client.session(ttl=15), await client.session(ttl=15)
    await asyncio.gather(renewed(first), renewed(second))
    return first, second


async def renewed(session: aio.Session) -> None:
    """Renews a session once more. A refusal that is on its way puts that off, by a clock that stands."""

    async def renew() -> None:
        acknowledged = session._renewals.acknowledged
        while not acknowledged.is_set():
            session._renew_now()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(acknowledged.wait(), 0.1)

    await asyncio.wait_for(renew(), PATIENCE)


def test_a_session_whose_renewals_are_denied_leaves_the_connection_to_the_others(member: FakeMember) -> None:
    async def work() -> None:
        clock = Clock()
        async with member.client(clock) as client:
            denied, other = await open_two(member, client)
            member.denied.add(denied.id)
            denied._renew_now()
            await member.until(lambda: denied.refusal is not None)
            for state, seconds in ((State.SUSPENDED, 6.0), (State.JEOPARDY, 9.0)):
                clock.time += seconds
                denied._renew_now()
                await member.until(lambda state=state: denied.state is state)  # type: ignore[misc]
                await renewed(other)
                assert (len(member.links), other.state) == (1, State.CONNECTED)
            assert isinstance(denied.refusal, errors.PermissionDenied)
            member.denied.clear()
            await renewed(denied)
            assert (len(member.links), denied.state) == (1, State.CONNECTED)

    asyncio.run(asyncio.wait_for(work(), 10 * PATIENCE))


def test_a_session_that_may_not_be_attached_to_leaves_the_connection_to_the_others(member: FakeMember) -> None:
    async def work() -> None:
        async with member.client() as client:
            denied, other = await open_two(member, client)
            member.denied.add(denied.id)
            member.cut()

            def refusals() -> int:
                requests = member.requests(_rpc.ATTACH_SESSION)
                return len([r for r in requests if r.session_id == denied.id])

            await member.until(lambda: refusals() >= 3)
            await member.until(lambda: other.state is State.CONNECTED)
            assert (len(member.links), denied.state) == (2, State.SUSPENDED)
            assert isinstance(denied.refusal, errors.PermissionDenied)
            member.denied.clear()
            await member.until(lambda: denied.state is State.CONNECTED)
            assert len(member.links) == 2

    asyncio.run(asyncio.wait_for(work(), 10 * PATIENCE))


def test_a_session_that_the_credential_of_the_stream_does_not_cover_is_renewed_with_the_present_one(
    member: FakeMember,
) -> None:
    async def work() -> None:
        clock = Clock()
        async with member.client(clock) as client:
            denied, other = await open_two(member, client)
            member.beyond.add(denied.id)
            for _ in range(3):
                clock.time += 6.0
                await asyncio.gather(renewed(denied), renewed(other))
                assert (denied.state, denied.refusal, denied.safe) == (State.CONNECTED, None, True)
            member.denied.add(denied.id)
            clock.time += 16.0
            await renewed(other)
            await member.until(lambda: denied.state is State.JEOPARDY)
            member.denied.clear()  # By a new token: the stream goes on with the one before.
            await renewed(denied)
            assert (denied.state, other.state, denied.refusal) == (State.CONNECTED, State.CONNECTED, None)
            assert (len(member.links), len(member.keepers)) == (1, 1)

    asyncio.run(asyncio.wait_for(work(), 10 * PATIENCE))


def test_a_session_that_ended_is_closed_though_the_credential_of_the_stream_does_not_cover_it(
    member: FakeMember,
) -> None:
    async def work() -> None:
        async with member.client(Clock()) as client:
            denied, other = await open_two(member, client)

            def over(request: Any) -> Any:
                raise errors.SessionExpired("it expired", applied=False)

            member.calls[_rpc.RENEW_SESSION.path] = over
            member.beyond.add(denied.id)
            denied._renew_now()
            await asyncio.wait_for(denied.wait_closed(), PATIENCE)
            await renewed(other)
            assert (denied.cause, other.state) == (CloseCause.EXPIRED, State.CONNECTED)
            assert (len(member.links), len(member.keepers)) == (1, 1)

    asyncio.run(asyncio.wait_for(work(), 10 * PATIENCE))
