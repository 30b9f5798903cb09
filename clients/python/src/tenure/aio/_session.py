"""Sessions: a client's replicated claim to be alive, renewed in the background."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from typing_extensions import Self

from tenure import errors
from tenure._core.lease import Lease
from tenure._rpc import DESTROY_SESSION
from tenure.aio._dispatch import Listeners
from tenure.aio._function import ended_from_inside
from tenure.aio._holdings import Holdings
from tenure.aio._kv import KV
from tenure.aio._limits import Limits
from tenure.aio._lock import Held, until_ended
from tenure.aio._queries import Queries
from tenure.aio._session_core import SessionCore
from tenure.aio._wait import within
from tenure.types import CloseCause, Credentials, Mode, StateChange
from tenure.v1 import session_pb2, types_pb2

if TYPE_CHECKING:
    from tenure.aio._client import Client
    from tenure.aio._connection import Connection
    from tenure.aio._election import Election
    from tenure.aio._lock import Lock, ReadWriteLock, Semaphore
    from tenure.aio._recipes import Barrier, DoubleBarrier, Presence
    from tenure.aio._run import ElectionRun

CLOSE_SECONDS_MAX = 10.0
LEAVE_QUEUES_SECONDS = 2.0


class Session(SessionCore):
    """A session. While it lives, it can hold locks, lead elections and own ephemeral keys.

    `client.session()` opens one. The library renews it and reports its `state`. A session that is CLOSED has ended;
    the library never opens another one for you.
    """

    _client: Client

    def __init__(
        self,
        client: Client,
        session_id: str,
        secret: bytes,
        epoch: int,
        instance: bytes,
        lease: Lease,
        listeners: Listeners,
    ) -> None:
        super().__init__(client, session_id, secret, epoch, instance, lease, listeners)
        self._destroying: asyncio.Task[None] | None = None
        self._exports = 0  # That have begun and not ended.
        self._holdings = Holdings(self)
        self.kv = KV(client, self)
        self.queries = Queries(client, self)

    def on_state(self, callback: Callable[[StateChange], Any]) -> Callable[[StateChange], Any]:
        """Registers a listener: it gets the current state immediately, then each change. Also a decorator."""
        if not self._client._guard.forked:
            self._tick()  # So that it does not get twice what the clock ended.
        self._listeners.add(callback, StateChange(self.state, self.state, self.cause))
        return callback

    async def wait_closed(self) -> CloseCause:
        """Waits until the session is CLOSED."""
        while self._machine.cause is None:
            await self._change_of_state(None)
        return self._machine.cause

    # Locks, elections and recipes.

    def lock(
        self, key: str, *, timeout: float | None = None, mode: Mode = Mode.EXCLUSIVE, owner: str | None = None
    ) -> Lock:
        """Returns a lock: `async with session.lock("k", timeout=5) as held`. It makes no call.

        `timeout`, in seconds, is for `async with` and for an acquire without one. All acquisitions with the same
        `owner` share one hold; without one, each has its own.
        """
        from tenure.aio._lock import Lock

        return Lock(self, key, mode=mode, timeout=timeout, owner=owner)

    def rwlock(self, key: str, *, timeout: float | None = None) -> ReadWriteLock:
        """Returns a read-write lock: its `read` and `write` are Locks. `timeout` is as for `lock`."""
        from tenure.aio._lock import ReadWriteLock

        return ReadWriteLock(self, key, timeout=timeout)

    def semaphore(
        self, key: str, limit: int, *, permits: int = 1, timeout: float | None = None, owner: str | None = None
    ) -> Semaphore:
        """Returns a semaphore of `limit` permits, of which each acquisition takes `permits`.

        The cluster enforces the limit.
        """
        from tenure.aio._lock import Semaphore

        return Semaphore(self, key, limit, permits=permits, timeout=timeout, owner=owner)

    def election(self, key: str) -> Election:
        """Returns an election, in which this session can campaign."""
        from tenure.aio._election import Election

        return Election(self, key)

    def elect(self, key: str, value: bytes | str = b"") -> Callable[[Callable[..., Any]], ElectionRun]:
        """Decorator: the coroutine function runs each time this session becomes the leader.

        It gets the Leadership, and is cancelled when that is lost. When it has returned, the session campaigns again,
        until the ElectionRun that this returns, or the session, is closed. An exception in the function is logged.
        """
        from tenure.aio._run import ElectionRun

        return lambda function: ElectionRun(self, key, value, function)

    def barrier(self, key: str) -> Barrier:
        """Returns a barrier. Its key remains when the session ends."""
        from tenure.aio._recipes import Barrier

        return Barrier(self._client, self.kv, key)

    def double_barrier(self, key: str, count: int, *, name: str | None = None) -> DoubleBarrier:
        """Returns a double barrier for `count` participants.

        `name` is this participant's: the session's id by default.
        """
        from tenure.aio._recipes import DoubleBarrier

        return DoubleBarrier(self, key, count, name=name)

    def presence(self, group: str) -> Presence:
        """Returns a group, which this session can join."""
        from tenure.aio._recipes import Presence

        return Presence(self._client, self, group)

    # Its end, and passing it on to another process.

    async def close(self) -> None:
        """Ends the session: its locks become free immediately, and its ephemeral keys are deleted.

        If the caller is cancelled, the closing continues; closing again waits for it. In a forked child it does
        nothing.
        """
        if self._client._guard.forked:
            return
        ended_from_inside(self)
        self._begin_close()
        if self._destroying is not None:
            with contextlib.suppress(errors.ClientClosed):  # Then its TTL ends it.
                await until_ended(self._destroying)

    @property
    def closing(self) -> bool:
        """Whether it was closed here, and the cluster has not confirmed that yet."""
        return self._destroying is not None and not self._destroying.done()

    def _begin_close(self) -> None:
        """Ends it here, and begins to destroy it in the cluster. The client's close waits for that."""
        if self._machine.cause is not None:
            return
        clean = self._client._clock.now() >= self._inherited_from
        seconds = min(CLOSE_SECONDS_MAX, self.ttl or CLOSE_SECONDS_MAX)
        options = self._options()
        sequence = self._requests.window.next_sequence  # Nothing before it will be sent again.
        options.request_id.CopyFrom(types_pb2.RequestID(session_id=self.id, sequence=sequence, done_below=sequence))
        self._stop(CloseCause.CLOSED)
        request = session_pb2.DestroySessionRequest(session_id=self.id, clean=clean, options=options)
        self._destroying = self._client._tasks.see_through(destroy(self._client, request, seconds), "destroy-session")

    def __repr__(self) -> str:
        return f"<Session {self.id} {self.state}>"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def export(self) -> str:
        """Hands the session over: it is CLOSED here, and continues in the process that resumes the returned text.

        That has to happen within one TTL. Waits for locks end, and leave their queues; holds are kept. Keep the text
        secret. If a function of `elect` calls this, the function continues.
        """
        self._check_open()
        self._exports += 1
        self._no_waits.set()
        try:
            await self._prepare_export()
        except BaseException:
            if self._exports == 1 and self._machine.cause is None:  # Cancelled: it is not handed over.
                self._no_waits.clear()
            raise
        finally:
            self._exports -= 1
        # As long as an earlier process may believe in what was inherited, whoever resumes must not.
        handed_over = self._client._clock.now() >= self._inherited_from
        credentials = dataclasses.replace(self.credentials(), handed_over=handed_over)
        ended_from_inside(self)
        self._stop(CloseCause.EXPORTED)
        return credentials.to_text()

    async def _prepare_export(self) -> None:
        """Leaves the queues, and renews the session once more, so that the other process has time."""
        with contextlib.suppress(errors.WaitTimeout):
            await within(self._holdings.until_no_waits(), LEAVE_QUEUES_SECONDS, "the queues were not left")
        self._renew_now()
        with contextlib.suppress(errors.WaitTimeout):
            await within(self._renewals.acknowledged.wait(), self._machine.lease.silence, "the session was not renewed")
        self._check_open()

    def credentials(self) -> Credentials:
        """Returns what another process needs to resume the session if this one crashes. Keep it secret.

        This process may still run then, so the other one calls inherited holds safe only after one TTL: without TTL,
        never.
        """
        self._client._guard.check()
        return Credentials(self.id, self._secret, self.epoch, self.ttl, handed_over=False)

    async def holds(self, timeout: float | None = None) -> list[Held]:
        """Returns the holds of a resumed session, once the previous process can no longer rely on them.

        After an export that is immediately, otherwise one TTL after the resumption. Raises WaitTimeout after `timeout`
        seconds, and HoldLost for a session without TTL that was not exported, because that time never comes.
        """
        await within(self._until_inherited(), timeout, "the previous process may still rely on the inherited holds")
        self._check_open()
        return list(self._inherited_helds)

    def _adopt_inherited(self, holds: Iterable[session_pb2.Hold]) -> None:
        """Makes holds of what was taken over."""
        for hold in holds:
            self._inherited_helds.append(self._holdings.keep(hold, Held, self._inherited_from))


async def destroy(client: Connection, request: session_pb2.DestroySessionRequest, seconds: float) -> None:
    """Tells the cluster for so many seconds at most that a session is over. If nobody can be told, its TTL ends it."""
    with contextlib.suppress(errors.TenureError):
        limits = Limits(client, seconds, None, closing=True)
        await client._call(DESTROY_SESSION, request, change=True, own=True, limits=limits)
