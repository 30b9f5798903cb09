"""Many calls over one stream to a member: LineService.Line.

A call on a line has the result, the errors and the time of one that is made by itself. Waits and watches are calls,
too, with parts: each has credit for a few messages that its reader has not taken, so one that is not read holds up none
of the others. What queues while a message is being written is the next message.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, cast

import grpc
import grpc.aio

from tenure import _convert, errors
from tenure.aio._function import outside
from tenure.v1 import line_pb2

PATH = "/tenure.v1.LineService/Line"


def _verbs(oneof: Any) -> dict[str, str]:
    return {"".join(word.capitalize() for word in field.name.split("_")): field.name for field in oneof.fields}


# Names of the calls with one answer that lines carry, and of those with parts, by that of the RPC. Fields of requests,
# responses and parts have the same.
VERBS = _verbs(line_pb2.LineAnswer.DESCRIPTOR.oneofs_by_name["response"])
LONGS = _verbs(line_pb2.LinePart.DESCRIPTOR.oneofs_by_name["message"])

# How large a message becomes.
MESSAGE_BYTES = 64 << 10
# How many calls there may be before the member has said how many it takes, and how large they may be together.
CALLS_BEFORE = 256
BYTES_BEFORE = 1 << 20
# How many tokens a line knows at a time.
TOKENS_MAX = 8
# How long a line without calls stays open, at least; at most twice as long.
IDLE_SECONDS = 30.0
TAKEN_SECONDS = 0.25  # How long a line waits at most for the member to take it before it sends.
# How many cancels, and how many credits, are in a message at most.
LIST_MAX = 4096
# How far a call with parts may be ahead of its reader. The last message may exceed the bytes.
AHEAD_MESSAGES = 16
AHEAD_BYTES = 64 << 10
# How large a message is that is kept as it came, and what came with it.
COPY_BYTES = 16 << 10


def bearing(token: str) -> tuple[tuple[str, str], ...]:
    """Returns what a call carries to say who calls."""
    return (("authorization", f"Bearer {token}"),)


class Alone(Exception):
    """Nothing was done: the call is to be made by itself."""


class Call:
    """A call on its way."""

    long = False  # Whether it has parts.

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

    def succeed(self, answer: line_pb2.LineAnswer) -> None:
        """Ends it well, unless its caller has left."""
        if not self.answer.done():
            self.answer.set_result(getattr(answer, self.verb))

    def end(self, error: Exception) -> None:
        """Ends it, unless its caller has left."""
        if not self.answer.done():
            self.answer.set_exception(error)


class Long(Call):
    """A wait or a watch on its way: a call with parts. One task reads; leave may come from any task of the loop."""

    long = True

    def __init__(self, line: Line, verb: str, request: Any, token: str) -> None:
        super().__init__(line, verb, request, token, None)
        self.message.credit_messages, self.message.credit_bytes = AHEAD_MESSAGES, AHEAD_BYTES
        self.bytes = self.message.ByteSize()
        self._parts: deque[tuple[Any, int]] = deque()  # Not taken, with their sizes. Its credit bounds them.
        self._some: asyncio.Future[None] | None = None  # While the reader waits.
        self._messages = self._taken = 0  # Messages and bytes that were taken since credit was given.

    async def read(self) -> Any:
        """Returns the next message; None at a clean end. Raises a typed error."""
        while not self._parts:
            if self.answer.done():
                return self.answer.result()
            self._some = asyncio.get_running_loop().create_future()
            await self._some
        message, size = self._parts.popleft()
        self._messages += 1
        self._taken += size
        if self._messages >= AHEAD_MESSAGES // 2 or self._taken >= AHEAD_BYTES // 2:
            self._line.give(self, self._messages, self._taken)
            self._messages = self._taken = 0
        return message

    def put(self, message: Any, size: int) -> None:
        """Adds a message, unless its reader has left."""
        if not self.left:
            self._parts.append((message, size))
            self._poke()

    def succeed(self, answer: line_pb2.LineAnswer) -> None:
        """Ends it well, after what it was sent."""
        if not self.answer.done():
            self.answer.set_result(None)
            self._poke()

    def end(self, error: Exception) -> None:
        """Ends it, after what it was sent."""
        super().end(error)
        if self.answer.done():
            self.answer.exception()  # It is not an oversight if no reader comes for it.
        self._poke()

    def leave(self) -> None:
        """Ends it: a read that waits raises LinkLost."""
        self._line.leave(self)
        self._parts.clear()
        self.end(errors.LinkLost("the call was cancelled", applied=None))

    def _poke(self) -> None:
        if self._some is not None and not self._some.done():
            self._some.set_result(None)


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
        self._credits: list[line_pb2.LineCredit] = []  # Not sent.
        self._open: dict[int, Call] = {}
        self._number = 0  # The last that was used.
        self._bytes = 0  # Of calls that are queued or open.
        self._calls_max = CALLS_BEFORE
        self._bytes_max = BYTES_BEFORE
        self._waits = 0  # Calls with parts that are queued or open.
        self.waits_max = 0  # Zero: the member carries none.
        self.opened = False  # Whether the member has said its bounds.
        self.cause: errors.TenureError | None = None  # Why it was never opened.
        # Ends when the member has said its bounds, or the line is over.
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
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
            call.end(copy(self._drained))
            return True
        calls = len(self._queue) + len(self._open)
        full = self._waits >= self.waits_max if call.long else calls >= self._calls_max
        if self._over or full or (calls and self._bytes + call.bytes > self._bytes_max):
            return False
        self._queue.append(call)
        self._bytes += call.bytes
        self._waits += call.long
        self._used = True
        self._poke()
        return True

    def leave(self, call: Call) -> None:
        """Notes that the caller of a call no longer waits for it."""
        if not call.left and self._open.get(call.number) is call and not self._over:
            self._cancels.append(call.number)
            self._poke()
        call.left = True

    def give(self, call: Call, messages: int, size: int) -> None:
        """Lets a call send as much more as its reader has taken."""
        if self._open.get(call.number) is call and not self._over:
            self._credits.append(line_pb2.LineCredit(number=call.number, messages=messages, bytes=size))
            self._poke()

    def _forget(self, call: Call) -> None:
        """Notes that a call is not queued or open any more."""
        self._bytes -= call.bytes
        self._waits -= call.long

    def _poke(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    # What is sent.

    async def _write(self) -> None:
        """Writes what is queued until the line is over, or was idle.

        It begins once the member has taken the line, or a moment later, as what passes streams on may wait for the
        client: where a write fails, gRPC puts an INTERNAL of its own in the place of the status that refused the line.
        """
        loop = asyncio.get_running_loop()
        await asyncio.wait({self.ready}, timeout=TAKEN_SECONDS)
        while True:
            if not self._any():
                self._wake = loop.create_future()
                timer = loop.call_later(IDLE_SECONDS, self._poke)
                try:
                    await self._wake
                finally:
                    timer.cancel()
                self._wake = None
                if not self._any():
                    if self._idle():
                        await self._sent(self._stream.done_writing())
                        return
                    continue
            message = self._next()
            if not await self._sent(self._stream.write(message)):
                return

    def _any(self) -> bool:
        """Returns whether there is something to write."""
        return bool(self._queue or self._cancels or self._credits)

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
        message = line_pb2.LineRequest(cancels=self._cancels[:LIST_MAX], credits=self._credits[:LIST_MAX])
        del self._cancels[:LIST_MAX], self._credits[:LIST_MAX]
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
            self._forget(call)
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
        if call.long:
            del call.message  # It may be there for days.
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
            self.opened = True
            self._calls_max, self._bytes_max = message.limits.calls_max, message.limits.request_bytes_max
            self.waits_max = message.limits.waits_max
            if not self.ready.done():
                self.ready.set_result(None)
        for part in message.parts:
            self._part(part)
        for answer in message.answers:
            call = self._open.pop(answer.number, None)
            if call is None:
                raise asyncio.InvalidStateError(f"an answer to call {answer.number}, which is not running")
            self._forget(call)
            if not answer.HasField("status"):
                call.succeed(answer)
            elif answer.status.code == grpc.StatusCode.UNIMPLEMENTED.value[0] and not call.long:
                call.end(Alone())
            else:
                error = _convert.line_error(answer.status)
                call.end(Alone() if self._no_room(error) and not call.long else error)
        if message.HasField("drain"):
            self._drain(message.drain)

    def _no_room(self, error: errors.TenureError) -> bool:
        """Whether the line had no room for a call. It then takes no more on the line than there are.

        The only one with parts is refused, too, while the member still counts some that have just ended; a bound of
        zero would say that it carries none.
        """
        limit = error.metadata.get("limit", "") if isinstance(error, errors.TooManyRequests) else ""
        if limit == "line_waits_max":
            self.waits_max = min(self.waits_max, max(1, self._waits))
        elif limit == "line_calls_max":
            self._calls_max = min(self._calls_max, len(self._queue) + len(self._open))
        elif limit == "line_request_bytes_max":
            self._bytes_max = min(self._bytes_max, self._bytes)
        return limit.startswith("line_")

    def _part(self, part: line_pb2.LinePart) -> None:
        """Takes a message of calls with parts."""
        message = getattr(part, part.WhichOneof("message") or "watch")
        size = message.ByteSize()
        if size < COPY_BYTES:  # It may be there for long, and is a part of something larger.
            kept = type(message)()
            kept.CopyFrom(message)
            message = kept
        for number in part.numbers:
            call = self._open.get(number)
            if not isinstance(call, Long):
                raise asyncio.InvalidStateError(f"a part of call {number}, which has none")
            call.put(message, size)

    def _drain(self, drain: line_pb2.LineDrain) -> None:
        """Ends what the member has not started, as it stops."""
        self._drained = _convert.line_error(drain.status)
        for call in [c for c in self._open.values() if c.number > drain.up_to]:
            del self._open[call.number]
            call.end(copy(self._drained))
        for call in self._queue:
            call.end(copy(self._drained))
        self._queue = []

    def _fail(self, error: errors.TenureError, code: grpc.StatusCode | None) -> None:
        """Ends all calls: the line is over."""
        refusals = (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.RESOURCE_EXHAUSTED)
        refused = code if not self.opened and code in refusals else None
        if not self._over:
            self._over = True
            self._tell_over(self, refused)
        if not self.ready.done():
            self.cause = error if refused is None else None
            self.ready.set_result(None)
        queue, self._queue = self._queue, []
        open_, self._open = self._open, {}
        if self.opened and not isinstance(
            error, errors.LinkLost
        ):  # Whatever the member says of the line, it says nothing of the calls.
            error = errors.Unavailable(f"the line ended without an answer: {error}", applied=None)
        for call in queue:
            if refused:
                call.end(Alone())
            elif self.opened:
                call.end(errors.LinkLost(f"the line ended: {error}", applied=False))
            else:  # It is said of the calls for which the line was opened.
                unsent = copy(error)
                unsent.applied = False
                call.end(unsent)
        for call in open_.values():
            call.end(Alone() if refused else copy(error))

    def break_off(self, error: errors.TenureError) -> None:
        """Ends all calls with an error. The line is over."""
        self._fail(error, None)
        self._stream.cancel()


def copy(error: errors.TenureError) -> errors.TenureError:
    """Returns an error for another call: each has a traceback of its own."""
    return type(error)(
        str(error),
        reason=error.reason,
        applied=error.applied,
        metadata=error.metadata,
        violations=error.violations,
    )
