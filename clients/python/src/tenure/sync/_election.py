"""Elections, and functions that run while a session leads."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from typing_extensions import Self

from tenure import aio, errors
from tenure.sync._lock import Held, give_back
from tenure.sync._portal import Portal
from tenure.sync._threads import in_thread, let_go
from tenure.types import LeaderInfo, Place


class Leadership(Held):
    """A held leadership: a Held, with calls to change the leader's value and to resign."""

    def __init__(self, portal: Portal, leadership: aio.Leadership) -> None:
        super().__init__(portal, leadership)
        self._leadership = leadership

    def proclaim(self, value: bytes | str) -> None:
        """Changes the leader's value. Raises FencingTokenStale if this session no longer leads."""
        self._portal.run(self._leadership.proclaim(value))

    def resign(self, *, to_session: str = "", to_owner: str = "") -> bool:
        """Gives up leadership. Returns whether it was held until now.

        `to_session`, a session's id, names the candidate that leads next; `to_owner` is needed if that session
        campaigns more than once. If it does not wait, CandidateNotFound is raised and this session still leads. Until
        the response has arrived, leadership is not `safe`; without a response it is released.
        """
        if self.ended or self._portal.closed:
            return False
        return self._portal.run(self._leadership.resign(to_session=to_session, to_owner=to_owner))


class Observer:
    """Yields the current leader or None, then each change: `for leader in observer`.

    After a reconnect the current leader comes again only if it is another one. It raises Unavailable if it cannot start
    within the client's timeout; once started, it waits for a member for as long as it takes. One thread can read it,
    any can close it.
    """

    def __init__(self, portal: Portal, observer: aio.Observer) -> None:
        self._portal = portal
        self._aio = observer
        self._answers: deque[LeaderInfo | None] = deque()

    @property
    def gap(self) -> bool:
        """Whether changes before the last leader that was read may have been missed."""
        return self._aio.gap

    def __iter__(self) -> Iterator[LeaderInfo | None]:
        return self

    def __next__(self) -> LeaderInfo | None:
        if not self._answers:
            try:
                self._portal.run(self._fetch())
            except errors.ClientClosed:
                if not self._aio._closed:  # It had not begun, else the client would have closed it.
                    raise
            if not self._answers:
                raise StopIteration
        return self._answers.popleft()

    async def _fetch(self) -> None:
        """Reads an answer. It stays here until it is taken, also when who waits is interrupted."""
        if self._answers:  # Of a read that was interrupted; it came meanwhile.
            return
        with contextlib.suppress(StopAsyncIteration):
            self._answers.append(await self._aio.__anext__())

    def close(self) -> None:
        """Ends it, and with it a read that waits in another thread."""
        self._portal.end(self._aio.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Election:
    """An election, in which a session can campaign. The leader is the holder of a lock; its value is the lock's key."""

    def __init__(self, portal: Portal, election: aio.Election) -> None:
        self._portal = portal
        self._aio = election
        self.key = election.key

    def campaign(
        self,
        value: bytes | str = b"",
        *,
        timeout: float | None = None,
        owner: str | None = None,
        on_queued: Callable[[Place], Any] | None = None,
    ) -> Leadership:
        """Waits until this session leads, with this value.

        Raises WaitTimeout after `timeout` seconds; then it no longer waits.

        Without a `timeout` it waits as long as the session lives. `owner` names the candidacy within the session, and
        `on_queued` is called with the Place if another session leads.
        """
        campaign = self._aio.campaign(value, timeout=timeout, owner=owner, on_queued=on_queued)
        return Leadership(self._portal, self._portal.run(campaign, undo=give_back))

    def leader(self) -> LeaderInfo | None:
        """Returns the current leader; None if there is none."""
        return self._portal.run(self._aio.leader())

    def observe(self) -> Observer:
        """Returns an Observer: the current leader or None, then each change."""
        return Observer(self._portal, self._aio.observe())

    def run(self, function: Callable[[Leadership], Any], value: bytes | str = b"") -> Any:
        """Waits until this session leads, calls the function, and resigns. Returns the function's result.

        A thread cannot be interrupted, so the function should return when `leadership.lost` is set. Raises HoldLost if
        leadership was lost.
        """
        with self.campaign(value) as leadership:
            return function(leadership)


class ElectionRun:
    """Calls a function, in its own thread, each time a session becomes the leader.

    `@session.elect(key)` returns one.
    """

    def __init__(
        self, portal: Portal, session: aio.Session, key: str, value: bytes | str, function: Callable[[Leadership], Any]
    ) -> None:
        self._portal = portal

        async def lead(leadership: aio.Leadership) -> None:
            await in_thread((self, portal), lambda: function(Leadership(portal, leadership)))

        self._aio = portal.call(lambda: aio.ElectionRun(session, key, value, lead, resign_first=True))

    @property
    def leading(self) -> bool:
        """Whether the session leads at this moment."""
        return self._aio.leading

    def wait(self) -> None:
        """Waits until it has ended. Raises the error that ended it, unless that was close or the end of its session."""
        with contextlib.suppress(errors.ClientClosed):
            self._portal.run(self._aio.wait())

    def close(self) -> None:
        """Gives up leadership and ends the campaign. Waits until the function has returned, which should watch `lost`.

        If the function itself calls it, it does not wait.
        """
        if not self._portal.closed:
            let_go(self)
            self._portal.end(self._aio.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
