"""The client, as its users see it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from typing_extensions import Self

from tenure import aio
from tenure._core.several import texts
from tenure.aio._connection import DEFAULT_TIMEOUT_SECONDS
from tenure.aio._register import TTL_SECONDS
from tenure.aio._session_open import unresume
from tenure.sync._election import Observer
from tenure.sync._ending import Ending
from tenure.sync._kv import KV
from tenure.sync._portal import Portal
from tenure.sync._queries import Queries
from tenure.sync._recipes import Barrier, Presence
from tenure.sync._services import Registration, ServiceList, asking
from tenure.sync._session import Session
from tenure.sync._threads import ThreadDispatcher
from tenure.sync._watch import Cache, KeyWatch, Watch
from tenure.types import (
    Behavior,
    Credentials,
    Health,
    KeyValue,
    LeaderInfo,
    LockInfo,
    Member,
    Sequencer,
    SessionInfo,
    State,
    StateChange,
)


class Client:
    """A client of a cluster. Any thread of the process that made it can use it.

    It connects in the background. All times are in seconds. `timeout` is for calls that do not belong to a session: how
    long they wait for a member (Unavailable). A call under a session waits until the session's lease has ended and then
    for up to twice its TTL, at most 45 s. A call that is given a `timeout` of its own ends after that time at the
    latest (DeadlineExceeded).

    `ca_file`, `cert_file`, `key_file` and `server_name` are for TLS, or `credentials` in place of them: channel
    credentials of gRPC. `token` is a text or a function that returns one, `token_file` a file with one; `insecure` lets
    it be sent to other machines without TLS. `interceptors` are those of grpc.aio.

    A malformed connection string, or settings that do not go together, raise ValueError, and a file of TLS that cannot
    be used raises TLSFailed. Close the client, best by `with`: a process that exits without
    closing it leaves its sessions to expire.
    """

    def __init__(
        self,
        uri: str,
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        **options: Any,
    ) -> None:
        self._dispatcher = ThreadDispatcher()
        self._portal = Portal()
        self._ending = Ending(self._portal, self._dispatcher)

        def make() -> aio.Client:
            client = aio.Client(uri, timeout=timeout, dispatcher=self._dispatcher, **options)
            client._start()
            return client

        try:
            self._aio = self._portal.call(make)
        except BaseException:
            self._portal.close()
            raise
        self.kv = KV(self._portal, self._aio.kv)
        self.queries = Queries(self._portal, self._aio.queries)

    # Life.

    def close(self) -> None:
        """Ends all sessions cleanly, closes watches and the connection.

        Nothing is left running but callbacks that take longer than a second: it does not wait for them, unless the
        system has no thread left, so that who closes has to call them.
        Several threads can close it: each waits until it is closed, except a callback. In a forked child it does
        nothing.
        """
        if not self._aio._guard.forked:
            self._ending.run(self._aio.close)

    def __repr__(self) -> str:
        return repr(self._aio)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether the client was closed, or belongs to another process."""
        return self._aio.closed

    @property
    def state(self) -> State:
        """State of the connection now."""
        return self._aio.state

    def on_state(self, callback: Callable[[StateChange], Any]) -> Callable[[StateChange], Any]:
        """Registers a listener: it gets the current state immediately, then each change. Also a decorator."""
        self._portal.call(lambda: self._aio.on_state(callback))
        return callback

    def wait_connected(self, timeout: float | None = None) -> None:
        """Waits until a member has answered, for at most `timeout` seconds (None: as the client).

        Raises Unavailable.
        """
        self._portal.run(self._aio.wait_connected(timeout))

    @property
    def connected_to(self) -> str:
        """Address of the member in use; empty when there is none."""
        return self._aio.connected_to

    @property
    def member_addresses(self) -> tuple[str, ...]:
        """Addresses of the members that the client knows now."""
        return self._aio.member_addresses

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
    ) -> Session:
        """Opens a session: `with client.session() as s`.

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
        named = texts("checks", checks)  # Read here: it may be a generator, which may call the client.

        async def opened() -> aio.Session:
            return await self._aio.session(
                ttl=ttl,
                lock_delay=lock_delay,
                behavior=behavior,
                name=name,
                metadata=metadata,
                node=node,
                checks=named,
                default_check=default_check,
                on_state=on_state,
                timeout=timeout,
            )

        return Session(self._portal, self._portal.run(opened(), undo=aio.Session.close))

    def resume(
        self,
        token: str | Credentials,
        *,
        on_state: Callable[[StateChange], Any] | None = None,
        timeout: float | None = None,
    ) -> Session:
        """Continues a session that another process exported, or used before it crashed.

        If it fails, other than with SessionClosed, try it again with this client: any other client is refused if the
        session had already been taken over. Raises TokenInvalid if the text is damaged.
        """

        credentials = Credentials.from_text(token) if isinstance(token, str) else token

        async def resumed() -> aio.Session:
            return await self._aio.resume(credentials, on_state=on_state, timeout=timeout)

        async def undo(session: aio.Session) -> None:
            await unresume(session, credentials)

        return Session(self._portal, self._portal.run(resumed(), undo=undo))

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
        """Watches keys, locks, sessions and the catalog: `for event in client.watch(prefix="a/")`.

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
        # Read here: they may be generators, which may call the client.
        keys, prefixes = texts("keys", keys), texts("prefixes", prefixes)
        locks, lock_prefixes = texts("locks", locks), texts("lock_prefixes", lock_prefixes)
        session_ids = texts("session_ids", session_ids)
        nodes, services = texts("nodes", nodes), texts("services", services)
        return Watch(
            self._portal,
            self._portal.call(
                lambda: self._aio.watch(
                    keys=keys,
                    key=key,
                    prefix=prefix,
                    prefixes=prefixes,
                    key_range=key_range,
                    locks=locks,
                    lock_prefixes=lock_prefixes,
                    session_ids=session_ids,
                    all_sessions=all_sessions,
                    nodes=nodes,
                    services=services,
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
                    puts=puts,
                    deletes=deletes,
                    holder_changes=holder_changes,
                    queue=queue,
                )
            ),
        )

    def on_key(self, key: str) -> Callable[[Callable[[KeyValue | None], Any]], KeyWatch]:
        """Decorator: the function is called with the key's KeyValue, now and at each change.

        It gets None if the key does not exist. It is called in its own thread, until it returns False, or until the
        KeyWatch that this returns or the client is closed.
        """
        return lambda function: KeyWatch(self._portal, self._aio, key, function)

    def cache(self, prefix: str, *, timeout: float | None = None) -> Cache:
        """Opens a local copy of all keys with a prefix, kept up to date by a watch. Returns when it is filled.

        Raises WaitTimeout after `timeout` seconds (None: as the client).
        """

        async def opened() -> aio.Cache:
            return await self._aio.cache(prefix, timeout=timeout)

        return Cache(self._portal, self._portal.run(opened(), undo=aio.Cache.close))

    def service_list(self, *services: str, timeout: float | None = None) -> ServiceList:
        """Opens a list of the instances that pass, of 1 to 128 services, kept up to date by a watch.

        Returns when they are known. Raises WaitTimeout after `timeout` seconds (None: as the client).
        """

        async def opened() -> aio.ServiceList:
            return await self._aio.service_list(*services, timeout=timeout)

        return ServiceList(self._portal, self._portal.run(opened(), undo=aio.ServiceList.close))

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
        health: Callable[[], Health] | None = None,
        timeout: float | None = None,
    ) -> Registration:
        """Registers an instance of a service in the catalog, without an agent, until the registration is closed.

        The node need not exist yet, and remains; the default is the name of the host. The library repeats the
        registration every minute, and reports what `health` or Registration.set say immediately. If the process dies,
        nothing turns the check critical: members time no checks. Where that matters, use Agent.register, which also
        describes the other parameters.
        """
        labels = texts("tags", tags)

        async def registered() -> aio.Registration:
            return await self._aio.register(
                name,
                id=id,
                node=node,
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

    def observe(self, key: str) -> Observer:
        """Observes an election: `for leader in client.observe(key)`.

        Yields the current leader or None, then changes.
        """
        return Observer(self._portal, self._aio.observe(key))

    def barrier(self, key: str) -> Barrier:
        """Returns a barrier: `wait` returns once its key does not exist."""
        return Barrier(self._portal, self._aio.barrier(key))

    def presence(self, group: str) -> Presence:
        """Returns a group, to list or watch its members; to join it, use session.presence."""
        return Presence(self._portal, self._aio.presence(group))

    # Calls without a session.

    def leader(self, key: str, *, timeout: float | None = None) -> LeaderInfo | None:
        """Returns the leader of an election; None if it has none."""
        return self._portal.run(self._aio.leader(key, timeout=timeout))

    def lock_info(self, key: str, *, timeout: float | None = None) -> LockInfo:
        """Returns a lock with its holders and waiters. For a lock that was never held, the result has neither."""
        return self._portal.run(self._aio.lock_info(key, timeout=timeout))

    def break_lock(
        self, key: str, reason: str, *, session_id: str = "", owner: str | None = None, timeout: float | None = None
    ) -> int:
        """Takes a lock away from its holders, as an operator. Returns how many holds it ended. The lock-delay applies.

        `session_id` and `owner` limit it to one session or hold; the lost holders see `reason`. With more than 1 024
        holders and waiters it takes several calls, which share the timeout: holds granted in between remain, and after
        an error some holds may have ended and others not.
        """
        return self._portal.run(self._aio.break_lock(key, reason, session_id=session_id, owner=owner, timeout=timeout))

    def check_sequencer(self, sequencer: Sequencer | str, *, timeout: float | None = None) -> bool:
        """Returns whether a sequencer, or its text, is still valid. Raises SequencerInvalid if the text is damaged."""
        return self._portal.run(self._aio.check_sequencer(sequencer, timeout=timeout))

    def session_info(self, session_id: str, *, timeout: float | None = None) -> SessionInfo:
        """Returns a session, alive or recently ended. Raises SessionNotFound."""
        return self._portal.run(self._aio.session_info(session_id, timeout=timeout))

    def members(self, *, timeout: float | None = None) -> list[Member]:
        """Returns the members of the cluster."""
        return self._portal.run(self._aio.members(timeout=timeout))


def connect(uri: str, *, timeout: float = DEFAULT_TIMEOUT_SECONDS, **options: Any) -> Client:
    """Returns a client to which a member has answered. Raises Unavailable after `timeout` seconds.

    The other options are those of Client.
    """
    client = Client(uri, timeout=timeout, **options)
    try:
        client.wait_connected(timeout)
    except BaseException:
        client.close()
        raise
    return client
