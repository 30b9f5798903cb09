"""How old a cache says it may be, against a member in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fake import ADDRESS, PATIENCE, Dice, FakeMember

from tenure import Event, EventType, KeyValue, _rpc, aio, errors
from tenure.aio import _backlog
from tenure.aio._backlog import latest_of_each_key
from tenure.v1 import catalog_pb2, types_pb2, watch_pb2


class HandClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.seconds = 3600.0

    def now(self) -> float:
        return self.seconds


def message(revision: int, **content: Any) -> watch_pb2.WatchResponse:
    header = types_pb2.ResponseHeader(revision=revision, history_id="h")
    return watch_pb2.WatchResponse(header=header, resume_token=f"t{revision}", **content)


def started(revision: int) -> watch_pb2.WatchResponse:
    return message(revision, started=watch_pb2.WatchStarted(after_revision=revision))


def put(revision: int) -> watch_pb2.WatchResponse:
    kv = types_pb2.KeyValue(key="k", mod_revision=revision)
    event = watch_pb2.Event(type=watch_pb2.EVENT_TYPE_PUT, revision=revision, key="k", kv=kv)
    return message(revision, events=watch_pb2.WatchEvents(events=[event]))


def progress(revision: int, after: int) -> watch_pb2.WatchResponse:
    mark = watch_pb2.WatchProgress()
    mark.proved_after.FromSeconds(after)
    return message(revision, progress=mark)


def state(revision: int, *keys: str, complete: bool = True) -> watch_pb2.WatchResponse:
    kvs = [types_pb2.KeyValue(key=k, mod_revision=3) for k in keys]
    return message(revision, initial=watch_pb2.WatchInitial(kvs=kvs, complete=complete))


class Feed:
    """What a watch is sent, and a client with a clock set by hand."""

    def __init__(self, member: FakeMember) -> None:
        self.clock = HandClock()
        self.client = aio.Client(f"tenure://{ADDRESS}", rng=Dice(), clock=self.clock)
        self._queue: asyncio.Queue[Any] = asyncio.Queue()
        self._taken = 0
        member.streams[_rpc.WATCH.path] = self._serve

    async def _serve(self, request: Any) -> AsyncIterator[Any]:
        while True:
            sent = await self._queue.get()
            if isinstance(sent, Exception):
                raise sent
            yield sent

    def send(self, *messages: Any) -> None:
        for m in messages:
            self._queue.put_nowait(m)


async def until(what: Any) -> None:
    async def wait() -> None:
        while not what():  # noqa: ASYNC110  A cache tells nobody when it was proved to be fresh.
            await asyncio.sleep(0)

    await asyncio.wait_for(wait(), PATIENCE)


def test_only_a_proof_makes_a_cache_fresh(member: FakeMember) -> None:
    async def follow() -> None:
        feed = Feed(member)
        async with feed.client as client:
            opening = asyncio.ensure_future(client.cache("").__aenter__())
            await member.asked_for(_rpc.WATCH)
            feed.clock.seconds += 4
            feed.send(started(10), state(10))
            cache = await asyncio.wait_for(opening, PATIENCE)
            assert cache.stale == pytest.approx(4), "the state was asked for 4 s ago"
            for revision in range(11, 71):
                feed.clock.seconds += 1
                feed.send(put(revision))
            await until(lambda: cache.revision == 70)
            assert cache.stale == pytest.approx(64), "a minute of events proves nothing"
            feed.send(progress(70, 50))
            again = await member.asked_for(_rpc.WATCH, 2)
            assert (again.resume_token, again.initial) == ("t70", False), "the stream was old"
            assert cache.stale == pytest.approx(15), "second 50, and 2 % of it for clocks that differ"
            feed.clock.seconds += 1
            feed.send(started(70), put(71))
            await until(lambda: cache.revision == 71)
            assert cache.stale == pytest.approx(16), "a new stream and an event prove nothing"
            feed.send(progress(71, 0))
            await until(lambda: cache.stale == pytest.approx(1))
            feed.send(progress(71, 1))
            await until(lambda: cache.stale == pytest.approx(0.02))
            await cache.close()

    asyncio.run(follow())


def test_a_cache_that_is_filled_anew_shows_one_state_at_a_time(member: FakeMember) -> None:
    async def follow() -> None:
        feed = Feed(member)
        async with feed.client as client:
            feed.send(started(10), state(10, "old"))
            async with client.cache("", timeout=PATIENCE) as cache:
                feed.clock.seconds += 5
                seen: list[Any] = []
                cache.on_change(seen.append)
                feed.send(errors.RevisionCompacted("gone", reason="REVISION_COMPACTED"))
                feed.send(started(90), state(90, "new", complete=False))
                await until(lambda: len(seen) >= 2)
                assert (cache.keys(), cache.revision) == (["old"], 10)
                assert cache.stale == pytest.approx(5)
                feed.send(state(90, "newer"))
                await until(lambda: cache.revision == 90)
                assert cache.keys() == ["new", "newer"]
                assert cache.stale == pytest.approx(0, abs=1e-5)

    asyncio.run(follow())


def test_a_cache_that_is_fed_no_more_says_why(member: FakeMember) -> None:
    async def follow() -> None:
        feed = Feed(member)
        async with feed.client as client:
            feed.send(started(10), state(10, "k"))
            async with client.cache("", timeout=PATIENCE) as cache:
                assert cache.error is None
                feed.send(errors.PermissionDenied("no", reason="PERMISSION_DENIED"))
                await until(lambda: cache.error is not None)
                assert isinstance(cache.error, errors.PermissionDenied)
                assert cache.keys() == ["k"]
            feed.send(errors.PermissionDenied("no", reason="PERMISSION_DENIED"))
            with pytest.raises(errors.PermissionDenied):
                await asyncio.wait_for(client.cache("").__aenter__(), PATIENCE)

    asyncio.run(follow())


def of(key: str, type: EventType, version: int = 0) -> Event:
    return Event(type, key=key, kv=KeyValue(key, b"", version=version) if version else None)


def test_a_listener_that_is_slow_gets_the_latest_of_each_key(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_backlog, "BACKLOG_MAX", 10)
    seen: list[Event] = []

    async def work() -> None:
        goes_on = asyncio.Event()
        feed = Feed(member)
        feed.send(started(1), state(1, "k"))

        async def slow(event: Event) -> None:
            await goes_on.wait()
            seen.append(event)

        async with feed.client as client, client.cache("") as cache:
            cache.on_change(slow)
            feed.send(*(put(revision) for revision in range(2, 1001)))
            await until(lambda: cache.revision == 1000)
            goes_on.set()
            await until(lambda: seen and seen[-1].revision == 1000)

    asyncio.run(asyncio.wait_for(work(), PATIENCE))
    assert len(seen) <= 20
    assert [e.revision for e in seen] == sorted({e.revision for e in seen})


def test_a_listener_of_a_service_list_that_is_slow_gets_the_last_state(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_backlog, "BACKLOG_MAX", 10)
    seen: list[str] = []
    listed = 0

    async def instances(request: Any) -> catalog_pb2.ListInstancesResponse:
        nonlocal listed
        listed += 1
        found = catalog_pb2.ServiceInstance(
            service=catalog_pb2.Service(name="web", node="n", service_id=str(listed)),
            status=catalog_pb2.CHECK_STATUS_PASSING,
        )
        header = types_pb2.ResponseHeader(revision=listed)
        return catalog_pb2.ListInstancesResponse(header=header, instances=[found])

    async def work() -> None:
        goes_on = asyncio.Event()
        feed = Feed(member)
        member.calls[_rpc.LIST_INSTANCES.path] = instances
        feed.send(started(1))

        async def slow(all_of_them: dict[str, tuple[Any, ...]]) -> None:
            await goes_on.wait()
            seen.append(all_of_them["web"][0].id)

        async with feed.client as client, client.service_list("web") as services:
            services.on_change(slow)
            for revision in range(2, 1001):
                event = watch_pb2.Event(revision=revision, service=catalog_pb2.Service(name="web", node="n"))
                feed.send(watch_pb2.WatchResponse(events=watch_pb2.WatchEvents(events=[event])))
            await until(lambda: services.instances("web")[0].id == "1000")
            goes_on.set()
            await until(lambda: seen and seen[-1] == "1000")

    asyncio.run(asyncio.wait_for(work(), PATIENCE))
    assert len(seen) <= 20


def test_an_event_between_two_pages_of_a_service_list_has_the_service_read_again(member: FakeMember) -> None:
    def instance(node: str) -> catalog_pb2.ServiceInstance:
        return catalog_pb2.ServiceInstance(
            service=catalog_pb2.Service(name="web", node=node, service_id=node),
            status=catalog_pb2.CHECK_STATUS_PASSING,
        )

    def instances(request: Any) -> catalog_pb2.ListInstancesResponse:
        """Answers in pages, of which all have what was there at the first, until the instance on a is gone."""
        asked = len(member.requests(_rpc.LIST_INSTANCES))
        header = types_pb2.ResponseHeader(revision=(5, 7, 8)[asked - 1])
        nodes, token = {1: (["a"], "more"), 2: (["b"], ""), 3: (["b"], "")}[asked]
        found = [instance(node) for node in nodes]
        return catalog_pb2.ListInstancesResponse(header=header, instances=found, next_page_token=token)

    async def work() -> None:
        feed = Feed(member)
        member.calls[_rpc.LIST_INSTANCES.path] = instances
        feed.send(started(1))
        async with feed.client as client, client.service_list("web") as services:
            assert [i.id for i in services.instances("web")] == ["a", "b"]
            event = watch_pb2.Event(revision=6, service=catalog_pb2.Service(name="web", node="a"))
            feed.send(watch_pb2.WatchResponse(events=watch_pb2.WatchEvents(events=[event])))
            await until(lambda: [i.id for i in services.instances("web")] == ["b"])

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_of_events_that_wait_those_that_later_ones_outdate_are_left_out() -> None:
    reset, synced = Event(EventType.RESET), Event(EventType.SYNCED)
    put, gone, present = EventType.PUT, EventType.DELETED, EventType.PRESENT
    assert latest_of_each_key([of("a", put, 1), of("b", put, 5), of("a", put, 2)]) == [of("b", put, 5), of("a", put, 2)]
    assert latest_of_each_key([of("a", put, 1), of("b", put, 5), of("a", gone), of("b", gone)]) == [of("b", gone)]
    assert latest_of_each_key([of("a", gone), of("a", put, 1), of("a", gone)]) == [of("a", gone)]
    told = [of("a", put, 3), reset, of("b", present, 2), of("c", present, 1), synced, of("b", gone), of("c", put, 2)]
    assert latest_of_each_key(told) == [reset, synced, of("c", put, 2)]
