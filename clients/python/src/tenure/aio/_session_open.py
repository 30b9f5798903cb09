"""How sessions are opened, and taken over from other processes."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import platform
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tenure import _convert, errors
from tenure._core.backoff import Backoff
from tenure._core.lease import Lease
from tenure._core.retry import decide
from tenure._rpc import ATTACH_SESSION, CREATE_SESSION
from tenure.aio._dispatch import Listeners
from tenure.aio._limits import Limits
from tenure.aio._session import CLOSE_SECONDS_MAX, Session, destroy
from tenure.types import Behavior, CloseCause, Credentials, State, StateChange
from tenure.v1 import session_pb2, types_pb2

if TYPE_CHECKING:
    from tenure.aio._client import Client

# How many resumes that failed a client remembers; the oldest is forgotten.
RESUMING_MAX = 1024
# How long the name of a session may be.
NAME_BYTES_MAX = 256
# How many attempts taking over may have used.
TAKE_OVER_ATTEMPTS = 2


@dataclass(frozen=True)
class SessionOptions:
    """What a session is opened with."""

    ttl: float
    lock_delay: float | None = None
    behavior: Behavior = Behavior.RELEASE
    name: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    node: str = ""
    checks: tuple[str, ...] = ()
    default_check: bool = False
    on_state: Callable[[StateChange], Any] | None = None


def process_facts() -> dict[str, str]:
    """Returns what people need to find this process."""
    facts = {
        "host": platform.node(),
        "pid": str(os.getpid()),
        "program": os.path.basename(sys.argv[0] if sys.argv and sys.argv[0] else sys.executable),
        "language": f"python {platform.python_version()}",
    }
    with contextlib.suppress(Exception):
        facts["user"] = getpass.getuser()
    return facts


def default_name(facts: dict[str, str]) -> str:
    """Returns the name of a session that was given none: user@host, as far as they are known."""
    return clip("@".join(filter(None, (facts.get("user"), facts.get("host")))))


def clip(text: str) -> str:
    """Cuts a text to what a name may have, at the end of a character."""
    return text.encode()[:NAME_BYTES_MAX].decode(errors="ignore")


def _listeners(client: Client, on_state: Callable[[StateChange], Any] | None) -> Listeners:
    """Returns the listeners of a session that is being opened."""
    listeners = Listeners(client._dispatcher.line())
    if on_state is not None:
        listeners.add(on_state, StateChange(State.CONNECTING, State.CONNECTING))
    return listeners


async def open_session(client: Client, options: SessionOptions, timeout: float | None) -> Session:
    """Opens a session. It is made once, however often the request must be sent."""
    if options.checks and options.default_check:
        raise ValueError("checks and default_check exclude each other")
    client._start()
    listeners = _listeners(client, options.on_state)
    # None, unless asked: its TTL bounds it, and a false alarm about its machine must not end what it holds.
    checks = None if options.default_check else session_pb2.SessionChecks(node_checks=options.checks)
    facts = process_facts()
    request = session_pb2.CreateSessionRequest(
        name=options.name or default_name(facts),
        node=options.node or platform.node(),
        metadata={**facts, **options.metadata},
        ttl=_convert.duration(options.ttl),
        lock_delay=None if options.lock_delay is None else _convert.duration(options.lock_delay),
        behavior=int(options.behavior),  # type: ignore[arg-type]
        secret=secrets.token_bytes(32),
        instance_id=secrets.token_bytes(16),
        checks=checks,
        options=types_pb2.CallOptions(idempotency_key=secrets.token_bytes(16)),
    )
    limits = Limits(client, timeout, None)
    creating = asyncio.ensure_future(_create(client, listeners, request, limits))
    client._openings.add(creating)
    creating.add_done_callback(client._openings.discard)
    try:
        await asyncio.wait({creating})
    except asyncio.CancelledError:
        creating.cancel()
        client._tasks.see_through(_close_made(creating), "close-session")
        raise
    if creating.cancelled():
        raise errors.ClientClosed("the client was closed", applied=None if limits.sent else False)
    return creating.result()


async def _create(
    client: Client, listeners: Listeners, request: session_pb2.CreateSessionRequest, limits: Limits
) -> Session:
    try:
        answer = await client._call(CREATE_SESSION, request, change=True, own=True, limits=limits)
    except BaseException:
        if limits.sent:  # The cluster may make it all the same, and without a TTL it would stay for ever.
            client._tasks.see_through(_unmake(client, request), "unmake-session")
        raise
    # The first attempt may be what made it. Before that was sent there may have been no connection for long.
    lease = Lease(client._clock, _convert.seconds(answer.ttl), limits.first_sent_at)
    session = Session(client, answer.session_id, request.secret, answer.epoch, request.instance_id, lease, listeners)
    session._begin(client._link)
    return session


async def _close_made(creating: asyncio.Future[Session]) -> None:
    """Closes a session that came just as its caller was cancelled."""
    await asyncio.wait({creating})
    if not creating.cancelled() and creating.exception() is None:
        await creating.result().close()


async def _unmake(client: Client, request: session_pb2.CreateSessionRequest) -> None:
    """Destroys a session that may have been made for nobody. Asked the same again, the cluster says which one it is."""
    with contextlib.suppress(errors.TenureError):
        limits = Limits(client, CLOSE_SECONDS_MAX, None, closing=True)
        answer = await client._call(CREATE_SESSION, request, change=True, own=True, limits=limits)
        options = types_pb2.CallOptions(session_secret=request.secret, epoch=answer.epoch)
        gone = session_pb2.DestroySessionRequest(session_id=answer.session_id, clean=True, options=options)
        await destroy(client, gone, CLOSE_SECONDS_MAX)


async def resume_session(
    client: Client, credentials: Credentials, on_state: Callable[[StateChange], Any] | None, timeout: float | None
) -> Session:
    """Takes a session over from another process. What fails on its way may be tried again through the same client."""
    client._start()
    listeners = _listeners(client, on_state)
    name = (credentials.session_id, credentials.secret, credentials.epoch)
    # The cluster gives a takeover again to the instance that made it only; an instance is in use once at a time.
    instance = client._resuming.pop(name, None) or secrets.token_bytes(16)
    try:
        return await _resume(client, credentials, instance, listeners, timeout)
    except errors.SessionClosed:
        raise  # For good.
    except BaseException:
        _remember(client, name, instance)
        raise


def _remember(client: Client, name: tuple[str, bytes, int], instance: bytes) -> None:
    """Remembers the instance of a resume that failed, for another attempt."""
    client._resuming[name] = instance
    if len(client._resuming) > RESUMING_MAX:
        del client._resuming[next(iter(client._resuming))]


async def unresume(session: Session, credentials: Credentials) -> None:
    """Ends a session here that was resumed for nobody. The cluster keeps it, so that it can be resumed again."""
    if session._machine.cause is None:
        session._stop(CloseCause.CLOSED)
        name = (credentials.session_id, credentials.secret, credentials.epoch)
        _remember(session._client, name, session._instance)


async def _resume(
    client: Client,
    credentials: Credentials,
    instance: bytes,
    listeners: Listeners,
    timeout: float | None,
) -> Session:
    answer = await _take_over(client, credentials, instance, timeout)
    now = client._clock.now()
    # A renewal by the session's earlier user may be on its way through this client: its answer is not for this one.
    lease = Lease(client._clock, _convert.seconds(answer.session.ttl), None, last_number=secrets.randbits(32))
    session = Session(
        client, credentials.session_id, credentials.secret, answer.session.epoch, instance, lease, listeners
    )
    if not credentials.handed_over:
        # Without TTL an earlier user that is cut off believes in its lease for ever.
        session._inherited_from = now + lease.ttl if lease.ttl > 0 else float("inf")
    session._attaching.attempt = TAKE_OVER_ATTEMPTS
    session._begin(None)
    try:
        await session._until_connected(timeout)
        await _rest(session, answer, timeout)
    except BaseException:
        session._stop(CloseCause.CLOSED)
        raise
    session._adopt_inherited(answer.holds)
    for place in answer.places:  # Whoever waited there is gone: a grant would be nobody's.
        session._holdings.leave((place.key, place.owner))
    return session


async def _rest(session: Session, answer: session_pb2.AttachSessionResponse, timeout: float | None) -> None:
    """Adds what did not fit into the first page of what the session has."""
    token = answer.next_page_token
    backoff = Backoff(session._client._rng)
    while token:
        link = await session._client._await_link(session._limits())
        try:
            page = await session._attaching.page(link, session._machine.lease.silence, token)
        except errors.TenureError as error:
            decision = decide(error, failures=1)
            if not decision.retry:
                raise
            await asyncio.sleep(backoff.next(decision.after))
            await session._until_connected(timeout)
            continue
        answer.holds.extend(page.holds)
        answer.places.extend(page.places)
        token = page.next_page_token


async def _take_over(
    client: Client, credentials: Credentials, instance: bytes, timeout: float | None
) -> session_pb2.AttachSessionResponse:
    """Raises the epoch. When an answer was lost, finds out whether it was this instance that did."""

    def request(take_over: bool, epoch: int, attempt: int) -> session_pb2.AttachSessionRequest:
        return session_pb2.AttachSessionRequest(
            session_id=credentials.session_id,
            instance_id=instance,
            attempt=attempt,
            take_over=take_over,
            options=types_pb2.CallOptions(session_secret=credentials.secret, epoch=epoch),
        )

    try:
        taking = request(True, credentials.epoch, 1)
        return await client._call(ATTACH_SESSION, taking, change=True, own=True, timeout=timeout)
    except (errors.EpochMismatch, errors.SessionSuperseded) as refused:
        try:
            return await client._call(ATTACH_SESSION, request(False, credentials.epoch + 1, 2), timeout=timeout)
        except (errors.ConditionFailed, errors.SessionSuperseded):
            raise errors.SessionSuperseded(str(refused), reason=refused.reason, metadata=refused.metadata) from None
