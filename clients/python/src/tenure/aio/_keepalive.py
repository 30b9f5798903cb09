"""Renews the sessions of a client over one stream of one connection."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

from tenure import errors
from tenure._core.agenda import Agenda
from tenure._rpc import KEEP_ALIVE
from tenure.v1 import session_pb2

if TYPE_CHECKING:
    from tenure.aio._connection import Connection
    from tenure.aio._link import Link, Stream
    from tenure.aio._session_core import SessionCore

log = logging.getLogger("tenure")

RENEWALS_MAX = 1024
IDLE_SECONDS = 1.0  # How long it rests when nothing is due.


class Keeper:
    """Attaches sessions to a connection and renews them over it, until it breaks."""

    def __init__(self, client: Connection, link: Link) -> None:
        self._client = client
        self._link = link
        # Sessions that this stream has renewed. Until then the secret goes along: a renewal is refused
        # while there is no leader, and the next leader has not seen it.
        self._known: set[str] = set()
        self._attaching: set[str] = set()
        self._adrift: dict[SessionCore, None] = {}  # Sessions to attach.
        self._due: Agenda[SessionCore] = Agenda()  # When the attached sessions are renewed.
        self._event = asyncio.Event()
        for session in client._sessions.values():
            self.note(session)

    def note(self, session: SessionCore) -> None:
        """Notes that something changed for a session: that it came or is over, is attached, or when it is renewed."""
        self._adrift.pop(session, None)
        if not self._client._has(session):
            self._due.drop(session)
        elif session._attached is not self._link:
            self._due.drop(session)
            self._adrift[session] = None
        elif session._machine.lease.outstanding:
            self._due.drop(session)
        else:
            self._due.put(session, session._renew_at)
        self._event.set()

    async def run(self) -> None:
        """Runs until the connection breaks or the client is closed."""
        while not self._client._sessions:
            if self._link.broken:
                return
            self._event.clear()
            await self._rest(None)
        stream = self._link.bidi_stream(KEEP_ALIVE)
        reader = asyncio.ensure_future(self._read(stream))
        try:
            while not self._link.broken and not reader.done():
                self._event.clear()
                self._attach_adrift()
                await self._renew_due(stream)
                await self._rest(self._next_due())
        except errors.TenureError as error:
            log.debug("keepalive to %s ended: %s", self._link.address, error)
        finally:
            self._link.break_off()
            stream.cancel()
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader

    async def _rest(self, seconds: float | None) -> None:
        """Waits until something may be due."""
        waiter = asyncio.ensure_future(self._event.wait())
        waiters: set[asyncio.Future[Any]] = {waiter, self._link.gone}
        try:
            await asyncio.wait(waiters, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiter.cancel()

    def _attach_adrift(self) -> None:
        adrift, self._adrift = self._adrift, {}
        for session in adrift:
            if session.id not in self._attaching:
                self._attaching.add(session.id)
                self._client._tasks.spawn(self._attach(session), "attach")

    async def _attach(self, session: SessionCore) -> None:
        try:
            await session._attaching.attach(self._link)
        finally:
            self._attaching.discard(session.id)
            self.note(self._client._sessions.get(session.id, session))

    def _next_due(self) -> float:
        at = self._due.next()
        return IDLE_SECONDS if at == float("inf") else max(0.0, at - self._client._clock.now())

    async def _renew_due(self, stream: Stream[session_pb2.KeepAliveRequest, session_pb2.KeepAliveResponse]) -> None:
        taken = self._due.take(self._client._clock.now(), RENEWALS_MAX)
        due = [s for s in taken if s._attached is self._link]  # The others are another connection's now.
        if not due:
            return
        message = session_pb2.KeepAliveRequest()
        for session in due:
            message.renewals.add(
                session_id=session.id,
                epoch=session.epoch,
                number=session._machine.lease.renewal(),
                secret=b"" if session.id in self._known else session._secret,
            )
            self._client._note(session)
        await stream.write(message)

    async def _read(self, stream: Stream[session_pb2.KeepAliveRequest, session_pb2.KeepAliveResponse]) -> None:
        try:
            while (message := await stream.read()) is not None:
                for verdict in message.verdicts:
                    if not verdict.refused:
                        self._link.served = True
                        self._known.add(verdict.session_id)
                    session = self._client._sessions.get(verdict.session_id)
                    if session is not None:
                        session._renewals.verdict(verdict)
                for hint in message.hints:
                    session = self._client._sessions.get(hint.session_id)
                    if session is not None:
                        session._hint(hint)
        except errors.TenureError as error:
            log.debug("keepalive from %s ended: %s", self._link.address, error)
            for session in list(self._client._sessions.values()):
                session._renewals.failed(error)
        finally:
            self._link.break_off()
