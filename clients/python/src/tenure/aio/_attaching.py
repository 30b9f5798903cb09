"""How a session attaches to members, and asks them what it holds."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from tenure import errors
from tenure._core.backoff import Backoff
from tenure._core.retry import decide
from tenure._rpc import ATTACH_SESSION
from tenure.aio._ends import CAUSES
from tenure.aio._holdings import HoldName, name_of
from tenure.v1 import session_pb2

if TYPE_CHECKING:
    from tenure.aio._link import Link
    from tenure.aio._session_core import SessionCore

RECONCILE_SECONDS = 30.0


class Attaching:
    """The attempts of one session to attach, and when it asks for the truth about itself."""

    def __init__(self, session: SessionCore) -> None:
        self._session = session
        self.attempt = 0  # The number of the last one.
        self.asked_at = session._client._clock.now()

    @property
    def due_at(self) -> float:
        """When the session asks for the truth again; infinite while it is attached to no member."""
        return self.asked_at + RECONCILE_SECONDS if self._session._attached is not None else float("inf")

    def look(self, now: float) -> None:
        """Asks for the truth if it is time to."""
        if now >= self.due_at:
            self.asked_at = now
            self.doubt()

    def doubt(self) -> None:
        """Asks for the truth if there is something that may be lost."""
        if self._session._holdings.losable:
            self._session._client._tasks.spawn(self.reconcile(), "reconcile")

    async def attach(self, link: Link) -> None:
        """Re-attaches through a member: learns the truth, and is renewed at once. Leaves a member that cannot.

        While the right to it is gone it tries ever more rarely.
        """
        session = self._session
        give_up = session._client._clock.now() + session._machine.lease.silence
        backoff = Backoff(session._client._rng)
        failures = 0
        while session._machine.cause is None and not link.broken:
            try:
                await self._ask(link, session._machine.lease.silence)
                session._attached = link
                session._renew_now()
                return
            except errors.TenureError as error:
                if type(error) in CAUSES:
                    session._take_refusal(error, sure=True)
                    return
                session._renewals.failed(error)
                if session._renewals.refused is not None:  # Any member says the same, and others use the connection.
                    session._suspend()
                    await asyncio.sleep(session._renewals.pause(session._client._clock.now()))
                    failures, give_up = 0, session._client._clock.now() + session._machine.lease.silence
                    continue
                failures += 1
                decision = decide(error, failures=failures)
                if decision.move or not decision.retry or session._client._clock.now() >= give_up:
                    link.break_off()
                    return
                await asyncio.sleep(backoff.next(decision.after))

    async def reconcile(self) -> None:
        """Asks for the truth: a hint may have been lost."""
        session = self._session
        if (link := session._attached) is not None:
            with contextlib.suppress(errors.TenureError):
                await self._ask(link, session._machine.lease.silence)

    async def _ask(self, link: Link, timeout: float) -> None:
        session = self._session
        asked_at = session._client._clock.now()
        held: set[HoldName] = set()
        page = await self.page(link, timeout, "")
        revision = page.header.revision
        held.update(name_of(h) for h in page.holds)
        while page.next_page_token and not page.places:  # Places come when all holds are told.
            page = await self.page(link, timeout, page.next_page_token)
            held.update(name_of(h) for h in page.holds)
        self.asked_at = asked_at
        session._tick()
        session._holdings.compare(held, revision)

    async def page(self, link: Link, timeout: float, token: str) -> session_pb2.AttachSessionResponse:
        session = self._session
        self.attempt += 1
        request = session_pb2.AttachSessionRequest(
            session_id=session.id,
            instance_id=session._instance,
            attempt=self.attempt,
            options=session._options(),
            page_token=token,
        )
        try:
            return await link.unary(ATTACH_SESSION, request, timeout)
        except errors.AttemptOutdated as error:
            self.attempt = max(self.attempt, error.attempt)
            raise
