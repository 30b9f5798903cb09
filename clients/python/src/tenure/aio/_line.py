"""Many calls over one stream to a member: LineService.Line.

A call on a line has the result, the errors and the time of one that is made by itself. It is made by itself where a
line does not serve: if lines do not carry its kind, if its request would hold up others, if the line is full, and at a
member that has no lines. The line is opened by the first call, and closed when it has been idle for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import grpc
import grpc.aio

from tenure import _convert, errors
from tenure._rpc import Req, Res, Unary
from tenure.aio._function import outside
from tenure.v1 import line_pb2

PATH = "/tenure.v1.LineService/Line"
# Names of the calls with one answer that lines carry, by that of the RPC. Fields of requests and responses have the
# same.
VERBS = {
    "".join(word.capitalize() for word in field.name.split("_")): field.name
    for field in line_pb2.LineAnswer.DESCRIPTOR.oneofs_by_name["response"].fields
}

# How large a request may be; a larger one is made by itself, as it would hold up others.
CALL_BYTES_MAX = 64 << 10
# How large a message becomes.
MESSAGE_BYTES = 64 << 10
# How many calls there may be before the member has said how many it takes, and how large they may be together.
CALLS_BEFORE = 256
BYTES_BEFORE = 1 << 20
# How many tokens a line knows at a time.
TOKENS_MAX = 8
# How long a line without calls stays open, at least; at most twice as long.
IDLE_SECONDS = 30.0
# How long calls are made by themselves after a member had no room for a line.
REFUSED_SECONDS = 10.0


def bearing(token: str) -> tuple[tuple[str, str], ...]:
    """Returns what a call carries to say who calls."""
    return (("authorization", f"Bearer {token}"),)


class Alone(Exception):
    """Nothing was done: the call is to be made by itself."""


class Lines:
    """The line of a connection, opened when there is a call for it."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._line: Line | None = None
        self._without = False  # Whether the member has no lines, or the connection is closed.
        self._pause = 0.0  # Until then no line is opened, on the loop's clock.
        self._open: set[asyncio.Task[None]] = set()  # Tasks of lines.

    def begin(self, rpc: Unary[Req, Res], request: Req, token: str, timeout: float | None) -> Call | None:
        """Puts a call on the line; returns None if it is to be made by itself."""
        verb = VERBS.get(rpc.path.rpartition("/")[2])
        if verb is None or self._without or request.ByteSize() > CALL_BYTES_MAX:
            return None
        if self._line is None:
            if asyncio.get_running_loop().time() < self._pause:
                return None
            self._line = Line(self._channel, token, self._over)
            for task in self._line.start():
                self._open.add(task)
                task.add_done_callback(self._open.discard)
        call = Call(self._line, verb, request, token, timeout)
        return call if self._line.add(call) else None

    def _over(self, line: Line, refused: grpc.StatusCode | None) -> None:
        """Takes a line out of use, and notes how the member refused it."""
        if self._line is line:
            self._line = None
        if refused is grpc.StatusCode.UNIMPLEMENTED:
            self._without = True
        elif refused is grpc.StatusCode.RESOURCE_EXHAUSTED:
            self._pause = asyncio.get_running_loop().time() + REFUSED_SECONDS

    def break_off(self, error: errors.TenureError) -> None:
        """Ends all calls with an error, and takes no more."""
        self._without = True
        if self._line is not None:
            self._line.break_off(error)

    async def close(self) -> None:
        """Waits until its tasks have ended, after break_off."""
        if self._open:
            await asyncio.wait(self._open)


class Call:
    """A call on its way."""

    def __init__(self, line: Line, verb: str, request: Any, token: str, timeout: float | None) -> None:
        self._line = line
        self._timeout = timeout
        self.verb = verb
        self.token = token
        self.message = line_pb2.LineCall()
        getattr(self.message, verb).CopyFrom(request)
        if timeout is not None:
            self.message.remaining_time.FromMicroseconds(int(timeout * 1e6))
        self.bytes = self.message.ByteSize()
        self.number = 0  # Zero: not sent.
        self.left = False  # Whether its caller waits no longer.
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    async def result(self) -> Any:
        """Returns the response. Raises a typed error, or Alone."""
        timer = None
        if self._timeout is not None:
            timer = asyncio.get_running_loop().call_later(self._timeout, self._late)
        try:
            return await self.answer
        finally:
            if timer is not None:
                timer.cancel()
            if self.answer.cancelled():
                self._line.leave(self)

    def _late(self) -> None:
        if not self.answer.done():
            self.answer.set_exception(errors.DeadlineExceeded("no answer in time", applied=None))
            self._line.leave(self)

    def end(self, error: Exception) -> None:
        """Ends it, unless its caller has left."""
        if not self.answer.done():
            self.answer.set_exception(error)


class Line:
    """One line: a task writes and a task reads."""

    def __init__(
        self, channel: grpc.aio.Channel, token: str, over: Callable[[Line, grpc.StatusCode | None], None]
    ) -> None:
        make = channel.stream_stream(
            PATH,
            request_serializer=line_pb2.LineRequest.SerializeToString,
            response_deserializer=line_pb2.LineResponse.FromString,
        )
        self._token = token  # That of the stream itself.
        self._stream: Any = make(metadata=bearing(token) if token else None)
        self._tell_over = over
        self._queue: list[Call] = []  # Not sent.
        self._cancels: list[int] = []  # Not sent.
        self._open: dict[int, Call] = {}
        self._number = 0  # The last that was used.
        self._bytes = 0  # Of calls that are queued or open.
        self._calls_max = CALLS_BEFORE
        self._bytes_max = BYTES_BEFORE
        self._opened = False  # Whether the member has said its bounds.
        self._used = True  # Since the last look.
        self._over = False  # Whether no more calls are taken.
        self._drained: errors.TenureError | None = None
        self._tokens: list[str] = []  # By number, from 1 on.
        self._next_token = 0
        self._wake: asyncio.Future[None] | None = None  # While the writer waits.
        self._writer: asyncio.Task[None] | None = None

    def start(self) -> list[asyncio.Task[None]]:
        """Starts its tasks."""
        loop = asyncio.get_running_loop()
        self._writer = outside(lambda: loop.create_task(self._write(), name="tenure-line-write"))
        return [self._writer, outside(lambda: loop.create_task(self._read(), name="tenure-line-read"))]

    def add(self, call: Call) -> bool:
        """Puts a call in the queue. Returns whether there was room."""
        if self._drained is not None:
            call.end(_copy(self._drained))
            return True
        calls = len(self._queue) + len(self._open)
        if self._over or calls >= self._calls_max or (calls and self._bytes + call.bytes > self._bytes_max):
            return False
        self._queue.append(call)
        self._bytes += call.bytes
        self._used = True
        self._poke()
        return True

    def leave(self, call: Call) -> None:
        """Notes that the caller of a call no longer waits for it."""
        call.left = True
        if call.number in self._open and not self._over:
            self._cancels.append(call.number)
            self._poke()

    def _poke(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    # What is sent.

    async def _write(self) -> None:
        """Writes what is queued until the line is over, or was idle."""
        loop = asyncio.get_running_loop()
        while True:
            if not self._queue and not self._cancels:
                self._wake = loop.create_future()
                timer = loop.call_later(IDLE_SECONDS, self._poke)
                try:
                    await self._wake
                finally:
                    timer.cancel()
                self._wake = None
                if not self._queue and not self._cancels:
                    if self._idle():
                        await self._sent(self._stream.done_writing())
                        return
                    continue
            message = self._next()
            if not await self._sent(self._stream.write(message)):
                return

    @staticmethod
    async def _sent(writing: Any) -> bool:
        """Writes. Returns whether it could; the reader has the cause."""
        try:
            await writing
        except (grpc.aio.AioRpcError, grpc.aio.UsageError, asyncio.InvalidStateError):
            return False
        return True

    def _idle(self) -> bool:
        """Returns whether the line was not used since it was last asked. Then it takes no more calls."""
        if self._used or self._open:
            self._used = False
            return False
        self._over = True
        self._tell_over(self, None)
        return True

    def _next(self) -> line_pb2.LineRequest:
        """Returns the next message."""
        message = line_pb2.LineRequest(cancels=self._cancels)
        self._cancels = []
        size = taken = 0
        for call in self._queue:
            size += call.bytes
            if (taken and size > MESSAGE_BYTES) or not self._append(message, call):
                break
            taken += 1
        del self._queue[:taken]
        return message

    def _append(self, message: line_pb2.LineRequest, call: Call) -> bool:
        """Appends a call. Returns False if it needs a token that the message must begin with."""
        if call.left:  # It was never sent.
            self._bytes -= call.bytes
            return True
        if call.token != self._token:
            if call.token not in self._tokens:
                if message.calls:
                    return False
                self._give(message, call.token)
            call.message.credential = self._tokens.index(call.token) + 1
        self._number += 1
        call.number = call.message.number = self._number
        self._open[call.number] = call
        message.calls.append(call.message)
        return True

    def _give(self, message: line_pb2.LineRequest, token: str) -> None:
        """Gives the member a token."""
        number = self._next_token
        self._next_token = (number + 1) % TOKENS_MAX
        self._tokens[number : number + 1] = [token]
        message.credentials.add(number=number + 1, token=token)

    # What is received.

    async def _read(self) -> None:
        """Reads until the line ends."""
        error: errors.TenureError = errors.LinkLost("the line ended without an answer", applied=None)
        code = None
        try:
            while (message := await self._stream.read()) is not grpc.aio.EOF:
                self._take(cast("line_pb2.LineResponse", message))
        except grpc.aio.AioRpcError as failed:
            code = failed.code()
            error = _convert.error(code, failed.details() or "", failed.trailing_metadata())
        except (grpc.aio.UsageError, asyncio.InvalidStateError, asyncio.CancelledError):
            pass  # The connection is closed.
        finally:
            self._fail(error, code)
            if self._writer is not None:
                self._writer.cancel()
            self._writer = None  # It has the line, too: gRPC's thread would stay until both are collected.
            self._stream.cancel()

    def _take(self, message: line_pb2.LineResponse) -> None:
        if message.HasField("limits"):
            self._opened = True
            self._calls_max, self._bytes_max = message.limits.calls_max, message.limits.request_bytes_max
        for answer in message.answers:
            call = self._open.pop(answer.number, None)
            if call is None:
                raise asyncio.InvalidStateError(f"an answer to call {answer.number}, which is not under way")
            self._bytes -= call.bytes
            if call.answer.done():  # Its caller has left.
                continue
            if not answer.HasField("status"):
                call.answer.set_result(getattr(answer, call.verb))
            elif answer.status.code == grpc.StatusCode.UNIMPLEMENTED.value[0]:
                call.end(Alone())
            else:
                call.end(_convert.line_error(answer.status))
        if message.HasField("drain"):
            self._drain(message.drain)

    def _drain(self, drain: line_pb2.LineDrain) -> None:
        """Ends what the member has not started, as it stops."""
        self._drained = _convert.line_error(drain.status)
        for call in [c for c in self._open.values() if c.number > drain.up_to]:
            del self._open[call.number]
            call.end(_copy(self._drained))
        for call in self._queue:
            call.end(_copy(self._drained))
        self._queue = []

    def _fail(self, error: errors.TenureError, code: grpc.StatusCode | None) -> None:
        """Ends all calls: the line is over."""
        refusals = (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.RESOURCE_EXHAUSTED)
        refused = code if not self._opened and code in refusals else None
        if not self._over:
            self._over = True
            self._tell_over(self, refused)
        queue, self._queue = self._queue, []
        open_, self._open = self._open, {}
        if self._opened and not isinstance(
            error, errors.LinkLost
        ):  # Whatever the member says of the line, it says nothing of the calls.
            error = errors.Unavailable(f"the line ended without an answer: {error}", applied=None)
        for call in queue:
            call.end(Alone() if refused else errors.LinkLost(f"the line ended: {error}", applied=False))
        for call in open_.values():
            call.end(Alone() if refused else _copy(error))

    def break_off(self, error: errors.TenureError) -> None:
        """Ends all calls with an error. The line is over."""
        self._fail(error, None)
        self._stream.cancel()


def _copy(error: errors.TenureError) -> errors.TenureError:
    """Returns an error for another call: each has a traceback of its own."""
    return type(error)(
        str(error),
        reason=error.reason,
        applied=error.applied,
        metadata=error.metadata,
        violations=error.violations,
    )
