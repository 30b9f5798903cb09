"""Sessions, holds and watches through broken and silent connections, and stopped members."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import pytest
from conftest import PATIENCE, Proxied, Seen, Twin, until

import tenure
from tenure import CloseCause, EndCause, EventType, State, aio, errors
from tenure._core.clock import system_clock
from tenure.aio import _acquire
from tenure.testing import Cluster, Member
from tenure.v1 import session_pb2


def test_a_cut_that_is_healed_in_time_is_only_a_suspension(twin: Twin, proxied: Proxied, seen: Seen) -> None:
    client = twin.client(proxied.uri(ttl="20s"))
    session = twin.do(client.session, on_state=seen)
    held = twin.do(session.lock("k").acquire)
    proxied.proxy.cut()
    at = seen.wait_state(State.SUSPENDED)
    assert held.safe
    writing = twin.spawn(session.kv.put, "k", "1", guards=[held])
    proxied.proxy.heal()
    seen.wait_state(State.CONNECTED, after=at)
    writing.result(60)
    assert held.safe
    assert seen.states() == ["CONNECTING", "CONNECTED", "SUSPENDED", "CONNECTED"]
    assert twin.do(held.release)


def test_what_is_held_ends_before_the_cluster_gives_it_away(twin: Twin, proxied: Proxied, seen: Seen) -> None:
    uri = proxied.uri(ttl="6s")
    client = twin.client(uri)
    session = twin.do(client.session, lock_delay=0, on_state=seen)
    held = twin.do(session.lock("k").acquire)
    ended = Seen()
    twin.do(held.on_lost, ended)
    # Another client, which is not behind the proxy and does not learn of it.
    direct = uri.replace(proxied.proxy.address, proxied.member.address)
    with tenure.connect(direct, members_seconds=3600.0) as other, other.session(ttl=60) as successor:
        proxied.proxy.hold()  # Nobody is told that anything is wrong.
        with successor.lock("k", timeout=60):
            assert not held.safe
            assert held.lost.is_set()
            assert held.ended
        assert ended.wait(lambda items: items) == [EndCause.LEASE_RAN_OUT]
        at = seen.wait_state(State.JEOPARDY)
        with pytest.raises(tenure.HoldLost):
            held.check()
        proxied.proxy.heal()
        seen.wait_state(State.CLOSED, after=at)
    # Who stands still meanwhile may be suspended for no time.
    states = [state for state in seen.states() if state != "SUSPENDED"]
    assert states == ["CONNECTING", "CONNECTED", "JEOPARDY", "CLOSED"]
    assert str(session.cause) == str(CloseCause.EXPIRED)
    with pytest.raises(tenure.SessionExpired):
        twin.do(session.lock("k").acquire)


class StoppedClock:
    """The clock of a process that was stopped: the library looks at it only when it goes on."""

    def __init__(self) -> None:
        self._clock = system_clock()
        self.stopped_seconds = 0.0

    def now(self) -> float:
        return self._clock.now() + self.stopped_seconds


@pytest.mark.parametrize("what_comes_first", ["release", "expiry", "hint", "break"])
def test_whatever_comes_first_after_a_stop_the_lease_ran_out_before(tenure_uri: str, what_comes_first: str) -> None:
    async def run() -> None:
        clock = StoppedClock()
        causes: list[EndCause] = []
        states: list[str] = []
        async with (
            aio.Client(f"{tenure_uri}?ttl=60s", clock=clock) as client,
            client.session(on_state=lambda change: states.append(str(change.new))) as session,
        ):
            held = await session.lock("k").acquire()
            held.on_lost(causes.append)
            clock.stopped_seconds = 120.0
            assert held.cause is EndCause.LEASE_RAN_OUT
            if what_comes_first == "release":
                assert not await held.release()
            elif what_comes_first == "expiry":
                session._stop(CloseCause.EXPIRED)
            elif what_comes_first == "hint":
                lost = session_pb2.Hold(sequencer=held.guard.held)
                session._hint(session_pb2.SessionHint(session_id=session.id, lost=lost))
            else:
                session._link_down()
            assert held.cause is EndCause.LEASE_RAN_OUT
            await asyncio.wait_for(held.lost.wait(), 60)
        assert causes == [EndCause.LEASE_RAN_OUT]
        assert states[1:3] == ["CONNECTED", "JEOPARDY"]
        assert "SUSPENDED" not in states

    asyncio.run(run())


def test_a_hold_that_ended_in_jeopardy_is_given_back_when_the_session_recovers(
    twin: Twin, proxied: Proxied, seen: Seen
) -> None:
    client = twin.client(proxied.uri(ttl="6s"))
    session = twin.do(client.session, on_state=seen)
    held = twin.do(session.lock("k").acquire)
    proxied.member.pause()  # The member's clock says that it was stalled, so the session survives.
    try:
        at = seen.wait_state(State.JEOPARDY)
        assert held.ended
    finally:
        proxied.member.resume()
    seen.wait_state(State.CONNECTED, after=at)
    until(lambda: twin.do(client.lock_info, "k").holders == 0)
    assert not held.safe
    again = twin.do(session.lock("k").acquire)
    assert again.safe
    assert again.token > held.token


def test_calls_in_jeopardy_wait_and_then_say_so(twin: Twin, proxied: Proxied, seen: Seen) -> None:
    client = twin.client(proxied.uri(ttl="2s"))
    session = twin.do(client.session, on_state=seen)
    proxied.proxy.cut()
    seen.wait_state(State.JEOPARDY)
    with pytest.raises(errors.Unavailable):
        twin.do(session.kv.put, "k", "1")
    with pytest.raises(tenure.Unavailable):
        twin.do(session.lock("k").acquire)


def test_a_counter_is_exact_through_many_cuts(twin: Twin, proxied: Proxied) -> None:
    client = twin.client(proxied.uri(ttl="60s"))
    session = twin.do(client.session)
    done = threading.Event()
    puts = cuts = 0

    def cut() -> None:
        nonlocal cuts
        told = 0
        while not done.wait(0.05):
            if puts > told:  # Else a machine that needs longer than that to connect would get nowhere.
                told = puts
                proxied.proxy.cut()
                proxied.proxy.heal()
                cuts += 1

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        revision = 0
        while puts < 60 or cuts < 3:
            # Without request ids a retry after a lost answer would fail: its revision is not the present one.
            revision = twin.do(session.kv.put, "n", str(puts), if_revision=revision).mod_revision
            puts += 1
    finally:
        done.set()
        cutter.join()
    got = twin.do(client.kv.get, "n")
    assert (got.text, got.version) == (str(puts - 1), puts)


def test_a_watch_misses_nothing_through_cuts_and_a_restart(twin: Twin, proxied: Proxied) -> None:
    client = twin.client(proxied.uri(ttl="60s"))
    session = twin.do(client.session)
    watch = twin.do(lambda: client.watch(prefix="n/", initial=True))
    assert twin.next(watch).type is EventType.SYNCED
    for i in range(30):
        twin.do(session.kv.put, f"n/{i % 3}", str(i))
        if i % 10 == 5:
            proxied.proxy.cut()
            proxied.proxy.heal()
        if i == 17:
            proxied.member.stop()
            proxied.member.start()
    events = [twin.next(watch) for _ in range(30)]
    assert [e.value for e in events] == [str(i).encode() for i in range(30)]
    assert {e.type for e in events} == {EventType.PUT}


def test_a_queued_wait_keeps_its_place_through_a_cut(twin: Twin, proxied: Proxied, seen: Seen) -> None:
    client = twin.client(proxied.uri(ttl="60s"))
    first, second = twin.do(client.session), twin.do(client.session)
    held = twin.do(first.lock("k").acquire)
    waiting = twin.spawn(second.lock("k").acquire, on_queued=seen)
    seen.wait_count(1)
    place = twin.do(client.lock_info, "k").places[0]
    proxied.proxy.cut()
    proxied.proxy.heal()
    assert twin.do(held.release)
    got = waiting.result(60)
    assert got.safe
    assert got.owner == place.owner
    assert len(seen.items) == 1


def test_an_elected_leader_that_is_cut_off_stops_in_time_and_leads_again(
    twin: Twin, proxied: Proxied, seen: Seen
) -> None:
    client = twin.client(proxied.uri(ttl="6s"))
    session = twin.do(client.session, lock_delay=0)

    async def lead(leadership: Any) -> None:
        seen("begun")
        try:
            await leadership.lost.wait()
        finally:
            seen("ended")

    def lead_in_thread(leadership: Any) -> None:
        seen("begun")
        leadership.lost.wait()
        seen("ended")

    twin.do(session.elect("svc"), lead if twin.name == "asyncio" else lead_in_thread)
    seen.wait_count(1)
    proxied.member.pause()
    try:
        seen.wait(lambda items: items == ["begun", "ended"])
    finally:
        proxied.member.resume()
    seen.wait(lambda items: items[:3] == ["begun", "ended", "begun"])


def test_a_cancelled_wait_leaves_the_queue(tenure_member: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_acquire, "LEAVE_SECONDS", PATIENCE)  # However slow the member is, the caller waits for it.

    async def cancel() -> None:
        async with tenure.aio.Client(f"{tenure_member.uri}/cancel") as client:
            a, b = await client.session(), await client.session()
            async with a.lock("k"):
                queued = asyncio.Event()
                waiting = asyncio.ensure_future(b.lock("k").acquire(on_queued=lambda place: queued.set()))
                await queued.wait()
                waiting.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await waiting
                assert (await client.lock_info("k")).waiters == 0
            info = await client.lock_info("k")
            assert (info.holders, info.waiters) == (0, 0)

    asyncio.run(cancel())


def test_a_session_goes_on_over_the_death_of_a_member_of_three(twin: Twin, seen: Seen) -> None:
    with Cluster(3) as cluster:
        client = twin.client(cluster.uri + "/c?ttl=20s")
        session = twin.do(client.session, on_state=seen)
        held = twin.do(session.lock("k").acquire)
        until(lambda: len(client.member_addresses) == 3)
        # The member that the client is connected to dies.
        address = until(lambda: client.connected_to)
        dead = next(m for m in cluster.members if m.address == address)
        dead.kill()
        for i in range(20):
            twin.do(session.kv.put, "n", str(i), guards=[held])
        assert held.safe
        assert client.connected_to != dead.address
        assert "JEOPARDY" not in seen.states()
        twin.do(client.close)
