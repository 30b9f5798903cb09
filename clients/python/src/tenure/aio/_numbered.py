"""Requests under a session, each applied once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure import errors
from tenure.v1 import types_pb2

if TYPE_CHECKING:
    from tenure.aio._session_core import SessionCore


class Numbered:
    """A request that keeps its number over its attempts, so that it is applied once however often it is sent."""

    def __init__(self, session: SessionCore, sequence: int) -> None:
        self._session = session
        self._sequence = sequence
        self._maybe = False  # Whether an attempt under this number may have been applied, for all that is known.
        self._full = False  # Whether the cluster had no room for the last attempt.

    def prepare(self, options: types_pb2.CallOptions) -> None:
        """Writes what the next attempt carries: the cluster may forget what has been answered since."""
        if self._full and not self._maybe:
            # Behind the others, so that it is not what keeps the window full.
            self._sequence = self._session._window.renumber(self._sequence)
        options.request_id.CopyFrom(self._session._request_id(self._sequence))

    def failed(self, error: errors.TenureError) -> None:
        """Notes how an attempt failed."""
        self._full = isinstance(error, errors.RequestWindowFull)
        self._maybe = self._maybe or error.applied is not False

    def finish(self) -> None:
        """Notes that it will never be sent again. Twice is once."""
        self._session._finish_request(self._sequence)
