"""A member in memory: it answers as a test says, and its connections break when a test says so."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import pytest

from tenure import _convert, _rpc, aio, errors
from tenure._core.clock import Clock
from tenure.aio import _connection
from tenure.aio._link import Followed, Link, Stream
from tenure.v1 import cluster_pb2, lock_pb2, session_pb2, types_pb2

T = TypeVar("T")

ADDRESS = "fake:1"
SESSION = "6f1c0b0e-4a57-4c39-9d6a-0c0f5d1b2a3e"

# How long a test waits for what must come. It is long because machines are slow.
PATIENCE = 60.0


class Dice(random.Random):
    """Makes pauses between attempts short."""

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) / 100


class FakeStream:
    """A stream of what a handler yields."""

    def __init__(self, link: FakeLink, messages: AsyncIterator[Any]) -> None:
        self._link = link
        self._messages = messages
        self._cancelled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.sent: asyncio.Queue[Any] = asyncio.Queue()

    async def _next(self) -> Any:
        following = asyncio.ensure_future(anext(self._messages, None))
        try:
            await asyncio.wait({following, self._cancelled}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not following.done():
                following.cancel()
        if self._cancelled.done():
            raise errors.LinkLost("cancelled", applied=None)
        return following.result()

    async def read(self) -> Any:
        return await self._link.race(self._next())

    async def write(self, message: Any) -> None:
        if self._link.broken:
            raise errors.LinkLost("broken", applied=None)
        self.sent.put_nowait(message)

    def cancel(self) -> None:
        if not self._cancelled.done():
            self._cancelled.set_result(None)


class FakeLink(Link):
    """A connection to the fake member."""

    def __init__(self, member: FakeMember, address: str) -> None:
        self.address = address
        self.gone = asyncio.get_running_loop().create_future()
        self._races = set()
        self._channels = []
        self._member = member

    async def close(self) -> None:
        self.break_off()

    async def unary(self, rpc: Any, request: Any, timeout: float | None) -> Any:
        answering = self.race(self._member.answer(rpc, request))
        if not self._member.deadlines:
            return await answering
        try:
            return await asyncio.wait_for(answering, timeout)
        except asyncio.TimeoutError:
            raise errors.DeadlineExceeded("no answer", applied=None) from None

    def server_stream(self, rpc: Any, request: Any) -> Followed[Any, Any]:
        messages = self._member.streams[rpc.path](self._member.note(rpc, request))
        return FakeStream(self, messages)  # type: ignore[return-value]

    def bidi_stream(self, rpc: Any) -> Stream[Any, Any]:
        stream = FakeStream(self, self._member.keep_alive(self))
        self._member.keepers.append(stream)
        return stream  # type: ignore[return-value]


class FakeMember:
    """What the member answers: a function for each call, which a test may replace, and what it was asked."""

    def __init__(self) -> None:
        self.revision = 1
        self.holds: dict[int, session_pb2.Hold] = {}  # What the session has, by fencing token.
        self.asked: list[tuple[str, Any]] = []
        self.links: list[FakeLink] = []
        self.keepers: list[FakeStream] = []
        self.renewing = True
        self.deadlines = False  # Whether calls end by themselves; else only those that are answered, or cut.
        self.cut_off = False  # Whether it ends every stream of renewals.
        self.refused = 0  # Why it does not renew, if it says so.
        self.denied: set[str] = set()  # Sessions that may not be renewed, nor attached to.
        self.beyond: set[str] = set()  # Sessions that the credential of a stream does not cover; that of calls does.
        self.ttl = 15
        self._came = asyncio.Event()
        self.streams: dict[str, Callable[[Any], AsyncIterator[Any]]] = {}
        self.calls: dict[str, Callable[[Any], Any]] = {
            _rpc.LIST_MEMBERS.path: lambda r: cluster_pb2.ListMembersResponse(),
            _rpc.CREATE_SESSION.path: self._create_session,
            _rpc.ATTACH_SESSION.path: self._attach_session,
            _rpc.RENEW_SESSION.path: self._renew_session,
            _rpc.DESTROY_SESSION.path: lambda r: session_pb2.DestroySessionResponse(),
            _rpc.RELEASE_LOCK.path: self.release,
            _rpc.CANCEL_WAIT.path: lambda r: lock_pb2.CancelWaitResponse(cancelled=True),
        }

    # What it is asked.

    def note(self, rpc: Any, request: Any) -> Any:
        copy = type(request)()
        copy.CopyFrom(request)
        self.asked.append((rpc.path, copy))
        came, self._came = self._came, asyncio.Event()
        came.set()
        return copy

    def requests(self, rpc: Any) -> list[Any]:
        """Returns the requests of one kind so far."""
        return [request for path, request in self.asked if path == rpc.path]

    async def until(self, what: Callable[[], T]) -> T:
        """Waits until a function is true. It is asked after every request."""

        async def wait() -> T:
            while not (result := what()):
                came = asyncio.ensure_future(self._came.wait())
                await asyncio.wait({came}, timeout=0.01)
                came.cancel()
            return result

        return await asyncio.wait_for(wait(), PATIENCE)

    async def asked_for(self, rpc: Any, count: int = 1) -> Any:
        """Waits for that many requests of one kind, and returns the last of them."""
        await self.until(lambda: len(self.requests(rpc)) >= count)
        return self.requests(rpc)[count - 1]

    # What it answers.

    async def answer(self, rpc: Any, request: Any) -> Any:
        result = self.calls[rpc.path](self.note(rpc, request))
        return await result if inspect.isawaitable(result) else result

    def _create_session(self, request: Any) -> Any:
        return session_pb2.CreateSessionResponse(session_id=SESSION, ttl=request.ttl, epoch=1)

    def _attach_session(self, request: Any) -> Any:
        if request.session_id in self.denied:
            raise errors.PermissionDenied("it may not be attached to", applied=False)
        return self.attached(*self.holds.values())

    def _renew_session(self, request: Any) -> Any:
        denied = request.session_id in self.denied
        if refused := self.refused or (types_pb2.ERROR_REASON_PERMISSION_DENIED if denied else 0):
            raise _convert.refusal(refused, "it is not renewed")
        renewed = session_pb2.Session(session_id=request.session_id, epoch=1)
        renewed.ttl.FromSeconds(self.ttl)
        return session_pb2.RenewSessionResponse(session=renewed)

    def attached(self, *holds: session_pb2.Hold, places: tuple[session_pb2.Place, ...] = ()) -> Any:
        """Returns an answer to AttachSession."""
        return session_pb2.AttachSessionResponse(
            header=types_pb2.ResponseHeader(revision=self.revision),
            session=session_pb2.Session(session_id=SESSION, epoch=1),
            holds=holds,
            places=places,
        )

    def hold(self, key: str, owner: str) -> session_pb2.Hold:
        """Returns a new hold."""
        self.revision += 1
        made = session_pb2.Hold(
            sequencer=types_pb2.Sequencer(
                key=key, lock_index=self.revision, session_id=SESSION, fencing_token=self.revision
            ),
            owner=owner,
            mode=types_pb2.LOCK_MODE_EXCLUSIVE,
        )
        self.holds[self.revision] = made
        return made

    def release(self, request: Any) -> lock_pb2.ReleaseLockResponse:
        """Releases a hold, whichever it is."""
        gone = [t for t, h in self.holds.items() if h.sequencer.lock_index == request.lock_index]
        for token in gone:
            del self.holds[token]
        return lock_pb2.ReleaseLockResponse(released=True)

    def granted(self, request: Any) -> lock_pb2.AcquireLockResponse:
        """Returns the last step of a wait."""
        return lock_pb2.AcquireLockResponse(granted=self.hold(request.key, request.options.owner))

    @staticmethod
    def queued(request: Any) -> lock_pb2.AcquireLockResponse:
        """Returns the first step of a wait."""
        place = session_pb2.Place(key=request.key, owner=request.options.owner, session_id=SESSION)
        return lock_pb2.AcquireLockResponse(queued=lock_pb2.LockQueuedStep(place=place))

    async def keep_alive(self, link: FakeLink) -> AsyncIterator[Any]:
        stream = self.keepers[-1]
        while (message := await stream.sent.get()) is not None:
            self.note(_rpc.KEEP_ALIVE, message)
            if self.cut_off:
                return
            if self.renewing:
                answer = session_pb2.KeepAliveResponse()
                for renewal in message.renewals:
                    verdict = answer.verdicts.add(session_id=renewal.session_id, number=renewal.number)
                    if self.refused:
                        verdict.refused = self.refused  # type: ignore[assignment]
                    elif renewal.session_id in self.denied | self.beyond:
                        verdict.refused = types_pb2.ERROR_REASON_PERMISSION_DENIED
                    else:
                        verdict.ttl.FromSeconds(self.ttl)
                yield answer

    # Its connections.

    def cut(self) -> None:
        """Breaks all connections; new ones can be made."""
        for link in self.links:
            link.break_off()

    def client(self, clock: Clock | None = None) -> aio.Client:
        """Returns a client whose pauses between attempts are short."""
        return aio.Client(f"tenure://{ADDRESS}", clock=clock, rng=Dice())


def refuse(times: int, error: Callable[[], errors.TenureError], then: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Fails so many times, then answers."""
    left = times

    def answer(request: Any) -> Any:
        nonlocal left
        left -= 1
        if left >= 0:
            raise error()
        return then(request)

    return answer


def lost() -> errors.TenureError:
    return errors.LinkLost("lost", applied=None)


def in_queue(member: FakeMember) -> Callable[[Any], AsyncIterator[Any]]:
    """Queues and grants nothing."""

    async def serve(request: Any) -> AsyncIterator[Any]:
        yield member.queued(request)
        await asyncio.Event().wait()

    return serve


def at_once(member: FakeMember) -> Callable[[Any], AsyncIterator[Any]]:
    """Grants without a queue; who holds already finds his hold."""
    holds: dict[tuple[str, str], lock_pb2.AcquireLockResponse] = {}

    async def serve(request: Any) -> AsyncIterator[Any]:
        name = (request.key, request.options.owner)
        if name not in holds:
            holds[name] = member.granted(request)
        yield holds[name]

    def release(request: Any) -> Any:
        member.release(request)
        return lock_pb2.ReleaseLockResponse(released=holds.pop((request.key, request.options.owner), None) is not None)

    member.calls[_rpc.RELEASE_LOCK.path] = release
    return serve


def run(member: FakeMember, work: Callable[[Any, Any], Awaitable[None]]) -> None:
    """Runs a test with a client and a session."""

    async def whole() -> None:
        async with member.client() as client, client.session() as session:
            await asyncio.wait_for(work(client, session), PATIENCE)

    asyncio.run(whole())


async def cancelled(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


@pytest.fixture
def member(monkeypatch: pytest.MonkeyPatch) -> FakeMember:
    """Makes clients connect to a member in memory."""
    made = FakeMember()

    def connect(address: str, door: object) -> FakeLink:
        link = FakeLink(made, address)
        made.links.append(link)
        return link

    monkeypatch.setattr(_connection, "Link", connect)
    return made
