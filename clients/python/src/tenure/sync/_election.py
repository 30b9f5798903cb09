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
    """Being the leader."""

    def __init__(self, portal: Portal, leadership: aio.Leadership) -> None:
        super().__init__(portal, leadership)
        self._leadership = leadership

    def proclaim(self, value: bytes | str) -> None:
        """Changes the leader's value. Raises FencingTokenStale when another leads."""
        self._portal.run(self._leadership.proclaim(value))

    def resign(self, *, to_session: str = "", to_owner: str = "") -> bool:
        """Gives leadership up, to a named candidate if one is named. Returns whether it was held until now.

        When the candidate does not wait, CandidateNotFound is raised and leadership stays.
        """
        if self.ended or self._portal.closed:
            return False
        return self._portal.run(self._leadership.resign(to_session=to_session, to_owner=to_owner))


class Observer:
    """The present leader or None, then every change: `for leader in observer`."""

    def __init__(self, portal: Portal, observer: aio.Observer) -> None:
        self._portal = portal
        self._aio = observer
        self._answers: deque[LeaderInfo | None] = deque()

    @property
    def gap(self) -> bool:
        """Whether changes before the last answer may have been missed."""
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
        """Ends it. A read that waits in another thread ends, too."""
        self._portal.end(self._aio.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Election:
    """An election to stand in."""

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
        """Waits until this session leads. Raises WaitTimeout; then it stands no more."""
        campaign = self._aio.campaign(value, timeout=timeout, owner=owner, on_queued=on_queued)
        return Leadership(self._portal, self._portal.run(campaign, undo=give_back))

    def leader(self) -> LeaderInfo | None:
        """Returns who leads; None when nobody does."""
        return self._portal.run(self._aio.leader())

    def observe(self) -> Observer:
        """Observes the election."""
        return Observer(self._portal, self._aio.observe())

    def run(self, function: Callable[[Leadership], Any], value: bytes | str = b"") -> Any:
        """Waits until this session leads, calls the function, and resigns. Returns what it returned.

        A thread cannot be interrupted: the function should end when `leadership.lost` is set.
        """
        with self.campaign(value) as leadership:
            return function(leadership)


class ElectionRun:
    """Stands in an election and calls a function, in a thread, while the session leads, again and again."""

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
        """Waits until it has ended. Raises what ended it, if that was neither close nor the end of its session."""
        with contextlib.suppress(errors.ClientClosed):
            self._portal.run(self._aio.wait())

    def close(self) -> None:
        """Gives leadership up and stands no more. Waits until the function has returned: it should watch `lost`.

        The function itself may call it, too; then nobody waits for it.
        """
        if not self._portal.closed:
            let_go(self)
            self._portal.end(self._aio.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
