"""How long one call may go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure import _convert, errors

if TYPE_CHECKING:
    from tenure.aio._connection import Connection
    from tenure.aio._session_core import SessionCore


class Limits:
    """How long one call may go on, and what it fails with."""

    def __init__(
        self, client: Connection, timeout: float | None, session: SessionCore | None, closing: bool = False
    ) -> None:
        if timeout is not None:
            _convert.check_seconds(timeout)
        self._client = client
        self.session = session
        self.closing = closing  # Whether it is a call of something that closes: that goes on while the client closes.
        self._begin = client._clock.now()
        self._attempts = client._unreached.attempts  # To connect, before the call.
        self._timeout = timeout
        self.first_sent_at: float | None = None  # When the first attempt was sent.
        self.sent = False  # whether a change was sent whose outcome is not known
        self.last: errors.TenureError | None = None

    def _own_end(self) -> float:
        """When the library gives up, whatever the caller says."""
        if self.session is not None:
            return self.session._gives_up_at(self._begin)
        return self._begin + self._client.timeout if self._timeout is None else float("inf")

    def left(self) -> float:
        """Seconds left."""
        end = self._own_end()
        if self._timeout is not None:
            end = min(end, self._begin + self._timeout)
        return max(0.0, end - self._client._clock.now())

    def check(self) -> None:
        """Raises when the call must not go on."""
        applied = None if self.sent else False
        if self.closing:
            pass
        elif self.session is not None:
            self._check_session(self.session)
        elif self._client._closing:
            raise errors.ClientClosed("the client was closed", applied=applied)
        if self._client._unreached.distrusted(self._attempts):
            raise errors.TLSFailed(f"no member could be reached: {self._client._unreached}", applied=applied)
        now = self._client._clock.now()
        last = f"; last: {self.last}" if self.last is not None else ""
        if self._client._link is None:
            last += f"; no connection: {self._client._unreached}"
        if self._timeout is not None and now >= self._begin + self._timeout:
            raise errors.DeadlineExceeded(f"no answer within {self._timeout} s{last}", applied=applied)
        if now >= self._own_end():
            if self.sent:
                raise errors.OutcomeUnknown(f"the answer was lost{last}", applied=None)
            raise errors.Unavailable(f"no member answered{last}")

    def _check_session(self, session: SessionCore) -> None:
        try:
            session._check_open()
        except errors.TenureError as error:
            error.applied = None if self.sent else False
            raise
