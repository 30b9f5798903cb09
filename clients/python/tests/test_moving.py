"""Sessions that move between processes, against a member in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fake import PATIENCE, SESSION, FakeMember, at_once, cancelled, lost

from tenure import CloseCause, Credentials, EndCause, State, _rpc, aio, errors
from tenure.v1 import lock_pb2, session_pb2, types_pb2

KEPT = Credentials(SESSION, bytes(32), 1, 15.0, handed_over=False)
HANDED_OVER = Credentials(SESSION, bytes(32), 1, 15.0, handed_over=True)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time


def resumable(member: FakeMember, *holds: session_pb2.Hold, places: tuple[session_pb2.Place, ...] = ()) -> None:
    """Lets the member answer whoever takes the session over."""

    def attach(request: Any) -> Any:
        answer = member.attached(*holds, places=places)
        answer.session.epoch = 2
        answer.session.ttl.FromSeconds(member.ttl)
        return answer

    member.calls[_rpc.ATTACH_SESSION.path] = attach


class Record:
    """What the cluster knows of a session that is taken over: its epoch, and the instance that uses it."""

    def __init__(self, member: FakeMember) -> None:
        self.epoch, self.instance = 1, b"the first"
        self._member = member
        member.calls[_rpc.ATTACH_SESSION.path] = self.attach

    def attach(self, request: Any) -> Any:
        epoch, mine = request.options.epoch, request.instance_id == self.instance
        if request.take_over and epoch == self.epoch:
            self.epoch, self.instance = epoch + 1, request.instance_id
        elif not mine or epoch != self.epoch - request.take_over:
            raise errors.EpochMismatch(f"epoch is {self.epoch}", applied=False)
        answer = self._member.attached()
        answer.session.epoch = self.epoch
        answer.session.ttl.FromSeconds(self._member.ttl)
        return answer


def test_an_export_before_the_inheritance_may_be_believed_says_so(member: FakeMember) -> None:
    async def work() -> None:
        resumable(member)
        clock = Clock()
        for kept, wait, want in ((True, 0.0, False), (True, 15.0, True), (False, 0.0, True)):
            async with aio.Client("tenure://fake:1", clock=clock) as client:
                session = await client.resume(KEPT if kept else HANDED_OVER)
                clock.time += wait
                session._renew_now()
                token = Credentials.from_text(await session.export())
                assert token.handed_over is want, (kept, wait)
                assert token.epoch == 2

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_credentials_of_a_session_that_goes_on_never_say_that_it_was_handed_over(member: FakeMember) -> None:
    async def work() -> None:
        async with member.client() as client, client.session() as session:
            assert not session.credentials().handed_over

    asyncio.run(work())


def test_who_takes_a_session_over_gives_up_the_places_of_the_one_before(member: FakeMember) -> None:
    async def work() -> None:
        place = session_pb2.Place(key="k", owner="gone", session_id=SESSION)
        resumable(member, member.hold("held", "me"), places=(place,))
        member.calls[_rpc.CANCEL_WAIT.path] = lambda r: lock_pb2.CancelWaitResponse(hold=member.hold(r.key, "gone"))
        async with member.client() as client, client.resume(HANDED_OVER) as session:
            cancelled = await member.asked_for(_rpc.CANCEL_WAIT)
            assert (cancelled.key, cancelled.options.owner, cancelled.options.epoch) == ("k", "gone", 2)
            assert (await member.asked_for(_rpc.RELEASE_LOCK)).key == "k"
            (held,) = await session.holds()
            assert held.safe
            assert len(member.requests(_rpc.RELEASE_LOCK)) == 1

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_who_takes_a_session_over_learns_of_all_it_holds_however_much(member: FakeMember) -> None:
    async def work() -> None:
        holds = [member.hold(f"k{i}", "me") for i in range(5)]

        def attach(request: Any) -> Any:
            at = int(request.page_token or 0)
            answer = member.attached(*holds[at : at + 2])
            answer.session.epoch = 2
            answer.session.ttl.FromSeconds(15)
            answer.next_page_token = str(at + 2) if at < 4 else ""
            return answer

        member.calls[_rpc.ATTACH_SESSION.path] = attach
        async with member.client() as client, client.resume(HANDED_OVER) as session:
            assert [held.key for held in await session.holds()] == [f"k{i}" for i in range(5)]
        taking = [r.take_over for r in member.requests(_rpc.ATTACH_SESSION) if r.page_token]
        assert taking
        assert not any(taking)

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_who_acquires_what_was_inherited_gets_it_when_it_may_be_believed(member: FakeMember) -> None:
    async def work() -> None:
        hold = member.hold("k", "me")
        resumable(member, hold)

        async def serve(request: Any) -> AsyncIterator[Any]:
            yield lock_pb2.AcquireLockResponse(granted=hold)

        member.streams[_rpc.ACQUIRE_LOCK.path] = serve
        clock = Clock()
        async with aio.Client("tenure://fake:1", clock=clock) as client:
            session = await client.resume(KEPT)
            acquiring = asyncio.ensure_future(session.lock("k", owner="me").acquire())
            await member.asked_for(_rpc.ACQUIRE_LOCK)
            await asyncio.wait({acquiring}, timeout=0.05)
            assert not acquiring.done()
            clock.time += 5  # Renewals follow the clock; a step of the whole TTL would end the lease.
            while session.safe_until < 119:
                session._renew_now()
                await asyncio.sleep(0.01)
            clock.time += 10
            held = await acquiring
            assert held in await session.holds()
            assert held.safe

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_who_acquires_what_was_inherited_and_then_lost_acquires_it_anew(member: FakeMember) -> None:
    async def work() -> None:
        holds = [member.hold("k", "me")]
        resumable(member, *holds)

        async def serve(request: Any) -> AsyncIterator[Any]:
            yield lock_pb2.AcquireLockResponse(granted=holds[-1])

        def release(request: Any) -> Any:
            holds.append(member.hold("k", "me"))
            return lock_pb2.ReleaseLockResponse(released=True)

        member.streams[_rpc.ACQUIRE_LOCK.path] = serve
        member.calls[_rpc.RELEASE_LOCK.path] = release
        clock = Clock()
        async with aio.Client("tenure://fake:1", clock=clock) as client:
            session = await client.resume(KEPT)
            acquiring = asyncio.ensure_future(session.lock("k", owner="me").acquire())
            await member.asked_for(_rpc.ACQUIRE_LOCK)
            clock.time += 20  # The lease runs out before the inheritance can be believed.
            session._renew_now()
            held = await acquiring
            assert held.token == holds[1].sequencer.fencing_token
            assert held.safe
            assert member.requests(_rpc.RELEASE_LOCK)[0].lock_index == holds[0].sequencer.lock_index

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_an_export_leaves_the_queues_and_ends_what_waits_there(member: FakeMember) -> None:
    async def work() -> None:
        async def serve(request: Any) -> AsyncIterator[Any]:
            yield member.queued(request)
            await asyncio.Event().wait()

        member.streams[_rpc.ACQUIRE_LOCK.path] = serve
        async with member.client() as client, client.session() as session:
            waiting = asyncio.ensure_future(session.lock("k").acquire())
            await member.asked_for(_rpc.ACQUIRE_LOCK)
            await session.export()
            assert session.cause is CloseCause.EXPORTED
            assert len(member.requests(_rpc.CANCEL_WAIT)) == 1
            with pytest.raises(errors.SessionClosed):
                await waiting
            assert not member.requests(_rpc.DESTROY_SESSION)

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_a_takeover_that_cannot_be_asked_for_is_not_called_superseded(member: FakeMember) -> None:
    async def work() -> None:
        def attach(request: Any) -> Any:
            if request.take_over:
                raise errors.EpochMismatch("epoch is 2", reason="EPOCH_MISMATCH", applied=False)
            raise errors.NoLeader("no leader", applied=False)

        member.calls[_rpc.ATTACH_SESSION.path] = attach
        async with member.client() as client:
            with pytest.raises(errors.DeadlineExceeded):
                await client.resume(KEPT, timeout=0.1)

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


@pytest.mark.parametrize("how", ["the session was not renewed", "a page was refused", "the answer was lost"])
def test_a_resume_that_failed_after_the_takeover_may_be_tried_again(member: FakeMember, how: str) -> None:
    async def work() -> None:
        record = Record(member)

        def attach(request: Any) -> Any:
            answer = record.attach(request)
            if how == "the answer was lost":
                raise lost()
            if how == "a page was refused":
                if request.page_token:
                    raise errors.PermissionDenied("no", applied=False)
                answer.next_page_token = "2" if request.take_over else ""
            return answer

        member.calls[_rpc.ATTACH_SESSION.path] = attach
        async with member.client() as client:
            member.renewing = how != "the session was not renewed"
            failing = asyncio.ensure_future(resumed(client))
            await member.until(lambda: record.epoch == 2)
            if how == "a page was refused":
                with pytest.raises(errors.PermissionDenied):
                    await failing
            else:
                if how == "the session was not renewed":
                    await member.asked_for(_rpc.KEEP_ALIVE)
                await cancelled(failing)
            member.renewing = True
            member.calls[_rpc.ATTACH_SESSION.path] = record.attach
            session = await resumed(client)
            assert (session.safe, session.epoch) == (True, 2)
            with pytest.raises(errors.SessionSuperseded):  # It is in use.
                await resumed(client)

    async def resumed(client: Any) -> Any:
        return await client.resume(HANDED_OVER.to_text())

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_what_is_resumed_again_takes_no_answer_to_a_renewal_of_before(member: FakeMember) -> None:
    async def work() -> None:
        Record(member)
        member.renewing = False
        numbers: list[int] = []
        async with member.client() as client:
            for _ in range(2):
                resuming = asyncio.ensure_future(resumed(client))
                await member.until(lambda: len(renewals()) > len(numbers))
                numbers.append(renewals()[-1].number)
                await cancelled(resuming)
        assert numbers[0] != numbers[1]

    async def resumed(client: Any) -> Any:
        return await client.resume(KEPT)

    def renewals() -> list[Any]:
        return [renewal for request in member.requests(_rpc.KEEP_ALIVE) for renewal in request.renewals]

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_who_resumes_through_the_same_client_is_renewed_and_the_one_before_is_superseded(member: FakeMember) -> None:
    async def work() -> None:
        member.streams[_rpc.ACQUIRE_LOCK.path] = at_once(member)
        async with member.client() as client:
            before = await client.session()
            held = await before.lock("k").acquire()
            Record(member)
            after = await client.resume(before.credentials())
            assert (before.state, before.cause) == (State.CLOSED, CloseCause.SUPERSEDED)
            assert (held.safe, held.cause) == (False, EndCause.SUPERSEDED)
            await before.close()
            assert not member.requests(_rpc.DESTROY_SESSION)
            renewed = after._renewals.acknowledged
            after._renew_now()
            await asyncio.wait_for(renewed.wait(), PATIENCE)
            assert after.safe
        assert [r.options.epoch for r in member.requests(_rpc.DESTROY_SESSION)] == [2]

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_a_refusal_to_renew_the_one_before_is_not_for_who_resumed(member: FakeMember) -> None:
    async def work() -> None:
        async with member.client() as client:
            before = await client.session()
            Record(member)
            after = await client.resume(before.credentials())
            refused = session_pb2.RenewalVerdict(
                session_id=SESSION,
                number=before._machine.lease.number,
                refused=types_pb2.ERROR_REASON_SESSION_SUPERSEDED,
            )
            after._renewals.verdict(refused)
            assert after.cause is None
            refused.number = after._machine.lease.number
            after._renewals.verdict(refused)
            assert after.cause is CloseCause.SUPERSEDED

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_what_a_session_without_ttl_held_is_never_believed_by_who_resumes_it(member: FakeMember) -> None:
    async def work() -> None:
        member.ttl = 0
        hold = member.hold("k", "me")
        resumable(member, hold)

        async def serve(request: Any) -> AsyncIterator[Any]:
            granted = hold
            if request.key != "k":
                granted = member.hold(request.key, "me")
                resumable(member, hold, granted)  # After a day the client asks again what it holds.
            yield lock_pb2.AcquireLockResponse(granted=granted)

        member.streams[_rpc.ACQUIRE_LOCK.path] = serve
        member.calls[_rpc.TRY_ACQUIRE_LOCK.path] = lambda r: lock_pb2.TryAcquireLockResponse(acquired=True, hold=hold)
        clock = Clock()
        async with aio.Client("tenure://fake:1", clock=clock) as client:
            session = await client.resume(KEPT)
            for _ in range(2):
                assert session.safe
                assert not any(held.safe for held in session._inherited_helds)
                with pytest.raises(errors.HoldLost, match="without TTL"):
                    await session.holds(PATIENCE)
                with pytest.raises(errors.HoldLost, match="without TTL"):
                    await session.lock("k", owner="me").acquire()
                with pytest.raises(errors.HoldLost, match="without TTL"):
                    await session.lock("k", owner="me").try_acquire()
                clock.time += 86400
            assert (await session.lock("other", owner="me").acquire()).safe
            assert not member.requests(_rpc.RELEASE_LOCK)
            assert not Credentials.from_text(await session.export()).handed_over
            session = await client.resume(KEPT)
            await session.close()
            assert not member.requests(_rpc.DESTROY_SESSION)[0].clean  # Then lock-delay protects.

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_what_a_session_without_ttl_held_is_believed_by_who_it_is_handed_to(member: FakeMember) -> None:
    async def work() -> None:
        member.ttl = 0
        resumable(member, member.hold("k", "me"))
        async with member.client() as client, client.resume(HANDED_OVER) as session:
            assert [held.safe for held in await session.holds()] == [True]

    asyncio.run(asyncio.wait_for(work(), PATIENCE))
