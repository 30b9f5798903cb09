"""The Python agent of the conformance suite: does what clients/conformance tells it to, with the client under test.

    python tests/conformance_agent.py            the sync client, each request in a thread of its own
    python tests/conformance_agent.py --asyncio  the asyncio client, each request a task

The protocol is described in clients/conformance/README.md.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import os
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

import tenure
from tenure import errors

PROTOCOL = 1
LEAK_SECONDS = 20.0
HELPER = "agent-"  # Names of the agent's own threads and tasks begin so.

Json = dict[str, Any]


class ProtocolError(Exception):
    """The agent was not understood."""


class KindError(Exception):
    """Something that is an answer for the library and an error of the protocol."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind.replace("_", " "))
        self.kind = kind


_KINDS: list[tuple[type[BaseException], str]] = [
    (errors.ForkedError, "forked"),
    (errors.ClientClosed, "client_closed"),
    (errors.SessionSuperseded, "session_superseded"),
    (errors.SessionSecretWrong, "auth_failed"),
    (errors.SessionExpired, "session_expired"),
    (errors.SessionNotFound, "session_expired"),
    (errors.SessionClosed, "session_closed"),
    (errors.PermissionDenied, "auth_failed"),
    (errors.Unauthenticated, "auth_failed"),
    (errors.KeyNotFound, "key_not_found"),
    (errors.LockNotFound, "lock_not_found"),
    (errors.NodeNotFound, "node_not_found"),
    (errors.ServiceNotFound, "service_not_found"),
    (errors.CheckNotFound, "check_not_found"),
    (errors.CheckCritical, "check_critical"),
    (errors.QueryNotFound, "query_not_found"),
    (errors.QueryNameTaken, "query_name_taken"),
    (errors.CompareFailed, "compare_failed"),
    (errors.LockHeld, "lock_held"),
    (errors.LockDelayed, "lock_delayed"),
    (errors.LockNotHeld, "not_held"),
    (errors.HoldLost, "not_held"),
    (errors.FencingTokenStale, "stale_token"),
    (errors.StaleToken, "stale_token"),
    (errors.LockModeMismatch, "mode_mismatch"),
    (errors.WaitTimeout, "timeout"),
    (errors.DeadlineExceeded, "timeout"),
    (asyncio.CancelledError, "cancelled"),
    (errors.Cancelled, "cancelled"),
    (errors.WaitBroken, "wait_ended"),
    (errors.RevisionCompacted, "compacted"),
    (errors.RevisionFuture, "future_revision"),
    (errors.HistoryChanged, "history_changed"),
    (errors.WatcherTooSlow, "too_slow"),
    (errors.ResumeTokenInvalid, "token_invalid"),
    (errors.SequencerInvalid, "token_invalid"),
    (errors.TokenInvalid, "token_invalid"),
    (errors.CandidateNotFound, "candidate_not_found"),
    (errors.ResourceExhausted, "limit"),
    (errors.TooManyKeys, "limit"),
    (errors.InvalidArgument, "invalid_argument"),
    (ValueError, "invalid_argument"),
    (errors.Frozen, "frozen"),
    (errors.FeatureNotEnabled, "not_supported"),
    (ProtocolError, "protocol"),
]


def kind_of(error: BaseException) -> str:
    """Returns the protocol's word for an error."""
    if isinstance(error, KindError):
        return error.kind
    if isinstance(error, errors.TLSFailed):
        return "tls_failed"
    if isinstance(error, errors.Unavailable):
        return "unavailable" if error.applied is False else "outcome_unknown"
    return next((kind for cls, kind in _KINDS if isinstance(error, cls)), "internal")


def applied_of(error: BaseException) -> str:
    """Returns what is known of the outcome."""
    return {True: "yes", False: "no", None: "unknown"}[getattr(error, "applied", False)]


def milliseconds(args: Json, name: str) -> float | None:
    """Returns an argument in seconds."""
    value = args.get(name)
    return None if value is None else value / 1000


class Agent:
    """Runs requests and writes replies and events."""

    def __init__(self, use_asyncio: bool) -> None:
        self.asyncio = use_asyncio
        self._loop = asyncio.get_running_loop()
        self._out = threading.Lock()  # Guards standard output.
        self.objects: dict[str, Any] = {}
        self.clients: list[Any] = []
        self.gates: dict[str, tenure.FenceGate] = {}
        self.requests: dict[int, asyncio.Task[None]] = {}
        self.followers: dict[int, asyncio.Task[None]] = {}  # By the identity of what they follow.
        self.before = self.running()

    # Talking.

    def write(self, line: Json) -> None:
        """Writes one line, from any thread."""
        with self._out:
            sys.stdout.write(json.dumps(line, ensure_ascii=False) + "\n")
            sys.stdout.flush()

    def event(self, name: str, of: str, value: Json) -> None:
        """Tells of something that happened."""
        self.write({"event": name, "of": of, "value": value})

    def take(self, line: str) -> None:
        """Begins a request."""
        request = json.loads(line)
        task = asyncio.ensure_future(self._run(request))
        task.set_name(HELPER + "request")
        self.requests[request["id"]] = task
        task.add_done_callback(lambda _: self.requests.pop(request["id"], None))

    async def _run(self, request: Json) -> None:
        reply: Json = {"id": request["id"]}
        try:
            import conformance_catalog_ops  # noqa: F401  So does this.
            import conformance_more_ops  # noqa: F401  It registers its operations.
            import conformance_query_ops  # noqa: F401  And so does this.
            from conformance_ops import OPS

            operation = OPS.get(request["op"])
            if operation is None:
                raise ProtocolError(f"unknown operation {request['op']!r}")
            on = self.objects[request["on"]] if request.get("on") else None
            value = await operation(self, on, request.get("as", ""), request.get("args") or {})
            reply |= {"ok": True, "value": value}
        except (Exception, asyncio.CancelledError) as error:
            failure = {"kind": kind_of(error), "applied": applied_of(error), "message": f"{error!r}"}
            reply |= {"ok": False, "error": failure}
        self.write(reply)

    # Doing, in either way.

    async def do(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Calls something of the library: awaits it, or calls it in a thread."""
        if self.asyncio:
            result = function(*args, **kwargs)
            return await result if inspect.isawaitable(result) else result
        return await in_thread(lambda: function(*args, **kwargs))

    async def collect(self, items: Callable[[], Any]) -> list[Any]:
        """Returns all that an iterator of the library gives."""
        if self.asyncio:
            return [item async for item in items()]
        return list(await in_thread(lambda: list(items())))

    async def next_of(self, iterator: Any) -> tuple[bool, Any]:
        """Returns the next that an iterator gives, and whether there was one."""
        if self.asyncio:
            try:
                return True, await iterator.__anext__()
            except StopAsyncIteration:
                return False, None
        end = object()
        item = await in_thread(lambda: next(iterator, end))
        return item is not end, item

    def follow(self, of: Any, work: Awaitable[None]) -> None:
        """Runs what reads from an object until it ends."""
        task = asyncio.ensure_future(work)
        task.set_name(HELPER + "follow")
        self.followers[id(of)] = task

    # Leaks.

    def running(self) -> list[str]:
        """Returns what runs that is not the agent's; gRPC's own thread ends when its last channel is collected."""
        gc.collect()
        threads = [t.name for t in threading.enumerate()]
        tasks = [t.get_name() for t in asyncio.all_tasks(self._loop) if not t.done()]
        return sorted(n for n in threads + tasks if not n.startswith(HELPER))

    async def leaks(self) -> list[str]:
        """Returns what runs beyond what ran at first, after a while."""
        end = self._loop.time() + LEAK_SECONDS
        while True:
            left = list(self.running())
            for name in self.before:
                if name in left:
                    left.remove(name)
            if not left or self._loop.time() > end:
                return left
            await asyncio.sleep(0.05)


async def in_thread(function: Callable[[], Any]) -> Any:
    """Calls a function in a thread of its own."""
    loop = asyncio.get_running_loop()
    result: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if result.done():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(value)

    def work() -> None:
        value, error = None, None
        try:
            value = function()
        except Exception as raised:
            error = raised
        loop.call_soon_threadsafe(settle, value, error)

    threading.Thread(target=work, name=HELPER + "call", daemon=True).start()
    return await result


async def main() -> None:
    """Serves requests until standard input ends."""
    loop = asyncio.get_running_loop()
    current = asyncio.current_task()
    assert current is not None
    current.set_name(HELPER + "main")
    agent = Agent("--asyncio" in sys.argv[1:])

    def read() -> None:
        for line in sys.stdin:
            if line.strip():
                loop.call_soon_threadsafe(agent.take, line)
        os._exit(0)  # Closes nothing, as if it had crashed.

    threading.Thread(target=read, name=HELPER + "read", daemon=True).start()
    hello = {
        "protocol": PROTOCOL,
        "language": "python",
        "variant": "asyncio" if agent.asyncio else "sync",
        "features": ["cancel", "fork", "catalog", "queries"] if agent.asyncio else ["fork", "catalog", "queries"],
    }
    agent.write({"hello": hello})
    await asyncio.Event().wait()


if __name__ == "__main__":
    sys.modules["conformance_agent"] = sys.modules["__main__"]
    asyncio.run(main())
