"""Functions of users that the library runs: what they may end, and how they may fail."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Seen, Twin
from fake import PATIENCE, FakeMember, at_once, run
from test_fork import in_child
from test_watch_cuts import Script, initial, started

import tenure
from tenure import _rpc, aio, errors
from tenure.aio import _connection


def for_twin(twin: Twin, steps: Callable[..., list[Callable[[], Any]]]) -> Callable[..., Any]:
    """Makes a function that takes steps one after another and returns what the last one returned."""
    if twin.name == "sync":
        return lambda *args: [step() for step in steps(*args)][-1]

    async def function(*args: Any) -> Any:
        result = None
        for step in steps(*args):
            result = step()
            if inspect.isawaitable(result):
                result = await result
        return result

    return function


@pytest.mark.parametrize("what", ["run", "session", "client", "leadership"])
def test_what_runs_as_leader_may_end_itself_and_goes_on(twin: Twin, tenure_uri: str, seen: Seen, what: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)
    ready = threading.Event()
    began = seen.items.append

    def steps(leadership: Any) -> list[Callable[[], Any]]:
        if began in seen.items:
            return [lambda: None]  # Stands again after it gave leadership up.
        began(began)
        return [
            lambda: asyncio.to_thread(ready.wait) if twin.name == "asyncio" else ready.wait(),
            lambda: {  # Not read before ready is set: the function may begin before elect has returned.
                "run": lambda: elected.close(),
                "session": lambda: session.close(),
                "client": lambda: client.close(),
                "leadership": lambda: leadership.release(),
            }[what](),
            lambda: asyncio.sleep(0.01) if twin.name == "asyncio" else None,  # A cancellation would come here.
            lambda: seen(("went on", leadership.safe)),
        ]

    elected = twin.do(session.elect("e"), for_twin(twin, steps))
    ready.set()
    seen.wait(lambda items: ("went on", False) in items)
    if what == "run":
        assert twin.do(client.leader, "e") is None
    if what != "leadership":
        twin.do(elected.wait)
    twin.do(client.close)


@pytest.mark.parametrize("what", ["watch", "client"])
def test_what_is_told_of_a_key_may_end_itself(twin: Twin, tenure_uri: str, seen: Seen, what: str) -> None:
    client = twin.client(tenure_uri)
    writer = twin.client(tenure_uri)
    ready = threading.Event()

    def steps(kv: Any) -> list[Callable[[], Any]]:
        return [
            lambda: asyncio.to_thread(ready.wait) if twin.name == "asyncio" else ready.wait(),
            lambda: {"watch": watch, "client": client}[what].close(),
            lambda: seen("ended"),
        ]

    watch = twin.do(client.on_key("k"), for_twin(twin, steps))
    ready.set()
    seen.wait(lambda items: items)
    twin.do(writer.kv.put, "k", "1")
    twin.do(watch.wait)
    twin.do(client.close)
    assert seen.items == ["ended"]


def test_a_leader_that_gives_leadership_up_may_return_something(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)

    def steps(leadership: Any) -> list[Callable[[], Any]]:
        return [
            leadership.release,
            lambda: asyncio.sleep(0.01) if twin.name == "asyncio" else None,
            lambda: "done",
        ]

    assert twin.do(session.election("e").run, for_twin(twin, steps)) == "done"


def test_a_leader_whose_resignation_was_refused_is_cancelled_when_leadership_is_lost(
    tenure_uri: str, seen: Seen
) -> None:
    async def use() -> None:
        async with aio.Client(tenure_uri) as client, client.session() as session:

            async def lead(leadership: Any) -> None:
                try:
                    with pytest.raises(errors.CandidateNotFound):
                        await leadership.resign(to_session=session.id, to_owner="nobody")
                    seen("refused")
                    await asyncio.Event().wait()
                finally:
                    seen("cancelled")

            running = asyncio.ensure_future(session.election("e").run(lead))
            await asyncio.to_thread(seen.wait, lambda items: "refused" in items)
            await client.break_lock("e", "a test")
            with pytest.raises(errors.HoldLost):
                await running
            assert seen.items == ["refused", "cancelled"]

    asyncio.run(use())


@pytest.mark.parametrize("how", ["callback", "task"])
def test_what_a_function_started_is_not_the_function(tenure_uri: str, seen: Seen, how: str) -> None:
    async def use() -> None:
        async with aio.Client(tenure_uri) as client, client.session() as session:
            tasks = []

            async def close(*_: Any) -> None:
                await elected.close()
                seen("closed")

            async def lead(leadership: Any) -> None:
                try:
                    if how == "callback":
                        client.on_state(close)
                    else:
                        tasks.append(asyncio.ensure_future(close()))
                    await asyncio.Event().wait()
                finally:
                    seen("cancelled")

            elected = session.elect("e")(lead)
            await elected.wait()
            await asyncio.to_thread(seen.wait, lambda items: items == ["cancelled", "closed"])

    asyncio.run(use())


def test_a_client_that_was_closed_leaves_no_function_running(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_connection, "CLOSERS_SECONDS", 0.01)
    ended = []

    async def use() -> None:
        member.streams[_rpc.ACQUIRE_LOCK.path] = at_once(member)
        leads = asyncio.Event()
        async with member.client() as client, client.session() as session:

            @session.elect("e")
            async def lead(leadership: Any) -> None:
                try:
                    leads.set()
                    await asyncio.Event().wait()
                finally:
                    try:
                        await asyncio.Event().wait()  # It cleans up for too long.
                    finally:
                        ended.append(leadership.token)

            await leads.wait()
        assert ended

    asyncio.run(asyncio.wait_for(use(), PATIENCE))


def test_a_leader_may_close_another_client(tenure_uri: str, seen: Seen) -> None:
    with tenure.connect(tenure_uri) as client, client.session() as session:

        @session.elect("e")
        def lead(leadership: tenure.Leadership) -> None:
            with tenure.connect(tenure_uri):
                pass
            seen(leadership.safe)
            leadership.lost.wait()

        seen.wait(lambda items: items)
        assert seen.items == [True]


def test_who_is_cancelled_while_it_closes_a_run_is_cancelled_and_the_function_cleans_up_once(
    member: FakeMember,
) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[_rpc.ACQUIRE_LOCK.path] = at_once(member)
        leads, cleans, cleaned = asyncio.Event(), asyncio.Event(), asyncio.Event()
        go_on = asyncio.Event()

        @session.elect("e")  # type: ignore[untyped-decorator]
        async def lead(leadership: Any) -> None:
            leads.set()
            try:
                await asyncio.Event().wait()
            finally:
                cleans.set()
                await go_on.wait()
                cleaned.set()

        await leads.wait()
        closing = asyncio.ensure_future(lead.close())
        await cleans.wait()
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        assert not cleaned.is_set()
        go_on.set()
        await lead.wait()
        assert cleaned.is_set()

    run(member, work)


def test_an_election_goes_on_after_leadership_could_not_be_given_up(member: FakeMember) -> None:
    async def work(client: Any, session: Any) -> None:
        member.streams[_rpc.ACQUIRE_LOCK.path] = at_once(member)

        def refuse(request: Any) -> Any:
            raise errors.InternalError("broken", applied=None)

        member.calls[_rpc.RELEASE_LOCK.path] = refuse
        led = asyncio.Semaphore(0)

        @session.elect("e")  # type: ignore[untyped-decorator]
        async def lead(leadership: Any) -> None:
            led.release()

        for _ in range(2):
            await led.acquire()
        await lead.close()

    run(member, work)


@pytest.mark.parametrize("error", [asyncio.CancelledError, ValueError, StopIteration, SystemExit])
def test_what_is_told_of_a_key_may_fail_in_any_way(
    twin: Twin, tenure_uri: str, seen: Seen, error: type[BaseException]
) -> None:
    if twin.name == "asyncio" and error is SystemExit:
        error = RuntimeError  # That one ends the event loop of the user, as anywhere in asyncio.
    client = twin.client(tenure_uri)

    def fail() -> None:
        raise error

    twin.do(client.on_key("k"), for_twin(twin, lambda kv: [lambda: seen(kv and kv.text), fail]))
    seen.wait(lambda items: items == [None])
    twin.do(client.kv.put, "k", "1")
    seen.wait(lambda items: items == [None, "1"])
    twin.do(client.close)


@pytest.mark.parametrize("when", ["by itself", "when it is cancelled"])
@pytest.mark.parametrize("what", ["key", "election"])
def test_how_a_function_failed_is_logged_though_what_runs_it_is_being_closed(
    member: FakeMember, caplog: pytest.LogCaptureFixture, what: str, when: str
) -> None:
    async def work(client: Any, session: Any) -> None:
        Script(member, [started(), initial("k", complete=True)])
        member.streams[_rpc.ACQUIRE_LOCK.path] = at_once(member)
        closing: asyncio.Future[asyncio.Future[None]] = asyncio.get_running_loop().create_future()

        @(client.on_key("k") if what == "key" else session.elect("k"))  # type: ignore[untyped-decorator]
        async def fail(of: Any) -> None:
            closing.set_result(asyncio.ensure_future(fail.close()))
            try:
                if when == "when it is cancelled":
                    await asyncio.Event().wait()
            finally:
                raise ValueError("on purpose")

        await (await closing)

    run(member, work)
    gc.collect()
    (record,) = caplog.records
    assert (record.name, str(record.exc_info and record.exc_info[1])) == ("tenure", "on purpose")


def test_a_watch_of_a_key_that_ended_by_itself_is_forgotten(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    for _ in range(10):
        twin.do(twin.do(client.on_key("k"), lambda kv: False).wait)
    assert not (client._aio if twin.name == "sync" else client)._closers


def test_what_reads_ends_with_its_client(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)
    readers = [client.watch(prefix="a/", initial=True), client.observe("e")]
    for reader in readers:
        twin.next(reader)
    twin.do(client.close)
    for reader in readers:
        assert [item for item in twin.all(reader) if isinstance(item, tenure.LeaderInfo)] == []
    assert twin.do(session.wait_closed) is tenure.CloseCause.CLOSED


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_may_close_what_its_parent_has_open(tenure_uri: str) -> None:
    with tenure.connect(tenure_uri) as client, client.session() as session:
        watch = client.watch(prefix="a/")
        watch.start()
        opened: list[Any] = [
            watch,
            client.cache("a/"),
            client.observe("e"),
            client.on_key("k")(lambda kv: None),
            session.elect("e")(lambda leadership: leadership.lost.wait()),
        ]
        membership = session.presence("g").join("me")
        for one in opened:
            assert in_child(one.close) == "None", one
        assert in_child(membership.leave) == "False"
        client.kv.put("a/1", "1")
        assert next(watch).type is tenure.EventType.PUT
        assert list(client.presence("g").members()) == ["me"]
        for one in opened:
            one.close()
