"""What is left in queues and held by nobody: nothing, whatever goes wrong. Against a member in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fake import PATIENCE, FakeMember, at_once, cancelled, in_queue, lost, refuse, run

from tenure import EndCause, _rpc, errors
from tenure.aio import _acquire
from tenure.v1 import kv_pb2, lock_pb2

ACQUIRE, TRY, CANCEL, RELEASE = _rpc.ACQUIRE_LOCK, _rpc.TRY_ACQUIRE_LOCK, _rpc.CANCEL_WAIT, _rpc.RELEASE_LOCK


# Waits that end.


@pytest.mark.parametrize(
    "error",
    [
        lambda: errors.NoLeader(applied=False),
        lambda: errors.TooManyRequests(applied=False),
        lambda: errors.RequestWindowFull(applied=False),
        lambda: errors.PermissionDenied(applied=False),
        lambda: errors.Unauthenticated(applied=False),
        lambda: errors.LimitExceeded(applied=False),
        lost,
    ],
)
def test_a_place_is_given_up_however_often_that_fails(member: FakeMember, error: Any) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = in_queue(member)
        answered = asyncio.Event()

        def answer(request: Any) -> Any:
            answered.set()
            return lock_pb2.CancelWaitResponse(cancelled=True)

        member.calls[CANCEL.path] = refuse(6, error, answer)
        waiting = asyncio.ensure_future(session.lock("k").acquire())
        await member.asked_for(ACQUIRE)
        await cancelled(waiting)
        await answered.wait()

    run(member, work)


def test_who_gives_up_a_place_does_not_wait_until_the_right_to_that_comes_back(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = in_queue(member)
        allowed = False

        def answer(request: Any) -> Any:
            if not allowed:
                raise errors.Unauthenticated("the token expired", applied=False)
            return lock_pb2.CancelWaitResponse(hold=member.hold(request.key, request.options.owner))

        member.calls[CANCEL.path] = answer
        begun = asyncio.get_running_loop().time()
        with pytest.raises(errors.WaitTimeout) as timeout:
            await session.lock("k").acquire(timeout=0.01, value="v")
        assert timeout.value.applied is None
        assert asyncio.get_running_loop().time() - begun < _acquire.LEAVE_SECONDS
        allowed = True
        assert (await member.asked_for(RELEASE)).lock_index == member.revision

    run(member, work)


def test_a_try_that_is_refused_after_an_answer_was_lost_leaves_nothing(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        def denied(request: Any) -> Any:
            raise errors.PermissionDenied("the right is gone", applied=False)

        member.calls[TRY.path] = refuse(1, lost, denied)
        member.calls[CANCEL.path] = lambda r: lock_pb2.CancelWaitResponse(hold=member.hold(r.key, r.options.owner))
        with pytest.raises(errors.PermissionDenied) as refusal:
            await session.lock("k").try_acquire()
        assert refusal.value.applied is None
        assert (await member.asked_for(RELEASE)).lock_index == member.revision

    run(member, work)


@pytest.mark.parametrize(
    "error", [errors.PermissionDenied, errors.Unauthenticated, errors.LimitExceeded, errors.QuotaExceeded]
)
def test_a_release_that_is_refused_is_made_again_with_each_renewal(member: FakeMember, error: Any) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        held = await session.lock("k").acquire()
        release = member.calls[RELEASE.path]
        member.calls[RELEASE.path] = refuse(3, lambda: error("not now", applied=False), release)
        with pytest.raises(error):
            await held.release()
        for count in (2, 3, 4):
            session._renew_now()
            await member.asked_for(RELEASE, count)
        await member.until(lambda: not member.holds)

    run(member, work)


def test_a_place_is_given_up_after_a_jeopardy_in_which_nobody_answered(member: FakeMember) -> None:
    """The call that gives it up has an end of its own; giving up has none."""

    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = in_queue(member)
        waiting = asyncio.ensure_future(session.lock("k").acquire())
        await member.asked_for(ACQUIRE)
        begun, change = [], session._change

        async def impatient(rpc: Any, request: Any, **options: Any) -> Any:
            begun.append(rpc)
            if len(begun) <= 3:
                raise errors.Unavailable("no member answered")
            return await change(rpc, request, **options)

        session._change = impatient
        await cancelled(waiting)
        await member.asked_for(CANCEL)
        assert len(begun) == 4

    run(member, work)


def test_a_place_is_given_up_again_until_no_request_can_make_another(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = in_queue(member)
        slow = asyncio.Event()

        async def put_late(request: Any) -> Any:
            await slow.wait()
            return kv_pb2.PutResponse()

        member.calls[_rpc.PUT.path] = put_late
        putting = asyncio.ensure_future(session.kv.put("other", "1"))
        await member.asked_for(_rpc.PUT)
        waiting = asyncio.ensure_future(session.lock("k").acquire())
        sequence = (await member.asked_for(ACQUIRE)).options.request_id.sequence
        await cancelled(waiting)
        # The cluster must still take the wait's request for one that may come: an older one is open.
        assert (await member.asked_for(CANCEL)).options.request_id.done_below <= sequence
        slow.set()
        await putting
        assert (await member.asked_for(CANCEL, 2)).options.request_id.done_below > sequence

    run(member, work)


def test_a_grant_that_came_before_a_wait_was_given_up_is_released(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = in_queue(member)
        member.calls[CANCEL.path] = lambda r: lock_pb2.CancelWaitResponse(hold=member.hold(r.key, r.options.owner))
        member.calls[RELEASE.path] = refuse(3, lost, lambda r: lock_pb2.ReleaseLockResponse(released=True))
        with pytest.raises(errors.WaitTimeout):
            await session.lock("k").acquire(timeout=0.01)
        released = await member.asked_for(RELEASE, 4)
        assert released.lock_index == member.revision

    run(member, work)


GIVEN_UP: dict[str, tuple[Any, bytes | None, bool | None]] = {
    "without a value nothing was applied": (lost, None, False),
    "the place was there until now": (lambda m, r: lock_pb2.CancelWaitResponse(cancelled=True), b"v", False),
    "the grant came first": (lambda m, r: lock_pb2.CancelWaitResponse(hold=m.hold(r.key, r.options.owner)), b"v", True),
    "nobody answers": (None, b"v", None),
}


@pytest.mark.parametrize("case", GIVEN_UP)
def test_a_wait_that_ends_says_whether_its_value_was_written(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    answer, value, applied = GIVEN_UP[case]
    if answer is not None:
        monkeypatch.setattr(_acquire, "LEAVE_SECONDS", PATIENCE)

    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = in_queue(member)

        async def never(request: Any) -> Any:
            await asyncio.Event().wait()

        if value is not None:
            member.calls[CANCEL.path] = never if answer is None else lambda r: answer(member, r)
        with pytest.raises(errors.WaitTimeout) as raised:
            await session.lock("k").acquire(timeout=0.01, value=value)
        assert raised.value.applied is applied

    run(member, work)


def test_a_wait_ends_with_its_session(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = in_queue(member)
        waiting = asyncio.ensure_future(session.lock("k").acquire())
        await member.asked_for(ACQUIRE)
        await session.close()
        with pytest.raises(errors.SessionClosed):
            await waiting

    run(member, work)


def test_a_wait_of_no_time_takes_the_lock_if_it_is_free(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        free = True

        def answer(request: Any) -> Any:
            if not free:
                return lock_pb2.TryAcquireLockResponse(lock=lock_pb2.Lock(key=request.key))
            return lock_pb2.TryAcquireLockResponse(acquired=True, hold=member.hold(request.key, request.options.owner))

        member.calls[TRY.path] = answer
        assert (await session.lock("k").acquire(timeout=0)).safe
        free = False
        with pytest.raises(errors.WaitTimeout):
            await session.lock("k").acquire(timeout=0)
        assert not member.requests(CANCEL)

    run(member, work)


# Tries that end.


@pytest.mark.parametrize("how", ["cancelled", "refused"])
def test_what_a_try_may_have_taken_is_given_back(member: FakeMember, how: str) -> None:
    async def work(client: Any, session: Any) -> None:
        async def silent(request: Any) -> Any:
            await asyncio.Event().wait()

        def broken(request: Any) -> Any:
            raise errors.InternalError("broken", applied=None)

        member.calls[TRY.path] = silent if how == "cancelled" else broken
        member.calls[CANCEL.path] = lambda r: lock_pb2.CancelWaitResponse(hold=member.hold(r.key, r.options.owner))
        trying = asyncio.ensure_future(session.lock("k").attempt())
        tried = await member.asked_for(TRY)
        if how == "cancelled":
            await cancelled(trying)
        else:
            with pytest.raises(errors.InternalError):
                await trying
        released = await member.asked_for(RELEASE)
        assert (released.key, released.options.owner) == ("k", tried.options.owner)
        # A try that is still on its way comes too late.
        assert member.requests(CANCEL)[-1].options.request_id.done_below > tried.options.request_id.sequence

    run(member, work)


# Streams.


def test_every_stream_of_a_wait_has_a_request_id_until_it_is_answered(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        async def serve(request: Any) -> AsyncIterator[Any]:
            count = len(member.requests(ACQUIRE))
            if count == 2:
                yield member.queued(request)
            if count <= 3:
                member.cut()
                await asyncio.Event().wait()
            yield member.granted(request)

        member.streams[ACQUIRE.path] = serve
        assert (await session.lock("k").acquire()).safe
        requests = member.requests(ACQUIRE)
        sequences = [r.options.request_id.sequence for r in requests]
        # The first had no answer, so the second is the same; that was queued, so the third is another; and so on.
        assert sequences[0] == sequences[1] < sequences[2] == sequences[3]
        assert len({r.options.owner for r in requests}) == 1
        assert not member.requests(CANCEL)

    run(member, work)


# One owner, several handles.


def test_one_owner_has_one_hold_however_often_it_acquires(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        first = await session.lock("k", owner="me").acquire()
        again = await session.lock("k", owner="me").acquire()
        leadership = await session.election("k").campaign(owner="me")
        assert again is first
        assert leadership.token == first.token
        assert first.safe
        assert leadership.safe
        told: asyncio.Queue[Any] = asyncio.Queue()
        leadership.on_lost(told.put)
        assert await first.release()
        assert not leadership.safe
        assert leadership.lost.is_set()
        assert await told.get() is EndCause.RELEASED
        assert not await leadership.release()
        assert len(member.requests(RELEASE)) == 1

    run(member, work)


def test_a_wait_that_ends_leaves_what_the_same_owner_holds(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        grant = at_once(member)

        async def serve(request: Any) -> AsyncIterator[Any]:
            if len(member.requests(ACQUIRE)) == 1:
                await asyncio.Event().wait()
            async for message in grant(request):
                yield message

        member.streams[ACQUIRE.path] = serve
        waiting = asyncio.ensure_future(session.lock("k", owner="me").acquire())
        await member.asked_for(ACQUIRE)
        held = await session.lock("k", owner="me").acquire()
        await cancelled(waiting)
        assert held.safe
        assert not member.requests(CANCEL)

    run(member, work)


@pytest.mark.parametrize("then", ["refused", "held, and released", "held, and lost"])
def test_a_place_that_another_call_of_its_owner_may_use_is_given_up_after_that(member: FakeMember, then: str) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = in_queue(member)
        release, go = member.calls[RELEASE.path], asyncio.Event()

        async def answer(request: Any) -> Any:
            await go.wait()
            if then == "refused":
                return lock_pb2.TryAcquireLockResponse(acquired=False)
            return lock_pb2.TryAcquireLockResponse(acquired=True, hold=member.hold(request.key, "me"))

        def released(request: Any) -> Any:
            assert not member.requests(CANCEL)  # It would give the hold back, without the last value.
            return release(request)

        member.calls[TRY.path], member.calls[RELEASE.path] = answer, released
        lock = session.lock("k", owner="me")
        waiting = asyncio.ensure_future(lock.acquire())
        await member.asked_for(ACQUIRE)
        trying = asyncio.ensure_future(lock.try_acquire())
        sequence = (await member.asked_for(TRY)).options.request_id.sequence
        await cancelled(waiting)
        assert not member.requests(CANCEL)
        go.set()
        held = await trying
        assert (held is None) is (then == "refused")
        if held is not None:
            assert held.safe
            assert not member.requests(CANCEL)
            if then == "held, and released":
                assert await held.release(put=b"last")
            else:
                session._holdings.compare(set(), member.revision)
                assert held.cause is EndCause.TAKEN_AWAY
        left = await member.asked_for(CANCEL)
        assert (left.key, left.options.owner) == ("k", "me")
        assert left.options.request_id.done_below > sequence
        await member.until(lambda: not session._holdings._leaving)
        assert len(member.requests(CANCEL)) == 1

    run(member, work)


def test_an_owner_acquires_anew_only_after_its_hold_was_given_back(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        release, go = member.calls[RELEASE.path], asyncio.Event()

        async def late(request: Any) -> Any:
            await go.wait()
            return release(request)

        member.calls[RELEASE.path] = late
        first = await session.lock("k", owner="me").acquire()
        releasing = asyncio.ensure_future(first.release())
        await member.asked_for(RELEASE)
        acquiring = asyncio.ensure_future(session.lock("k", owner="me").acquire())
        await asyncio.wait({acquiring}, timeout=0.05)
        assert not acquiring.done()
        go.set()
        assert await releasing
        second = await acquiring
        assert second.token > first.token
        assert second.safe

    run(member, work)
