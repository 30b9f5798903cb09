"""A connection to one member."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

import grpc.aio

from tenure import _convert, errors
from tenure._core.fork import ADVICE
from tenure._core.retry import FailedHere, decide
from tenure._rpc import BidiStream, Req, Res, ServerStream, Unary
from tenure.aio._door import Door, InClear
from tenure.aio._line import Alone, Long, bearing
from tenure.aio._lines import STREAMS_MAX, Lines
from tenure.aio._vigil import Vigil
from tenure.aio._wait import stop

T = TypeVar("T")
# Members answer it at once, whatever they are busy with, and whoever asks.
HEALTH = "/grpc.health.v1.Health/Check"
# How many exceptions, each raised in place of another, are looked through for one of gRPC.
CHAIN_MAX = 16

Metadata = tuple[tuple[str, str], ...]

# The process that used gRPC first. What gRPC keeps for a process does not work in a forked child of it.
_used_by: list[int] = []


def check_process() -> None:
    """Raises ForkedError in a forked child of a process that has used gRPC: here it would hang."""
    if _used_by and _used_by[0] != os.getpid():
        raise errors.ForkedError(
            "a client cannot be opened in a forked child of a process that has had one open: gRPC does not survive a "
            f"fork; {ADVICE}"
        )


class StreamChannel:
    """A connection for waits and watches: the link's own carries only calls and renewals. It ends with the link."""

    def __init__(self, channel: grpc.aio.Channel, lines: bool) -> None:
        self.channel = channel
        self.lines = Lines(channel) if lines else None
        self.streams = 0
        self.streams_max = 0 if lines else STREAMS_MAX  # Zero: not known yet.


class Link:
    """A connection to one member. Once broken it stays broken, and all its calls end with LinkLost.

    Waits and watches are on further connections to the same member: one, if it carries them on lines, or as many as it
    takes.
    """

    _lines: Lines | None = None  # The calls of many on one stream; None: each is made by itself.
    _vigil: Vigil | None = None
    served = False  # Whether it answered a call or renewed a session, so that the next may be made at once.
    direct = False  # Whether it is for changes only, because its member leads.
    under_way = 0  # Attempts of calls.
    answers = 0  # To attempts, that count: who waits in vain can tell whether others do, too.

    def __init__(self, address: str, door: Door) -> None:
        self.address = address
        self._door = door
        self._token = door.token
        self._channel = door.channel(address)
        self._lines = Lines(self._channel) if door.lines else None
        self._channels: list[StreamChannel] = []
        self._vigil = Vigil(self._ping, self.break_off)
        if not _used_by:
            _used_by.append(os.getpid())
        self._calls: dict[str, Any] = {}
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._races: set[asyncio.Future[None]] = set()

    async def _place(self, token: str, left: asyncio.Future[None]) -> StreamChannel:
        """Returns a connection that has room for a stream, which it counts."""
        while True:
            if self.broken:
                raise self._lost()
            channel = next((c for c in self._channels if not c.streams_max or c.streams < c.streams_max), None)
            if channel is None:
                try:
                    channel = StreamChannel(self._door.channel(self.address), self._door.lines)
                except errors.TLSFailed as error:  # It was connected before: a file may be on its way.
                    raise errors.Unavailable(str(error), applied=False) from None
                self._channels.append(channel)
            if channel.lines is not None and not channel.streams_max:
                channel.streams_max = await channel.lines.streams(token, left)
                continue
            channel.streams += 1
            return channel

    @property
    def broken(self) -> bool:
        """Whether it can be used no more."""
        return self.gone.done()

    def break_off(self) -> None:
        """Ends all calls; close must still be called."""
        if not self.gone.done():
            self.gone.set_result(None)
            for lost in self._races:
                lost.set_result(None)
        if self._vigil is not None:
            self._vigil.stop()
        for lines in self._all_lines():
            lines.break_off(self._lost())

    def _all_lines(self) -> list[Lines]:
        """Returns the lines of all its connections."""
        return [lines for lines in (self._lines, *(c.lines for c in self._channels)) if lines is not None]

    async def close(self) -> None:
        """Breaks it and closes its connections."""
        self.break_off()
        if self._vigil is not None:
            await self._vigil.stopped()
        await asyncio.gather(self._channel.close(), *(c.channel.close() for c in self._channels))
        for lines in self._all_lines():
            await lines.close()
        self._channels = []

    async def race(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Awaits something of this link, or raises LinkLost when the link breaks."""
        if self.gone.done():
            coroutine.close()
            raise self._lost()
        task = asyncio.ensure_future(coroutine)
        # One of its own: what no longer waits for a future is searched for among all that do.
        lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._races.add(lost)
        both: set[asyncio.Future[Any]] = {task, lost}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await stop(task)
            raise
        finally:
            self._races.discard(lost)
        if not task.done():
            await stop(task)
            raise self._lost()
        if task.cancelled():
            raise self._lost()
        return task.result()

    def _lost(self) -> errors.LinkLost:
        return errors.LinkLost(f"the connection to {self.address} broke", applied=None)

    async def attempt(self, rpc: Unary[Req, Res], request: Req, timeout: float) -> Res:
        """Makes an attempt of a call: as unary, but it is counted."""
        self.under_way += 1
        try:
            answer = await self.unary(rpc, request, timeout)
        finally:
            self.under_way -= 1
        self.answered()
        return answer

    def answered(self) -> None:
        """Notes an answer that counts."""
        self.served = True
        self.answers += 1

    async def unary(self, rpc: Unary[Req, Res], request: Req, timeout: float | None) -> Res:
        """Makes a call and returns its answer. Raises a typed error."""
        if self._token is None:
            return await self._unary(rpc, request, timeout, "")
        left = _left(timeout)
        used = await self.race(self._token.get(left()))
        try:
            return await self._unary(rpc, request, left(), used)
        except errors.Unauthenticated:
            if not await self.race(self._token.renew(used, left())):
                raise
        return await self._unary(rpc, request, left(), self._token.text)

    async def _unary(self, rpc: Unary[Req, Res], request: Req, timeout: float | None, token: str) -> Res:
        """Makes a call, on the line or by itself, and notes whether the member said something."""
        if self._vigil is None:
            return await self._once(rpc, request, timeout, token)
        self._vigil.owe()
        try:
            answer = await self._once(rpc, request, timeout, token)
        except errors.TenureError as error:
            if not isinstance(error, (errors.LinkLost, errors.DeadlineExceeded, FailedHere)):
                self._vigil.heard()
            raise
        finally:
            self._vigil.settle()
        self._vigil.heard()
        return answer

    async def _once(self, rpc: Unary[Req, Res], request: Req, timeout: float | None, token: str) -> Res:
        """Makes a call, on the line or by itself."""
        if self.gone.done():
            raise self._lost()
        if self._lines is not None and (call := self._lines.begin(rpc, request, token, timeout)) is not None:
            with contextlib.suppress(Alone):
                answer: Res = await call.result()
                return answer
        alone = self._calls.get(rpc.path)
        if alone is None:
            alone = self._calls[rpc.path] = self._channel.unary_unary(
                rpc.path,
                request_serializer=rpc.request.SerializeToString,
                response_deserializer=rpc.response.FromString,
            )
        metadata = bearing(token) if token else None
        return await self.race(_typed(lambda: alone(request, timeout=timeout, metadata=metadata)))

    async def _ping(self, seconds: float) -> bool | None:
        """Asks the member for a sign of life; any answer is one. None: it is not known whether there was one."""
        try:
            check = self._channel.unary_unary(HEALTH, request_serializer=bytes, response_deserializer=bytes)
            await check(b"", timeout=seconds)
        except (grpc.aio.UsageError, asyncio.InvalidStateError):
            return True  # It is being closed.
        except Exception as error:
            said = _beneath(error)
            return None if said is None else said.code() is not grpc.StatusCode.DEADLINE_EXCEEDED
        return True

    def _token_text(self) -> str:
        return "" if self._token is None else self._token.text

    def _metadata(self) -> Metadata:
        return () if self._token is None else bearing(self._token.text)

    async def _refused(self, error: errors.Unauthenticated, used: str) -> errors.TenureError:
        """Returns what a stream fails with whose token was refused: it may be begun again once that was replaced."""
        if self._token is None or not await self.race(self._token.renew(used, None)):
            return error
        return errors.Unavailable("the token was replaced", applied=False)

    def server_stream(self, rpc: ServerStream[Req, Res], request: Req) -> Followed[Req, Res]:
        """Returns a call with a stream of answers. It must be read to its end, or cancelled."""
        if self.broken:
            raise self._lost()
        return Followed(self, rpc, request)

    def bidi_stream(self, rpc: BidiStream[Req, Res]) -> Stream[Req, Res]:
        """Begins a call with streams both ways."""
        call = self._channel.stream_stream(
            rpc.path, request_serializer=rpc.request.SerializeToString, response_deserializer=rpc.response.FromString
        )
        return Stream(self, call(metadata=self._metadata()))


class Followed(Generic[Req, Res]):
    """A wait or a watch: a call with parts on a line, or a stream of its own where lines do not serve.

    It begins when it is first read. One task reads it; cancel may come from any task of the loop.
    """

    def __init__(self, link: Link, rpc: ServerStream[Req, Res], request: Req) -> None:
        self._link = link
        self._rpc = rpc
        self._request = request
        self._used = ""  # The token that it was begun with.
        self._left: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._channel: StreamChannel | None = None  # Where it is counted.
        self._call: Long | None = None
        self._alone: Any = None

    async def read(self) -> Res | None:
        """Returns the next message; None at a clean end. Raises a typed error."""
        try:
            message = await self._next()
        except errors.Unauthenticated as error:
            self._leave_channel()
            raise await self._link._refused(error, self._used) from None
        except errors.TenureError:
            self._leave_channel()
            raise
        if message is None:
            self._leave_channel()
            return None
        self._link.served = True  # Any message is an answer that counts.
        answer: Res = message
        return answer

    async def _next(self) -> Any:
        if self._call is None and self._alone is None:
            await self._begin()
        if self._call is not None:
            return await self._call.read()
        message = await self._link.race(_typed(self._alone.read))
        return None if message is grpc.aio.EOF else message

    async def _begin(self) -> None:
        """Begins it, where there is room."""
        link, rpc = self._link, self._rpc
        self._used = link._token_text()
        self._channel = await link._place(self._used, self._left)
        if self._channel.lines is not None:
            self._call = await self._channel.lines.follow(rpc, self._request, self._used, self._left)
        if self._call is None:
            if link.broken or self._left.done():
                raise link._lost()
            call = self._channel.channel.unary_stream(
                rpc.path,
                request_serializer=rpc.request.SerializeToString,
                response_deserializer=rpc.response.FromString,
            )
            self._alone = call(self._request, metadata=bearing(self._used) if self._used else None)

    def cancel(self) -> None:
        """Ends the call. A read that waits raises LinkLost."""
        if not self._left.done():
            self._left.set_result(None)
        if self._call is not None:
            self._call.leave()
        if self._alone is not None:
            self._alone.cancel()
        self._leave_channel()

    def _leave_channel(self) -> None:
        """Makes room for another stream."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.streams -= 1


class Stream(Generic[Req, Res]):
    """A call with streams both ways. One task reads, one task writes; cancel may come from any task of the loop."""

    def __init__(self, link: Link, call: Any) -> None:
        self._link = link
        self._call = call
        self._used = link._token_text()

    async def read(self) -> Res | None:
        """Returns the next message; None at a clean end. Raises a typed error."""
        try:
            message: Any = await self._link.race(_typed(self._call.read))
        except errors.Unauthenticated as error:
            raise await self._link._refused(error, self._used) from None
        if message is grpc.aio.EOF:
            return None
        if self._link._vigil is not None:
            self._link._vigil.heard()
        answer: Res = message
        return answer

    async def write(self, message: Req) -> None:
        """Sends a message. Raises a typed error."""
        await self._link.race(_typed(lambda: self._call.write(message)))

    def cancel(self) -> None:
        """Ends the call. A read that waits raises LinkLost."""
        self._call.cancel()


def _left(seconds: float | None) -> Callable[[], float | None]:
    """Returns what tells how many of so many seconds are left from now on."""
    if seconds is None:
        return lambda: None
    end = time.monotonic() + seconds
    return lambda: max(0.001, end - time.monotonic())


async def _typed(begin: Callable[[], Awaitable[T]]) -> T:
    """Begins and awaits a call, and makes its error a typed one."""
    try:
        return await begin()
    except grpc.aio.AioRpcError as error:
        raise _convert.error(error.code(), error.details() or "", error.trailing_metadata()) from None
    except (grpc.aio.UsageError, asyncio.InvalidStateError) as error:
        raise errors.LinkLost(str(error), applied=None) from None
    except InClear as error:
        raise errors.AuthUnsafe(str(error), reason=errors.AuthUnsafe.reason, applied=False) from None
    except Exception as error:  # Of an interceptor.
        if (said := _beneath(error)) is not None:
            passing = _convert.error(said.code(), said.details() or "", said.trailing_metadata())
            if decide(passing, failures=1).retry:
                raise passing from error
        # Whether it had made the call is not known.
        raise FailedHere(f"the call failed here: {error!r}", applied=None) from error


def _beneath(error: BaseException | None) -> grpc.aio.AioRpcError | None:
    """Returns the error of gRPC in whose place an interceptor raised another, if there was one."""
    for _ in range(CHAIN_MAX):
        if error is None or isinstance(error, grpc.aio.AioRpcError):
            return error
        error = error.__cause__ or error.__context__
    return None
