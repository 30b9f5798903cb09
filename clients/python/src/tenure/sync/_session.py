"""Sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typing_extensions import Self

from tenure import aio
from tenure.aio._wait import within
from tenure.sync._election import Election, ElectionRun, Leadership
from tenure.sync._kv import KV
from tenure.sync._lock import Held, Lock, ReadWriteLock, Semaphore
from tenure.sync._portal import Portal
from tenure.sync._recipes import Barrier, DoubleBarrier, Presence
from tenure.types import CloseCause, Credentials, Mode, State, StateChange


class Session:
    """A session. While it lives it may hold locks, lead elections and own ephemeral keys.

    Get one by `client.session()`. The library renews it, follows the members, and tells its `state`. A session that is
    CLOSED is over; the library never opens another behind its user's back.
    """

    def __init__(self, portal: Portal, session: aio.Session) -> None:
        self._portal = portal
        self._aio = session
        self.id = session.id
        self.kv = KV(portal, session.kv)

    # What is known.

    @property
    def epoch(self) -> int:
        """Which taking-over of the session this is."""
        return self._aio.epoch

    @property
    def ttl(self) -> float:
        """TTL as granted, in seconds; 0 is none."""
        return self._aio.ttl

    @property
    def state(self) -> State:
        """What is known of the session now."""
        return self._aio.state

    @property
    def cause(self) -> CloseCause | None:
        """Why it is CLOSED; None before."""
        return self._aio.cause

    @property
    def safe(self) -> bool:
        """Whether the session certainly lives at this moment."""
        return self._aio.safe

    @property
    def safe_until(self) -> float:
        """Until when it certainly lives, on CLOCK_BOOTTIME where there is one; -inf once it is over."""
        return self._aio.safe_until

    @property
    def safe_for(self) -> float:
        """For how many seconds it certainly lives."""
        return self._aio.safe_for

    def on_state(self, callback: Callable[[StateChange], Any]) -> Callable[[StateChange], Any]:
        """Registers a listener: it is told the present state at once, then each change. Also a decorator."""
        self._portal.call(lambda: self._aio.on_state(callback))
        return callback

    def wait_closed(self, timeout: float | None = None) -> CloseCause:
        """Waits until the session is CLOSED. Raises WaitTimeout."""

        async def closed() -> CloseCause:
            return await within(self._aio.wait_closed(), timeout, "the session is not closed")

        return self._aio.cause or self._portal.run(closed())

    # What it can do.

    def lock(
        self, key: str, *, timeout: float | None = None, mode: Mode = Mode.EXCLUSIVE, owner: str | None = None
    ) -> Lock:
        """Returns a lock: `with session.lock("k", timeout=5) as held`."""
        return Lock(self._portal, self._aio.lock(key, timeout=timeout, mode=mode, owner=owner))

    def rwlock(self, key: str, *, timeout: float | None = None) -> ReadWriteLock:
        """Returns a read-write lock."""
        return ReadWriteLock(self._portal, self._aio.rwlock(key, timeout=timeout))

    def semaphore(
        self, key: str, limit: int, *, permits: int = 1, timeout: float | None = None, owner: str | None = None
    ) -> Semaphore:
        """Returns a semaphore of `limit` permits; the cluster keeps the limit."""
        return Semaphore(self._portal, self._aio.semaphore(key, limit, permits=permits, timeout=timeout, owner=owner))

    def election(self, key: str) -> Election:
        """Returns an election to stand in."""
        return Election(self._portal, self._aio.election(key))

    def elect(self, key: str, value: bytes | str = b"") -> Callable[[Callable[[Leadership], Any]], ElectionRun]:
        """Decorator: the function runs, in a thread, while this session leads, again and again.

        It gets the leadership, and should return when `leadership.lost` is set. The session stands again after it
        returned, until the returned object or the session is closed.
        """
        return lambda function: ElectionRun(self._portal, self._aio, key, value, function)

    def barrier(self, key: str) -> Barrier:
        """Returns a barrier."""
        return Barrier(self._portal, self._aio.barrier(key))

    def double_barrier(self, key: str, count: int, *, name: str | None = None) -> DoubleBarrier:
        """Returns a double barrier for `count` participants."""
        return DoubleBarrier(self._portal, self._aio.double_barrier(key, count, name=name))

    def presence(self, group: str) -> Presence:
        """Returns a group to be present in."""
        return Presence(self._portal, self._aio.presence(group))

    # Its end, and its way to another process.

    def close(self) -> None:
        """Destroys the session and frees what it holds, at once. In a forked child it does nothing.

        That goes on when the caller is interrupted; closing again waits for it.
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
        """Hands the session over: it is CLOSED here, and lives on for whoever resumes the returned text in time.

        What waits for locks ends, and leaves the queues.
        """
        return self._portal.run(self._aio.export())

    def credentials(self) -> Credentials:
        """Returns what another process needs to take the session over, should this one crash.

        Without TTL that one never believes in what was held here, for this one might still run.
        """
        return self._aio.credentials()

    def holds(self, timeout: float | None = None) -> list[Held]:
        """Returns what a resumed session inherited, once nobody else can believe to hold it.

        Raises HoldLost for a session without TTL that was not handed over: then that never comes.
        """
        return [Held(self._portal, held) for held in self._portal.run(self._aio.holds(timeout))]
