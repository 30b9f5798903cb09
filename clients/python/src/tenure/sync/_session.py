"""Sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typing_extensions import Self

from tenure import aio, errors
from tenure.aio._wait import within
from tenure.sync._election import Election, ElectionRun, Leadership
from tenure.sync._kv import KV
from tenure.sync._lock import Held, Lock, ReadWriteLock, Semaphore
from tenure.sync._portal import Portal
from tenure.sync._queries import Queries
from tenure.sync._recipes import Barrier, DoubleBarrier, Presence
from tenure.types import CloseCause, Credentials, Mode, State, StateChange


class Session:
    """A session. While it lives, it can hold locks, lead elections and own ephemeral keys.

    `client.session()` opens one. The library renews it and reports its `state`. A session that is CLOSED has ended;
    the library never opens another one for you. Any thread can use it.
    """

    def __init__(self, portal: Portal, session: aio.Session) -> None:
        self._portal = portal
        self._aio = session
        self.id = session.id
        self.kv = KV(portal, session.kv)
        self.queries = Queries(portal, session.queries)

    # Its state.

    @property
    def epoch(self) -> int:
        """1 when it is opened; one more each time a process resumes it."""
        return self._aio.epoch

    @property
    def ttl(self) -> float:
        """The TTL that the cluster granted, in seconds; 0 means that it never expires."""
        return self._aio.ttl

    @property
    def state(self) -> State:
        """The state of the session now."""
        return self._aio.state

    @property
    def cause(self) -> CloseCause | None:
        """Why it is CLOSED; None before that."""
        return self._aio.cause

    @property
    def refusal(self) -> errors.TenureError | None:
        """Why the cluster refuses to renew it: a right is gone, or the credential is not accepted. Otherwise None.

        The session stays as it is until its TTL ends, and continues if the right comes back before.
        """
        return self._aio.refusal

    @property
    def safe(self) -> bool:
        """Whether the session is certainly alive at this moment. It reads the clock, not the network."""
        return self._aio.safe

    @property
    def safe_until(self) -> float:
        """When its lease ends without a further renewal, as a time of CLOCK_BOOTTIME, in seconds; -inf if it has ended.

        Without CLOCK_BOOTTIME it is a time of the library's own clock; use `safe_for`.
        """
        return self._aio.safe_until

    @property
    def safe_for(self) -> float:
        """For how many seconds it is certainly alive, even if no further renewal succeeds."""
        return self._aio.safe_for

    def on_state(self, callback: Callable[[StateChange], Any]) -> Callable[[StateChange], Any]:
        """Registers a listener: it gets the current state immediately, then each change. Also a decorator."""
        self._portal.call(lambda: self._aio.on_state(callback))
        return callback

    def wait_closed(self, timeout: float | None = None) -> CloseCause:
        """Waits until the session is CLOSED. Raises WaitTimeout after `timeout` seconds."""

        async def closed() -> CloseCause:
            return await within(self._aio.wait_closed(), timeout, "the session is not closed")

        return self._aio.cause or self._portal.run(closed())

    # Locks, elections and recipes.

    def lock(
        self, key: str, *, timeout: float | None = None, mode: Mode = Mode.EXCLUSIVE, owner: str | None = None
    ) -> Lock:
        """Returns a lock: `with session.lock("k", timeout=5) as held`. It makes no call.

        `timeout`, in seconds, is for `with` and for an acquire without one. All acquisitions with the same `owner`
        share one hold; without one, each has its own.
        """
        return Lock(self._portal, self._aio.lock(key, timeout=timeout, mode=mode, owner=owner))

    def rwlock(self, key: str, *, timeout: float | None = None) -> ReadWriteLock:
        """Returns a read-write lock: its `read` and `write` are Locks. `timeout` is as for `lock`."""
        return ReadWriteLock(self._portal, self._aio.rwlock(key, timeout=timeout))

    def semaphore(
        self, key: str, limit: int, *, permits: int = 1, timeout: float | None = None, owner: str | None = None
    ) -> Semaphore:
        """Returns a semaphore of `limit` permits, of which each acquisition takes `permits`.

        The cluster enforces the limit.
        """
        return Semaphore(self._portal, self._aio.semaphore(key, limit, permits=permits, timeout=timeout, owner=owner))

    def election(self, key: str) -> Election:
        """Returns an election, in which this session can campaign."""
        return Election(self._portal, self._aio.election(key))

    def elect(self, key: str, value: bytes | str = b"") -> Callable[[Callable[[Leadership], Any]], ElectionRun]:
        """Decorator: the function runs, in its own thread, each time this session becomes the leader.

        It gets the Leadership, and should return when `leadership.lost` is set. When it has returned, the session
        campaigns again, until the ElectionRun that this returns, or the session, is closed. An exception in the
        function is logged.
        """
        return lambda function: ElectionRun(self._portal, self._aio, key, value, function)

    def barrier(self, key: str) -> Barrier:
        """Returns a barrier. Its key remains when the session ends."""
        return Barrier(self._portal, self._aio.barrier(key))

    def double_barrier(self, key: str, count: int, *, name: str | None = None) -> DoubleBarrier:
        """Returns a double barrier for `count` participants.

        `name` is this participant's: the session's id by default.
        """
        return DoubleBarrier(self._portal, self._aio.double_barrier(key, count, name=name))

    def presence(self, group: str) -> Presence:
        """Returns a group, which this session can join."""
        return Presence(self._portal, self._aio.presence(group))

    # Its end, and passing it on to another process.

    def close(self) -> None:
        """Ends the session: its locks become free immediately, and its ephemeral keys are deleted.

        If the caller is interrupted, the closing continues; closing again waits for it. In a forked child it does
        nothing.
        """
        if self._aio.cause is None or self._aio.closing:
            self._portal.end(self._aio.close)

    def __repr__(self) -> str:
        return repr(self._aio)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def export(self) -> str:
        """Hands the session over: it is CLOSED here, and continues in the process that resumes the returned text.

        That has to happen within one TTL. Waits for locks end, and leave their queues; holds are kept. Keep the text
        secret.
        """
        return self._portal.run(self._aio.export())

    def credentials(self) -> Credentials:
        """Returns what another process needs to resume the session if this one crashes. Keep it secret.

        This process may still run then, so the other one calls inherited holds safe only after one TTL: without TTL,
        never.
        """
        return self._aio.credentials()

    def holds(self, timeout: float | None = None) -> list[Held]:
        """Returns the holds of a resumed session, once the previous process can no longer rely on them.

        After an export that is immediately, otherwise one TTL after the resumption. Raises WaitTimeout after `timeout`
        seconds, and HoldLost for a session without TTL that was not exported, because that time never comes.
        """
        return [Held(self._portal, held) for held in self._portal.run(self._aio.holds(timeout))]
