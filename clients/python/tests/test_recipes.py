"""Elections, functions that the library runs, and recipes, against a real member."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from conftest import Seen, Twin, until

import tenure
from tenure import EventType, errors


def test_an_election_has_one_leader_whose_value_is_seen(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    a, b = twin.do(client.session), twin.do(client.session)
    assert twin.do(client.leader, "svc") is None
    observer = twin.do(lambda: client.observe("svc"))
    assert twin.next(observer) is None
    leading = twin.do(a.election("svc").campaign, "a:1")
    assert twin.next(observer).value == b"a:1"
    twin.do(leading.proclaim, "a:2")
    assert twin.next(observer).value == b"a:2"
    heir = twin.spawn(b.election("svc").campaign, "b:1", owner="heir")
    until(lambda: twin.do(client.lock_info, "svc").waiters == 1)
    leader = twin.do(client.leader, "svc")
    assert (leader.value, leader.candidates, leader.session_id) == (b"a:2", 1, a.id)
    with pytest.raises(errors.CandidateNotFound):
        twin.do(leading.resign, to_session=b.id, to_owner="nobody")
    assert leading.safe
    assert twin.do(leading.resign, to_session=b.id, to_owner="heir")
    assert leading.ended
    assert heir.result(60).token > leading.token
    while (told := twin.next(observer)) is None or told.session_id != b.id:
        pass
    with pytest.raises(tenure.FencingTokenStale):
        twin.do(leading.proclaim, "a:3")
    twin.do(observer.close)


def test_an_elected_function_runs_again_after_it_returned_until_it_is_closed(
    twin: Twin, tenure_uri: str, seen: Seen
) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)

    async def lead(leadership: Any) -> None:
        seen(leadership.token)

    run = twin.do(session.elect("svc", "me"), lead if twin.name == "asyncio" else lambda held: seen(held.token))
    seen.wait(lambda items: len(items) >= 2)
    assert seen.items == sorted(set(seen.items))
    twin.do(run.close)
    assert twin.do(client.leader, "svc") is None


def test_closing_an_elected_function_gives_leadership_up(twin: Twin, tenure_uri: str, seen: Seen) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)

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

    run = twin.do(session.elect("svc"), lead if twin.name == "asyncio" else lead_in_thread)
    seen.wait(lambda items: items)
    twin.do(run.close)
    assert seen.items == ["begun", "ended"]
    assert twin.do(client.leader, "svc") is None


def test_run_returns_what_the_leader_returned(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)

    async def lead(leadership: Any) -> int:
        return int(leadership.token)

    function = lead if twin.name == "asyncio" else (lambda leadership: leadership.token)
    assert twin.do(session.election("svc").run, function, "me") > 0
    assert twin.do(client.leader, "svc") is None


def test_a_function_is_called_with_a_key_now_and_whenever_it_changes(twin: Twin, tenure_uri: str, seen: Seen) -> None:
    client = twin.client(tenure_uri)

    def told(kv: tenure.KeyValue | None) -> bool:
        seen(kv.text if kv is not None else None)
        return kv is None or kv.text != "stop"

    twin.do(client.on_key("cfg"), told)
    seen.wait(lambda items: items == [None])
    for value in ("1", "1", "2"):
        twin.do(client.kv.put, "cfg", value)
    twin.do(client.kv.delete, "cfg")
    twin.do(client.kv.put, "cfg", "stop")
    seen.wait(lambda items: items == [None, "1", "1", "2", None, "stop"])
    twin.do(client.kv.put, "cfg", "after")
    twin.do(client.kv.get, "cfg")
    assert seen.items[-1] == "stop"


def test_a_callback_may_block_and_call_the_client(tenure_uri: str, seen: Seen) -> None:
    with tenure.connect(tenure_uri) as client, client.session() as session:
        go_on = threading.Event()

        def called(change: tenure.StateChange) -> None:
            go_on.wait(60)
            seen(client.kv.put("from-callback", "1").key)

        session.on_state(called)
        with session.lock("k") as held:
            assert held.safe  # The library does not wait for the callback.
        go_on.set()
        seen.wait(lambda items: items)


def test_a_barrier_holds_up_until_it_is_removed(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    barrier = client.barrier("b")
    twin.do(barrier.wait)
    assert twin.do(barrier.set)
    assert not twin.do(barrier.set)
    with pytest.raises(tenure.WaitTimeout):
        twin.do(barrier.wait, 0.2)
    waiting = [twin.spawn(barrier.wait) for _ in range(3)]
    assert twin.do(barrier.remove)
    for w in waiting:
        w.result(60)


def test_a_double_barrier_begins_and_ends_together(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    for _ in range(2):  # It can be used again.
        sessions = [twin.do(client.session) for _ in range(3)]
        barriers = [s.double_barrier("d", 3) for s in sessions]
        entering = [twin.spawn(b.enter) for b in barriers[:2]]
        until(lambda: len(twin.all(client.kv.list("d/members/"))) == 2)
        assert not any(e.done() for e in entering)
        twin.do(barriers[2].enter)
        for e in entering:
            e.result(60)
        leaving = [twin.spawn(b.leave) for b in barriers[:2]]
        until(lambda: len(twin.all(client.kv.list("d/members/"))) == 1)
        assert not any(w.done() for w in leaving)
        twin.do(barriers[2].leave)
        for w in leaving:
            w.result(60)
        assert twin.all(client.kv.list("d/")) == []


def test_a_double_barrier_that_times_out_was_not_entered(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)
    with pytest.raises(tenure.WaitTimeout):
        twin.do(session.double_barrier("d", 2).enter, 0.3)
    assert twin.all(client.kv.list("d/")) == []


def test_presence_tells_who_is_there(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    a, b = twin.do(client.session), twin.do(client.session)
    group = client.presence("workers")
    states = group.watch()
    assert twin.next(states) == {}
    member = twin.do(a.presence("workers").join, "a", "1")
    assert twin.next(states) == {"a": b"1"}
    twin.do(b.presence("workers").join, "b", "2")
    assert twin.next(states) == {"a": b"1", "b": b"2"}
    assert twin.do(group.members) == {"a": b"1", "b": b"2"}
    twin.do(b.close)
    assert twin.next(states) == {"a": b"1"}
    twin.do(member.update, "3")
    assert twin.next(states) == {"a": b"3"}
    assert twin.do(member.leave)
    assert twin.next(states) == {}
    twin.do(states.aclose if twin.name == "asyncio" else states.close)
    with pytest.raises(ValueError, match="session"):
        twin.do(group.join)


def test_a_cache_follows_and_says_how_old_it_may_be(twin: Twin, tenure_uri: str, seen: Seen) -> None:
    client = twin.client(tenure_uri)
    twin.do(client.kv.put, "c/a", "1")
    cache = twin.do(client.cache, "c/")
    assert cache.get("c/a").text == "1"
    assert cache.get("c/none") is None
    assert 0 < cache.stale < 60
    twin.do(cache.on_change, seen)
    twin.do(client.kv.put, "c/b", "2")
    twin.do(client.kv.put, "c/a", "3")
    twin.do(client.kv.delete, "c/b")
    until(lambda: cache.keys() == ["c/a"] and cache["c/a"].text == "3")
    assert "c/a" in cache
    assert len(cache) == 1
    seen.wait(lambda items: len(items) == 3)
    assert [e.type for e in seen.items] == [EventType.PUT, EventType.PUT, EventType.DELETED]
    twin.do(cache.close)
    assert cache.keys() == ["c/a"]


def test_the_first_of_two_of_one_name_leaves_the_second_in_the_group(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    one, two = twin.do(client.session), twin.do(client.session)
    first = twin.do(one.presence("same").join, "name", "1")
    second = twin.do(two.presence("same").join, "name", "2")
    assert twin.do(first.leave) is False
    assert twin.do(client.presence("same").members) == {"name": b"2"}
    twin.do(second.update, "3")
    assert twin.do(second.leave) is True
    assert twin.do(second.leave) is False
    assert twin.do(client.presence("same").members) == {}
