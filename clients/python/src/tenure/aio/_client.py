"""The client, as its users see it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from tenure import _convert, errors
from tenure._core.several import pair, texts
from tenure._rpc import BREAK_LOCK, CHECK_SEQUENCER, GET_LOCK, GET_SESSION, LIST_MEMBERS
from tenure.aio._connection import DEFAULT_TIMEOUT_SECONDS, Connection
from tenure.aio._kv import KV
from tenure.aio._limits import Limits
from tenure.aio._open import Opening
from tenure.aio._queries import Queries
from tenure.aio._register import TTL_SECONDS, CatalogRegistrar, HealthFunction, Registration, Service, host, register
from tenure.aio._watch import Watch, WatchOptions
from tenure.types import (
    Behavior,
    Credentials,
    KeyValue,
    LeaderInfo,
    LockInfo,
    Member,
    Sequencer,
    SessionInfo,
    StateChange,
)
from tenure.v1 import cluster_pb2, lock_pb2, session_pb2, types_pb2

if TYPE_CHECKING:
    from tenure.aio._cache import Cache
    from tenure.aio._election import Observer
    from tenure.aio._recipes import Barrier, Presence
    from tenure.aio._run import KeyWatch
    from tenure.aio._service_list import ServiceList
    from tenure.aio._session import Session


class Client(Connection):
    """A client of a cluster, for asyncio. It belongs to one event loop and one process.

    It connects in the background when it is first used, or at `async with`. All times are in seconds. `timeout` is for
    calls that do not belong to a session: how long they wait for a member (Unavailable). A call under a session waits
    until the session's lease has ended and then for up to twice its TTL, at most 45 s. A call that is given a `timeout`
    of its own ends after that time at the latest (DeadlineExceeded).

    `ca_file`, `cert_file`, `key_file` and `server_name` are for TLS, or `credentials` in place of them: channel
    credentials of gRPC. `token` is a text or a function that returns one, `token_file` a file with one; `insecure` lets
    it be sent to other machines without TLS. `interceptors` are those of grpc.aio.

    A malformed connection string, or settings that do not go together, raise ValueError, and a file of TLS that cannot
    be used raises TLSFailed. Close the client, best by `async with`: a process that exits
    without closing it leaves its sessions to expire.
    """

    @cached_property
    def kv(self) -> KV:
        """Keys and values, without a session."""
        return KV(self)

    @cached_property
    def queries(self) -> Queries:
        """Prepared queries, without a session."""
        return Queries(self)

    def __repr__(self) -> str:
        where = f" to {self.connected_to}" if self.connected_to else ""
        return f"<{type(self).__name__} {self.state}{where}>"

    async def __aenter__(self) -> Self:
        self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # Things that are opened through it.

    def session(
        self,
        *,
        ttl: float | None = None,
        lock_delay: float | None = None,
        behavior: Behavior = Behavior.RELEASE,
        name: str = "",
        metadata: dict[str, str] | None = None,
        node: str = "",
        checks: Iterable[str] = (),
        default_check: bool = False,
        on_state: Callable[[StateChange], Any] | None = None,
        timeout: float | None = None,
    ) -> Opening[Session]:
        """Opens a session: `async with client.session() as s`, or `s = await client.session()`.

        `ttl` is how long it survives without a renewal: 15 s by default, and the cluster grants 2 s to 24 h. With a
        `ttl` of 0 it lives until it is closed or destroyed. `lock_delay` is how long its locks stay locked for others
        after it lost them by force, such as an expiry: 15 s by default, at most 60 s. The connection string can set
        other defaults. `behavior` says what happens to the keys of its locks when it ends. Operators see `name`, by
        default user@host, and `metadata`, which also gets host, pid, program, language and user. `on_state` is a
        listener, like that of Session.on_state, which also sees the opening. Raises Unavailable if no member answers
        in time.

        `node` binds it to a node of the catalog: it ends when the node is deregistered. The default is the name of the
        host, if the catalog has it. With `checks`, up to 16 ids, it ends when one of these checks of the node turns
        critical or is deregistered. Each must exist (CheckNotFound, NodeNotFound) and not be critical (CheckCritical).
        With `default_check` that is the check `liveness` of the node, which turns critical when the machine dies.
        """
        from tenure.aio._session_open import SessionOptions, open_session

        options = SessionOptions(
            ttl=self.address.ttl if ttl is None else ttl,
            lock_delay=self.address.lock_delay if lock_delay is None else lock_delay,
            behavior=behavior,
            name=name or self.address.name,
            metadata=metadata or {},
            node=node,
            checks=texts("checks", checks),
            default_check=default_check,
            on_state=on_state,
        )
        return Opening(open_session(self, options, timeout))

    def resume(
        self,
        token: str | Credentials,
        *,
        on_state: Callable[[StateChange], Any] | None = None,
        timeout: float | None = None,
    ) -> Opening[Session]:
        """Continues a session that another process exported, or used before it crashed.

        If it fails, other than with SessionClosed, try it again with this client: any other client is refused if the
        session had already been taken over. Raises TokenInvalid if the text is damaged.
        """
        from tenure.aio._session_open import resume_session

        credentials = Credentials.from_text(token) if isinstance(token, str) else token
        return Opening(resume_session(self, credentials, on_state, timeout))

    def watch(
        self,
        *,
        keys: Iterable[str] = (),
        key: str | None = None,
        prefix: str | None = None,
        prefixes: Iterable[str] = (),
        key_range: tuple[str, str] | None = None,
        locks: Iterable[str] = (),
        lock_prefixes: Iterable[str] = (),
        session_ids: Iterable[str] = (),
        all_sessions: bool = False,
        nodes: Iterable[str] = (),
        services: Iterable[str] = (),
        all_queries: bool = False,
        initial: bool = False,
        after_revision: int | None = None,
        history_id: str = "",
        resume_token: str = "",
        previous: bool = False,
        keys_only: bool = False,
        progress: bool = False,
        progress_interval: float | None = None,
        restart: bool = False,
        puts: bool = True,
        deletes: bool = True,
        holder_changes: bool = True,
        queue: bool = True,
    ) -> Watch:
        """Watches keys, locks, sessions and the catalog: `async for event in client.watch(prefix="a/")`.

        It takes up to 128 keys, prefixes, locks, sessions, nodes and services together; without any, it watches every
        key of the namespace. `nodes` are watched with their services and checks, `services` with every check that
        counts for an instance, and `all_queries` are the prepared queries: see Event.item. It continues after any
        reconnect, without gap or repetition. The end of a `key_range` is exclusive; "" is the end of the namespace.

        It starts with the changes from now on, with the current state (`initial`), after a revision (`after_revision`;
        0 is now; `history_id` makes sure that it means the same history), or at another watch's `resume_token`.

        `previous` adds the values before changes, `keys_only` leaves out all values, and False for `puts`, `deletes`,
        `holder_changes` or `queue` leaves out such events. With `progress`, a PROGRESS event comes every
        `progress_interval` seconds (0.2 to 600, by default 5): every event up to its revision has been delivered. With
        `restart`, the watch sends RESET and the current state again if the cluster no longer has the events it needs.
        """
        return Watch(
            self,
            WatchOptions(
                keys=(*texts("keys", keys), *([key] if key is not None else ())),
                prefixes=(*texts("prefixes", prefixes), *([prefix] if prefix is not None else ())),
                key_range=pair(key_range),
                locks=texts("locks", locks),
                lock_prefixes=texts("lock_prefixes", lock_prefixes),
                session_ids=texts("session_ids", session_ids),
                all_sessions=all_sessions,
                nodes=texts("nodes", nodes),
                services=texts("services", services),
                all_queries=all_queries,
                initial=initial,
                after_revision=after_revision,
                history_id=history_id,
                resume_token=resume_token,
                previous=previous,
                keys_only=keys_only,
                progress=progress,
                progress_interval=progress_interval,
                restart=restart,
                leave_out=(not puts, not deletes, not holder_changes, not queue),
            ),
        )

    def on_key(self, key: str) -> Callable[[Callable[[KeyValue | None], Any]], KeyWatch]:
        """Decorator: the function is called with the key's KeyValue, now and at each change.

        It gets None if the key does not exist. It can be a coroutine function. It is called until it returns False, or
        until the KeyWatch that this returns or the client is closed.
        """
        from tenure.aio._run import KeyWatch

        return lambda function: KeyWatch(self, key, function)

    def cache(self, prefix: str, *, timeout: float | None = None) -> Opening[Cache]:
        """Opens a local copy of all keys with a prefix, kept up to date by a watch. Returns when it is filled.

        Raises WaitTimeout after `timeout` seconds (None: as the client).
        """
        from tenure.aio._cache import open_cache

        return Opening(open_cache(self, prefix, timeout))

    def service_list(self, *services: str, timeout: float | None = None) -> Opening[ServiceList]:
        """Opens a list of the instances that pass, of 1 to 128 services, kept up to date by a watch.

        Returns when they are known. Raises WaitTimeout after `timeout` seconds (None: as the client).
        """
        from tenure.aio._service_list import open_service_list

        return Opening(open_service_list(self, services, timeout))

    def register(
        self,
        name: str,
        *,
        id: str = "",
        node: str = "",
        address: str = "",
        port: int = 0,
        tags: Iterable[str] = (),
        meta: dict[str, str] | None = None,
        ttl: float = TTL_SECONDS,
        check_id: str = "",
        health: HealthFunction | None = None,
        timeout: float | None = None,
    ) -> Opening[Registration]:
        """Registers an instance of a service in the catalog, without an agent, until the registration is closed.

        The node need not exist yet, and remains; the default is the name of the host. The library repeats the
        registration every minute, and reports what `health` or Registration.set say immediately. If the process dies,
        nothing turns the check critical: members time no checks. Where that matters, use Agent.register, which also
        describes the other parameters.
        """
        labels = texts("tags", tags)
        service = Service(name, id, node or host(), address, port, labels, dict(meta or {}), ttl, check_id, health)
        return Opening(register(self, CatalogRegistrar(self), service, timeout))

    def observe(self, key: str) -> Observer:
        """Observes an election: `async for leader in client.observe(key)`.

        Yields the current leader or None, then changes.
        """
        from tenure.aio._election import Observer

        return Observer(self, key)

    def barrier(self, key: str) -> Barrier:
        """Returns a barrier: `wait` returns once its key does not exist."""
        from tenure.aio._recipes import Barrier

        return Barrier(self, self.kv, key)

    def presence(self, group: str) -> Presence:
        """Returns a group, to list or watch its members; to join it, use session.presence."""
        from tenure.aio._recipes import Presence

        return Presence(self, None, group)

    # Calls without a session.

    async def leader(self, key: str, *, timeout: float | None = None) -> LeaderInfo | None:
        """Returns the leader of an election; None if it has none."""
        from tenure.aio._election import get_leader

        return await get_leader(self, key, timeout)

    async def lock_info(self, key: str, *, timeout: float | None = None) -> LockInfo:
        """Returns a lock with its holders and waiters. For a lock that was never held, the result has neither."""
        request = lock_pb2.GetLockRequest(key=self._namespace.key(key))
        try:
            answer = await self._call(GET_LOCK, request, timeout=timeout)
        except errors.LockNotFound:
            return LockInfo(key=key)
        return self._converter.lock(answer.lock)

    async def break_lock(
        self, key: str, reason: str, *, session_id: str = "", owner: str | None = None, timeout: float | None = None
    ) -> int:
        """Takes a lock away from its holders, as an operator. Returns how many holds it ended. The lock-delay applies.

        `session_id` and `owner` limit it to one session or hold; the lost holders see `reason`. With more than 1 024
        holders and waiters it takes several calls, which share the timeout: holds granted in between remain, and after
        an error some holds may have ended and others not.
        """
        limits = Limits(self, timeout, None)
        holds = 0
        token = ""
        while True:
            request = lock_pb2.BreakLockRequest(
                key=self._namespace.key(key),
                session_id=session_id,
                owner=owner,
                reason=reason,
                options=types_pb2.CallOptions(idempotency_key=secrets.token_bytes(16)),
                break_token=token,
            )
            answer = await self._call(BREAK_LOCK, request, change=True, limits=limits)
            holds += answer.holds
            token = answer.break_token
            if not token:
                return holds

    async def check_sequencer(self, sequencer: Sequencer | str, *, timeout: float | None = None) -> bool:
        """Returns whether a sequencer, or its text, is still valid. Raises SequencerInvalid if the text is damaged."""
        request = (
            lock_pb2.CheckSequencerRequest(text=sequencer)
            if isinstance(sequencer, str)
            else lock_pb2.CheckSequencerRequest(sequencer=_convert.sequencer_message(sequencer))
        )
        return (await self._call(CHECK_SEQUENCER, request, timeout=timeout)).holds

    async def session_info(self, session_id: str, *, timeout: float | None = None) -> SessionInfo:
        """Returns a session, alive or recently ended. Raises SessionNotFound."""
        request = session_pb2.GetSessionRequest(session_id=session_id)
        answer = await self._call(GET_SESSION, request, timeout=timeout)
        return self._converter.session(answer.session, len(answer.holds))

    async def members(self, *, timeout: float | None = None) -> list[Member]:
        """Returns the members of the cluster."""
        answer = await self._call(LIST_MEMBERS, cluster_pb2.ListMembersRequest(), timeout=timeout)
        return [_convert.member(m) for m in answer.members]


async def connect(uri: str, *, timeout: float = DEFAULT_TIMEOUT_SECONDS, **options: Any) -> Client:
    """Returns a client to which a member has answered. Raises Unavailable after `timeout` seconds.

    The other options are those of Client.
    """
    client = Client(uri, timeout=timeout, **options)
    try:
        await client.wait_connected(timeout)
    except BaseException:
        await client.close()
        raise
    return client
