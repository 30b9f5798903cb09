"""The lines of a connection.

A call is made by itself where a line does not serve: if lines do not carry its kind, if its request would hold up
others, if the line is full, and at a member that has no lines. A line is opened by the first call, and closed when it
has been idle for a while.

Waits and watches are on lines of their own, so that no other call is behind what they are sent. They are streams where
the member carries none on lines, or all lines are full.
"""

from __future__ import annotations

import asyncio

import grpc
import grpc.aio

from tenure import errors
from tenure._rpc import Req, Res, ServerStream, Unary
from tenure.aio._line import LONGS, VERBS, Call, Line, Long, copy

# How large a request may be; a larger one is made by itself, as it would hold up others.
CALL_BYTES_MAX = 64 << 10
# How many lines with waits and watches a connection has.
LONG_LINES_MAX = 8
# How many streams a connection carries; a line is one, however many waits and watches it carries. A member lets one
# have many more, so none waits for another to end.
STREAMS_MAX = 256
# How long calls are made by themselves after a member had no room for a line.
REFUSED_SECONDS = 10.0


class Lines:
    """The lines of a connection, opened when there are calls for them."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._line: Line | None = None  # For calls with one answer.
        self._long: list[Line] = []  # For waits and watches.
        self._no_long = False  # Whether the member carries none on lines.
        self._without = False  # Whether the member has no lines, or the connection is closed.
        self._pause = 0.0  # Until then no line is opened, on the loop's clock.
        self._open: set[asyncio.Task[None]] = set()  # Tasks of lines.

    def begin(self, rpc: Unary[Req, Res], request: Req, token: str, timeout: float | None) -> Call | None:
        """Puts a call on the line; returns None if it is to be made by itself."""
        verb = VERBS.get(rpc.path.rpartition("/")[2])
        if verb is None or self._without or request.ByteSize() > CALL_BYTES_MAX:
            return None
        if self._line is None:
            if self._paused():
                return None
            self._line = self._start(token)
        call = Call(self._line, verb, request, token, timeout)
        return call if self._line.add(call) else None

    async def follow(
        self, rpc: ServerStream[Req, Res], request: Req, token: str, left: asyncio.Future[None]
    ) -> Long | None:
        """Puts a wait or a watch on a line; returns None if it is to be a stream of its own.

        It waits until the member has said how many it carries, unless its reader leaves. Raises a typed error.
        """
        verb = LONGS.get(rpc.path.rpartition("/")[2])
        if verb is None or request.ByteSize() > CALL_BYTES_MAX:
            return None
        while self._serves():
            for line in self._long:
                if not line.ready.done():
                    break
                call = Long(line, verb, request, token)
                if line.add(call):
                    return call
            else:
                if len(self._long) >= LONG_LINES_MAX:
                    return None
                line = self._start(token)
                self._long.append(line)
            await _opened(line, left)
        return None

    async def streams(self, token: str, left: asyncio.Future[None]) -> int:
        """Returns how many streams the connection carries. The first time it asks the member."""
        while self._serves():
            if not self._long:
                self._long.append(self._start(token))
            if self._long[0].ready.done():
                return LONG_LINES_MAX * self._long[0].waits_max
            try:
                await _opened(self._long[0], left)
            except errors.TenureError:
                break  # Whatever is to be on it will fail, too.
        return STREAMS_MAX

    def _serves(self) -> bool:
        """Returns whether the member carries waits and watches on lines, as far as is known."""
        self._no_long = self._no_long or any(line.opened and line.waits_max == 0 for line in self._long)
        return not (self._without or self._no_long or self._paused())

    def _start(self, token: str) -> Line:
        line = Line(self._channel, token, self._over)
        for task in line.start():
            self._open.add(task)
            task.add_done_callback(self._open.discard)
        return line

    def _paused(self) -> bool:
        return asyncio.get_running_loop().time() < self._pause

    def _over(self, line: Line, refused: grpc.StatusCode | None) -> None:
        """Takes a line out of use, and notes how the member refused it."""
        if self._line is line:
            self._line = None
        if line in self._long:
            self._long.remove(line)
        if refused is grpc.StatusCode.UNIMPLEMENTED:
            self._without = True
        elif refused is grpc.StatusCode.RESOURCE_EXHAUSTED:
            self._pause = asyncio.get_running_loop().time() + REFUSED_SECONDS

    def break_off(self, error: errors.TenureError) -> None:
        """Ends all calls with an error, and takes no more."""
        self._without = True
        for line in [*self._long, *([] if self._line is None else [self._line])]:
            line.break_off(error)

    async def close(self) -> None:
        """Waits until its tasks have ended, after break_off."""
        if self._open:
            await asyncio.wait(self._open)


async def _opened(line: Line, left: asyncio.Future[None]) -> None:
    """Waits until a line is open, or is not to be. Raises why it broke, or LinkLost if the reader leaves."""
    await asyncio.wait({line.ready, left}, return_when=asyncio.FIRST_COMPLETED)
    if left.done():
        raise errors.LinkLost("the call was cancelled", applied=False)
    if line.cause is not None:
        error = copy(line.cause)
        error.applied = False  # Nothing was sent.
        raise error
