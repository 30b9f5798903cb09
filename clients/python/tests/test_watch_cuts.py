"""Watches whose stream is cut at a certain message, against a member in memory."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from fake import ADDRESS, PATIENCE, Dice, FakeMember, cancelled

import tenure
from tenure import EventType, _rpc, aio, errors
from tenure.aio import _election, _follow
from tenure.v1 import election_pb2, session_pb2, types_pb2, watch_pb2

HEADER = types_pb2.ResponseHeader(revision=7, history_id="h")


def started() -> watch_pb2.WatchResponse:
    return watch_pb2.WatchResponse(header=HEADER, resume_token="t7", started=watch_pb2.WatchStarted(after_revision=7))


def initial(*keys: str, complete: bool = False) -> watch_pb2.WatchResponse:
    part = watch_pb2.WatchInitial(kvs=[types_pb2.KeyValue(key=k, mod_revision=3) for k in keys], complete=complete)
    return watch_pb2.WatchResponse(header=HEADER, resume_token="t7" if complete else "", initial=part)


def put(key: str, revision: int) -> watch_pb2.WatchResponse:
    event = watch_pb2.Event(
        type=watch_pb2.EVENT_TYPE_PUT,
        revision=revision,
        key=key,
        kv=types_pb2.KeyValue(key=key, mod_revision=revision),
    )
    return watch_pb2.WatchResponse(
        header=types_pb2.ResponseHeader(revision=revision, history_id="h"),
        resume_token=f"t{revision}",
        events=watch_pb2.WatchEvents(events=[event]),
    )


def deleted(key: str, revision: int, *after: watch_pb2.WatchResponse) -> watch_pb2.WatchResponse:
    """A message that a key was deleted, and of what else came after that."""
    event = watch_pb2.Event(type=watch_pb2.EVENT_TYPE_DELETED, revision=revision, key=key)
    events = [event, *(e for message in after for e in message.events.events)]
    return watch_pb2.WatchResponse(
        header=types_pb2.ResponseHeader(revision=events[-1].revision, history_id="h"),
        resume_token=f"t{events[-1].revision}",
        events=watch_pb2.WatchEvents(events=events),
    )


class Script:
    """Streams by number: each gives its messages, and is then cut; the last one stays open."""

    def __init__(self, member: FakeMember, *streams: list[watch_pb2.WatchResponse]) -> None:
        self._member = member
        self._streams = list(streams)
        member.streams[_rpc.WATCH.path] = self.serve

    async def serve(self, request: Any) -> AsyncIterator[watch_pb2.WatchResponse]:
        messages = self._streams.pop(0)
        for message in messages:
            if request.initial or not message.HasField("initial"):
                yield message
        if self._streams:
            self._member.cut()
        await asyncio.Event().wait()


def keys(request: Any) -> tuple[bool, str]:
    return request.initial, request.resume_token


WHOLE = [started(), initial("a"), initial("b", complete=True), put("c", 8)]
TOLD = [(EventType.PRESENT, "a"), (EventType.PRESENT, "b"), (EventType.SYNCED, ""), (EventType.PUT, "c")]


@pytest.mark.parametrize(
    ("first", "told", "again"),
    [
        pytest.param([], TOLD, (True, ""), id="before it began"),
        pytest.param([started()], TOLD, (True, ""), id="before the present state came"),
        pytest.param(
            [started(), initial("a")],
            [(EventType.PRESENT, "a"), (EventType.RESET, ""), *TOLD],
            (True, ""),
            id="in the middle of the present state",
        ),
    ],
)
def test_the_present_state_begins_again_when_it_was_cut(
    member: FakeMember, first: list[Any], told: list[Any], again: Any
) -> None:
    async def watch() -> None:
        Script(member, first, WHOLE)
        async with member.client() as client:
            watch = client.watch(prefix="", initial=True)
            got = [await asyncio.wait_for(anext(watch), PATIENCE) for _ in told]
        assert [(e.type, e.key) for e in got] == told
        assert [keys(r) for r in member.requests(_rpc.WATCH)] == [(True, ""), again]

    asyncio.run(watch())


def test_a_present_state_that_is_whole_is_not_told_again(member: FakeMember) -> None:
    async def watch() -> None:
        Script(member, WHOLE[:3], [started(), put("c", 8)], [started(), put("d", 9)])
        async with member.client() as client:
            watch = client.watch(prefix="", initial=True)
            got = [await asyncio.wait_for(anext(watch), PATIENCE) for _ in range(5)]
        assert [(e.type, e.key) for e in got] == [*TOLD, (EventType.PUT, "d")]
        assert [keys(r) for r in member.requests(_rpc.WATCH)] == [(True, ""), (False, "t7"), (False, "t8")]

    asyncio.run(watch())


def test_the_resume_token_is_none_until_the_present_state_is_whole(member: FakeMember) -> None:
    async def watch() -> None:
        Script(member, WHOLE)
        async with member.client() as client, client.watch(prefix="", initial=True) as watch:
            tokens = [watch.resume_token]
            for _ in TOLD:
                await anext(watch)
                tokens.append(watch.resume_token)
        assert tokens == ["", "", "", "t7", "t8"]

    asyncio.run(watch())


@pytest.mark.parametrize("cut", [0, 1, 2])
def test_who_waits_at_a_barrier_hears_that_it_opened_through_a_cut(member: FakeMember, cut: int) -> None:
    async def wait() -> None:
        Script(member, [started(), initial("k")][:cut], [started(), initial(complete=True)])
        async with member.client() as client:
            await asyncio.wait_for(client.barrier("k").wait(), PATIENCE)

    asyncio.run(wait())


def test_a_cache_is_filled_through_a_cut(member: FakeMember) -> None:
    async def fill() -> None:
        Script(member, [started(), initial("gone")], [started(), initial("k", complete=True)])
        async with member.client() as client, client.cache("", timeout=PATIENCE) as cache:
            assert cache.keys() == ["k"]

    asyncio.run(fill())


def test_a_function_of_a_key_is_told_what_a_cut_hid(member: FakeMember) -> None:
    async def follow() -> None:
        Script(member, [started(), initial("k")], [started(), initial(complete=True), put("k", 8)])
        told: asyncio.Queue[Any] = asyncio.Queue()
        async with member.client() as client:
            client.on_key("k")(told.put)
            assert await asyncio.wait_for(told.get(), PATIENCE) is None
            assert (await asyncio.wait_for(told.get(), PATIENCE)).mod_revision == 8

    asyncio.run(follow())


def test_a_watch_of_which_history_is_forgotten_begins_again_if_it_may(member: FakeMember) -> None:
    async def compacted(request: Any) -> AsyncIterator[Any]:
        if request.resume_token:
            raise errors.RevisionCompacted("gone", reason="REVISION_COMPACTED")
        for message in [started(), initial("k", complete=True)]:
            yield message
        await asyncio.Event().wait()

    async def watch() -> None:
        member.streams[_rpc.WATCH.path] = compacted
        async with member.client() as client:
            watch = client.watch(prefix="", resume_token="t1", restart=True)
            got = [await asyncio.wait_for(anext(watch), PATIENCE) for _ in range(3)]
            assert [e.type for e in got] == [EventType.RESET, EventType.PRESENT, EventType.SYNCED]
            with pytest.raises(errors.RevisionCompacted):
                await anext(client.watch(prefix="", resume_token="t1"))

    asyncio.run(watch())


UNREACHED: dict[str, Callable[[Any], Any]] = {
    "a watch": lambda client: client.watch(prefix="").start(),
    "an observer": lambda client: client.observe("e").__anext__(),
}


@pytest.mark.parametrize("what", UNREACHED)
def test_what_cannot_begin_says_so(member: FakeMember, what: str) -> None:
    async def refused(request: Any) -> Any:
        raise errors.LinkLost("nobody there", applied=None)

    async def begin() -> None:
        member.calls[_rpc.LIST_MEMBERS.path] = refused
        async with member.client() as client:
            client.timeout = 0.1
            with pytest.raises(errors.Unavailable):
                await asyncio.wait_for(UNREACHED[what](client), PATIENCE)

    asyncio.run(begin())


@pytest.mark.parametrize("what", ["watch", "cache", "observer"])
def test_a_read_that_waits_for_a_member_ends_when_it_is_closed(member: FakeMember, what: str) -> None:
    async def refused(request: Any) -> Any:
        raise errors.LinkLost("nobody there", applied=None)

    async def observed(request: Any) -> AsyncIterator[Any]:
        yield election_pb2.ObserveResponse(header=HEADER)
        await asyncio.Event().wait()

    async def follow() -> None:
        Script(member, WHOLE)
        member.streams[_rpc.OBSERVE.path] = observed
        async with member.client() as client:
            opened: Any = client.observe("e")
            if what == "cache":
                opened = await client.cache("", timeout=PATIENCE)
            elif what == "watch":
                opened = client.watch(prefix="")
            reading: Any = None if what == "cache" else await opened.__anext__()
            member.calls[_rpc.LIST_MEMBERS.path] = refused
            member.cut()
            if what != "cache":
                reading = asyncio.ensure_future(opened.__anext__())
            listed = len(member.requests(_rpc.LIST_MEMBERS))
            await member.asked_for(_rpc.LIST_MEMBERS, listed + 3)
            await asyncio.wait_for(opened.close(), PATIENCE / 4)
            if reading is not None:
                with pytest.raises(StopAsyncIteration):
                    await asyncio.wait_for(reading, PATIENCE / 4)

    asyncio.run(follow())


@pytest.mark.parametrize("late", [False, True], ids=["", "late"])
@pytest.mark.parametrize("what", ["watch", "batch", "observer"])
def test_what_an_interrupt_kept_from_its_reader_comes_again(member: FakeMember, what: str, late: bool) -> None:
    async def observed(request: Any) -> AsyncIterator[Any]:
        yield election_pb2.ObserveResponse(header=HEADER)
        await asyncio.Event().wait()

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    Script(member, [started(), put("a", 8), put("b", 9)])
    member.streams[_rpc.OBSERVE.path] = observed
    with tenure.Client(f"tenure://{ADDRESS}", rng=Dice()) as client:
        opened: Any = client.observe("e") if what == "observer" else client.watch(prefix="")
        read: Callable[[], Any] = opened.batch if what == "batch" else lambda: next(opened)
        name = "__anext__" if what == "observer" else "batch"
        real, fetch = getattr(opened._aio, name), opened._fetch
        reads_again = threading.Event()

        async def interrupted(*_: Any) -> Any:
            result = await real()
            os.kill(os.getpid(), signal.SIGUSR1)
            if late:
                assert reads_again.wait(PATIENCE)
            return result

        def fetch_again() -> Any:
            reads_again.set()  # It has seen that nothing is there.
            return fetch()

        before = signal.signal(signal.SIGUSR1, interrupt)
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(aio.Observer if what == "observer" else aio.Watch, name, interrupted)
                with pytest.raises(KeyboardInterrupt):
                    read()
        finally:
            signal.signal(signal.SIGUSR1, before)
        opened._fetch = fetch_again
        again = read()
        if what == "observer":
            assert again is None
        else:
            assert [e.key for e in (again if what == "batch" else [again])] == ["a"]
            assert opened.resume_token == "t8"
            assert next(opened).key == "b"


def test_a_thread_that_read_a_part_of_a_message_goes_on_before_it(member: FakeMember) -> None:
    Script(member, [started(), deleted("a", 8, put("b", 8))])
    with tenure.Client(f"tenure://{ADDRESS}", rng=Dice()) as client:
        watch = client.watch(prefix="")
        assert (next(watch).key, watch.resume_token) == ("a", "t7")
        assert (next(watch).key, watch.resume_token) == ("b", "t8")


class Silence:
    """Watches: the first begins and then says nothing, as of a member without a leader; the next ones tell a key."""

    def __init__(self, member: FakeMember) -> None:
        self._begun = 0
        member.streams[_rpc.WATCH.path] = self.serve

    async def serve(self, request: Any) -> AsyncIterator[watch_pb2.WatchResponse]:
        self._begun += 1
        yield started()
        if self._begun > 1:
            yield initial("c", complete=True) if request.initial else put("c", 8)
        await asyncio.Event().wait()


async def next_of(client: aio.Client) -> str:
    async with client.watch(prefix="") as watch:
        return (await anext(watch)).key


async def filled(client: aio.Client) -> str:
    async with client.cache("", timeout=PATIENCE) as cache:
        return cache.keys()[0]


@pytest.mark.parametrize("look", [next_of, filled])
def test_a_member_that_says_nothing_on_a_watch_is_left(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch, look: Callable[[aio.Client], Any]
) -> None:
    async def watch() -> None:
        Silence(member)
        async with member.client() as client:
            assert await asyncio.wait_for(look(client), PATIENCE) == "c"
        assert len(member.links) == 2
        assert [r.resume_token for r in member.requests(_rpc.WATCH)] == (["", "t7"] if look is next_of else ["", ""])

    monkeypatch.setattr(_follow, "SILENCE_SECONDS", 0.05)
    asyncio.run(watch())


def test_a_thread_does_not_stay_with_a_member_that_says_nothing_on_a_watch(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_follow, "SILENCE_SECONDS", 0.05)
    Silence(member)
    with tenure.Client(f"tenure://{ADDRESS}", rng=Dice()) as client, client.watch(prefix="") as watch:
        too_late = threading.Timer(PATIENCE, watch.close)
        too_late.start()
        key = next(watch).key
        too_late.cancel()
    assert (key, len(member.links)) == ("c", 2)


@pytest.mark.parametrize(("interval", "seconds"), [(None, 15.0), (1.0, 15.0), (60.0, 180.0)])
def test_a_member_may_say_nothing_for_three_times_as_long_as_it_was_told_to(
    member: FakeMember, interval: float | None, seconds: float
) -> None:
    watch = member.client().watch(prefix="", progress_interval=interval)
    assert watch._silence() == seconds


async def polled(watch: aio.Watch, seconds: float) -> str:
    """Reads a key as one does who has other things to do: for a short time, again and again."""
    while True:
        with contextlib.suppress(asyncio.TimeoutError):
            return (await asyncio.wait_for(anext(watch), seconds)).key


def test_a_watch_that_is_polled_leaves_a_member_that_says_nothing(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def poll() -> None:
        Silence(member)
        async with member.client() as client, client.watch(prefix="") as watch:
            assert await asyncio.wait_for(polled(watch, 0.01), PATIENCE) == "c"
        assert len(member.links) == 2
        assert [r.resume_token for r in member.requests(_rpc.WATCH)] == ["", "t7"]

    monkeypatch.setattr(_follow, "SILENCE_SECONDS", 0.1)
    asyncio.run(poll())


def test_a_read_that_was_cancelled_loses_nothing_and_needs_no_other_stream(member: FakeMember) -> None:
    async def read() -> None:
        goes_on = asyncio.Event()

        async def serve(request: Any) -> AsyncIterator[watch_pb2.WatchResponse]:
            yield started()
            await goes_on.wait()
            yield put("a", 8)
            yield put("b", 9)
            await asyncio.Event().wait()

        member.streams[_rpc.WATCH.path] = serve
        async with member.client() as client, client.watch(prefix="") as watch:
            for _ in range(3):
                reading = asyncio.ensure_future(watch.__anext__())
                await asyncio.sleep(0)
                await cancelled(reading)
            goes_on.set()
            assert [(await asyncio.wait_for(anext(watch), PATIENCE)).key for _ in range(2)] == ["a", "b"]
        assert len(member.requests(_rpc.WATCH)) == 1

    asyncio.run(read())


def test_a_stream_whose_reader_was_cancelled_ends_if_nobody_reads_on(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read() -> None:
        Silence(member)
        async with member.client() as client, client.watch(prefix="") as watch:
            reading = asyncio.ensure_future(watch.__anext__())
            await asyncio.sleep(0)
            await cancelled(reading)
            await member.until(lambda: watch._stream is None)
            assert (await asyncio.wait_for(anext(watch), PATIENCE)).key == "c"
        assert [r.resume_token for r in member.requests(_rpc.WATCH)] == ["", "t7"]
        assert len(member.links) == 1

    monkeypatch.setattr(_follow, "UNREAD_SECONDS", 0.01)
    asyncio.run(read())


@pytest.mark.parametrize("busy", [True, False], ids=["one that is busy", "one without a leader"])
def test_an_observer_leaves_a_member_that_does_not_know_who_leads(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch, busy: bool
) -> None:
    def leads(token: int) -> election_pb2.ObserveResponse:
        hold = session_pb2.Hold(sequencer=types_pb2.Sequencer(key="e", fencing_token=token))
        return election_pb2.ObserveResponse(header=HEADER, leader=election_pb2.Leader(hold=hold))

    streams = 0

    async def observed(request: Any) -> AsyncIterator[Any]:
        nonlocal streams
        streams += 1
        yield leads(streams)
        await asyncio.Event().wait()

    async def refused(request: Any) -> Any:
        if busy:
            raise errors.TooManyRequests("busy", reason="TOO_MANY_REQUESTS")
        raise errors.NoLeader("no leader", reason="NO_LEADER")

    async def observe() -> None:
        member.streams[_rpc.OBSERVE.path] = observed
        member.calls[_rpc.GET_LEADER.path] = refused
        async with member.client() as client, client.observe("e") as observer:
            first = await asyncio.wait_for(anext(observer), PATIENCE)
            assert first is not None
            assert first.token == 1
            reading = asyncio.ensure_future(observer.__anext__())
            await member.asked_for(_rpc.GET_LEADER, 10 if busy else 3)
            if busy:
                assert (streams, len(member.links)) == (1, 1)
                await cancelled(reading)
                return
            second = await asyncio.wait_for(reading, PATIENCE)
            assert second is not None
            assert second.token == 2
            assert (observer.gap, len(member.links)) == (True, 2)

    monkeypatch.setattr(_election, "ASK_SECONDS", 0.001)
    monkeypatch.setattr(_election, "ASK_AGAIN_SECONDS", 0.001)
    asyncio.run(observe())


def test_an_observer_whose_read_was_cancelled_misses_nothing(member: FakeMember) -> None:
    def leads(token: int) -> election_pb2.ObserveResponse:
        hold = session_pb2.Hold(sequencer=types_pb2.Sequencer(key="e", fencing_token=token))
        return election_pb2.ObserveResponse(header=HEADER, leader=election_pb2.Leader(hold=hold))

    async def observe() -> None:
        goes_on = asyncio.Event()

        async def observed(request: Any) -> AsyncIterator[Any]:
            yield leads(1)
            await goes_on.wait()
            yield leads(2)
            await asyncio.Event().wait()

        member.streams[_rpc.OBSERVE.path] = observed
        async with member.client() as client, client.observe("e") as observer:
            first = await asyncio.wait_for(anext(observer), PATIENCE)
            assert (first is not None and first.token, observer.gap) == (1, False)
            reading = asyncio.ensure_future(observer.__anext__())
            await asyncio.sleep(0)
            await cancelled(reading)
            goes_on.set()
            second = await asyncio.wait_for(anext(observer), PATIENCE)
            assert (second is not None and second.token, observer.gap) == (2, False)
        assert len(member.requests(_rpc.OBSERVE)) == 1

    asyncio.run(observe())
