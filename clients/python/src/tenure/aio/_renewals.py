"""What members answer to the renewals of a session."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from google.protobuf.duration_pb2 import Duration

from tenure import _convert, errors
from tenure._core.denials import Denials
from tenure._rpc import RENEW_SESSION
from tenure.aio._ends import CAUSES
from tenure.v1 import session_pb2

if TYPE_CHECKING:
    from tenure.aio._link import Link
    from tenure.aio._session_core import SessionCore

RENEW_JITTER = 0.1
PUT_OFF_SECONDS = 0.1

# Refusals for want of a right, or of a credential.
_DENIALS = (errors.PermissionDenied, errors.Unauthenticated)


class Renewals:
    """How the renewals of one session went."""

    def __init__(self, session: SessionCore) -> None:
        self._session = session
        self.hinted: Link | None = None  # The link whose stream has renewed the session: there hints come.
        self.refused: errors.TenureError | None = None  # Why it was not renewed: a right or the credential.
        self.acknowledged = asyncio.Event()  # Set at each acknowledged renewal; the next has another.
        self._denials = Denials(session._client._rng)

    def verdict(self, verdict: session_pb2.RenewalVerdict) -> None:
        """Takes the answer to a renewal over a stream."""
        session = self._session
        if verdict.number != session._machine.lease.number:
            return  # It is of a renewal before, perhaps by who used the session before.
        if not verdict.refused:
            if self._acknowledge(verdict.number, verdict.ttl) and self.hinted is not session._attached:
                self.hinted = session._attached
                session._attaching.doubt()  # What happened to it before was told of on no stream.
            return
        error = _convert.refusal(verdict.refused, f"session {session.id} was not renewed")
        if isinstance(error, _DENIALS) and (link := session._attached) is not None:
            session._client._tasks.spawn(self._alone(link, verdict.number), "renew")
        else:
            self._refuse(verdict.number, error)

    async def _alone(self, link: Link, number: int) -> None:
        """Makes a renewal once more that was denied: a stream shows the token that it began with, this the present one.

        It is also told that the session is over, which a stream does not tell whoever may not renew it.
        """
        session = self._session
        request = session_pb2.RenewSessionRequest(session_id=session.id, options=session._options())
        try:
            answer = await link.unary(RENEW_SESSION, request, session._machine.lease.silence)
        except errors.TenureError as error:
            if number == session._machine.lease.number and session._attached is link:
                self._refuse(number, error)
        else:
            self._acknowledge(number, answer.session.ttl)

    def _refuse(self, number: int, error: errors.TenureError) -> None:
        """Takes the refusal of a renewal."""
        session = self._session
        now = session._client._clock.now()
        if type(error) in CAUSES:
            session._take_refusal(error, sure=True)
            return
        self.failed(error)
        if self.refused is not None:
            session._machine.lease.denied(number)
            session._renew_at = now + self.pause(now)
            if self._denials.last(now) >= session._machine.lease.silence:
                session._suspend()
        else:
            session._machine.lease.put_off(number)
            session._renew_at = now + PUT_OFF_SECONDS * session._client._rng.uniform(0.5, 1.5)
        session._client._note(session)

    def _acknowledge(self, number: int, ttl: Duration) -> bool:
        """Takes the acknowledgement of a renewal. Returns whether it is that of the outstanding one."""
        session = self._session
        acknowledges = session._machine.acknowledged(number, _convert.seconds(ttl))
        if acknowledges:
            self.refused = None
            self._denials.clear()
            session._renew_at = session._client._clock.now() + self._beat()
            session._publish()
            acknowledged, self.acknowledged = self.acknowledged, asyncio.Event()
            acknowledged.set()
            if session._holdings.owes and session.safe:
                session._client._tasks.spawn(session._holdings.give_back(), "give-back")
        session._client._note(session)
        return acknowledges

    def pause(self, now: float) -> float:
        """Returns how long to wait after one more refusal, in seconds."""
        session = self._session
        return self._denials.add(now, self._beat(), session._machine.lease.safe_until - now)

    def _beat(self) -> float:
        session = self._session
        return session._machine.lease.beat * session._client._rng.uniform(1 - RENEW_JITTER, 1 + RENEW_JITTER)

    def failed(self, error: errors.TenureError) -> None:
        """Notes how an attempt to renew it failed."""
        self.refused = error if isinstance(error, _DENIALS) else None
