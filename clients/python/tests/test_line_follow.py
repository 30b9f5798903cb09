"""Waits and watches that share lines, at a member that serves them as a test says."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import pytest

from tenure import _rpc, aio, errors
from tenure._core.security import Security
from tenure.aio import _line
from tenure.aio._door import Door
from tenure.aio._lines import LONG_LINES_MAX, STREAMS_MAX
from tenure.aio._link import Link
from tenure.testing import Member
from tenure.v1 import line_pb2, watch_pb2

PATIENCE = 60.0
ENDLESS = 1 << 40
Serve = Callable[[Any, Any], Awaitable[None]]


class WatchMember:
    """Serves lines as a test says, and watches one by one."""

    def __init__(self, serve: Serve | None) -> None:
        self._serve = serve
        self.lines = 0
        self.alone = 0  # Watches that were streams of their own.

    async def line(self, messages: Any, context: Any) -> None:
        self.lines += 1
        assert self._serve is not None
        await self._serve(messages, context)

    async def watch(self, request: Any, context: Any) -> AsyncIterator[Any]:
        self.alone += 1
        yield watch_pb2.WatchResponse(resume_token="alone")

    @contextlib.asynccontextmanager
    async def link(self) -> AsyncIterator[Link]:
        """Serves, and returns a connection."""
        server = grpc.aio.server()
        watch = grpc.unary_stream_rpc_method_handler(
            self.watch,
            request_deserializer=watch_pb2.WatchRequest.FromString,
            response_serializer=watch_pb2.WatchResponse.SerializeToString,
        )
        handlers = [grpc.method_handlers_generic_handler("tenure.v1.WatchService", {"Watch": watch})]
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
        link = Link(f"127.0.0.1:{port}", Door(security=Security()))
        try:
            yield link
        finally:
            await link.close()
            await server.stop(None)


async def opened(context: Any, waits_max: int) -> None:
    limits = line_pb2.LineLimits(calls_max=100, request_bytes_max=1 << 20, waits_max=waits_max)
    await context.write(line_pb2.LineResponse(limits=limits))


def part(number: int, text: str = "", size: int = 0) -> Any:
    message = watch_pb2.WatchResponse(resume_token=text)
    message.header.history_id = "x" * size
    return line_pb2.LinePart(numbers=[number], watch=message)


class Counting:
    """Sends each watch as many messages as its credit allows, until it has as many as its request says."""

    def __init__(self, waits_max: int, size: int = 0) -> None:
        self._waits_max = waits_max
        self._size = size  # Of each message.
        self.cancels: asyncio.Queue[int] = asyncio.Queue()
        self.sent: dict[int, int] = {}  # Of the last line.

    async def __call__(self, messages: Any, context: Any) -> None:
        await opened(context, self._waits_max)
        credit: dict[int, list[int]] = {}
        left: dict[int, int] = {}
        sent: dict[int, int] = {}
        self.sent = sent
        async for message in messages:
            for call in message.calls:
                credit[call.number] = [call.credit_messages, call.credit_bytes]
                left[call.number], sent[call.number] = call.watch.after_revision, 0
            for given in message.credits:
                credit[given.number][0] += given.messages
                credit[given.number][1] += given.bytes
            response = line_pb2.LineResponse()
            for number in list(left):
                while min(credit[number]) > 0 and left[number] > 0:
                    sent[number] += 1
                    one = response.parts.add()
                    one.CopyFrom(part(number, str(sent[number]), self._size))
                    credit[number][0] -= 1
                    credit[number][1] -= one.watch.ByteSize()
                    left[number] -= 1
                if left[number] == 0:
                    del left[number]
                    response.answers.add(number=number)
            for number in message.cancels:
                self.cancels.put_nowait(number)
                if left.pop(number, 0):
                    response.answers.add(number=number).status.code = 1
            await context.write(response)


def watch(link: Link, messages: int) -> Any:
    return link.server_stream(_rpc.WATCH, watch_pb2.WatchRequest(after_revision=messages))


async def read_all(link: Link, messages: int) -> int:
    """Reads a watch to its end, and returns how many messages it had."""
    stream, count = watch(link, messages), 0
    while (message := await stream.read()) is not None:
        count += 1
        assert message.resume_token == str(count)
    return count


def run(work: Awaitable[None]) -> None:
    async def whole() -> None:
        await asyncio.wait_for(work, PATIENCE)

    asyncio.run(whole())


def test_many_watches_share_lines() -> None:
    async def work() -> None:
        member = WatchMember(Counting(100))
        async with member.link() as link:
            counts = await asyncio.gather(*(read_all(link, 40) for _ in range(250)))  # More than two lines carry.
            assert counts == [40] * 250
            assert member.lines <= 3
            assert member.alone == 0
            assert len(link._channels) == 1
            assert link._channels[0].streams_max == LONG_LINES_MAX * 100
            assert link._channels[0].streams == 0, "the room of some was not given back"

    run(work())


@pytest.mark.parametrize(("size", "ahead"), [(0, _line.AHEAD_MESSAGES), (40_000, 2)])
def test_a_watch_that_is_not_read_is_not_sent_more_and_stops_no_other(size: int, ahead: int) -> None:
    async def work() -> None:
        serve = Counting(10, size)
        member = WatchMember(serve)
        async with member.link() as link:
            still = watch(link, ENDLESS)  # What it had without credit fills all memory.
            assert (await still.read()).resume_token == "1"
            assert await read_all(link, 100) == 100
            assert serve.sent[1] <= ahead + 1, "it was sent more than it has credit for"
            assert (await still.read()).resume_token == "2"
            still.cancel()
            assert await serve.cancels.get() == 1
            with pytest.raises(errors.LinkLost):
                await still.read()
            assert (member.lines, member.alone) == (1, 0)

    run(work())


def test_a_read_that_waits_ends_with_its_watch() -> None:
    async def work() -> None:
        async def silent(messages: Any, context: Any) -> None:
            await opened(context, 10)
            async for message in messages:
                came.put_nowait(([c.number for c in message.calls], list(message.cancels)))

        came: asyncio.Queue[Any] = asyncio.Queue()
        async with WatchMember(silent).link() as link:
            stream = watch(link, 1)
            reading = asyncio.ensure_future(stream.read())
            assert await came.get() == ([1], [])
            stream.cancel()
            with pytest.raises(errors.LinkLost):
                await reading
            assert await came.get() == ([], [1])
            assert link._channels[0].streams == 0

    run(work())


def test_a_watch_that_is_left_before_its_line_is_open_is_not_begun() -> None:
    async def work() -> None:
        async def late(messages: Any, context: Any) -> None:
            came.set()
            await may_open.wait()
            await serve(messages, context)

        came, may_open, serve = asyncio.Event(), asyncio.Event(), Counting(10)
        member = WatchMember(late)
        async with member.link() as link:
            stream = watch(link, ENDLESS)
            reading = asyncio.ensure_future(stream.read())
            await came.wait()
            stream.cancel()
            with pytest.raises(errors.LinkLost):
                await reading
            may_open.set()
            assert await read_all(link, 1) == 1
            assert list(serve.sent) == [1]
            assert (member.lines, member.alone) == (1, 0)

    run(work())


async def no_room(messages: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no room")


@pytest.mark.parametrize(
    ("serve", "lines"),
    [(None, 0), (Counting(0), 1), (no_room, 1)],
    ids=["the member has no lines", "the member has no waits on them", "the member has no room"],
)
def test_watches_that_lines_do_not_carry_are_streams(serve: Serve | None, lines: int) -> None:
    async def work() -> None:
        member = WatchMember(serve)
        async with member.link() as link:
            for _ in range(3):
                stream = watch(link, 1)
                assert (await stream.read()).resume_token == "alone"
                assert await stream.read() is None
            assert (member.lines, member.alone) == (lines, 3)
            assert link._channels[0].streams_max == STREAMS_MAX

    run(work())


def test_what_all_lines_do_not_carry_has_another_connection() -> None:
    async def work() -> None:
        member = WatchMember(Counting(2))
        async with member.link() as link:
            streams = [watch(link, ENDLESS) for _ in range(2 * LONG_LINES_MAX + 1)]
            for stream in streams:
                assert (await stream.read()).resume_token == "1"
            assert [c.streams for c in link._channels] == [2 * LONG_LINES_MAX, 1]
            assert (member.lines, member.alone) == (LONG_LINES_MAX + 1, 0)
            for stream in streams:
                stream.cancel()

    run(work())


async def breaks(messages: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.UNAVAILABLE, "broke")


async def ends(messages: Any, context: Any) -> None:
    pass


async def sends_another(messages: Any, context: Any) -> None:
    await context.write(line_pb2.LineResponse(parts=[part(9)]))
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
        (sends_another, errors.LinkLost),
        (drains, errors.LinkLost),
        (refuses, errors.InvalidArgument),
    ],
)
def test_a_line_that_ends_ends_its_watches_after_what_came(how: Serve, raises: type[errors.TenureError]) -> None:
    async def work() -> None:
        async def serve(messages: Any, context: Any) -> None:
            await opened(context, 10)
            await anext(messages)
            await context.write(line_pb2.LineResponse(parts=[part(1, "came")]))
            await how(messages, context)

        member = WatchMember(serve)
        async with member.link() as link:
            stream = watch(link, 1)
            assert (await stream.read()).resume_token == "came"
            with pytest.raises(raises):
                await stream.read()
            assert member.alone == 0, "it was made a second time"

    run(work())


def cut(client: aio.Client) -> int:
    """Breaks the lines with waits and watches of a client, not its connection. Returns how many there were."""
    assert client._link is not None
    lines = [line for c in client._link._channels if c.lines is not None for line in c.lines._long]
    for line in lines:
        line._stream.cancel()
    return len(lines)


def test_a_line_that_breaks_costs_waits_no_place_and_watches_no_event() -> None:
    async def use(member: Member) -> None:
        async with aio.Client(member.uri, timeout=PATIENCE) as client:
            sessions = [await client.session(ttl=30) for _ in range(6)]
            held = await sessions[0].lock("lock").acquire()
            order: list[int] = []
            queued: asyncio.Queue[Any] = asyncio.Queue()

            async def wait(number: int) -> None:
                hold = await sessions[number].lock("lock").acquire(on_queued=queued.put_nowait)
                order.append(number)
                await hold.release()

            waiting = []
            for number in range(1, 6):
                waiting.append(asyncio.ensure_future(wait(number)))
                await queued.get()
            async with client.watch(prefix="key/") as one, client.watch(prefix="key/") as other:
                for round_ in range(5):
                    assert cut(client) == 1
                    await client.kv.put(f"key/{round_}", "value")
                    assert (await anext(one)).key == f"key/{round_}"
                    if round_ == 3:
                        await held.release()
                await asyncio.gather(*waiting)
                assert [(await anext(other)).key for _ in range(5)] == [f"key/{n}" for n in range(5)]
            assert order == [1, 2, 3, 4, 5]

    with Member() as member:
        run(use(member))


def test_what_waits_on_a_link_ends_without_a_search_among_the_others() -> None:
    async def work() -> None:
        link = Link("127.0.0.1:1", Door(security=Security()))
        shared: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def wait() -> str:
            return await asyncio.shield(shared)

        waiting = [asyncio.ensure_future(link.race(asyncio.Event().wait())) for _ in range(100)]
        done = asyncio.ensure_future(link.race(wait()))
        await asyncio.sleep(0)
        # Whatever leaves a future with callbacks is searched for among all of them.
        assert not link.gone._callbacks
        shared.set_result("done")
        assert await done == "done"
        await link.close()
        for one in waiting:
            with pytest.raises(errors.LinkLost):
                await one

    run(work())
