"""Lists of the instances of services that pass, kept up to date by a watch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from tenure import _convert, errors
from tenure._core.backoff import Backoff
from tenure._core.retry import FailedHere
from tenure._rpc import LIST_INSTANCES, WATCH
from tenure.aio import _follow
from tenure.aio._backlog import Backlog
from tenure.aio._follow import Follower
from tenure.aio._wait import stop, until_set, within
from tenure.types import Instance
from tenure.v1 import catalog_pb2, watch_pb2

if TYPE_CHECKING:
    from tenure.aio._client import Client

log = logging.getLogger("tenure")

PROGRESS_SECONDS = 5.0

Instances = dict[str, tuple[Instance, ...]]


class _Feed(Follower[watch_pb2.WatchRequest, watch_pb2.WatchResponse]):
    """The messages of a watch of services. What history forgot is noted in `lost`."""

    def __init__(self, client: Client, names: Iterable[str]) -> None:
        super().__init__(client, WATCH, "a service list")
        self._names = tuple(names)
        self._token = ""
        self.patient = True
        self.lost = True

    def _request(self) -> watch_pb2.WatchRequest:
        return watch_pb2.WatchRequest(
            services=self._names, resume_token=self._token, progress_interval=_convert.duration(PROGRESS_SECONDS)
        )

    def _silence(self) -> float:
        return _follow.SILENCE_SECONDS

    def _broke(self, error: errors.TenureError) -> bool:
        lost = isinstance(error, errors.HistoryError)
        if lost:
            self._token, self.lost = "", True
        return lost

    async def message(self) -> watch_pb2.WatchResponse | None:
        """Returns the next message; None if it was closed."""
        while not self._closed:
            message = await self._next_message()
            if message is not None:
                self._began = True
                self._token = message.resume_token or self._token
                return message
        return None


async def open_service_list(client: Client, names: tuple[str, ...], timeout: float | None) -> ServiceList:
    """Returns a list that is known."""
    services = ServiceList(client, names)
    try:
        await within(services._settled.wait(), client.timeout if timeout is None else timeout, "service list")
        if services.error is not None:
            raise services.error
        if not services._known:
            raise errors.ClientClosed("the client was closed before the service list was known")
    except BaseException:
        await services.close()
        raise
    return services


class ServiceList:
    """The instances that pass, of some services. Reading it makes no call.

    The instances of a service are those of one revision; of more than 1 000, or about 1 MiB, some may for a moment be
    older than others if the service changes while they are read. While no member can be reached, it still shows what it
    has. `error` says why the list is no longer updated; None while it is.
    """

    def __init__(self, client: Client, names: tuple[str, ...]) -> None:
        if not names:
            raise ValueError("no service is named")
        self.names = tuple(sorted(set(names)))
        self.error: errors.TenureError | None = None
        self._client = client
        self._passing: Instances = {}
        self._nodes: dict[str, set[str]] = {}  # Where instances of each service are, in lower case.
        self._shown: dict[str, int] = {}  # The revision of each service.
        self._known = False
        self._settled = asyncio.Event()  # It is known, or is fed no more.
        self._changed = asyncio.Event()  # Set and replaced with each change.
        self._line = client._dispatcher.line()
        self._backlogs: list[Backlog[Instances]] = []
        self._feed = _Feed(client, self.names)
        client._start()
        self._task = client._tasks.spawn(self._run(), "service-list")
        client._closers[id(self)] = self.close

    async def _run(self) -> None:
        try:
            while (message := await self._feed.message()) is not None:
                await self._take(message)
        except errors.TenureError as error:
            self.error = error
            raise
        finally:
            self._settled.set()
            self._changed.set()

    async def _take(self, message: watch_pb2.WatchResponse) -> None:
        """Takes a message: services that it is about are read anew, unless they were read at its revision or later.

        So however many changes there are, one read follows the other.
        """
        if self._feed.lost:
            self._feed.lost, self._shown = False, {}
            for name in self.names:
                await self._load(name)
            self._known = True
            self._settled.set()
        for event in message.events.events:
            for name in self._concerned(event):
                if event.revision > self._shown[name]:
                    await self._load(name)

    def _concerned(self, event: watch_pb2.Event) -> list[str]:
        """Returns the services of the list that an event may be about."""
        name, node = event.service.name, event.service.node
        if event.HasField("check"):
            name, node = event.check.service_name, event.check.node
        elif event.HasField("node"):
            node = event.node.name
        if name in self.names:
            return [name]
        if name:  # It had another name before.
            return list(self.names)
        # The node, and a check of it, count for all instances on it.
        return [n for n in self.names if node.lower() in self._nodes[n]]

    async def _load(self, name: str) -> None:
        """Reads one service, in pages.

        Each page is of a revision of its own, so the service counts as read at that of the first: an event after it has
        the service read again.
        """
        request = catalog_pb2.ListInstancesRequest(service=name)
        passing: list[Instance] = []
        nodes: set[str] = set()
        shown = 0
        while True:
            page = await self._page(request)
            shown = shown or page.header.revision
            for found in page.instances:
                nodes.add(found.service.node.lower())
                if found.status == catalog_pb2.CHECK_STATUS_PASSING:
                    passing.append(_convert.instance(found))
            request.page_token = page.next_page_token
            if not request.page_token:
                break
        self._shown[name], self._nodes[name] = shown, nodes
        if self._passing.get(name) != tuple(passing):
            self._passing = {**self._passing, name: tuple(passing)}
            self._changed.set()
            self._changed = asyncio.Event()
            if len(self._passing) == len(self.names):
                for backlog in self._backlogs:
                    backlog.tell(self._passing)

    async def _page(self, request: catalog_pb2.ListInstancesRequest) -> catalog_pb2.ListInstancesResponse:
        """Reads a page, however long it takes. An interceptor that fails is told only to who waits for the first."""
        backoff = Backoff(self._client._rng)
        warned = False
        while True:
            try:
                return await self._client._call(LIST_INSTANCES, request, timeout=float("inf"))
            except FailedHere as error:
                if not self._known:
                    raise
                if not warned:
                    warned = True
                    log.warning("a service list will continue later: %s", error)
                await asyncio.sleep(backoff.next())

    def instances(self, service: str) -> tuple[Instance, ...]:
        """Returns the instances of a service that pass, ordered by node and id."""
        return self._passing.get(service, ())

    def all(self) -> Instances:
        """Returns the instances that pass, by the name of the service. Do not change it."""
        return self._passing

    def changes(self) -> Changes:
        """Yields what `all` returns, first as it is and then after each change: `async for all in services.changes()`.

        A slow loop misses states in between, but never the last one. It ends when the list is closed; otherwise it
        raises `error`.
        """
        return Changes(self)

    def on_change(self, callback: Callable[[Instances], Any]) -> Callable[[Instances], Any]:
        """Registers a callback that gets what `all` returns, after each change. Also a decorator.

        One that is slow while there are thousands of changes misses some of them, but never the last one.
        """
        self._backlogs.append(Backlog(self._line, callback, lambda states: list(states)[-1:]))
        return callback

    async def close(self) -> None:
        """Ends the watch. The list can still be read, and no longer changes."""
        self._client._closers.pop(id(self), None)
        await self._feed.close()
        await stop(self._task)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Changes:
    """What a service list is, again and again: see ServiceList.changes."""

    def __init__(self, services: ServiceList) -> None:
        self._services = services
        self._shown: Instances | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Instances:
        services = self._services
        while self._shown is services._passing:
            if services._task.done():
                if services.error is not None:
                    raise services.error
                raise StopAsyncIteration
            await until_set(services._changed, None)
        self._shown = services._passing
        return self._shown
