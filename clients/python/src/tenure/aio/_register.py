"""Services that a program registers, with checks that the library keeps."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import platform
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from typing_extensions import Self

from tenure import _convert, errors
from tenure._core.security import Security, decide, from_environment
from tenure._core.several import texts
from tenure._rpc import (
    ADD_AGENT_SERVICE,
    DEREGISTER_SERVICE,
    GET_AGENT,
    LIST_AGENT_CHECKS,
    REGISTER_NODE,
    REMOVE_AGENT_SERVICE,
    REPORT_CHECK,
)
from tenure.aio._connection import DEFAULT_TIMEOUT_SECONDS, Connection
from tenure.aio._door import Door
from tenure.aio._function import contained
from tenure.aio._limits import Limits
from tenure.aio._link import Link
from tenure.aio._lock import until_finished
from tenure.aio._open import Opening
from tenure.aio._wait import stop, within
from tenure.types import CheckStatus, Health
from tenure.v1 import agent_pb2, catalog_pb2, types_pb2

AGENT_ADDRESS = "127.0.0.1:7404"
TTL_SECONDS = 15.0
TTL_SECONDS_MIN = 1.0
PORT_MAX = 65_535
# How often a registration in the catalog is repeated, in case another client removed it.
REPEAT_SECONDS = 60.0
# Bounds one report, and the wait for the catalog to have what an agent was told.
REPORT_SECONDS = 5.0
CLOSE_SECONDS = 5.0
SETTLE_SECONDS = 0.02

HealthFunction = Callable[[], "Health | Awaitable[Health]"]


@dataclass
class Service:
    """What is registered."""

    name: str
    id: str = ""
    node: str = ""
    address: str = ""
    port: int = 0
    tags: tuple[str, ...] = ()
    meta: dict[str, str] = field(default_factory=dict)
    ttl: float = TTL_SECONDS
    check_id: str = ""
    health: HealthFunction | None = None

    def __post_init__(self) -> None:
        self.id = self.id or self.name
        self.check_id = self.check_id or f"service:{self.id}"
        if not self.name:
            raise ValueError("the service has no name")
        _convert.check_seconds(self.ttl)
        if not self.ttl >= TTL_SECONDS_MIN:
            raise ValueError(f"the TTL of a check is {self.ttl} s; at least {TTL_SECONDS_MIN} s is needed")
        if not 0 <= self.port <= PORT_MAX:
            raise ValueError(f"the port {self.port} is not one of 0 to {PORT_MAX}")

    def message(self) -> catalog_pb2.Service:
        """Returns the instance as the API has it."""
        return catalog_pb2.Service(
            service_id=self.id, name=self.name, address=self.address, port=self.port, tags=self.tags, meta=self.meta
        )

    def check(self, health: Health) -> catalog_pb2.Check:
        """Returns its check as the API has it."""
        return catalog_pb2.Check(
            check_id=self.check_id,
            name=f"Service {self.name}",
            service_id=self.id,
            status=int(health.status),  # type: ignore[arg-type]
            output=health.output,
            kind="ttl",
            definition=catalog_pb2.CheckDefinition(ttl=catalog_pb2.TtlCheck(ttl=_convert.duration(self.ttl))),
        )


def checked(health: object) -> Health:
    """Returns what a program said. Raises a ValueError if no check can be so."""
    if not isinstance(health, Health) or health.status not in list(CheckStatus):
        raise ValueError(f"{health!r} is not a Health with PASSING, WARNING or CRITICAL")
    return health


class Registrar(Protocol):
    """Where a registration is kept: an agent or the catalog."""

    repeat: float  # How often a report is due that says nothing new.

    async def register(self, service: Service, health: Health, limits: Limits) -> None:
        """Writes instance and check."""
        ...

    async def report(self, service: Service, health: Health, limits: Limits) -> None:
        """Writes how the check is, and whatever else is missing."""
        ...

    async def deregister(self, service: Service, limits: Limits) -> None:
        """Deletes instance and check."""
        ...

    async def take_back(self, service: Service, health: Health, limits: Limits) -> None:
        """Deletes what `register` may have written, or may still write, though its caller gave up."""
        ...


class CatalogRegistrar:
    """Registers in the catalog itself."""

    repeat = REPEAT_SECONDS

    def __init__(self, client: Connection) -> None:
        self._client = client
        self._key = secrets.token_bytes(16)  # Of the first request.

    async def register(self, service: Service, health: Health, limits: Limits) -> None:
        """Writes instance and check."""
        await self._write(service, health, limits, self._key)

    async def _write(self, service: Service, health: Health, limits: Limits, key: bytes) -> None:
        request = catalog_pb2.RegisterNodeRequest(
            node=catalog_pb2.Node(name=service.node),
            skip_node_update=True,
            services=[service.message()],
            checks=[service.check(health)],
            options=types_pb2.CallOptions(idempotency_key=key),
        )
        await self._client._call(REGISTER_NODE, request, change=True, limits=limits)

    async def report(self, service: Service, health: Health, limits: Limits) -> None:
        """Writes all of it: what is there already changes nothing."""
        await self._write(service, health, limits, secrets.token_bytes(16))

    async def take_back(self, service: Service, health: Health, limits: Limits) -> None:
        """Deletes it. Asked the same again, the cluster has certainly written it before, unless it refuses that."""
        with contextlib.suppress(errors.TenureError):
            await self.register(service, health, limits)
        await self.deregister(service, limits)

    async def deregister(self, service: Service, limits: Limits) -> None:
        """Deletes instance and check."""
        request = catalog_pb2.DeregisterServiceRequest(
            node=service.node,
            service_id=service.id,
            options=types_pb2.CallOptions(idempotency_key=secrets.token_bytes(16)),
        )
        await self._client._call(DEREGISTER_SERVICE, request, change=True, limits=limits)


class AgentRegistrar:
    """Registers at an agent. Its calls can all be made again."""

    repeat = 0.0

    def __init__(self, client: Connection) -> None:
        self._client = client

    async def register(self, service: Service, health: Health, limits: Limits) -> None:
        """Writes instance and check, and waits a moment for the catalog to have them."""
        request = agent_pb2.AddAgentServiceRequest(service=service.message(), checks=[service.check(health)])
        await self._client._call(ADD_AGENT_SERVICE, request, change=True, own=True, limits=limits)
        limits.sent = True  # What fails from here on leaves it there.
        await self._report(service, health, limits)  # An agent keeps the status of a check that it had before.
        for _ in range(int(REPORT_SECONDS / SETTLE_SECONDS)):
            if await self._in_sync(service, limits):
                return
            await asyncio.sleep(SETTLE_SECONDS)

    async def _in_sync(self, service: Service, limits: Limits) -> bool:
        """Whether the catalog has the check. An agent that is cut off from the cluster writes it later."""
        request = agent_pb2.ListAgentChecksRequest(service_id=service.id)
        answer = await self._client._call(LIST_AGENT_CHECKS, request, limits=limits)
        return any(c.in_sync and c.check.check_id == service.check_id for c in answer.checks)

    async def _report(self, service: Service, health: Health, limits: Limits) -> None:
        request = agent_pb2.ReportCheckRequest(
            check_id=service.check_id,
            status=int(health.status),  # type: ignore[arg-type]
            output=health.output,
        )
        await self._client._call(REPORT_CHECK, request, limits=limits)

    async def report(self, service: Service, health: Health, limits: Limits) -> None:
        """Reports, or registers again what the agent has lost."""
        try:
            await self._report(service, health, limits)
        except errors.CheckNotFound:
            await self.register(service, health, limits)

    async def take_back(self, service: Service, health: Health, limits: Limits) -> None:
        """Deletes it."""
        await self.deregister(service, limits)

    async def deregister(self, service: Service, limits: Limits) -> None:
        """Deletes instance and check."""
        request = agent_pb2.RemoveAgentServiceRequest(service_id=service.id)
        await self._client._call(REMOVE_AGENT_SERVICE, request, limits=limits)


async def _ask(function: HealthFunction) -> Health:
    """Asks the program how it is."""
    answer = function()
    return checked(await contained(answer) if inspect.isawaitable(answer) else answer)


async def register(client: Connection, registrar: Registrar, service: Service, timeout: float | None) -> Registration:
    """Registers an instance, and keeps it registered. If the caller gives up, it is deregistered in the background."""
    client._start()
    limits = Limits(client, timeout, None)
    health = Health(CheckStatus.PASSING)
    if service.health is not None:
        seconds = round(min(limits.left(), service.ttl), 3)
        health = await within(_ask(service.health), seconds, f"the health function of {service.name!r} said nothing")
    name = (service.node, service.id)
    while (before := client._entering.get(name)) is not None:  # What it takes back must not be this one.
        await asyncio.wait({before}, timeout=limits.left())
        limits.check()
    limits.check()
    settle = _enter_name(client, name)

    def written(ended: asyncio.Future[Registration]) -> None:
        """Has what may be there after a failure taken back, unless somebody has it."""
        failed = ended.cancelled() or ended.exception() is not None
        if failed and limits.sent and not _shared(client, service):
            taking = client._tasks.see_through(_take_back(client, registrar, service, health), "take-registration-back")
            taking.add_done_callback(settle)
        else:
            settle(None)

    writing = asyncio.ensure_future(_enter(client, registrar, service, health, limits))
    client._openings.add(writing)
    writing.add_done_callback(written)
    writing.add_done_callback(client._openings.discard)
    try:
        await asyncio.wait({writing})
    except asyncio.CancelledError:
        writing.cancel()
        client._tasks.see_through(_close_made(writing), "close-registration")
        raise
    if writing.cancelled():
        raise errors.ClientClosed("the client was closed", applied=None if limits.sent else False)
    return writing.result()


def _enter_name(client: Connection, name: tuple[str, str]) -> Callable[[object], None]:
    """Notes that something of this name is under way, and returns what ends that: who wants the name waits for it."""
    entering = client._entering[name] = asyncio.get_running_loop().create_future()

    def settle(_: object) -> None:
        del client._entering[name]
        entering.set_result(None)

    return settle


async def _enter(
    client: Connection, registrar: Registrar, service: Service, health: Health, limits: Limits
) -> Registration:
    """Writes an instance, and keeps it registered."""
    await registrar.register(service, health, limits)
    if client._close_begun:  # Nobody would close it.
        limits.sent = True
        raise errors.ClientClosed("the client was closed", applied=None)
    return Registration(client, registrar, service, health)


async def _close_made(writing: asyncio.Future[Registration]) -> None:
    """Closes a registration that came just as its caller was cancelled."""
    await asyncio.wait({writing})
    if not writing.cancelled() and writing.exception() is None:
        await writing.result().close()


async def _take_back(client: Connection, registrar: Registrar, service: Service, health: Health) -> None:
    """Deregisters what may have been registered for nobody, if that can be told within a few seconds."""
    limits = Limits(client, CLOSE_SECONDS, None, closing=True)
    with contextlib.suppress(errors.TenureError):
        await registrar.take_back(service, health, limits)
    await _restore(client, service, limits)


def _others(client: Connection, service: Service) -> list[Registration]:
    """Returns what the program has registered under the node and id of a service."""
    return [r for r in client._registered if (r.node, r.id) == (service.node, service.id)]


def _shared(client: Connection, service: Service) -> bool:
    """Whether the program has a registration of the same instance with the same check, to which both can be left."""
    return any(r.check_id == service.check_id for r in _others(client, service))


async def _restore(client: Connection, service: Service, limits: Limits) -> None:
    """Has what else the program has registered under the name of an instance that was deregistered registered again."""
    again = [client._tasks.spawn(r._again(), "register-again") for r in _others(client, service)]
    if again:
        await asyncio.wait(again, timeout=limits.left())


class Registration:
    """An instance of a service that stays registered until it is closed, with a check that the library keeps.

    `error` says why the last report failed; None if it succeeded. The library continues to try.
    """

    def __init__(self, client: Connection, registrar: Registrar, service: Service, health: Health) -> None:
        self.error: errors.TenureError | None = None
        self._client = client
        self._registrar = registrar
        self._service = service
        self._health = self._reported = health
        self._last = client._clock.now()
        self._turn = asyncio.Lock()  # Taken while something is reported, so that the last report stays.
        self._asking: asyncio.Task[Health] | None = None
        self._asked = 0.0
        self._closed = False
        self._ending: asyncio.Task[None] | None = None
        self._task = client._tasks.spawn(self._run(), "registration")
        client._closers[id(self)] = self.close
        client._registered.append(self)

    @property
    def node(self) -> str:
        """Name of the node on which the instance is registered."""
        return self._service.node

    @property
    def id(self) -> str:
        """Id of the instance."""
        return self._service.id

    @property
    def check_id(self) -> str:
        """Id of the check, to which a session can be bound."""
        return self._service.check_id

    async def _run(self) -> None:
        """Reports until the registration is closed."""
        pause = self._service.ttl / 3
        try:
            while True:
                if await self._answer(pause) and self._due():
                    with contextlib.suppress(errors.TenureError):  # `error` has it, and the next report tries again.
                        await self._tell(Limits(self._client, REPORT_SECONDS, None))
        finally:
            if self._asking is not None:
                self._asking.cancel()

    async def _answer(self, pause: float) -> bool:
        """Waits for what the program says, or until it is time to report. Returns whether it is."""
        if self._asking is not None:
            await asyncio.wait({self._asking}, timeout=pause)
        else:
            await asyncio.sleep(pause)
        function = self._service.health
        if function is None:
            return True
        if self._asking is None:
            self._asked = self._client._clock.now()
            self._asking = asyncio.ensure_future(_ask(function))
            await asyncio.wait({self._asking}, timeout=pause)
        if self._asking.done():
            self._health = _said(self._asking)
            self._asking = None
            return True
        if self._client._clock.now() - self._asked < self._service.ttl:
            return False
        self._health = Health(CheckStatus.CRITICAL, f"the program did not say for {self._service.ttl:g} s how it is")
        return True

    def _due(self) -> bool:
        """Whether there is something to report."""
        since = self._client._clock.now() - self._last
        return self.error is not None or self._health != self._reported or since >= self._registrar.repeat

    async def _tell(self, limits: Limits) -> None:
        """Reports once."""
        async with self._turn:
            if self._closed:
                raise errors.ClientClosed("the registration was closed")
            health = self._health
            try:
                await self._registrar.report(self._service, health, limits)
            except errors.TenureError as error:
                self.error = error
                raise
            self.error = None
            self._reported, self._last = health, self._client._clock.now()

    async def set(self, status: CheckStatus, output: str = "", *, timeout: float | None = None) -> None:
        """Says how the instance is from now on, and reports it. If that fails, the library continues to try.

        Raises ValueError if the registration has a `health` function, which says it.
        """
        health = checked(Health(status, output))
        if self._service.health is not None:
            raise ValueError("the health function says how the instance is")
        self._health = health
        await self._tell(Limits(self._client, timeout, None))

    async def close(self) -> None:
        """Stops reporting and deregisters the instance with its check. Sessions that are bound to the check end.

        It waits a few seconds at most for the agent or the cluster. If the caller is cancelled, the closing continues;
        closing again waits for it. What the program has registered once more under the same id stays; with another
        `check_id` it is missing for a moment, and registered again immediately.
        """
        if self._ending is None:
            self._closed = True
            self._client._closers.pop(id(self), None)
            self._client._registered.remove(self)
            self._ending = self._client._tasks.start_ending(self._end(), "close-registration")
        elif self._ending.done():
            return
        await until_finished(self._ending)

    async def _end(self) -> None:
        """Stops reporting and deregisters the instance, unless the program has another registration of both."""
        await stop(self._task)
        async with self._turn:  # Nothing that `set` still reports may register it again.
            name, limits = (self.node, self.id), Limits(self._client, CLOSE_SECONDS, None, closing=True)
            while (other := self._client._entering.get(name)) is not None and limits.left() > 0:
                await asyncio.wait({other}, timeout=limits.left())
            if _shared(self._client, self._service):
                return
            settle = _enter_name(self._client, name) if name not in self._client._entering else None
            try:
                await self._registrar.deregister(self._service, limits)
            finally:
                if settle is not None:
                    settle(None)
                await _restore(self._client, self._service, limits)

    async def _again(self) -> None:
        """Registers it again at once, for it was deregistered. If that fails, the next report does."""
        with contextlib.suppress(errors.TenureError):
            await self._tell(Limits(self._client, REPORT_SECONDS, None))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _said(asked: asyncio.Task[Health]) -> Health:
    """Returns what a program said. One that failed is critical."""
    if asked.cancelled():
        return Health(CheckStatus.CRITICAL, "the health function was cancelled")
    error = asked.exception()
    if error is not None:
        return Health(CheckStatus.CRITICAL, f"the health function failed: {error!r}")
    return asked.result()


class AgentConnection(Connection):
    """A connection to an agent: without a token, and to no other.

    There is TLS if the address or an option asks for it. The environment says what these leave open; by itself it is
    about members.
    """

    def _make_door(self, told: Security, credentials: Any, interceptors: Any) -> Door:
        if told.has_token or told.insecure:
            raise ValueError("an agent is called without a token")
        own = credentials is not None
        if own and (told.ca_file or told.cert_file or told.key_file):
            raise ValueError("credentials and files of TLS exclude each other")
        security = told
        if own or told.tls or self.address.tls:
            environment = replace(from_environment(os.environ), token="", token_file="")
            security = told.otherwise(environment.without_files() if own else environment)
        tls = decide(self.address.scheme, self.address.endpoints, security, own)
        door = Door(tls, security, credentials, interceptors=interceptors)
        door.lines = False
        return door

    async def _try_connect(self, address: str, rounds: int = 0) -> Link | None:
        attempt = self._unreached.begin()
        link = Link(address, self._door)
        try:
            await link.unary(GET_AGENT, agent_pb2.GetAgentRequest(), self._connect_seconds(rounds))
        except errors.TenureError as error:
            self._unreached.failed(address, error, attempt)
            await link.close()
            return None
        except BaseException:
            await link.close()
            raise
        self._unreached.connected()
        return link

    async def _follow(self, link: Link) -> None:
        await asyncio.wait({link.gone})


class Agent:
    """The agent of a machine, for asyncio: it times the checks of what is registered there.

    `address` is host:port, or tenures://host:port for an agent with TLS; the default is that of the environment
    variable TENURE_AGENT, or 127.0.0.1:7404. `ca_file`, `cert_file`, `key_file`, `server_name` and `credentials` are as
    those of a client, and mean TLS, too. The agent is called without a token. `timeout` is how long calls wait for it.
    Close it, best by `async with`: that deregisters what was registered through it.
    """

    def __init__(self, address: str = "", *, timeout: float = DEFAULT_TIMEOUT_SECONDS, **options: Any) -> None:
        address = address or os.environ.get("TENURE_AGENT", "") or AGENT_ADDRESS
        host = address.removeprefix("tenures://").removeprefix("tenure://")
        if any(c in host for c in "/?,"):
            raise ValueError(f"{address!r} is not the address of an agent, host:port or tenures://host:port")
        self._connection = AgentConnection(address, timeout=timeout, **options)

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
        health: HealthFunction | None = None,
        timeout: float | None = None,
    ) -> Opening[Registration]:
        """Registers an instance of a service: `async with agent.register("web", port=8080) as registration`.

        `id` is unique on the machine; the default is the name. The library keeps its check passing, until
        Registration.set says otherwise. The agent turns the check critical if it gets no report for `ttl` seconds: when
        the process died, is stopped, or hangs. `health` is called before each report, three times in a `ttl`, and says
        how the instance is; it can be a coroutine function. If it takes longer than `ttl`, the check is critical. The
        id of the check is "service:" and the id, unless `check_id` says otherwise.

        It waits up to 5 s for the catalog to have it, and succeeds even if the agent cannot reach the cluster.
        """
        labels = texts("tags", tags)
        service = Service(name, id, "", address, port, labels, dict(meta or {}), ttl, check_id, health)
        return Opening(self._register(service, timeout))

    async def _register(self, service: Service, timeout: float | None) -> Registration:
        answer = await self._connection._call(GET_AGENT, agent_pb2.GetAgentRequest(), timeout=timeout)
        service.node = answer.node
        return await register(self._connection, AgentRegistrar(self._connection), service, timeout)

    async def close(self) -> None:
        """Deregisters what was registered through it, and closes the connection."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        self._connection._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def host() -> str:
    """Returns the name of the host."""
    return platform.node()
