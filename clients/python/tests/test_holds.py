"""Holds that are given back, passed on, and lost. Against a member in memory."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fake import FakeMember, at_once, lost, refuse, run

from tenure import EndCause, _rpc, errors
from tenure.aio import _attaching
from tenure.v1 import election_pb2, lock_pb2, session_pb2, types_pb2

ACQUIRE, RELEASE = _rpc.ACQUIRE_LOCK, _rpc.RELEASE_LOCK


# Releases.


def test_a_release_for_which_there_is_no_room_goes_to_the_end_and_is_tried_again(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        release = member.calls[RELEASE.path]
        member.calls[RELEASE.path] = refuse(3, lambda: errors.RequestWindowFull(applied=False), release)
        held = await session.lock("k").acquire()
        assert await held.release()
        ids = [r.options.request_id for r in member.requests(RELEASE)]
        # It is not what keeps the window full: each attempt has another number, and forgets those before.
        assert [i.sequence for i in ids] == sorted({i.sequence for i in ids})
        assert all(i.done_below == i.sequence for i in ids)

    run(member, work)


def test_a_release_that_may_have_been_applied_keeps_its_number(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        release = member.calls[RELEASE.path]
        full = refuse(2, lambda: errors.RequestWindowFull(applied=False), release)
        member.calls[RELEASE.path] = refuse(1, lost, full)
        held = await session.lock("k").acquire()
        assert await held.release()
        assert len({r.options.request_id.sequence for r in member.requests(RELEASE)}) == 1

    run(member, work)


def test_a_release_whose_value_is_refused_is_made_without_it(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        release = member.calls[RELEASE.path]

        def answer(request: Any) -> Any:
            if request.HasField("put"):
                raise errors.TooLarge("too large", applied=False)
            return release(request)

        member.calls[RELEASE.path] = answer
        held = await session.lock("k").acquire()
        with pytest.raises(errors.TooLarge):
            await held.release(put=b"much")
        assert not held.safe
        session._renew_now()
        assert not (await member.asked_for(RELEASE, 2)).HasField("put")

    run(member, work)


# Resigning.


async def lead(member: FakeMember, session: Any) -> Any:
    member.streams[ACQUIRE.path] = at_once(member)
    return await session.election("e").campaign()


def test_a_leader_that_passes_leadership_on_is_not_safe_until_the_answer(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        leadership = await lead(member, session)
        safe: list[bool] = []

        def answer(request: Any) -> Any:
            safe.append(leadership.safe)
            with pytest.raises(errors.HoldLost, match="given up"):
                leadership.check()
            if len(safe) == 1:
                raise errors.CandidateNotFound("no such candidate", applied=False)
            return election_pb2.ResignResponse(resigned=True)

        member.calls[_rpc.RESIGN.path] = answer
        with pytest.raises(errors.CandidateNotFound):
            await leadership.resign(to_session=session.id)
        assert leadership.safe
        assert await leadership.resign(to_session=session.id)
        assert safe == [False, False]
        assert leadership.cause is EndCause.RELEASED
        assert not member.requests(RELEASE)

    run(member, work)


def test_a_refused_resignation_says_nothing_of_another_that_has_no_answer(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        leadership = await lead(member, session)
        go = asyncio.Event()

        async def answer(request: Any) -> Any:
            if request.to_owner == "nobody":
                raise errors.CandidateNotFound("no such candidate", applied=False)
            await go.wait()
            return election_pb2.ResignResponse(resigned=True)

        member.calls[_rpc.RESIGN.path] = answer
        passing = asyncio.ensure_future(leadership.resign(to_session=session.id, to_owner="heir"))
        await member.asked_for(_rpc.RESIGN)
        with pytest.raises(errors.CandidateNotFound):
            await leadership.resign(to_session=session.id, to_owner="nobody")
        assert not leadership.safe
        go.set()
        assert await passing

    run(member, work)


@pytest.mark.parametrize("how", ["refused", "cancelled"])
def test_a_leader_that_does_not_know_whether_it_passed_leadership_on_gives_it_back(
    member: FakeMember, how: str
) -> None:
    async def work(client: Any, session: Any) -> None:
        leadership = await lead(member, session)
        go = asyncio.Event()

        async def answer(request: Any) -> Any:
            await go.wait()
            raise errors.InternalError("broken", applied=None)

        member.calls[_rpc.RESIGN.path] = answer
        resigning = asyncio.ensure_future(leadership.resign(to_session=session.id))
        await member.asked_for(_rpc.RESIGN)
        if how == "cancelled":
            resigning.cancel()
        assert not leadership.safe
        go.set()
        with pytest.raises((errors.InternalError, asyncio.CancelledError)):
            await resigning
        await leadership.lost.wait()
        assert leadership.cause is EndCause.RELEASED
        session._renew_now()
        await member.asked_for(RELEASE)

    run(member, work)


# What is told.


def test_a_session_is_renewed_at_once_so_that_hints_of_its_holds_come(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        assert (await member.asked_for(_rpc.KEEP_ALIVE)).renewals[0].session_id == session.id

    run(member, work)


def test_what_a_session_holds_may_come_in_pages(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        kept = [await session.lock(f"k{i}").acquire() for i in range(5)]
        messages = [
            session_pb2.Hold(sequencer=held.guard.held, owner=held.owner, mode=types_pb2.LOCK_MODE_EXCLUSIVE)
            for held in kept[:4]  # The last one is lost.
        ]

        def page(request: Any) -> Any:
            at = int(request.page_token or 0)
            answer = member.attached(*messages[at : at + 2])
            answer.next_page_token = "2" if at == 0 else ""
            return answer

        member.calls[_rpc.ATTACH_SESSION.path] = page
        member.cut()
        await kept[4].lost.wait()
        assert [held.safe for held in kept] == [True, True, True, True, False]
        assert kept[4].cause is EndCause.TAKEN_AWAY
        attempts = [r.attempt for r in member.requests(_rpc.ATTACH_SESSION)]
        assert attempts == sorted(set(attempts))

    run(member, work)


def test_an_attempt_that_is_too_old_is_followed_by_one_that_is_not(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        def answer(request: Any) -> Any:
            if request.attempt <= 1000:
                raise errors.AttemptOutdated(applied=False, metadata={"attempt": "1000"})
            return member.attached()

        member.calls[_rpc.ATTACH_SESSION.path] = answer
        member.cut()
        assert (await member.asked_for(_rpc.ATTACH_SESSION, 2)).attempt == 1001

    run(member, work)


def test_a_refusal_for_want_of_room_says_nothing_of_an_attempt_before(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        def quota(request: Any) -> Any:
            raise errors.QuotaExceeded("full", applied=False)

        member.calls[_rpc.PUT.path] = refuse(1, lost, quota)
        with pytest.raises(errors.QuotaExceeded) as doubted:
            await session.kv.put("k", "1")
        with pytest.raises(errors.QuotaExceeded) as certain:
            await session.kv.put("k", "1")
        assert (doubted.value.applied, certain.value.applied) == (None, False)

    run(member, work)


def denied() -> errors.TenureError:
    return errors.PermissionDenied("the right is gone", applied=False)


def refused(error: errors.TenureError) -> Any:
    """Loses one answer, then refuses with this error."""

    def answer(request: Any) -> Any:
        raise error

    return refuse(1, lost, answer)


def test_a_refusal_by_a_member_says_nothing_of_an_attempt_before(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        for error, applied in (
            (errors.PermissionDenied(applied=False), None),
            (errors.Unauthenticated(applied=False), None),
            (errors.LimitExceeded(applied=False), None),
            (errors.TooLarge(applied=False), None),
            (errors.InvalidArgument(applied=False), None),
            (errors.TenureError(reason="OF_A_LATER_VERSION", applied=False), None),
            (errors.CompareFailed(applied=False), False),
            (errors.FencingTokenStale(applied=False), False),
        ):
            for changing in (client, session):
                member.calls[_rpc.PUT.path] = refused(error)
                with pytest.raises(type(error)) as doubted:
                    await changing.kv.put("k", "1")
                assert (doubted.value.applied, doubted.value.reason) == (applied, error.reason)
                error.applied = False
                with pytest.raises(type(error)) as certain:
                    await changing.kv.put("k", "1")
                assert certain.value.applied is False

    run(member, work)


def test_a_read_that_is_refused_changed_nothing(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.calls[_rpc.GET.path] = refused(denied())
        with pytest.raises(errors.PermissionDenied) as refusal:
            await client.kv.get("k")
        assert refusal.value.applied is False

    run(member, work)


def test_a_leader_whose_resignation_is_refused_after_an_answer_was_lost_leads_no_more(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        leadership = await lead(member, session)
        member.calls[_rpc.RESIGN.path] = refused(denied())
        with pytest.raises(errors.PermissionDenied) as refusal:
            await leadership.resign(to_session=session.id)
        assert refusal.value.applied is None
        assert (leadership.safe, leadership.cause) == (False, EndCause.RELEASED)
        session._renew_now()
        await member.asked_for(RELEASE)

    run(member, work)


# Answers that come late.


def grant_late(member: FakeMember, taken: session_pb2.Hold) -> asyncio.Event:
    """Has the member grant a lock once the event that it returns is set."""
    told = asyncio.Event()

    async def serve(request: Any) -> Any:
        await told.wait()
        yield lock_pb2.AcquireLockResponse(granted=taken)

    member.streams[ACQUIRE.path] = serve
    return told


# How many holds come and go while one answer is on its way.
MANY = 1500


def test_a_loss_that_was_told_before_its_grant_is_known_however_many_are_told_after_it(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        taken = member.hold("k", "o")
        told = grant_late(member, taken)
        waiting = asyncio.ensure_future(session.lock("k", owner="o").acquire())
        await member.asked_for(ACQUIRE)
        session._hint(session_pb2.SessionHint(session_id=session.id, lost=taken))
        for i in range(MANY):
            session._hint(session_pb2.SessionHint(session_id=session.id, lost=member.hold(f"other-{i}", "o")))
        told.set()
        held = await waiting
        assert held.token == taken.sequencer.fencing_token
        assert held.cause is EndCause.TAKEN_AWAY

    run(member, work)


def test_a_loss_of_which_nobody_was_told_is_known_before_its_grant_is_believed(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(client: Any, session: Any) -> None:
        taken = member.hold("k", "o")
        del member.holds[taken.sequencer.fencing_token]
        told = grant_late(member, taken)
        waiting = asyncio.ensure_future(session.lock("k", owner="o").acquire())
        await member.asked_for(_rpc.ATTACH_SESSION)  # What it holds is asked for, though it only waits.
        await member.until(lambda: session._holdings._truth[1] == member.revision)
        told.set()
        held = await waiting
        assert held.token == taken.sequencer.fencing_token
        assert held.cause is EndCause.TAKEN_AWAY

    monkeypatch.setattr(_attaching, "RECONCILE_SECONDS", 0.05)
    run(member, work)


def test_a_hold_that_was_given_back_is_not_taken_up_again_however_many_are_given_back_after_it(
    member: FakeMember,
) -> None:
    async def work(client: Any, session: Any) -> None:
        grant = at_once(member)
        given = asyncio.Event()
        tokens: list[int] = []

        async def serve(request: Any) -> Any:
            if request.key == "k":
                yield member.queued(request)  # Both calls have one place, and both are told what becomes of it.
            async for answer in grant(request):
                if request.key == "k":
                    tokens.append(answer.granted.sequencer.fencing_token)
                    if len(tokens) == 2:
                        await given.wait()
                yield answer

        member.streams[ACQUIRE.path] = serve
        lock = session.lock("k", owner="o")
        first = await lock.acquire()
        waiting = asyncio.ensure_future(lock.acquire())
        await member.until(lambda: len(tokens) == 2)
        await first.release()
        for i in range(MANY):
            await (await session.lock(f"other-{i}").acquire()).release()
        given.set()
        second = await waiting
        assert tokens[:2] == [first.token, first.token]
        assert second.token == tokens[2] > first.token
        assert second.safe
        assert not session._holdings._late  # Nobody asks any more.

    run(member, work)
