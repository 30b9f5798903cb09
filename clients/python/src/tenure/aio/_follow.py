"""What reads a stream from whichever member serves, and goes on with another when it breaks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from typing_extensions import Self

from tenure import errors
from tenure._core.backoff import Backoff
from tenure._core.retry import FailedHere, decide
from tenure._rpc import Req, Res, ServerStream
from tenure.aio._limits import Limits

if TYPE_CHECKING:
    from tenure.aio._client import Client
    from tenure.aio._link import Followed, Link


log = logging.getLogger("tenure")

T = TypeVar("T")

# How long a stream may say nothing before its member is left, where that is to say something now and then.
SILENCE_SECONDS = 15.0

# How long a stream goes on after its reader was cancelled, if it is not read again.
UNREAD_SECONDS = 30.0

# How long a close waits for a read to end.
CLOSE_SECONDS = 1.0


class Follower(Generic[Req, Res]):
    """Reads one message after another. It raises Unavailable when it cannot begin within the client's timeout."""

    def __init__(self, client: Client, rpc: ServerStream[Req, Res], what: str) -> None:
        self._client = client
        self._rpc = rpc
        self._what = what
        self._stream: Followed[Req, Res] | None = None
        self._link: Link | None = None
        self._sent_at = 0.0  # When the request of the stream was sent.
        self._began = False
        self._begin_by: float | None = None  # When it gives up if it has not begun.
        self._closed = False
        self._waiting: asyncio.Future[Any] | None = None  # What close need not wait for.
        self._under_way: asyncio.Task[Res | None] | None = None  # It outlives a reader that is cancelled.
        self._unread: asyncio.TimerHandle | None = None  # Ends a stream that is no longer read.
        self._backoff = Backoff(client._rng)
        self._failures = 0
        self._warned = False  # Whether the log has said since the last message that an interceptor fails.
        self._reading = asyncio.Lock()
        self._silent = False  # Whether the member said nothing for too long, which ended the stream.
        self.patient = False  # Whether it waits for a member as long as it takes also before it has begun.
        self.steady = False  # Whether it goes on after an interceptor failed also before it has begun.

    def _request(self) -> Req:
        """Returns the request of a new stream."""
        raise NotImplementedError

    def _broke(self, error: errors.TenureError) -> bool:
        """Takes note that a stream broke. Returns whether to go on for certain."""
        return False

    def _silence(self) -> float:
        """For how many seconds a stream may say nothing; infinite where nobody was told to say something."""
        return float("inf")

    async def _next_message(self) -> Res | None:
        """Reads one message, from a new stream if there is none. None: look again, it may be closed."""
        async with self._reading:
            self._is_read()
            try:
                if self._stream is None and not self._closed:
                    await self._open()
                if self._closed or self._stream is None:
                    return None
                message = await self._read_on(self._stream)
                if message is None:
                    raise errors.LinkLost(f"the stream of {self._what} ended", applied=False)
            except errors.TenureError as error:
                self._stream = None
                if not self._closed:
                    await self._after_failure(error)
                return None
            except asyncio.CancelledError:
                self._unread = asyncio.get_running_loop().call_later(UNREAD_SECONDS, self._leave_unread)
                raise
            self._failures = 0
            self._warned = False
            self._backoff.reset()
            return message

    async def _read_on(self, stream: Followed[Req, Res]) -> Res | None:
        """Reads one message. After a reader that was cancelled the next one waits for the same, and nothing is lost."""
        if self._under_way is None:
            self._under_way = asyncio.ensure_future(self._read_in_time(stream))
            self._under_way.add_done_callback(_noted)
        read = self._under_way
        await asyncio.wait({read})
        if self._under_way is read:
            self._under_way = None
        if read.cancelled():  # The loop ends, or it took a close too long to end this.
            self._leave_stream()
            if self._closed:
                return None
        return read.result()

    def _is_read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _leave_unread(self) -> None:
        """Ends a stream that is no longer read. A later read begins another, after the last message."""
        self._leave_stream()
        self._broke(errors.LinkLost("the stream was no longer read", applied=False))

    async def _read_in_time(self, stream: Followed[Req, Res]) -> Res | None:
        """Reads one message. A member that says nothing for too long may be there and know nothing new: LinkLost."""
        silence = self._silence()
        if silence == float("inf"):
            return await stream.read()
        # Only during a read: readers may take their time.
        timer = asyncio.get_running_loop().call_later(silence, self._fall_silent, stream)
        try:
            return await self._unless_silent(stream, f"the member said nothing on {self._what} for {silence:.0f} s")
        finally:
            timer.cancel()

    async def _unless_silent(self, stream: Followed[Req, Res], text: str) -> Res | None:
        """Reads one message. Raises LinkLost with a text once the member has fallen silent."""
        self._silent = False
        try:
            return await stream.read()
        except errors.LinkLost:
            if self._silent:
                raise errors.LinkLost(text, applied=False) from None
            raise

    def _fall_silent(self, stream: Followed[Req, Res]) -> None:
        self._silent = True
        stream.cancel()

    async def _open(self) -> None:
        self._client._start()
        self._client._closers[id(self)] = self.close
        if self._begin_by is None:
            self._begin_by = self._client._clock.now() + self._client.timeout
        # What has begun waits for a member as long as it takes.
        limits = Limits(self._client, float("inf") if self._began or self.patient else None, None)
        self._link = await self._unless_closed(self._client._await_link(limits))
        if self._link is None:
            return
        self._sent_at = self._client._clock.now()
        self._stream = self._link.server_stream(self._rpc, self._request())

    async def _after_failure(self, error: errors.TenureError) -> None:
        self._failures += 1
        decision = decide(error, failures=self._failures)
        goes_on = self._broke(error)
        if isinstance(error, FailedHere) and (self._began or self.steady):
            goes_on = True
            if not decision.retry and not self._warned:
                self._warned = True
                log.warning("%s will continue later: %s", self._what, error)
        if not goes_on and (not decision.retry or self._too_late()):
            await self.close()
            raise error
        if decision.move and self._link is not None:
            self._link.break_off()
        await self._unless_closed(asyncio.sleep(self._backoff.next(decision.after)))

    async def _unless_closed(self, coroutine: Coroutine[Any, Any, T]) -> T | None:
        """Awaits something; None when this was closed meanwhile."""
        waiting = self._waiting = asyncio.ensure_future(coroutine)
        try:
            await asyncio.wait({waiting})
        finally:
            self._waiting = None
            waiting.cancel()
        return None if waiting.cancelled() else waiting.result()

    def _too_late(self) -> bool:
        """Whether it has not begun in time."""
        if self._began or self.patient:
            return False
        return self._begin_by is not None and self._client._clock.now() >= self._begin_by

    def _leave_stream(self) -> None:
        """Ends the stream; the next read begins another."""
        if self._stream is not None:
            self._stream.cancel()
            self._stream = self._under_way = None

    async def close(self) -> None:
        """Ends it. A read that waits ends, too."""
        self._closed = True
        self._client._closers.pop(id(self), None)
        read = self._under_way
        self._is_read()
        self._leave_stream()
        self._link = None
        if self._waiting is not None:
            self._waiting.cancel()
        if read is not None:
            await asyncio.wait({read}, timeout=CLOSE_SECONDS)
            read.cancel()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __aiter__(self) -> Self:
        return self


def _noted(read: asyncio.Task[Any]) -> None:
    """Takes note of the error of a read whose reader is gone."""
    if not read.cancelled():
        read.exception()
