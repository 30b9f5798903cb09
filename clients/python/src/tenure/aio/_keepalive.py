"""Renews the sessions of a client over one stream of one connection."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any

from tenure import errors
from tenure._rpc import KEEP_ALIVE
from tenure.v1 import session_pb2

if TYPE_CHECKING:
    from tenure.aio._connection import Connection
    from tenure.aio._link import Link, Stream
    from tenure.aio._session_core import SessionCore

log = logging.getLogger("tenure")

RENEWALS_MAX = 1024


class Keeper:
    """Attaches sessions to a connection and renews them over it, until it breaks."""

    def __init__(self, client: Connection, link: Link) -> None:
        self._client = client
        self._link = link
        self._known: set[str] = set()  # Sessions whose secret this stream has brought.
        self._attaching: set[str] = set()
        self._event = asyncio.Event()

    def wake(self) -> None:
        """Lets it look again."""
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
                self._attach_all()
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

    def _mine(self) -> list[SessionCore]:
        return [s for s in self._client._sessions.values() if s._attached is self._link]

    def _attach_all(self) -> None:
        for session in list(self._client._sessions.values()):
            if session._attached is not self._link and session.id not in self._attaching:
                self._attaching.add(session.id)
                self._client._spawn(self._attach(session), "attach")

    async def _attach(self, session: SessionCore) -> None:
        try:
            await session._attach(self._link)
        finally:
            self._attaching.discard(session.id)
            self._event.set()

    def _next_due(self) -> float:
        now = self._client._clock.now()
        dues = [s._renew_at - now for s in self._mine() if not s._machine.lease.outstanding]
        return max(0.0, min(dues, default=1.0))

    async def _renew_due(self, stream: Stream[session_pb2.KeepAliveRequest, session_pb2.KeepAliveResponse]) -> None:
        now = self._client._clock.now()
        due = [s for s in self._mine() if s._renew_at <= now and not s._machine.lease.outstanding][:RENEWALS_MAX]
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
        await stream.write(message)
        self._known.update(s.id for s in due)

    async def _read(self, stream: Stream[session_pb2.KeepAliveRequest, session_pb2.KeepAliveResponse]) -> None:
        try:
            while (message := await stream.read()) is not None:
                for verdict in message.verdicts:
                    self._link.served = self._link.served or not verdict.refused
                    session = self._client._sessions.get(verdict.session_id)
                    if session is not None:
                        session._verdict(verdict)
                for hint in message.hints:
                    session = self._client._sessions.get(hint.session_id)
                    if session is not None:
                        session._hint(hint)
        except errors.TenureError as error:
            log.debug("keepalive from %s ended: %s", self._link.address, error)
        finally:
            self._link.break_off()
