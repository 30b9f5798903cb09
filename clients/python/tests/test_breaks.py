"""A lock that is taken away from very many holders, against a member in memory."""

from __future__ import annotations

from typing import Any

import pytest
from fake import FakeMember, run

from tenure import _rpc, errors
from tenure.v1 import lock_pb2

SOME = [
    lock_pb2.BreakLockResponse(holds=3, remaining=3, break_token="a"),
    lock_pb2.BreakLockResponse(holds=2, remaining=1, break_token="b"),
    lock_pb2.BreakLockResponse(holds=1),
]


def test_a_break_goes_on_until_no_hold_remains(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        answers = iter(SOME)
        member.calls[_rpc.BREAK_LOCK.path] = lambda r: next(answers)
        assert await client.break_lock("k", "why") == 6
        asked = member.requests(_rpc.BREAK_LOCK)
        assert [r.break_token for r in asked] == ["", "a", "b"]
        assert len({r.options.idempotency_key for r in asked}) == 3
        assert {r.reason for r in asked} == {"why"}

    run(member, work)


def test_a_break_that_does_not_come_to_its_end_fails(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        answers = iter(SOME[:2])

        def answer(request: Any) -> Any:
            for some in answers:
                return some
            raise errors.InvalidArgument("no", applied=False)

        member.calls[_rpc.BREAK_LOCK.path] = answer
        with pytest.raises(errors.InvalidArgument):
            await client.break_lock("k", "why")
        assert [r.break_token for r in member.requests(_rpc.BREAK_LOCK)] == ["", "a", "b"]

    run(member, work)
