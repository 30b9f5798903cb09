"""A connection to one member."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, TypeVar

import grpc
import grpc.aio

from tenure import _convert, errors
from tenure._rpc import BidiStream, Req, Res, ServerStream, Unary

T = TypeVar("T")

# A connection of its own for each link, so that one link's trouble is not another's; the library reconnects by itself.
_OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.max_receive_message_length", 4 << 20),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
]


# The process that used gRPC first. What gRPC keeps for a process does not work in a forked child of it.
_used_by: list[int] = []


def check_process() -> None:
    """Raises ForkedError in a forked child of a process that has used gRPC: here it would hang."""
    if _used_by and _used_by[0] != os.getpid():
        raise errors.ForkedError(
            "a client cannot be opened in a forked child of a process that has had one open: gRPC does not survive a "
            "fork; start the child with multiprocessing's spawn or forkserver, or fork before a client is opened"
        )


class Link:
    """A connection to one member. Once broken it stays broken, and all its calls end with LinkLost."""

    served = False  # Whether it answered a call or renewed a session, so that the next may be made at once.

    def __init__(self, address: str, credentials: grpc.ChannelCredentials | None) -> None:
        self.address = address
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(address, options=_OPTIONS)
        else:
            self._channel = grpc.aio.secure_channel(address, credentials, options=_OPTIONS)
        if not _used_by:
            _used_by.append(os.getpid())
        self._calls: dict[str, Any] = {}
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def broken(self) -> bool:
        """Whether it can be used no more."""
        return self.gone.done()

    def break_off(self) -> None:
        """Ends all calls; close must still be called."""
        if not self.gone.done():
            self.gone.set_result(None)

    async def close(self) -> None:
        """Breaks it and closes the connection."""
        self.break_off()
        await self._channel.close()

    async def race(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Awaits something of this link, or raises LinkLost when the link breaks."""
        if self.gone.done():
            coroutine.close()
            raise self._lost()
        task = asyncio.ensure_future(coroutine)
        both: set[asyncio.Future[Any]] = {task, self.gone}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await _end(task)
            raise
        if not task.done():
            await _end(task)
            raise self._lost()
        if task.cancelled():
            raise self._lost()
        return task.result()

    def _lost(self) -> errors.LinkLost:
        return errors.LinkLost(f"the connection to {self.address} broke", applied=None)

    async def unary(self, rpc: Unary[Req, Res], request: Req, timeout: float | None) -> Res:
        """Makes a call and returns its answer. Raises a typed error."""
        call = self._calls.get(rpc.path)
        if call is None:
            call = self._calls[rpc.path] = self._channel.unary_unary(
                rpc.path,
                request_serializer=rpc.request.SerializeToString,
                response_deserializer=rpc.response.FromString,
            )
        return await self.race(_typed(lambda: call(request, timeout=timeout)))

    def server_stream(self, rpc: ServerStream[Req, Res], request: Req) -> Stream[Req, Res]:
        """Begins a call with a stream of answers."""
        call = self._channel.unary_stream(
            rpc.path, request_serializer=rpc.request.SerializeToString, response_deserializer=rpc.response.FromString
        )
        return Stream(self, call(request), serves=True)

    def bidi_stream(self, rpc: BidiStream[Req, Res]) -> Stream[Req, Res]:
        """Begins a call with streams both ways."""
        call = self._channel.stream_stream(
            rpc.path, request_serializer=rpc.request.SerializeToString, response_deserializer=rpc.response.FromString
        )
        return Stream(self, call(), serves=False)


class Stream(Generic[Req, Res]):
    """A streaming call. One task reads, one task writes; cancel may come from any task of the loop."""

    def __init__(self, link: Link, call: Any, serves: bool) -> None:
        self._link = link
        self._call = call
        self._serves = serves  # Whether any message is an answer that counts.

    async def read(self) -> Res | None:
        """Returns the next message; None at a clean end. Raises a typed error."""
        message: Any = await self._link.race(_typed(self._call.read))
        if message is grpc.aio.EOF:
            return None
        self._link.served = self._link.served or self._serves
        answer: Res = message
        return answer

    async def write(self, message: Req) -> None:
        """Sends a message. Raises a typed error."""
        await self._link.race(_typed(lambda: self._call.write(message)))

    def cancel(self) -> None:
        """Ends the call. A read that waits raises LinkLost."""
        self._call.cancel()


async def _typed(begin: Callable[[], Awaitable[T]]) -> T:
    """Begins and awaits a call, and makes its error a typed one."""
    try:
        return await begin()
    except grpc.aio.AioRpcError as error:
        raise _convert.error(error.code(), error.details() or "", error.trailing_metadata()) from None
    except (grpc.aio.UsageError, asyncio.InvalidStateError) as error:
        raise errors.LinkLost(str(error), applied=None) from None


async def _end(task: asyncio.Future[Any]) -> None:
    """Cancels a task and waits until it has ended."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError, errors.TenureError):
        await task
