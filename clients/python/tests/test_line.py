"""Calls that share a line, at a member that serves it as a test says."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2

from tenure import _rpc, errors
from tenure._core.clock import system_clock
from tenure._core.security import Security
from tenure.aio import _line
from tenure.aio._door import Door
from tenure.aio._link import Link
from tenure.aio._token import token_of
from tenure.v1 import kv_pb2, line_pb2

PATIENCE = 60.0
Serve = Callable[[Any, Any], Awaitable[None]]


class LineMember:
    """Serves lines as a test says, and keys one by one."""

    def __init__(self, serve: Serve | None) -> None:
        self._serve = serve
        self.lines = 0
        self.alone = 0  # Calls that were made by themselves.

    async def line(self, messages: Any, context: Any) -> None:
        self.lines += 1
        assert self._serve is not None
        await self._serve(messages, context)

    async def get(self, request: Any, context: Any) -> Any:
        self.alone += 1
        return gotten(request.key)

    @contextlib.asynccontextmanager
    async def link(self, token: Any = "") -> AsyncIterator[Link]:
        """Serves, and returns a connection."""
        server = grpc.aio.server()
        get = grpc.unary_unary_rpc_method_handler(
            self.get,
            request_deserializer=kv_pb2.GetRequest.FromString,
            response_serializer=kv_pb2.GetResponse.SerializeToString,
        )
        handlers = [grpc.method_handlers_generic_handler("tenure.v1.KVService", {"Get": get})]
        if self._serve is not None:
            line = grpc.stream_stream_rpc_method_handler(
                self.line,
                request_deserializer=line_pb2.LineRequest.FromString,
                response_serializer=line_pb2.LineResponse.SerializeToString,
            )
            handlers.append(grpc.method_handlers_generic_handler("tenure.v1.LineService", {"Line": line}))
        server.add_generic_rpc_handlers(handlers)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        security = Security(token=token)
        link = Link(f"127.0.0.1:{port}", Door(security=security, token=token_of(security, system_clock())))
        try:
            yield link
        finally:
            await link.close()
            await server.stop(None)


def gotten(key: str) -> Any:
    answer = kv_pb2.GetResponse()
    answer.kv.key = key
    return answer


async def opened(context: Any, calls_max: int = 1000) -> None:
    limits = line_pb2.LineLimits(calls_max=calls_max, request_bytes_max=1 << 20)
    await context.write(line_pb2.LineResponse(limits=limits))


def answer(number: int, key: str = "") -> Any:
    return line_pb2.LineResponse(answers=[line_pb2.LineAnswer(number=number, get=gotten(key))])


async def echo(messages: Any, context: Any) -> None:
    """Answers every Get with the token that it came with."""
    await opened(context)
    given = {0: dict(context.invocation_metadata()).get("authorization", "").removeprefix("Bearer ")}
    last = 0
    async for message in messages:
        given.update({c.number: c.token for c in message.credentials})
        response = line_pb2.LineResponse()
        for call in message.calls:
            assert call.number > last
            last = call.number
            one = response.answers.add(number=call.number, get=gotten(call.get.key))
            one.get.kv.session_id = given[call.credential]
        await context.write(response)


async def get(link: Link, key: str = "k", timeout: float = PATIENCE) -> Any:
    return await link.unary(_rpc.GET, kv_pb2.GetRequest(key=key), timeout)


def run(work: Awaitable[None]) -> None:
    async def whole() -> None:
        await asyncio.wait_for(work, PATIENCE)

    asyncio.run(whole())


def test_many_calls_share_a_line() -> None:
    async def work() -> None:
        member = LineMember(echo)
        async with member.link() as link:
            answers = await asyncio.gather(*(get(link, str(n)) for n in range(200)))
            assert [a.kv.key for a in answers] == [str(n) for n in range(200)]
            assert (member.lines, member.alone) == (1, 0)

    run(work())


def test_each_call_has_the_token_of_its_time() -> None:
    async def work() -> None:
        tokens = [f"token-{n}" for n in range(20)]
        current = tokens[0]
        member = LineMember(echo)
        async with member.link(lambda: current) as link:
            assert link._token is not None
            for current in [*tokens, *tokens]:
                link._token._read_at = -1e9
                assert (await get(link)).kv.session_id == current
            assert (member.lines, member.alone) == (1, 0)

    run(work())


async def no_room(messages: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no room")


async def unknown(messages: Any, context: Any) -> None:
    """Knows no call."""
    await opened(context)
    async for message in messages:
        response = line_pb2.LineResponse()
        for call in message.calls:
            response.answers.add(number=call.number).status.code = 12
        await context.write(response)


async def full(messages: Any, context: Any) -> None:
    """Has no room for its first call, and must not be asked again."""
    await opened(context)
    info = error_details_pb2.ErrorInfo(
        domain="tenure.io", reason="TOO_MANY_REQUESTS", metadata={"limit": "line_calls_max", "applied": "no"}
    )
    response = line_pb2.LineResponse()
    for call in (await anext(messages)).calls:
        status = response.answers.add(number=call.number).status
        status.code = 8
        status.details.add().Pack(info)
    await context.write(response)
    async for _ in messages:
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "the line was asked again")


@pytest.mark.parametrize(
    ("serve", "key", "lines"),
    [(None, "k", 0), (no_room, "k", 1), (unknown, "k", 1), (full, "k", 1), (echo, "k" * 100_000, 0)],
    ids=[
        "the member has no lines",
        "it has no room",
        "it does not know the call",
        "its line is full",
        "the request is large",
    ],
)
def test_calls_that_a_line_does_not_serve_are_made_by_themselves(serve: Serve | None, key: str, lines: int) -> None:
    async def work() -> None:
        member = LineMember(serve)
        async with member.link() as link:
            for _ in range(3):
                assert (await get(link, key)).kv.key == key
            assert (member.lines, member.alone) == (lines, 3)

    run(work())


def test_a_full_line_delays_none() -> None:
    async def work() -> None:
        async def silent(messages: Any, context: Any) -> None:
            await opened(context, 2)
            await asyncio.Event().wait()

        member = LineMember(silent)
        async with member.link() as link:
            waiting = [asyncio.ensure_future(get(link)) for _ in range(_line.CALLS_BEFORE)]
            await asyncio.sleep(0)  # They are all begun.
            await get(link)
            assert member.alone == 1
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    run(work())


def test_the_member_hears_of_calls_that_are_left() -> None:
    async def work() -> None:
        left: asyncio.Queue[Any] = asyncio.Queue()

        async def silent(messages: Any, context: Any) -> None:
            await opened(context)
            async for message in messages:
                for call in message.calls:
                    left.put_nowait(call.remaining_time.ToTimedelta().total_seconds())
                for number in message.cancels:
                    left.put_nowait(-number)

        async with LineMember(silent).link() as link:
            task = asyncio.ensure_future(get(link))
            assert await left.get() > 1
            task.cancel()
            assert await left.get() == -1
            # The line is open, so the call is sent long before its time is over.
            with pytest.raises(errors.DeadlineExceeded) as late:
                await get(link, timeout=1)
            assert late.value.applied is None
            assert 0 < await left.get() <= 1
            assert await left.get() == -2

    run(work())


async def breaks(messages: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.UNAVAILABLE, "broke")


async def ends(messages: Any, context: Any) -> None:
    pass


async def answers_another(messages: Any, context: Any) -> None:
    await context.write(answer(9))
    await asyncio.Event().wait()


async def drains(messages: Any, context: Any) -> None:
    drain = line_pb2.LineDrain(status=line_pb2.LineStatus(code=14, message="stopping"))
    await context.write(line_pb2.LineResponse(drain=drain))
    await asyncio.Event().wait()


async def refuses(messages: Any, context: Any) -> None:
    status = line_pb2.LineStatus(code=3, message="none")
    await context.write(line_pb2.LineResponse(answers=[line_pb2.LineAnswer(number=1, status=status)]))
    await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("how", "raises"),
    [
        (breaks, errors.LinkLost),
        (ends, errors.LinkLost),
        (answers_another, errors.LinkLost),
        (drains, errors.LinkLost),
        (refuses, errors.InvalidArgument),
    ],
)
def test_a_line_that_ends_leaves_calls_in_doubt(how: Serve, raises: type[errors.TenureError]) -> None:
    async def work() -> None:
        async def serve(messages: Any, context: Any) -> None:
            await opened(context)
            await anext(messages)
            await how(messages, context)

        member = LineMember(serve)
        async with member.link() as link:
            with pytest.raises(raises) as raised:
                await get(link)
            assert raised.value.applied is None
            assert member.alone == 0, "it was made a second time"

    run(work())


def test_an_idle_line_is_closed_and_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_line, "IDLE_SECONDS", 0.01)

    async def work() -> None:
        closed = asyncio.Event()

        async def serve(messages: Any, context: Any) -> None:
            await echo(messages, context)
            closed.set()

        member = LineMember(serve)
        async with member.link() as link:
            await get(link)
            await closed.wait()
            await get(link)
            assert (member.lines, member.alone) == (2, 0)

    run(work())


def test_a_link_that_is_broken_off_ends_its_calls() -> None:
    async def work() -> None:
        came = asyncio.Event()

        async def silent(messages: Any, context: Any) -> None:
            await opened(context)
            async for _ in messages:
                came.set()

        async with LineMember(silent).link() as link:
            task = asyncio.ensure_future(get(link))
            await came.wait()
            link.break_off()
            with pytest.raises(errors.LinkLost) as lost:
                await task
            assert lost.value.applied is None
            with pytest.raises(errors.LinkLost):
                await get(link)

    run(work())
