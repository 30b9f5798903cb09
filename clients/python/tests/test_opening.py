"""What a session that has just been opened may believe, against a member in memory."""

from __future__ import annotations

import asyncio

from fake import PATIENCE, FakeMember
from test_cache import HandClock

from tenure import _rpc
from tenure.types import State
from tenure.v1 import cluster_pb2


def test_the_time_in_which_there_is_no_connection_is_not_taken_off_a_new_session(member: FakeMember) -> None:
    async def whole() -> None:
        connecting = asyncio.Event()
        states: list[State] = []

        async def answer(request: object) -> cluster_pb2.ListMembersResponse:
            await connecting.wait()
            return cluster_pb2.ListMembersResponse()

        member.calls[_rpc.LIST_MEMBERS.path] = answer
        clock = HandClock()
        async with member.client(clock) as client:
            opening = asyncio.ensure_future(
                client.session(ttl=15, timeout=1000, on_state=lambda c: states.append(c.new)).__aenter__()
            )
            await member.asked_for(_rpc.LIST_MEMBERS)
            clock.seconds += 100
            connecting.set()
            session = await asyncio.wait_for(opening, PATIENCE)
            assert session.safe
            assert session.state is State.CONNECTED
            await session.close()
        assert State.JEOPARDY not in states

    asyncio.run(whole())
