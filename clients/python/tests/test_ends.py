"""What becomes of calls, waits and holds when a session ends meanwhile. Against a member in memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from conftest import until
from fake import ADDRESS, PATIENCE, SESSION, Dice, FakeMember, at_once, cancelled, in_queue, refuse, run

import tenure
from tenure import CloseCause, Compare, EndCause, Op, State, _rpc, errors
from tenure.aio._renewals import PUT_OFF_SECONDS
from tenure.v1 import kv_pb2, lock_pb2, session_pb2, types_pb2

ACQUIRE, TRY, CANCEL, DESTROY = _rpc.ACQUIRE_LOCK, _rpc.TRY_ACQUIRE_LOCK, _rpc.CANCEL_WAIT, _rpc.DESTROY_SESSION


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time


async def never(request: Any) -> Any:
    await asyncio.Event().wait()


async def unreachable(member: FakeMember) -> None:
    """Breaks the connection, and lets no other be made."""

    def refuse_always(request: Any) -> Any:
        raise errors.LinkLost("refused", applied=None)

    member.calls[_rpc.LIST_MEMBERS.path] = refuse_always
    asked = len(member.requests(_rpc.LIST_MEMBERS))
    member.cut()
    await member.asked_for(_rpc.LIST_MEMBERS, asked + 1)


# What a call that was sent says of itself.


@pytest.mark.parametrize("how", ["closed", "expired", "exported", "superseded"])
def test_a_change_that_was_sent_is_not_called_undone_because_its_session_ended(member: FakeMember, how: str) -> None:
    async def work(client: Any, session: Any) -> None:
        member.calls[_rpc.PUT.path] = never
        putting = asyncio.ensure_future(session.kv.put("k", "1"))
        await member.asked_for(_rpc.PUT)
        await unreachable(member)
        session._stop(CloseCause(how))
        with pytest.raises(errors.SessionClosed) as raised:
            await putting
        assert raised.value.applied is None
        with pytest.raises(errors.SessionClosed) as raised:
            await session.kv.put("k", "2")
        assert raised.value.applied is False

    run(member, work)


WAITS: dict[str, tuple[bool, bytes | None, bool | None]] = {
    "a wait with a value, that was sent": (True, b"v", None),
    "a wait without a value": (True, None, False),
    "a wait that was never sent": (False, b"v", False),
}


@pytest.mark.parametrize("case", WAITS)
@pytest.mark.parametrize("linked", [True, False])
def test_a_wait_that_its_session_ends_says_whether_its_value_may_be_written(
    member: FakeMember, case: str, linked: bool
) -> None:
    sent, value, applied = WAITS[case]

    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = in_queue(member)
        if not sent:
            await unreachable(member)
        waiting = asyncio.ensure_future(session.lock("k").acquire(value=value))
        if sent:
            await member.asked_for(ACQUIRE)
        else:
            await member.until(lambda: session._holdings._waits)
        if not linked:
            await unreachable(member)
        session._stop(CloseCause.EXPIRED)
        with pytest.raises(errors.SessionExpired) as raised:
            await waiting
        assert raised.value.applied is applied

    run(member, work)


def test_a_wait_that_is_refused_at_once_says_that_nothing_was_written(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        async def serve(request: Any) -> AsyncIterator[Any]:
            raise errors.SessionExpired("gone", applied=False)
            yield

        member.streams[ACQUIRE.path] = serve
        with pytest.raises(errors.SessionExpired) as raised:
            await session.lock("k").acquire(value=b"v")
        assert raised.value.applied is False
        assert session.cause is CloseCause.EXPIRED

    run(member, work)


@pytest.mark.parametrize("by", ["acquire", "try"])
def test_a_grant_that_comes_as_the_session_ends_may_have_written_the_value(member: FakeMember, by: str) -> None:
    async def work(client: Any, session: Any) -> None:
        grant = at_once(member)

        async def serve(request: Any) -> AsyncIterator[Any]:
            async for message in grant(request):
                session._stop(CloseCause.CLOSED)
                yield message

        def answer(request: Any) -> Any:
            session._stop(CloseCause.CLOSED)
            return lock_pb2.TryAcquireLockResponse(acquired=True, hold=member.hold(request.key, request.options.owner))

        member.streams[ACQUIRE.path], member.calls[TRY.path] = serve, answer
        lock = session.lock("k")
        with pytest.raises(errors.SessionClosed) as raised:
            await (lock.acquire(value=b"v") if by == "acquire" else lock.attempt(value=b"v"))
        assert raised.value.applied is None

    run(member, work)


# Sessions that other sessions' ends are told of.


BOUND: dict[str, tuple[list[Op], list[Op]]] = {
    "then": ([Op.put("k", "1", bind_session="another")], []),
    "otherwise": ([], [Op.get("k"), Op.put("k", "1", bind_session="another")]),
}


@pytest.mark.parametrize("case", BOUND)
def test_a_transaction_that_names_another_session_does_not_end_its_own(member: FakeMember, case: str) -> None:
    async def work(client: Any, session: Any) -> None:
        def wrong(request: Any) -> Any:
            raise errors.SessionSecretWrong("the other one's", applied=False)

        member.calls[_rpc.TXN.path] = wrong
        then, otherwise = BOUND[case]
        with pytest.raises(errors.SessionSecretWrong):
            await session.kv.txn([Compare.missing("k")], then, otherwise)
        assert session.cause is None
        # One that names none but its own does.
        with pytest.raises(errors.SessionSecretWrong):
            await session.kv.txn([], [Op.put("k", "1", bind_session=session.id), Op.put("l", "1", ephemeral=True)])
        assert session.cause is CloseCause.AUTH_FAILED

    run(member, work)


def test_a_transaction_binds_keys_to_its_own_session(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        def answer(request: Any) -> Any:
            put = kv_pb2.PutResponse(kv=types_pb2.KeyValue(key="k", mod_revision=7))
            return kv_pb2.TxnResponse(succeeded=True, responses=[kv_pb2.OpResponse(put=put)])

        member.calls[_rpc.TXN.path] = answer
        result = await session.kv.txn([], [Op.put("k", "1", ephemeral=True)])
        (put,) = [op.put for op in (await member.asked_for(_rpc.TXN)).then]
        assert put.bind_session == session.id
        assert (result.results[0].value, result.results[0].mod_revision) == (b"1", 7)
        with pytest.raises(ValueError, match="session"):
            await client.kv.txn([], [Op.put("k", "1", ephemeral=True)])

    run(member, work)


# What the cluster says of the session itself.


REFUSALS: dict[str, tuple[Any, CloseCause]] = {
    "another epoch": (lambda: errors.EpochMismatch("epoch is 2", applied=False), CloseCause.SUPERSEDED),
    "another secret": (lambda: errors.SessionSecretWrong("wrong", applied=False), CloseCause.AUTH_FAILED),
    "no such session": (lambda: errors.SessionNotFound("none", applied=False), CloseCause.EXPIRED),
    "no id": (lambda: errors.SessionIDInvalid("no id", applied=False), CloseCause.EXPIRED),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_refusal_to_attach_that_is_final_ends_the_session(member: FakeMember, case: str) -> None:
    error, cause = REFUSALS[case]

    async def work(client: Any, session: Any) -> None:
        def answer(request: Any) -> Any:
            raise error()

        member.streams[ACQUIRE.path] = at_once(member)
        await member.until(
            lambda: session._renewals.hinted is not None
        )  # What it holds is asked for then, or not at all.
        held = await session.lock("k").acquire()
        member.calls[_rpc.ATTACH_SESSION.path] = answer
        member.cut()
        assert await session.wait_closed() is cause
        await held.lost.wait()
        assert held.cause is (EndCause.SUPERSEDED if cause is CloseCause.SUPERSEDED else EndCause.SESSION_ENDED)
        assert len(member.requests(_rpc.ATTACH_SESSION)) == 1

    run(member, work)


VERDICTS: dict[str, tuple[int, CloseCause]] = {
    "another secret": (types_pb2.ERROR_REASON_SESSION_SECRET_WRONG, CloseCause.AUTH_FAILED),
    "another epoch": (types_pb2.ERROR_REASON_EPOCH_MISMATCH, CloseCause.SUPERSEDED),
    "taken over": (types_pb2.ERROR_REASON_SESSION_SUPERSEDED, CloseCause.SUPERSEDED),
    "expired": (types_pb2.ERROR_REASON_SESSION_EXPIRED, CloseCause.EXPIRED),
}


@pytest.mark.parametrize("case", VERDICTS)
def test_a_refusal_to_renew_that_is_final_ends_the_session(member: FakeMember, case: str) -> None:
    async def work(client: Any, session: Any) -> None:
        member.refused, cause = VERDICTS[case]
        told: list[Any] = []
        session.on_state(lambda change: told.append((change.new, change.cause)))
        session._renew_now()
        assert await session.wait_closed() is cause
        await member.until(lambda: told[-1:] == [(State.CLOSED, cause)])
        if cause is CloseCause.AUTH_FAILED:
            with pytest.raises(errors.SessionSecretWrong):
                await session.kv.put("k", "1")

    run(member, work)


def test_a_session_says_that_its_renewals_are_refused(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        assert session.refusal is None
        for reason, kind in (
            (types_pb2.ERROR_REASON_PERMISSION_DENIED, errors.PermissionDenied),
            (types_pb2.ERROR_REASON_UNAUTHENTICATED, errors.Unauthenticated),
        ):
            member.refused = reason
            session._renew_now()
            await member.until(lambda: type(session.refusal) is kind)  # noqa: B023
            member.refused = types_pb2.ERROR_REASON_NO_LEADER  # No question of rights.
            await member.until(lambda: session.refusal is None)
        member.refused = types_pb2.ERROR_REASON_PERMISSION_DENIED
        await member.until(lambda: session._renewals._denials._count >= 4)
        assert session._renew_at - client._clock.now() > 2 * PUT_OFF_SECONDS  # More and more rarely.
        member.refused = 0
        await member.until(lambda: session.refusal is None)
        assert session.safe

    run(member, work)


# How long it is said to live.


def test_nothing_is_safe_until_any_time_once_it_is_over(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        held = await session.lock("k").acquire()
        now = client._clock.now()
        assert session.safe_until > now
        assert held.safe_until > now
        held._state.doubts += 1
        assert held.safe_until == float("-inf")
        held._state.doubts -= 1
        client._guard._pid = 0  # As in a forked child.
        try:
            assert (session.safe_until, held.safe_until) == (float("-inf"), float("-inf"))
        finally:
            client._guard.__init__()
        assert held.safe_until > now
        session._stop(CloseCause.SUPERSEDED)
        assert (session.safe_until, session.safe_for) == (float("-inf"), 0.0)
        assert held.safe_until == float("-inf")

    run(member, work)


def test_what_is_granted_as_the_lease_runs_out_is_told_that_it_ended(member: FakeMember) -> None:
    async def work() -> None:
        clock = Clock()
        async with member.client(clock) as client, client.session() as session:
            hold = member.hold("k", "me")
            member.renewing = False
            clock.time += 60
            session._tick()  # What there is by now is told.
            held = session._holdings.keep(hold, _held())
            told: list[EndCause] = []
            held.on_lost(told.append)
            await asyncio.wait_for(held.lost.wait(), PATIENCE)
            await member.until(lambda: told)
            assert (told, held.cause) == ([EndCause.LEASE_RAN_OUT], EndCause.LEASE_RAN_OUT)
            member.renewing = True
            session._machine.lease.forget_sent()
            session._renew_now()
            assert (await member.asked_for(_rpc.RELEASE_LOCK)).lock_index == hold.sequencer.lock_index

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def _held() -> Any:
    from tenure.aio import Held

    return Held


# Closing and handing over that are cancelled.


def test_who_waits_for_what_a_close_of_the_client_cuts_short_is_not_cancelled(member: FakeMember) -> None:
    async def work() -> None:
        member.calls[DESTROY.path] = never
        member.streams[ACQUIRE.path] = at_once(member)
        member.calls[_rpc.RELEASE_LOCK.path] = never
        ids = iter(["the first", "the second"])
        member.calls[_rpc.CREATE_SESSION.path] = lambda r: session_pb2.CreateSessionResponse(
            session_id=next(ids), ttl=r.ttl, epoch=1
        )
        client = member.client()
        first, second = await client.session(), await client.session()
        held = await second.lock("k").acquire()
        releasing = asyncio.ensure_future(held.release())
        await member.asked_for(_rpc.RELEASE_LOCK)
        waiting = asyncio.ensure_future(first.close())
        await member.asked_for(DESTROY)
        closing = asyncio.ensure_future(client.close())
        await asyncio.sleep(0)
        await cancelled(closing)
        await waiting
        with pytest.raises(errors.TenureError):
            await releasing

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


@pytest.mark.parametrize("again", [True, False])
def test_a_close_of_a_session_that_is_cancelled_goes_on(member: FakeMember, again: bool) -> None:
    async def work() -> None:
        go, answered = asyncio.Event(), []

        async def destroy(request: Any) -> Any:
            await go.wait()
            answered.append(request.session_id)
            return session_pb2.DestroySessionResponse()

        member.calls[DESTROY.path] = destroy
        async with member.client() as client:
            session = await client.session(ttl=0)
            closing = asyncio.ensure_future(session.close())
            await member.asked_for(DESTROY)
            await cancelled(closing)
            if again:
                second = asyncio.ensure_future(session.close())
                await asyncio.sleep(0)
                assert not second.done()
                go.set()
                await second
                assert answered == [SESSION]
            asyncio.get_running_loop().call_soon(go.set)
        assert answered == [SESSION]

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_threads_that_close_a_session_at_once_all_wait_for_its_end(member: FakeMember) -> None:
    gate, ended = threading.Event(), []

    async def destroy(request: Any) -> Any:
        await asyncio.to_thread(gate.wait)
        return session_pb2.DestroySessionResponse()

    member.calls[DESTROY.path] = destroy
    with tenure.Client(f"tenure://{ADDRESS}", rng=Dice()) as client:
        session = client.session()

        def close() -> None:
            session.close()
            ended.append(gate.is_set())

        threads = [threading.Thread(target=close) for _ in range(2)]
        threads[0].start()
        until(lambda: member.requests(DESTROY))
        threads[1].start()
        threads[1].join(0.1)
        gate.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert ended == [True, True]
    assert len(member.requests(DESTROY)) == 1


def test_an_elected_function_may_close_its_session(member: FakeMember) -> None:
    async def work() -> None:
        destroyed: list[str] = []

        async def destroy(request: Any) -> Any:
            await asyncio.sleep(0.01)
            destroyed.append(request.session_id)
            return session_pb2.DestroySessionResponse()

        member.calls[DESTROY.path] = destroy
        member.streams[ACQUIRE.path] = at_once(member)
        async with member.client() as client:
            session = await client.session(ttl=0)

            async def lead(leadership: Any) -> None:
                await session.close()

            await session.elect("e")(lead).wait()
            await member.until(lambda: destroyed)

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_a_client_that_closes_leaves_no_session_that_was_being_opened(member: FakeMember) -> None:
    async def work() -> None:
        go = asyncio.Event()
        keys: list[bytes] = []

        async def create(request: Any) -> Any:
            keys.append(request.options.idempotency_key)
            if len(keys) == 1:  # It is made, but its answer is late.
                await go.wait()
            return session_pb2.CreateSessionResponse(session_id=SESSION, ttl=request.ttl, epoch=1)

        member.calls[_rpc.CREATE_SESSION.path] = create
        client = member.client()
        await client.__aenter__()
        opening = asyncio.ensure_future(client.session(ttl=0).__aenter__())
        await member.asked_for(_rpc.CREATE_SESSION)
        await client.close()
        with pytest.raises(errors.ClientClosed) as raised:
            await opening
        assert raised.value.applied is None
        assert [r.session_id for r in member.requests(DESTROY)] == [SESSION]
        assert len(set(keys)) == 1

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_a_client_that_closes_does_not_wait_for_a_session_that_was_never_asked_for(member: FakeMember) -> None:
    async def work() -> None:
        client = member.client()
        await client.wait_connected()
        await unreachable(member)
        opening = asyncio.ensure_future(client.session(ttl=0).__aenter__())
        await member.until(lambda: client._openings)
        await client.close()
        with pytest.raises(errors.ClientClosed) as raised:
            await opening
        assert raised.value.applied is False
        assert not member.requests(_rpc.CREATE_SESSION)

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_a_session_of_which_nobody_knows_whether_it_was_made_is_destroyed(member: FakeMember) -> None:
    async def work() -> None:
        def made(request: Any) -> Any:
            return session_pb2.CreateSessionResponse(session_id=SESSION, ttl=request.ttl, epoch=1)

        def broken() -> errors.TenureError:
            return errors.InternalError("broken", applied=None)

        member.calls[_rpc.CREATE_SESSION.path] = refuse(2, broken, made)
        async with member.client() as client:
            with pytest.raises(errors.InternalError):
                await client.session(ttl=0)
            assert (await member.asked_for(DESTROY)).session_id == SESSION
            assert not client._sessions

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_an_export_that_is_cancelled_leaves_the_session_as_it_was(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        member.renewing = False
        exporting = asyncio.ensure_future(session.export())
        await member.until(session._no_waits.is_set)
        await cancelled(exporting)
        assert session.cause is None
        assert (await session.lock("k").acquire()).safe
        member.renewing = True

    run(member, work)


# What fails in the background.


def test_who_is_told_of_a_failure_finds_it_nowhere_else(member: FakeMember, caplog: pytest.LogCaptureFixture) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[ACQUIRE.path] = at_once(member)
        release = member.calls[_rpc.RELEASE_LOCK.path]

        def too_large(request: Any) -> Any:
            if request.HasField("put"):
                raise errors.TooLarge("too large", applied=False)
            return release(request)

        member.calls[_rpc.RELEASE_LOCK.path] = too_large
        held = await session.lock("k").acquire()
        with pytest.raises(errors.TooLarge):
            await held.release(put=b"much")
        assert not caplog.records

    run(member, work)
