"""The surface of both clients, against a real member."""

from __future__ import annotations

import pytest
from conftest import PATIENCE, Seen, Twin, until

import tenure
from tenure import Compare, EndCause, Event, EventType, Mode, Op, State, errors
from tenure.aio import _acquire


def test_a_session_begins_connecting_is_connected_and_closes_with_its_cause(
    twin: Twin, tenure_uri: str, seen: Seen
) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session, ttl=20, name="worker", metadata={"job": "nightly"}, on_state=seen)
    assert session.ttl == 20
    assert session.safe
    assert 0 < session.safe_for <= 20 - 0.4
    info = twin.do(client.session_info, session.id)
    assert (info.name, info.ttl, info.epoch, info.ended) == ("worker", 20.0, 1, False)
    assert info.metadata["job"] == "nightly"
    assert info.metadata["pid"]
    assert info.metadata["language"].startswith("python")
    late = Seen()
    twin.do(session.on_state, late)
    late.wait(lambda items: items)
    assert late.states() == ["CONNECTED"]
    twin.do(session.close)
    twin.do(session.close)
    seen.wait_state(State.CLOSED)
    assert seen.states() == ["CONNECTING", "CONNECTED", "CLOSED"]
    assert str(seen.items[-1].cause) == "closed"
    assert str(session.cause) == "closed"
    assert not session.safe
    assert twin.do(client.session_info, session.id).end_cause == "DESTROYED"
    with pytest.raises(tenure.SessionClosed):
        twin.do(session.kv.put, "k", "v")


def test_the_ttl_is_the_one_that_was_granted(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri + "?ttl=7s")
    assert twin.do(client.session).ttl == 7
    assert twin.do(client.session, ttl=0.5).ttl >= 2
    assert twin.do(client.session, ttl=0).ttl == 0


def test_a_lock_passes_on_in_order_and_tokens_rise(twin: Twin, tenure_uri: str, seen: Seen) -> None:
    client = twin.client(tenure_uri)
    sessions = [twin.do(client.session) for _ in range(3)]
    first = twin.do(sessions[0].lock("k").acquire)
    assert first.safe
    assert not first.ended
    waits = []
    for i, session in enumerate(sessions[1:]):
        waits.append(twin.spawn(session.lock("k").acquire, on_queued=seen))
        seen.wait_count(i + 1)
    assert [place.position for place in seen.items] == [0, 1]
    assert twin.do(client.lock_info, "k").waiters == 2
    assert twin.do(first.release)
    assert not twin.do(first.release)
    assert (first.safe, first.ended, first.cause) == (False, True, EndCause.RELEASED)
    assert first.lost.is_set()
    second = waits[0].result(60)
    assert not waits[1].done()
    twin.do(second.release)
    third = waits[1].result(60)
    assert first.token < second.token < third.token
    assert [h.sequencer.lock_index for h in (first, second, third)] == [1, 2, 3]


def test_a_wait_that_times_out_leaves_nothing_behind(
    twin: Twin, tenure_uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_acquire, "LEAVE_SECONDS", PATIENCE)  # However slow the member is, the caller waits for it.
    client = twin.client(tenure_uri)
    holder, waiter = twin.do(client.session), twin.do(client.session)
    held = twin.do(holder.lock("k").acquire)
    with pytest.raises(tenure.WaitTimeout):
        twin.do(waiter.lock("k").acquire, 0.3)
    info = twin.do(client.lock_info, "k")
    assert (info.holders, info.waiters) == (1, 0)
    twin.do(held.release)
    assert twin.do(client.lock_info, "k").holders == 0


def test_trying_a_lock_says_who_holds_it(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    holder, other = twin.do(client.session, name="me"), twin.do(client.session)
    held = twin.do(holder.lock("k").try_acquire, value="mine")
    assert held is not None
    assert twin.do(client.kv.get, "k").text == "mine"
    assert twin.do(other.lock("k").try_acquire) is None
    info = twin.do(other.lock("k").attempt)
    assert isinstance(info, tenure.LockInfo)
    assert [h.session_name for h in info.holds] == ["me"]
    assert info.holds[0].sequencer == held.sequencer
    twin.do(held.release, put="free")
    assert twin.do(client.kv.get, "k").text == "free"


def test_a_session_without_a_name_is_that_of_its_user_and_host(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    info = twin.do(client.session_info, twin.do(client.session).id)
    assert info.name == f"{info.metadata['user']}@{info.metadata['host']}"


def test_the_same_owner_finds_its_hold_again(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)
    one = twin.do(session.lock("k", owner="me").acquire)
    again = twin.do(session.lock("k", owner="me").acquire)
    assert one.token == again.token
    with pytest.raises(tenure.WaitTimeout):
        twin.do(session.lock("k", owner="other").acquire, 0.2)


def test_readers_share_and_writers_do_not(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    a, b = twin.do(client.session), twin.do(client.session)
    readers = [twin.do(s.rwlock("k").read.acquire) for s in (a, b)]
    assert all(r.mode is Mode.SHARED for r in readers)
    writer = twin.spawn(a.rwlock("k").write.acquire)
    until(lambda: twin.do(client.lock_info, "k").waiters == 1)
    assert twin.do(b.rwlock("k").read.try_acquire) is None  # Nobody passes the writer.
    for reader in readers:
        twin.do(reader.release)
    assert writer.result(60).safe


def test_a_semaphore_has_as_many_permits_as_its_limit(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)
    held = [twin.do(session.semaphore("k", 3).acquire) for _ in range(2)]
    assert twin.do(session.semaphore("k", 3, permits=2).try_acquire) is None
    last = twin.do(session.semaphore("k", 3).try_acquire)
    assert last is not None
    with pytest.raises(errors.LockModeMismatch):
        twin.do(session.semaphore("k", 4).acquire)
    for h in (*held, last):
        twin.do(h.release)


def test_an_operator_breaks_a_lock_and_the_holder_is_told(twin: Twin, tenure_uri: str, seen: Seen) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session, lock_delay=0)
    held = twin.do(session.lock("k").acquire)
    twin.do(held.on_lost, seen)
    assert twin.do(client.break_lock, "k", "maintenance") == 1
    assert seen.wait(lambda items: items) == [EndCause.TAKEN_AWAY]
    assert held.lost.is_set()
    assert not held.safe
    with pytest.raises(tenure.HoldLost):
        held.check()
    assert not twin.do(held.release)
    assert session.safe
    late = Seen()
    twin.do(held.on_lost, late)
    late.wait(lambda items: items)


def test_a_sequencer_is_checked_by_anybody(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)
    held = twin.do(session.lock("k").acquire)
    assert held.sequencer.key.endswith("/k")
    assert twin.do(client.check_sequencer, held.sequencer)
    assert twin.do(client.check_sequencer, held.sequencer.to_text())
    twin.do(session.kv.put, "guarded", "1", guards=[held])
    twin.do(held.release)
    assert not twin.do(client.check_sequencer, held.sequencer.to_text())
    with pytest.raises(tenure.FencingTokenStale):
        twin.do(session.kv.put, "guarded", "2", guards=[held])
    assert twin.do(client.kv.get, "guarded").text == "1"


def test_keys_have_revisions_flags_and_conditions(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    kv = client.kv
    assert twin.do(kv.get, "a") is None
    put = twin.do(kv.put, "a", "1", flags=42, if_revision=0)
    got = twin.do(kv.get, "a")
    assert (got.text, got.flags, got.version, got.mod_revision) == ("1", 42, 1, put.mod_revision)
    assert put == got
    with pytest.raises(tenure.CompareFailed):
        twin.do(kv.put, "a", "2", if_revision=0)
    twin.do(kv.put, "a", b"\x00\xff", if_revision=got.mod_revision)
    assert twin.do(kv.get, "a").value == b"\x00\xff"
    assert twin.do(kv.delete, "a")
    assert not twin.do(kv.delete, "a")
    with pytest.raises(errors.KeyTooLong):
        twin.do(kv.put, "x" * 1025, "")
    with pytest.raises(ValueError, match="session"):
        twin.do(kv.put, "e", "", ephemeral=True)


def test_keys_are_listed_page_by_page_without_their_namespace(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    for i in range(7):
        twin.do(client.kv.put, f"p/{i}", str(i))
    twin.do(client.kv.put, "q", "")
    assert [kv.key for kv in twin.all(client.kv.list("p/", page_size=3))] == [f"p/{i}" for i in range(7)]
    assert {kv.value for kv in twin.all(client.kv.list("p/", keys_only=True))} == {b""}
    assert len(twin.all(client.kv.list())) == 8
    assert twin.do(client.kv.delete_prefix, "p/") == 7
    assert [kv.key for kv in twin.all(client.kv.list())] == ["q"]
    other = twin.client(tenure_uri + "-other")
    assert twin.all(other.kv.list()) == []


def test_ephemeral_keys_end_with_their_session_and_sequential_ones_are_in_order(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)
    bound = twin.do(session.kv.put, "e", "1", ephemeral=True)
    assert bound.bound_session_id == session.id
    keys = [twin.do(session.kv.put, "s/", "", sequential=True).key for _ in range(3)]
    assert keys == sorted(keys)
    assert all(len(k) == len("s/") + 23 for k in keys)
    twin.do(session.close)
    assert twin.do(client.kv.get, "e") is None
    assert len(twin.all(client.kv.list("s/"))) == 3


def test_a_transaction_is_whole_or_nothing(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    put = twin.do(client.kv.put, "a", "1")
    done = twin.do(
        client.kv.txn,
        [Compare.revision("a", put.mod_revision), Compare.missing("b"), Compare.value("a", "1")],
        [Op.put("b", "2"), Op.get("b"), Op.list(""), Op.delete("a"), Op.get("a")],
        [Op.get("a")],
    )
    assert done.succeeded
    assert done.results[1].text == "2"
    assert [kv.key for kv in done.results[2]] == ["a", "b"]
    assert done.results[3:] == (True, None)
    undone = twin.do(client.kv.txn, [Compare.exists("a")], [Op.put("c", "")], [Op.get("b"), Op.delete_prefix("b")])
    assert not undone.succeeded
    assert undone.results[0].text == "2"
    assert undone.results[1] == 1
    assert twin.all(client.kv.list()) == []


def test_a_watch_tells_the_present_then_every_change_once(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    twin.do(client.kv.put, "w/old", "0")
    watch = (
        client.watch(prefix="w/", initial=True)
        if twin.name == "asyncio"
        else twin.do(client.watch, prefix="w/", initial=True)
    )
    events = [twin.next(watch) for _ in range(2)]
    assert [(e.type, e.key) for e in events] == [(EventType.PRESENT, "w/old"), (EventType.SYNCED, "")]
    twin.do(client.kv.put, "other", "")
    twin.do(client.kv.put, "w/new", "1")
    twin.do(client.kv.delete, "w/old")
    put, deleted = twin.next(watch), twin.next(watch)
    assert (put.type, put.key, put.value) == (EventType.PUT, "w/new", b"1")
    assert (deleted.type, deleted.key) == (EventType.DELETED, "w/old")
    assert put.revision < deleted.revision
    token = watch.resume_token
    twin.do(watch.close)
    twin.do(client.kv.put, "w/missed", "2")
    resumed = twin.do(lambda: client.watch(prefix="w/", resume_token=token))
    assert twin.next(resumed).key == "w/missed"
    after = twin.do(lambda: client.watch(prefix="w/", after_revision=put.revision))
    assert [twin.next(after).key for _ in range(2)] == ["w/old", "w/missed"]


def test_a_watch_of_locks_and_sessions(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)
    watch = twin.do(lambda: client.watch(locks=["k"], session_ids=[session.id]))
    twin.do(watch.start)
    held = twin.do(session.lock("k").acquire)
    twin.do(session.close)
    events: list[Event] = []
    ends = (EventType.LOCK_RELEASED, EventType.LOCK_LOST)
    while not events or events[-1].type not in ends:
        events.append(twin.next(watch))
    granted = next(e for e in events if e.type is EventType.LOCK_GRANTED)
    assert granted.hold is not None
    assert granted.hold.sequencer == held.sequencer
    assert EventType.SESSION_ENDED in [e.type for e in events]
    assert len({e.revision for e in events[1:]}) == 1  # The end is one revision.


def test_a_compacted_place_in_history_is_a_typed_error(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    watch = twin.do(lambda: client.watch(prefix="", after_revision=1 << 60))
    with pytest.raises(errors.RevisionFuture):
        twin.next(watch)
    watch = twin.do(lambda: client.watch(prefix="", resume_token="nonsense"))
    with pytest.raises(errors.ResumeTokenInvalid):
        twin.next(watch)


def test_closing_ends_a_watch_that_waits(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    watch = twin.do(lambda: client.watch(key="never"))
    twin.do(watch.start)
    waiting = twin.spawn(watch.batch)
    twin.do(watch.close)
    assert list(waiting.result(60)) == []


def test_a_session_is_handed_to_another_client_with_what_it_holds(twin: Twin, tenure_uri: str, seen: Seen) -> None:
    old, new = twin.client(tenure_uri), twin.client(tenure_uri)
    session = twin.do(old.session, ttl=20, on_state=seen)
    held = twin.do(session.lock("k").acquire)
    twin.do(session.kv.put, "e", "1", ephemeral=True)
    text = twin.do(session.export)
    assert str(session.cause) == "exported"
    assert (held.safe, str(held.cause)) == (False, "exported")
    seen.wait_state(State.CLOSED)
    resumed = twin.do(new.resume, text)
    assert (resumed.id, resumed.epoch, resumed.ttl) == (session.id, 2, 20.0)
    (inherited,) = twin.do(resumed.holds, PATIENCE)
    assert inherited.safe
    assert inherited.key == "k"
    assert inherited.token > held.token
    twin.do(resumed.kv.put, "guarded", "1", guards=[inherited])
    assert twin.do(new.kv.get, "e").text == "1"
    with pytest.raises(errors.TenureError):
        twin.do(old.resume, text)  # It was taken over already.
    assert twin.do(inherited.release)


def test_a_session_that_is_taken_over_is_superseded_for_good(twin: Twin, tenure_uri: str, seen: Seen) -> None:
    old, new = twin.client(tenure_uri), twin.client(tenure_uri)
    session = twin.do(old.session, ttl=10, on_state=seen)
    held = twin.do(session.lock("k").acquire)
    resumed = twin.do(new.resume, session.credentials().to_text())
    seen.wait_state(State.CLOSED)
    assert str(session.cause) == "superseded"
    assert held.ended
    with pytest.raises(tenure.SessionSuperseded):
        twin.do(session.kv.put, "k", "v")
    (inherited,) = twin.do(resumed.holds)  # Once the old one cannot believe to hold it.
    assert inherited.safe
    with pytest.raises(errors.TenureError):
        twin.do(old.resume, session.credentials())
    assert str(resumed.state) == "CONNECTED"


def test_inherited_holds_are_not_safe_while_the_old_process_may_run(twin: Twin, tenure_uri: str) -> None:
    old, new = twin.client(tenure_uri), twin.client(tenure_uri)
    session = twin.do(old.session, ttl=60)
    twin.do(session.lock("k").acquire)
    resumed = twin.do(new.resume, session.credentials())
    with pytest.raises(tenure.WaitTimeout):
        twin.do(resumed.holds, 0.2)


def test_close_of_the_client_closes_everything(twin: Twin, tenure_uri: str, seen: Seen) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)
    held = twin.do(session.lock("k").acquire)
    twin.do(client.on_state, seen)
    twin.do(client.close)
    assert str(held.cause) == "session_closed"
    assert str(session.cause) == "closed"
    seen.wait_state(State.CLOSED)
    with pytest.raises((tenure.ClientClosed, RuntimeError)):
        twin.do(client.kv.get, "k")
    other = twin.client(tenure_uri)
    assert twin.do(other.session_info, session.id).end_cause == "DESTROYED"
    assert twin.do(other.lock_info, "k").delayed_holds == 0


def test_a_cluster_that_does_not_answer_is_unavailable(twin: Twin) -> None:
    client = twin.client("tenure://127.0.0.1:1", timeout=0.5)
    with pytest.raises(tenure.Unavailable) as caught:
        twin.do(client.kv.put, "k", "v")
    assert caught.value.applied is False
    assert str(client.state) == "CONNECTING"
    with pytest.raises(TimeoutError):
        twin.do(client.kv.get, "k", timeout=0.2)


def test_the_clients_of_a_with_statement(tenure_uri: str) -> None:
    with tenure.connect(tenure_uri) as client, client.session() as session:
        lock = session.lock("k", timeout=30)
        with lock as held:
            assert held.safe
            with client.watch(key="k") as watch, session.presence("p").join() as member:
                session.kv.put("k", "1")
                assert next(watch).value == b"1"
                assert member.name in client.presence("p").members()
        with lock as again:
            assert again.token > held.token
        assert [m.name for m in client.members()]
        assert client.connected_to in client.member_addresses
    assert client.closed
