"""Requests under a session, each applied once."""

from __future__ import annotations

import asyncio

from tenure import errors
from tenure._core.requests import RequestWindow
from tenure.aio._limits import Limits
from tenure.aio._wait import until_set
from tenure.v1 import types_pb2

ROOM_LOOK_SECONDS = 0.25


class Requests:
    """The numbers of a session's requests, and what room there is for more of them."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._moved = asyncio.Event()
        self.window = RequestWindow()

    async def begin(self, limits: Limits) -> Numbered:
        """Numbers a new request, once the window has room."""
        while (sequence := self.window.begin()) is None:
            await self.until_moved(min(ROOM_LOOK_SECONDS, limits.left()))
            limits.check()
        return Numbered(self, sequence)

    async def until_moved(self, timeout: float | None = None) -> None:
        """Waits until a request was answered, or the session is over."""
        self._moved.clear()
        await until_set(self._moved, timeout)

    def over(self) -> None:
        """Ends every wait for room, because the session is over."""
        self._moved.set()

    def identity(self, sequence: int) -> types_pb2.RequestID:
        """Returns what a request carries that has this number."""
        return types_pb2.RequestID(session_id=self._session_id, sequence=sequence, done_below=self.window.done_below)

    def finish(self, sequence: int) -> None:
        """Notes that a request will never be sent again."""
        self.window.finish(sequence)
        self._moved.set()


class Numbered:
    """A request that keeps its number over its attempts, so that it is applied once however often it is sent."""

    def __init__(self, requests: Requests, sequence: int) -> None:
        self._requests = requests
        self._sequence = sequence
        self._maybe = False  # Whether an attempt under this number may have been applied, for all that is known.
        self._full = False  # Whether the cluster had no room for the last attempt.

    def prepare(self, options: types_pb2.CallOptions) -> None:
        """Writes what the next attempt carries: the cluster may forget what has been answered since."""
        if self._full and not self._maybe:
            # Behind the others, so that it is not what keeps the window full.
            self._sequence = self._requests.window.renumber(self._sequence)
        options.request_id.CopyFrom(self._requests.identity(self._sequence))

    def failed(self, error: errors.TenureError) -> None:
        """Notes how an attempt failed."""
        self._full = isinstance(error, errors.RequestWindowFull)
        self._maybe = self._maybe or error.applied is not False

    def finish(self) -> None:
        """Notes that it will never be sent again. Twice is once."""
        self._requests.finish(self._sequence)
