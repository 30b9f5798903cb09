"""What the end of a `with` says of a hold that was lost inside."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import PATIENCE, Twin
from fake import ADDRESS, Dice, FakeMember, at_once, lost, refuse, run

import tenure
from tenure import _rpc, aio, errors
from tenure.v1 import lock_pb2, session_pb2


def test_the_end_of_a_scope_raises_when_the_hold_was_lost_inside(tenure_uri: str) -> None:
    with tenure.connect(tenure_uri) as client, client.session(lock_delay=0) as session:

        def lose(held: Any) -> None:
            client.break_lock(held.key, "a test")
            assert held.lost.wait(PATIENCE)

        def lose_and_fail(held: Any) -> None:
            lose(held)
            raise ValueError("on its way")

        with pytest.raises(errors.HoldLost, match="taken_away"), session.lock("scope/lock") as held:
            lose(held)
        with pytest.raises(errors.HoldLost, match="taken_away"), session.lock("scope/held").acquire() as held:
            lose(held)
        with pytest.raises(ValueError, match="on its way"), session.lock("scope/error") as held:
            lose_and_fail(held)
        with session.lock("scope/released") as held:
            held.release()
        with session.lock("scope/closed"):
            session.close()


def test_the_end_of_a_scope_raises_when_the_hold_was_lost_inside_in_asyncio(tenure_uri: str) -> None:
    async def use() -> None:
        async with aio.Client(tenure_uri) as client, client.session(lock_delay=0) as session:

            async def lose(held: Any) -> None:
                await client.break_lock(held.key, "a test")
                await asyncio.wait_for(held.lost.wait(), PATIENCE)

            async def lose_and_fail(held: Any) -> None:
                await lose(held)
                raise ValueError("on its way")

            with pytest.raises(errors.HoldLost, match="taken_away"):
                async with session.lock("ascope/lock") as held:
                    await lose(held)
            with pytest.raises(errors.HoldLost, match="taken_away"):
                async with await session.lock("ascope/held").acquire() as held:
                    await lose(held)
            with pytest.raises(ValueError, match="on its way"):
                async with session.lock("ascope/error") as held:
                    await lose_and_fail(held)
            async with session.lock("ascope/released") as held:
                await held.release()
            async with session.lock("ascope/closed"):
                await session.close()

    asyncio.run(use())


# A loss of which nobody was told before the release.


def lost_already(request: Any) -> Any:
    return lock_pb2.ReleaseLockResponse(released=False)


def session_over(request: Any) -> Any:
    raise errors.SessionExpired("it has ended", applied=False)


LOSSES = [(lost_already, "taken_away"), (session_over, "session_ended")]


@pytest.mark.parametrize(("answer", "how"), LOSSES)
def test_the_end_of_a_scope_raises_when_only_the_answer_to_the_release_tells_of_the_loss(
    member: FakeMember, answer: Any, how: str
) -> None:
    member.streams[_rpc.ACQUIRE_LOCK.path] = at_once(member)
    member.calls[_rpc.RELEASE_LOCK.path] = answer
    with tenure.Client(f"tenure://{ADDRESS}", rng=Dice()) as client:
        with client.session() as session, pytest.raises(errors.HoldLost, match=how), session.lock("k"):
            pass
        with client.session() as session, pytest.raises(errors.HoldLost, match=how), session.lock("k").acquire():
            pass
        with client.session() as session, pytest.raises(ValueError, match="on its way"), session.lock("k"):
            raise ValueError("on its way")
        with client.session() as session:
            assert not session.lock("k").acquire().release()


@pytest.mark.parametrize(("answer", "how"), LOSSES)
def test_the_end_of_a_scope_raises_when_only_the_answer_to_the_release_tells_of_the_loss_in_asyncio(
    member: FakeMember, answer: Any, how: str
) -> None:
    async def work(client: Any, _: Any) -> None:
        member.streams[_rpc.ACQUIRE_LOCK.path] = at_once(member)
        member.calls[_rpc.RELEASE_LOCK.path] = answer
        async with client.session() as session:
            with pytest.raises(errors.HoldLost, match=how):
                async with session.lock("k"):
                    pass
        async with client.session() as session:
            with pytest.raises(ValueError, match="on its way"):
                async with session.lock("k"):
                    raise ValueError("on its way")
        async with client.session() as session:

            async def lead(leadership: Any) -> None:
                assert leadership.safe

            with pytest.raises(errors.HoldLost, match=how):
                await session.election("k").run(lead)
        async with client.session() as session:
            assert not await (await session.lock("k").acquire()).release()

    run(member, work)


def test_the_end_of_a_scope_says_nothing_of_a_session_that_the_program_ends(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[_rpc.ACQUIRE_LOCK.path] = at_once(member)

        async def release(request: Any) -> Any:
            await session.close()
            return session_over(request)

        member.calls[_rpc.RELEASE_LOCK.path] = release
        async with session.lock("k"):
            pass

    run(member, work)


def test_the_end_of_a_scope_raises_after_a_break_that_was_not_heard_of(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session, lock_delay=0)
    inner = getattr(session, "_aio", session)
    inner._hint = lambda hint: None  # It is on its way.
    held = twin.do(session.lock("unheard").acquire)
    assert twin.do(client.break_lock, "unheard", "a test") == 1
    assert held.safe
    leave = held.__exit__ if twin.name == "sync" else held.__aexit__
    with pytest.raises(errors.HoldLost, match="taken_away"):
        twin.do(leave, None, None, None)


# What its release ended, or its program.


def lost_first(then: Any) -> Any:
    """Loses the first answer of two."""
    return refuse(1, lost, then)


class Hand:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time


@pytest.mark.parametrize(("answer", "how"), LOSSES)
def test_a_release_whose_first_answer_was_lost_is_no_loss(member: FakeMember, answer: Any, how: str) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[_rpc.ACQUIRE_LOCK.path] = at_once(member)
        member.calls[_rpc.RELEASE_LOCK.path] = lost_first(answer)
        async with session.lock("k"):
            pass
        assert len(member.requests(_rpc.RELEASE_LOCK)) == 2

    run(member, work)


@pytest.mark.parametrize(("answer", "how"), LOSSES)
@pytest.mark.parametrize("after", [13.0, 15.0])
def test_a_hold_that_is_gone_when_its_lease_is_over_was_not_lost_before_its_release(
    member: FakeMember, answer: Any, how: str, after: float
) -> None:
    clock = Hand()

    async def work() -> None:
        member.streams[_rpc.ACQUIRE_LOCK.path] = at_once(member)
        comes = asyncio.Event()

        async def release(request: Any) -> Any:
            await comes.wait()
            return answer(request)

        async def use(session: Any) -> None:
            async with session.lock("k"):
                pass

        member.calls[_rpc.RELEASE_LOCK.path] = release
        async with member.client(clock) as client, client.session() as session:
            member.renewing = False
            using = asyncio.ensure_future(use(session))
            await member.asked_for(_rpc.RELEASE_LOCK)
            clock.time += after
            comes.set()
            if after < session.ttl - 1:
                with pytest.raises(errors.HoldLost, match=how):
                    await using
            else:
                await using

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


@pytest.mark.parametrize("what", ["session", "client"])
def test_a_session_that_the_program_ends_during_a_release_is_no_loss(member: FakeMember, what: str) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[_rpc.ACQUIRE_LOCK.path] = at_once(member)
        comes = asyncio.Event()

        async def release(request: Any) -> Any:
            await comes.wait()
            return lost_already(request)

        async def destroy(request: Any) -> Any:
            comes.set()
            await asyncio.sleep(0.05)
            return session_pb2.DestroySessionResponse()

        async def use() -> None:
            async with session.lock("k"):
                pass

        member.calls[_rpc.RELEASE_LOCK.path] = release
        member.calls[_rpc.DESTROY_SESSION.path] = destroy
        using = asyncio.ensure_future(use())
        await member.asked_for(_rpc.RELEASE_LOCK)
        await (session if what == "session" else client).close()
        await using

    run(member, work)
