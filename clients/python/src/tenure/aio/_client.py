"""The client, as its users see it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from tenure import _convert, errors
from tenure._rpc import BREAK_LOCK, CHECK_SEQUENCER, GET_LOCK, GET_SESSION, LIST_MEMBERS
from tenure.aio._connection import DEFAULT_TIMEOUT_SECONDS, Connection
from tenure.aio._kv import KV
from tenure.aio._limits import Limits
from tenure.aio._open import Opening
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
    from tenure.aio._session import Session


class Client(Connection):
    """A client of a cluster, for asyncio. It belongs to one event loop and one process.

    It connects in the background when it is first used, or at `async with`. Calls wait for a connection, at most
    `timeout` seconds. `credentials` are gRPC's, for tenures:// addresses with a certificate authority of your own.
    """

    @cached_property
    def kv(self) -> KV:
        """Keys and values, without a session."""
        return KV(self)

    def __repr__(self) -> str:
        where = f" to {self.connected_to}" if self.connected_to else ""
        return f"<{type(self).__name__} {self.state}{where}>"

    async def __aenter__(self) -> Self:
        self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

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
    ) -> Opening[Session]:
        """Opens a session: `async with client.session() as s`, or `s = await client.session()`.

        ttl and lock_delay are in seconds; None takes the connection string's, or the cluster's default. A ttl of 0 is a
        session that lives until it is destroyed.
        """
        from tenure.aio._session_open import SessionOptions, open_session

        options = SessionOptions(
            ttl=self.address.ttl if ttl is None else ttl,
            lock_delay=self.address.lock_delay if lock_delay is None else lock_delay,
            behavior=behavior,
            name=name or self.address.name,
            metadata=metadata or {},
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
        """Goes on with a session that another process exported, or used before it crashed.

        One that fails, unless with SessionClosed, may be tried again through this client, and only through it.
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
        """Watches keys, locks and sessions: `async for event in client.watch(prefix="a/")`.

        Without selectors, every key of the namespace is watched; at most 128 of them. It goes on over any reconnect,
        without gap or repetition. It begins with what changes from now on, or with the present state (`initial`), after
        a revision (0: from now on; of history `history_id`, if given), or at another watch's `resume_token`. The end of
        a `key_range` is not in it; "" is the end of the namespace. `previous` asks for values before changes,
        `keys_only` leaves them all out, `puts` and so on leave out kinds of events. With `progress`, PROGRESS events
        tell every `progress_interval` seconds (0.2 to 600; None is 5) that everything up to their revision was told.
        `restart` begins again with the present state, after RESET, when history was forgotten.
        """
        return Watch(
            self,
            WatchOptions(
                keys=(*keys, *([key] if key is not None else ())),
                prefixes=(*prefixes, *([prefix] if prefix is not None else ())),
                key_range=key_range,
                locks=tuple(locks),
                lock_prefixes=tuple(lock_prefixes),
                session_ids=tuple(session_ids),
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
                leave_out=(not puts, not deletes, not holder_changes, not queue),
            ),
        )

    def on_key(self, key: str) -> Callable[[Callable[[KeyValue | None], Any]], KeyWatch]:
        """Decorator: the function is called with the key's present value (None: it has none), then with each new one.

        It is called until it returns False, or the returned object or the client is closed.
        """
        from tenure.aio._run import KeyWatch

        return lambda function: KeyWatch(self, key, function)

    def cache(self, prefix: str, *, timeout: float | None = None) -> Opening[Cache]:
        """Opens a local copy of all keys with a prefix, fed by a watch; ready when it is filled."""
        from tenure.aio._cache import open_cache

        return Opening(open_cache(self, prefix, timeout))

    def observe(self, key: str) -> Observer:
        """Observes an election: `async for leader in client.observe(key)`: the present one or None, then changes."""
        from tenure.aio._election import Observer

        return Observer(self, key)

    def barrier(self, key: str) -> Barrier:
        """Returns a barrier: a key that others wait to go away."""
        from tenure.aio._recipes import Barrier

        return Barrier(self, self.kv, key)

    def presence(self, group: str) -> Presence:
        """Returns a group to look at; to be present in it, use session.presence."""
        from tenure.aio._recipes import Presence

        return Presence(self, None, group)

    # Calls without a session.

    async def leader(self, key: str, *, timeout: float | None = None) -> LeaderInfo | None:
        """Returns who leads an election; None when nobody does."""
        from tenure.aio._election import get_leader

        return await get_leader(self, key, timeout)

    async def lock_info(self, key: str, *, timeout: float | None = None) -> LockInfo:
        """Returns a lock with its holders and waiters. One that nobody ever held is empty."""
        request = lock_pb2.GetLockRequest(key=self._namespace.key(key))
        try:
            answer = await self._call(GET_LOCK, request, timeout=timeout)
        except errors.LockNotFound:
            return LockInfo(key=key)
        return self._converter.lock(answer.lock)

    async def break_lock(
        self, key: str, reason: str, *, session_id: str = "", owner: str | None = None, timeout: float | None = None
    ) -> int:
        """Takes a lock away from its holders, as an operator. Lock-delay applies. Returns how many it broke.

        From very many holders it takes several calls, and what is granted meanwhile stays. All of them share the
        timeout: after an error some holds may be broken and others not.
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
        """Tells whether a sequencer, or its text, still holds."""
        request = (
            lock_pb2.CheckSequencerRequest(text=sequencer)
            if isinstance(sequencer, str)
            else lock_pb2.CheckSequencerRequest(sequencer=_convert.sequencer_message(sequencer))
        )
        return (await self._call(CHECK_SEQUENCER, request, timeout=timeout)).holds

    async def session_info(self, session_id: str, *, timeout: float | None = None) -> SessionInfo:
        """Returns what the cluster knows of a session, live or ended. Raises SessionNotFound."""
        request = session_pb2.GetSessionRequest(session_id=session_id)
        answer = await self._call(GET_SESSION, request, timeout=timeout)
        return self._converter.session(answer.session, len(answer.holds))

    async def members(self, *, timeout: float | None = None) -> list[Member]:
        """Returns the members of the cluster."""
        answer = await self._call(LIST_MEMBERS, cluster_pb2.ListMembersRequest(), timeout=timeout)
        return [_convert.member(m) for m in answer.members]


async def connect(uri: str, *, timeout: float = DEFAULT_TIMEOUT_SECONDS, **options: Any) -> Client:
    """Returns a client that has reached a member. Raises Unavailable."""
    client = Client(uri, timeout=timeout, **options)
    try:
        await client.wait_connected(timeout)
    except BaseException:
        await client.close()
        raise
    return client
