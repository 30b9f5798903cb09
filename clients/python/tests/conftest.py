"""What the tests share: a member, the two clients behind one face, and a proxy that breaks connections."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import secrets
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest
from fake import member  # noqa: F401  Tests take it as a fixture.
from proxy import Proxy

import tenure
from tenure import aio
from tenure.testing import Member

T = TypeVar("T")

# How long a test waits for what must come. It is long because machines are slow.
PATIENCE = 60.0


class Twin:
    """One of the two clients. `do` calls a method of it, whichever it is, and returns the result."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._clients: list[Any] = []
        self._threads = concurrent.futures.ThreadPoolExecutor(max_workers=32)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="test-loop", daemon=True)
        self._thread.start()

    def do(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls something of the library and waits for it."""
        return self.spawn(function, *args, **kwargs).result(PATIENCE)

    def spawn(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        """Calls something of the library, and lets it run."""
        if self.name == "sync":
            return self._threads.submit(lambda: function(*args, **kwargs))

        async def call() -> Any:
            result = function(*args, **kwargs)
            return await result if inspect.isawaitable(result) else result

        return asyncio.run_coroutine_threadsafe(call(), self._loop)

    def next(self, iterator: Any) -> Any:
        """Returns the next item of an iterator of the library."""
        if self.name == "sync":
            return self.do(next, iterator)
        return self.do(lambda: iterator.__anext__())

    def all(self, iterator: Any) -> list[Any]:
        """Returns all items of an iterator of the library."""
        if self.name == "sync":
            return list(self.do(list, iterator))

        async def collect() -> list[Any]:
            return [item async for item in iterator]

        return list(self.do(collect))

    def client(self, uri: str, **options: Any) -> Any:
        """Returns a client that is closed at the end of the test."""
        if self.name == "sync":
            client: Any = self.do(tenure.Client, uri, **options)
        else:
            client = self.do(lambda: aio.Client(uri, **options))
            self.do(client.__aenter__)
        self._clients.append(client)
        return client

    def close(self) -> None:
        """Closes what is open."""
        for client in self._clients:
            self.do(client.close)
        self._threads.shutdown()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(params=["sync", "asyncio"])
def twin(request: pytest.FixtureRequest) -> Iterator[Twin]:
    made = Twin(request.param)
    try:
        yield made
    finally:
        made.close()


class Proxied:
    """A member that is reached through a proxy only."""

    def __init__(self) -> None:
        self.proxy = Proxy()
        self.member = Member(flags=["--advertise", self.proxy.address])
        self.member.start()
        self.proxy.target = self.member.address
        self.direct = self.member.uri

    def uri(self, **parameters: str) -> str:
        """A connection string with a namespace of its own."""
        query = "&".join(f"{k}={v}" for k, v in parameters.items())
        return f"tenure://{self.proxy.address}/test-{secrets.token_hex(6)}?{query}"

    def close(self) -> None:
        self.proxy.close()
        self.member.close()


@pytest.fixture(scope="module")
def proxied_member() -> Iterator[Proxied]:
    made = Proxied()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def proxied(proxied_member: Proxied) -> Iterator[Proxied]:
    yield proxied_member
    proxied_member.proxy.heal()


class Seen:
    """Collects what callbacks tell, for a test that waits for it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.items: list[Any] = []

    def __call__(self, item: Any) -> None:
        with self._changed:
            self.items.append(item)
            self._changed.notify_all()

    def wait(self, what: Callable[[list[Any]], T]) -> T:
        """Waits until the function of all items is true, and returns what it returned."""
        with self._changed:
            result = self._changed.wait_for(lambda: what(self.items), timeout=PATIENCE)
        assert result, f"not within {PATIENCE} s; seen: {self.items}"
        return result

    def wait_count(self, count: int) -> None:
        """Waits until so many were told."""
        self.wait(lambda items: len(items) >= count)

    def states(self) -> list[str]:
        return [str(change.new) for change in self.items]

    def wait_state(self, state: tenure.State, after: int = 0) -> int:
        """Waits for a change to a state and returns its index plus one."""

        def found(items: list[Any]) -> int:
            return next((i + 1 for i, c in enumerate(items) if i >= after and c.new is state), 0)

        return self.wait(found)


@pytest.fixture
def seen() -> Seen:
    return Seen()


def until(what: Callable[[], T]) -> T:
    """Waits until a function is true, and returns what it returned."""
    event = threading.Event()
    for _ in range(int(PATIENCE / 0.02)):
        if result := what():
            return result
        event.wait(0.02)
    raise AssertionError(f"not within {PATIENCE} s")
