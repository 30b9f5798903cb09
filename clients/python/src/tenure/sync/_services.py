"""Agents, registrations of services, and lists of the instances that pass."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Any

from typing_extensions import Self

from tenure import aio, errors
from tenure._core.several import texts
from tenure.aio._connection import DEFAULT_TIMEOUT_SECONDS
from tenure.aio._function import as_exception
from tenure.aio._register import TTL_SECONDS
from tenure.aio._service_list import Instances
from tenure.sync._ending import Ending
from tenure.sync._portal import Portal
from tenure.sync._threads import ThreadDispatcher
from tenure.types import CheckStatus, Health, Instance


def asking(health: Callable[[], Health] | None) -> Callable[[], Awaitable[Health]] | None:
    """Makes a function that may block one that can be awaited: it is called in a thread of its own.

    One that never returns is left behind.
    """
    if health is None:
        return None

    async def ask() -> Health:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Health] = loop.create_future()

        def settle(said: Health | None, error: Exception | None) -> None:
            if answer.done():
                return
            if error is not None:
                answer.set_exception(error)
            elif said is not None:
                answer.set_result(said)
            else:
                answer.set_exception(ValueError("the health function returned None"))

        def call() -> None:
            said: Health | None = None
            failed: Exception | None = None
            try:
                said = health()
            except BaseException as error:
                failed = as_exception(error)
            with contextlib.suppress(RuntimeError):  # The loop is closed: nobody asks.
                loop.call_soon_threadsafe(settle, said, failed)

        threading.Thread(target=call, name="tenure-health", daemon=True).start()
        return await answer

    return ask


class Registration:
    """An instance of a service that stays registered until it is closed, with a check that the library keeps.

    Any thread can use it.
    """

    def __init__(self, portal: Portal, registration: aio.Registration) -> None:
        self._portal = portal
        self._aio = registration

    @property
    def node(self) -> str:
        """Name of the node on which the instance is registered."""
        return self._aio.node

    @property
    def id(self) -> str:
        """Id of the instance."""
        return self._aio.id

    @property
    def check_id(self) -> str:
        """Id of the check, to which a session can be bound."""
        return self._aio.check_id

    @property
    def error(self) -> errors.TenureError | None:
        """Why the last report failed; None if it succeeded. The library continues to try."""
        return self._aio.error

    def set(self, status: CheckStatus, output: str = "", *, timeout: float | None = None) -> None:
        """Says how the instance is from now on, and reports it. If that fails, the library continues to try.

        Raises ValueError if the registration has a `health` function, which says it.
        """
        self._portal.run(self._aio.set(status, output, timeout=timeout))

    def close(self) -> None:
        """Stops reporting and deregisters the instance with its check. Sessions that are bound to the check end.

        It waits a few seconds at most for the agent or the cluster. If the caller is interrupted, the closing
        continues; closing again waits for it. What the program has registered once more under the same id stays.
        """
        self._portal.end(self._aio.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ServiceList:
    """The instances that pass, of some services. Reading it makes no call. Any thread can use it.

    The instances of a service are those of one revision; of more than 1 000, or about 1 MiB, some may for a moment be
    older than others if the service changes while they are read. While no member can be reached, it still shows what it
    has. `error` says why the list is no longer updated; None while it is.
    """

    def __init__(self, portal: Portal, services: aio.ServiceList) -> None:
        self._portal = portal
        self._aio = services
        self.names = services.names

    @property
    def error(self) -> errors.TenureError | None:
        """Why the list is no longer updated; None while it is."""
        return self._aio.error

    def instances(self, service: str) -> tuple[Instance, ...]:
        """Returns the instances of a service that pass, ordered by node and id."""
        return self._aio.instances(service)

    def all(self) -> Instances:
        """Returns the instances that pass, by the name of the service. Do not change it."""
        return self._aio.all()

    def changes(self) -> Iterator[Instances]:
        """Yields what `all` returns, first as it is and then after each change: `for all in services.changes()`.

        A slow loop misses states in between, but never the last one. It ends when the list or the client is closed;
        otherwise it raises `error`.
        """
        changes = self._aio.changes()

        async def following() -> Instances | None:
            try:
                return await changes.__anext__()
            except StopAsyncIteration:
                return None

        while True:
            try:
                found = self._portal.run(following())
            except errors.ClientClosed:
                return
            if found is None:
                return
            yield found

    def on_change(self, callback: Callable[[Instances], Any]) -> Callable[[Instances], Any]:
        """Registers a callback that gets what `all` returns, after each change. Also a decorator."""
        self._portal.call(lambda: self._aio.on_change(callback))
        return callback

    def close(self) -> None:
        """Ends the watch. The list can still be read, and no longer changes."""
        self._portal.end(self._aio.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Agent:
    """The agent of a machine: it times the checks of what is registered there. Any thread can use it.

    `address` is host:port, or tenures://host:port for an agent with TLS; the default is that of the environment
    variable TENURE_AGENT, or 127.0.0.1:7404. `ca_file`, `cert_file`, `key_file`, `server_name` and `credentials` are as
    those of a client, and mean TLS, too. The agent is called without a token. `timeout` is how long calls wait for it.
    Close it, best by `with`: that deregisters what was registered through it.
    """

    def __init__(self, address: str = "", *, timeout: float = DEFAULT_TIMEOUT_SECONDS, **options: Any) -> None:
        self._dispatcher = ThreadDispatcher()
        self._portal = Portal()
        self._ending = Ending(self._portal, self._dispatcher)

        def make() -> aio.Agent:
            agent = aio.Agent(address, timeout=timeout, dispatcher=self._dispatcher, **options)
            agent._connection._start()
            return agent

        try:
            self._aio = self._portal.call(make)
        except BaseException:
            self._portal.close()
            raise

    def register(
        self,
        name: str,
        *,
        id: str = "",
        address: str = "",
        port: int = 0,
        tags: Iterable[str] = (),
        meta: dict[str, str] | None = None,
        ttl: float = TTL_SECONDS,
        check_id: str = "",
        health: Callable[[], Health] | None = None,
        timeout: float | None = None,
    ) -> Registration:
        """Registers an instance of a service: `with agent.register("web", port=8080) as registration`.

        `id` is unique on the machine; the default is the name. The library keeps its check passing, until
        Registration.set says otherwise. The agent turns the check critical if it gets no report for `ttl` seconds: when
        the process died, or is stopped. `health` is called before each report, three times in a `ttl`, in a thread of
        its own, and says how the instance is. If it takes longer than `ttl`, the check is critical. The id of the check
        is "service:" and the id, unless `check_id` says otherwise.

        It waits up to 5 s for the catalog to have it, and succeeds even if the agent cannot reach the cluster.
        """
        labels = texts("tags", tags)

        async def registered() -> aio.Registration:
            return await self._aio.register(
                name,
                id=id,
                address=address,
                port=port,
                tags=labels,
                meta=meta,
                ttl=ttl,
                check_id=check_id,
                health=asking(health),
                timeout=timeout,
            )

        return Registration(self._portal, self._portal.run(registered(), undo=aio.Registration.close))

    def close(self) -> None:
        """Deregisters what was registered through it, and closes the connection. Closing again does nothing.

        Several threads can close it: each waits until it is closed, except a callback.
        """
        self._ending.run(self._aio.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
