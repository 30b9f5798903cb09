"""The client, as its users see it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import grpc
from typing_extensions import Self

from tenure import aio
from tenure.aio._connection import DEFAULT_TIMEOUT_SECONDS
from tenure.sync._election import Observer
from tenure.sync._kv import KV
from tenure.sync._portal import Portal
from tenure.sync._recipes import Barrier, Presence
from tenure.sync._session import Session
from tenure.sync._threads import ThreadDispatcher, let_go, runs_for
from tenure.sync._watch import Cache, KeyWatch, Watch
from tenure.types import (
    Behavior,
    Credentials,
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
    """A client of a cluster. Any thread of the process that made it may use it.

    It connects in the background. Calls wait for a connection, at most `timeout` seconds. `credentials` are gRPC's, for
    tenures:// addresses with a certificate authority of your own. Other options are those of `tenure.aio.Client`.
    """

    def __init__(
        self,
        uri: str,
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        credentials: grpc.ChannelCredentials | None = None,
        **options: Any,
    ) -> None:
        self._close_begun = threading.Lock()  # Taken by the thread that closes, and never given back.
        self._close_ended = threading.Event()
        self._dispatcher = ThreadDispatcher()
        self._portal = Portal()

        def make() -> aio.Client:
            client = aio.Client(uri, timeout=timeout, credentials=credentials, dispatcher=self._dispatcher, **options)
            client._start()
            return client

        try:
            self._aio = self._portal.call(make)
        except BaseException:
            self._portal.close()
            raise
        self.kv = KV(self._portal, self._aio.kv)

    # Life.

    def close(self) -> None:
        """Closes sessions cleanly, watches and the connection. Nothing is left running. In a forked child: nothing.

        Several threads may close it; each waits until it is closed, but a callback does not.
        """
        if self._aio._guard.forked or self._portal.closed:
            return
        let_go(self._portal)
        if not self._close_begun.acquire(blocking=False):
            if not (runs_for(self._portal) or self._dispatcher.calls):  # Whoever closes it may wait for that one.
                self._close_ended.wait()
            return
        try:
            self._portal.run(self._aio.close())
        finally:  # Also when it was interrupted: then the sessions end by their TTL.
            self._portal.close()
            self._close_ended.set()
        self._dispatcher.join()

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
        """What is known of the connection now."""
        return self._aio.state

    def on_state(self, callback: Callable[[StateChange], Any]) -> Callable[[StateChange], Any]:
        """Registers a listener: it is told the present state at once, then each change. Also a decorator."""
        self._portal.call(lambda: self._aio.on_state(callback))
        return callback

    def wait_connected(self, timeout: float | None = None) -> None:
        """Waits until a member was reached. Raises Unavailable."""
        self._portal.run(self._aio.wait_connected(timeout))

    @property
    def connected_to(self) -> str:
        """Address of the member in use; empty when there is none."""
        return self._aio.connected_to

    @property
    def member_addresses(self) -> tuple[str, ...]:
        """Addresses of the members as they are followed now."""
        return self._aio.member_addresses

    # What is opened through it.

    def session(
        self,
        *,
        ttl: float | None = None,
        lock_delay: float | None = None,
        behavior: Behavior = Behavior.RELEASE,
        name: str = "",
        metadata: dict[str, str] | None = None,
        on_state: Callable[[StateChange], Any] | None = None,
        timeout: float | None = None,
    ) -> Session:
        """Opens a session: `with client.session() as s`.

        ttl and lock_delay are in seconds; None takes the connection string's, or the cluster's default. A ttl of 0 is a
        session that lives until it is destroyed.
        """

        async def opened() -> aio.Session:
            return await self._aio.session(
                ttl=ttl,
                lock_delay=lock_delay,
                behavior=behavior,
                name=name,
                metadata=metadata,
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
        """Goes on with a session that another process exported, or used before it crashed.

        One that fails, unless with SessionClosed, may be tried again through this client, and only through it.
        """

        async def resumed() -> aio.Session:
            return await self._aio.resume(token, on_state=on_state, timeout=timeout)

        return Session(self._portal, self._portal.run(resumed()))

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
        """Watches keys, locks and sessions: `for event in client.watch(prefix="a/")`.

        Without selectors, every key of the namespace is watched; at most 128 of them. It goes on over any reconnect,
        without gap or repetition. It begins with what changes from now on, or with the present state (`initial`), after
        a revision (0: from now on; of history `history_id`, if given), or at another watch's `resume_token`. The end of
        a `key_range` is not in it; "" is the end of the namespace. `previous` asks for values before changes,
        `keys_only` leaves them all out, `puts` and so on leave out kinds of events. With `progress`, PROGRESS events
        tell every `progress_interval` seconds (0.2 to 600; None is 5) that everything up to their revision was told.
        `restart` begins again with the present state, after RESET, when history was forgotten.
        """
        # Read here: they may be generators, which may call the client.
        keys, prefixes, locks = tuple(keys), tuple(prefixes), tuple(locks)
        lock_prefixes, session_ids = tuple(lock_prefixes), tuple(session_ids)
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
        """Decorator: the function is called with the key's present value (None: it has none), then with each new one.

        It is called in a thread, until it returns False, or the returned object or the client is closed.
        """
        return lambda function: KeyWatch(self._portal, self._aio, key, function)

    def cache(self, prefix: str, *, timeout: float | None = None) -> Cache:
        """Opens a local copy of all keys with a prefix, fed by a watch; ready when it is filled."""

        async def opened() -> aio.Cache:
            return await self._aio.cache(prefix, timeout=timeout)

        return Cache(self._portal, self._portal.run(opened(), undo=aio.Cache.close))

    def observe(self, key: str) -> Observer:
        """Observes an election: `for leader in client.observe(key)`: the present one or None, then changes."""
        return Observer(self._portal, self._aio.observe(key))

    def barrier(self, key: str) -> Barrier:
        """Returns a barrier: a key that others wait to go away."""
        return Barrier(self._portal, self._aio.barrier(key))

    def presence(self, group: str) -> Presence:
        """Returns a group to look at; to be present in it, use session.presence."""
        return Presence(self._portal, self._aio.presence(group))

    # Calls without a session.

    def leader(self, key: str, *, timeout: float | None = None) -> LeaderInfo | None:
        """Returns who leads an election; None when nobody does."""
        return self._portal.run(self._aio.leader(key, timeout=timeout))

    def lock_info(self, key: str, *, timeout: float | None = None) -> LockInfo:
        """Returns a lock with its holders and waiters. One that nobody ever held is empty."""
        return self._portal.run(self._aio.lock_info(key, timeout=timeout))

    def break_lock(
        self, key: str, reason: str, *, session_id: str = "", owner: str | None = None, timeout: float | None = None
    ) -> int:
        """Takes a lock away from its holders, as an operator. Lock-delay applies. Returns how many it broke.

        From very many holders it takes several calls, and what is granted meanwhile stays. All of them share the
        timeout: after an error some holds may be broken and others not.
        """
        return self._portal.run(self._aio.break_lock(key, reason, session_id=session_id, owner=owner, timeout=timeout))

    def check_sequencer(self, sequencer: Sequencer | str, *, timeout: float | None = None) -> bool:
        """Tells whether a sequencer, or its text, still holds."""
        return self._portal.run(self._aio.check_sequencer(sequencer, timeout=timeout))

    def session_info(self, session_id: str, *, timeout: float | None = None) -> SessionInfo:
        """Returns what the cluster knows of a session, live or ended. Raises SessionNotFound."""
        return self._portal.run(self._aio.session_info(session_id, timeout=timeout))

    def members(self, *, timeout: float | None = None) -> list[Member]:
        """Returns the members of the cluster."""
        return self._portal.run(self._aio.members(timeout=timeout))


def connect(uri: str, *, timeout: float = DEFAULT_TIMEOUT_SECONDS, **options: Any) -> Client:
    """Returns a client that has reached a member. Raises Unavailable."""
    client = Client(uri, timeout=timeout, **options)
    try:
        client.wait_connected(timeout)
    except BaseException:
        client.close()
        raise
    return client
