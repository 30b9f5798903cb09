"""What a client is told about security, and the token that its calls carry."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from conftest import PATIENCE, Proxied, Seen, Twin, until

import tenure
from tenure import errors
from tenure._core.clock import Clock
from tenure._rpc import GET
from tenure.aio import _token
from tenure.aio._token import FAILED_SECONDS, OVERDUE_SECONDS, TOKEN_SECONDS, Token
from tenure.aio._vigil import LOOK_SECONDS, Vigil
from tenure.testing import Member
from tenure.v1 import kv_pb2

OWN = grpc.ssl_channel_credentials()


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("from-file\n")
    return path


@pytest.mark.parametrize(
    ("uri", "options", "environment", "why"),
    [
        ("tenure://h1?server_name=h2", {}, {}, "a server name (server_name, TENURE_SERVER_NAME) is given"),
        ("tenure://h1", {}, {"SERVER_NAME": "h2"}, "use tenures://"),
        ("tenure://h1", {"ca_file": "x"}, {}, "a CA (ca_file, TENURE_CA_FILE) is given"),
        ("tenure://h1?cert_file=x&key_file=y", {}, {}, "a certificate (cert_file, TENURE_CERT_FILE) is given"),
        ("tenure://h1", {"credentials": OWN}, {}, "credentials is given"),
        ("h1?ca_file=x", {"credentials": OWN}, {}, "exclude each other"),
        ("h1?cert_file=x", {}, {}, "go together"),
        ("h1", {}, {"KEY_FILE": "x"}, "go together"),
        ("h1?ca_file=", {}, {}, "ca_file: it is empty"),
        ("tenures://h1?token=s3cret", {}, {}, "token= is refused"),
        ("http://h1?%74oken=s3cret", {}, {}, "token= is refused"),
        ("localhost,h1", {}, {"TOKEN": "t"}, "not sent to h1:7400 without TLS"),
        ("tenure://h1?insecure=false", {"token": "t"}, {}, "not sent to h1:7400 without TLS"),
        ("tenures://h1?insecure=true", {}, {}, "nothing skips verification"),
        ("h1?insecure=yes", {}, {}, "must be true or false"),
        ("localhost", {}, {"TOKEN": "t", "TOKEN_FILE": "/none"}, "more than one token"),
    ],
)
def test_what_does_not_go_together(
    uri: str, options: dict[str, Any], environment: dict[str, str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(f"TENURE_{name}", value)
    with pytest.raises(ValueError, match=r"\w") as refused:
        tenure.aio.Client(uri, **options)
    assert why in str(refused.value)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("uri", "options", "environment", "tls"),
    [
        ("tenures://h1", {}, {}, True),
        ("h1?server_name=h2", {}, {}, True),
        ("h1", {}, {"SERVER_NAME": "h2"}, True),
        ("h1", {"credentials": OWN}, {"CA_FILE": "/none"}, True),
        ("localhost,127.0.0.1,[::1]", {"token": "t"}, {}, False),
        ("tenures://h1", {}, {"TOKEN": "t"}, True),
        ("tenure://h1?insecure=true", {"token": "t"}, {}, False),
        ("h1", {"token": "t", "insecure": True}, {}, False),
        ("localhost", {"token": "t"}, {"TOKEN_FILE": "/none"}, False),
    ],
)
def test_what_goes_together(
    uri: str, options: dict[str, Any], environment: dict[str, str], tls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(f"TENURE_{name}", value)
    assert tenure.aio.Client(uri, **options)._door.tls is tls


def test_a_token_that_cannot_be_used() -> None:
    with pytest.raises(errors.Unauthenticated, match="token_file /none: No such file"):
        tenure.aio.Client("localhost?token_file=/none")
    with pytest.raises(errors.Unauthenticated, match="not printable"):
        tenure.aio.Client("localhost", token="a\nb")


class Gate:
    """A member that takes calls with one token only: what passes is passed on to a real one."""

    def __init__(self) -> None:
        self.accepted = ""
        self._threads = concurrent.futures.ThreadPoolExecutor(max_workers=16)
        self._server = grpc.server(self._threads)
        self._server.add_generic_rpc_handlers((self,))  # type: ignore[arg-type]
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._member = Member(flags=["--advertise", self.address])
        self._member.start()
        self._channel = grpc.insecure_channel(self._member.address)
        self._server.start()

    def service(self, details: Any) -> Any:
        """Handles every call as one with streams both ways, which on the wire they all are."""

        def handle(requests: Any, context: Any) -> Iterator[bytes]:
            got = dict(context.invocation_metadata()).get("authorization")
            if got != f"Bearer {self.accepted}":
                context.abort(grpc.StatusCode.UNAUTHENTICATED, f"not known: {got}")
            call: Any = self._channel.stream_stream(details.method)(requests)
            context.add_callback(call.cancel)
            try:
                yield from call
            except grpc.RpcError as error:
                context.set_trailing_metadata(error.trailing_metadata() or ())
                context.abort(error.code(), error.details() or "")

        return grpc.stream_stream_rpc_method_handler(handle)

    def close(self) -> None:
        self._server.stop(0).wait()
        self._channel.close()
        self._threads.shutdown()
        self._member.close()


@pytest.fixture(scope="module")
def gate() -> Iterator[Gate]:
    with contextlib.closing(Gate()) as made:
        yield made


def test_a_token_is_sent_with_each_call(twin: Twin, gate: Gate, token_file: Path) -> None:
    async def slow() -> str:
        await asyncio.sleep(0)
        return "from-coroutine"

    given: dict[str, dict[str, Any]] = {
        "text": {"token": "text"},
        "from-file": {"token_file": str(token_file)},
        "from-function": {"token": lambda: "from-function"},
        "from-coroutine": {"token": slow},
    }
    for accepted, options in given.items():
        client = twin.client(gate.address, timeout=PATIENCE, **options)
        gate.accepted = "another"
        with pytest.raises(errors.Unauthenticated, match="not known: Bearer"):
            twin.do(client.kv.get, "k")
        gate.accepted = accepted
        twin.do(client.kv.put, "k", b"v")
        twin.do(client.cache, "k")  # It watches.


def test_a_token_for_this_machine_is_not_sent_through_a_proxy(
    twin: Twin, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        for name in ("no_grpc_proxy", "no_proxy", "https_proxy", "grpc_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        gate.accepted = "text"
        client = twin.client(gate.address.replace("127.0.0.1", "localhost"), timeout=PATIENCE, token="text")
        twin.do(client.kv.put, "k", b"v")
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()


def test_there_is_no_token(twin: Twin, gate: Gate) -> None:
    def none() -> str:
        raise LookupError("out of tokens")

    client = twin.client(gate.address, timeout=PATIENCE, token=none)
    with pytest.raises(errors.Unauthenticated, match="out of tokens") as refused:
        twin.do(client.kv.put, "k", b"v")
    assert refused.value.applied is False


class Hanging:
    """A function that returns a token, until it hangs."""

    def __init__(self) -> None:
        self.token = "hanging"
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.hanging = 0  # Calls that have hung.

    def __call__(self) -> str:
        if not self.goes_on.is_set():
            self.hanging += 1
        assert self.goes_on.wait(3 * PATIENCE)
        return self.token


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hanging]:
    """A function that is asked anew for each call."""
    monkeypatch.setattr(_token, "TOKEN_SECONDS", 0.0)
    monkeypatch.setattr(_token, "RENEW_SECONDS", 0.2)
    made = Hanging()
    try:
        yield made
    finally:
        made.goes_on.set()


def test_a_function_that_hangs_does_not_hold_up_calls(twin: Twin, gate: Gate, hanging: Hanging) -> None:
    gate.accepted = hanging.token
    client = twin.client(gate.address, timeout=PATIENCE, token=hanging)
    twin.do(client.kv.put, "k", b"v")
    hanging.goes_on.clear()
    with pytest.raises(errors.DeadlineExceeded, match="no token") as late:
        twin.do(client.kv.put, "k", b"w", timeout=0.1)
    assert late.value.applied is False
    assert twin.do(client.kv.get, "k").value == b"v"  # The token before may be good still.
    gate.accepted = "another"
    twin.do(_break, client)
    with pytest.raises(errors.Unauthenticated, match="not known: Bearer hanging"):
        twin.do(client.kv.get, "k")
    assert hanging.hanging == 1
    hanging.token = "another"
    hanging.goes_on.set()
    assert twin.do(client.kv.get, "k").value == b"v"


def test_a_function_that_hangs_from_the_start_does_not_hold_up_calls_nor_the_end(
    twin: Twin, gate: Gate, hanging: Hanging
) -> None:
    hanging.goes_on.clear()
    client = twin.client(gate.address, timeout=0.5, token=hanging)
    with pytest.raises(errors.Unavailable):
        twin.do(client.kv.get, "k")
    twin.do(client.close)


def test_a_token_that_is_refused_is_read_again(twin: Twin, gate: Gate, seen: Seen) -> None:
    issued = ["first"]
    gate.accepted = "first"

    def issue(token: str) -> None:
        gate.accepted = token
        issued.append(token)

    client = twin.client(f"{gate.address}?ttl=10m", timeout=PATIENCE, token=lambda: issued[-1])
    session = twin.do(client.session, on_state=seen)
    issue("second")
    twin.do(session.kv.put, "k", b"v")
    issue("third")
    twin.do(session.lock("lock").acquire)
    # A keepalive stream that was about to begin with an old token has broken the connection meanwhile, or has not.
    before = seen.wait(lambda items: len(items) if items[-1].new is tenure.State.CONNECTED else 0)
    gate.accepted = "fourth"  # Nobody has it yet: the session cannot be renewed.
    twin.do(_break, client)
    seen.wait_state(tenure.State.SUSPENDED, before)
    issued.append("fourth")
    seen.wait_state(tenure.State.CONNECTED, before + 1)


def _break(client: Any) -> None:
    """Breaks the connection."""
    inner = getattr(client, "_aio", client)
    link = until(lambda: inner._link)
    inner._loop.call_soon_threadsafe(link.break_off)


def test_an_interceptor_sees_calls(twin: Twin, proxied: Proxied) -> None:
    methods: list[str] = []

    class Recorder(grpc.aio.UnaryUnaryClientInterceptor):
        async def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
            methods.append(details.method.decode() if isinstance(details.method, bytes) else details.method)
            return await continuation(details, request)

    client = twin.client(proxied.uri(), timeout=PATIENCE, interceptors=[Recorder()])
    twin.do(client.kv.put, "k", b"v")
    assert "/tenure.v1.KVService/Put" in methods


class Showing:
    """Interceptors that give each call of some names a token."""

    def __init__(self, *names: str) -> None:
        kinds = (
            grpc.aio.UnaryUnaryClientInterceptor,
            grpc.aio.UnaryStreamClientInterceptor,
            grpc.aio.StreamStreamClientInterceptor,
        )
        methods = ("intercept_unary_unary", "intercept_unary_stream", "intercept_stream_stream")
        self._names = names
        self.interceptors = [type("One", (kind,), {m: self._call})() for kind, m in zip(kinds, methods, strict=True)]

    async def _call(self, continuation: Any, details: Any, sent: Any) -> Any:
        if name_of(details) in self._names:
            metadata = grpc.aio.Metadata(*(details.metadata or ()), ("authorization", "Bearer t"))
            details = details._replace(metadata=metadata)
        return await continuation(details, sent)


@pytest.mark.parametrize("insecure", [False, True])
def test_a_token_of_an_interceptor_is_not_sent_in_clear(
    insecure: bool, twin: Twin, tenure_uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.aio._door.is_local", lambda _: False)  # As if the member were another machine.
    showing = Showing("Put", "Watch", "KeepAlive").interceptors
    client = twin.client(tenure_uri, timeout=PATIENCE, interceptors=showing, insecure=insecure)
    if insecure:
        twin.do(client.kv.put, "k", "v")
        return
    why = r"not sent to .* without TLS: use tenures://, or insecure=true"
    with pytest.raises(errors.AuthUnsafe, match=why) as refused:
        twin.do(client.kv.put, "k", "v")
    assert refused.value.applied is False
    assert twin.do(client.kv.get, "k") is None  # What shows none is served.
    with pytest.raises(errors.AuthUnsafe):
        twin.next(twin.do(lambda: client.watch(key="k")))


def name_of(details: Any) -> str:
    """Returns the name of the call that an interceptor sees."""
    method = details.method.decode() if isinstance(details.method, bytes) else details.method
    return str(method).rpartition("/")[2]


class Failing:
    """Interceptors that fail at the next call of a name, once."""

    def __init__(self) -> None:
        self.at = ""
        self.failed = threading.Event()
        self.calls: list[str] = []
        both = (grpc.aio.UnaryUnaryClientInterceptor, grpc.aio.UnaryStreamClientInterceptor)
        names = ("intercept_unary_unary", "intercept_unary_stream")
        self.interceptors = [type("One", (kind,), {n: self._call})() for kind, n in zip(both, names, strict=True)]

    def fail(self, name: str) -> None:
        self.failed.clear()
        self.at = name

    async def _call(self, continuation: Any, details: Any, request: Any) -> Any:
        self.calls.append(name_of(details))
        if self.calls[-1] == self.at:
            self.at = ""
            self.failed.set()
            raise OSError("on purpose")
        return await continuation(details, request)


def test_a_client_goes_on_after_an_interceptor_failed(twin: Twin, tenure_uri: str, seen: Seen) -> None:
    failing = Failing()
    failing.fail("ListMembers")  # Of the first connection.
    client = twin.client(tenure_uri, interceptors=failing.interceptors, members_seconds=0.2)
    twin.do(client.wait_connected)
    for _ in range(2):
        failing.fail("ListMembers")
        assert failing.failed.wait(PATIENCE)
    twin.do(client.kv.put, "p/1", "v")
    failing.fail("Range")
    assert twin.all(client.kv.list("p/"))
    cache = twin.do(client.cache, "p/")
    twin.do(lambda: cache.on_change(lambda event: seen(event.key)))
    observer = client.observe("e")
    assert twin.next(observer) is None
    following = twin.spawn(next, observer) if twin.name == "sync" else twin.spawn(lambda: observer.__anext__())
    failing.fail("Watch")
    _break(client)
    assert failing.failed.wait(PATIENCE)
    failing.fail("Observe")
    _break(client)
    assert failing.failed.wait(PATIENCE)
    twin.do(client.kv.put, "p/2", "v")
    seen.wait(lambda items: "p/2" in items)
    session = twin.do(client.session)
    leadership = twin.do(session.election("e").campaign, "me")
    assert following.result(PATIENCE).value == b"me"
    failing.fail("ReleaseLock")
    assert twin.do(leadership.release)
    assert twin.do(client.lock_info, "e").holders == 0


def test_a_wait_that_was_given_up_is_over_though_an_interceptor_failed(twin: Twin, tenure_uri: str) -> None:
    failing = Failing()
    client = twin.client(tenure_uri, interceptors=failing.interceptors)
    held = twin.do(twin.do(client.session).lock("k").acquire)
    failing.fail("CancelWait")
    with pytest.raises(errors.WaitTimeout):
        twin.do(twin.do(client.session).lock("k").acquire, 0.2)
    until(lambda: failing.calls.count("CancelWait") >= 2)
    until(lambda: twin.do(client.lock_info, "k").waiters == 0)
    twin.do(held.release)
    assert twin.do(client.lock_info, "k").holders == 0


class Vetoing:
    """Interceptors that raise at each call of some names, in place of what the call raises or of the call."""

    def __init__(self, *names: str, error: Exception, calls: bool = False) -> None:
        self.names = set(names)
        self.asked: list[str] = []
        self._error = error
        self._calls = calls
        both = (grpc.aio.UnaryUnaryClientInterceptor, grpc.aio.UnaryStreamClientInterceptor)
        methods = ("intercept_unary_unary", "intercept_unary_stream")
        self.interceptors = [type("One", (kind,), {m: self._call})() for kind, m in zip(both, methods, strict=True)]

    async def _call(self, continuation: Any, details: Any, request: Any) -> Any:
        self.asked.append(name_of(details))
        if name_of(details) not in self.names:
            return await continuation(details, request)
        if not self._calls:
            raise self._error
        try:
            return await (await continuation(details, request))
        except grpc.aio.AioRpcError:
            raise self._error from None


def test_an_interceptor_that_refuses_calls_refuses_them_at_once_and_breaks_nothing(twin: Twin, tenure_uri: str) -> None:
    vetoing = Vetoing("Put", "Watch", "AcquireLock", error=OSError("not today"))
    client = twin.client(tenure_uri, interceptors=vetoing.interceptors, timeout=PATIENCE)
    twin.do(client.wait_connected)
    link = getattr(client, "_aio", client)._link
    session = twin.do(client.session)
    with pytest.raises(errors.InternalError, match="not today") as refused:
        twin.do(client.kv.put, "k", b"v")
    assert isinstance(refused.value.__cause__, OSError)
    assert refused.value.applied is None
    assert vetoing.asked.count("Put") == 2
    with pytest.raises(errors.InternalError, match="not today"):
        twin.do(session.lock("k").acquire)
    with pytest.raises(errors.InternalError, match="not today"):
        twin.next(twin.do(client.watch, key="k"))
    assert twin.do(client.kv.get, "k") is None
    assert getattr(client, "_aio", client)._link is link
    assert not link.broken


def test_an_exception_in_place_of_a_broken_connection_is_one(twin: Twin, proxied: Proxied) -> None:
    mapping = Vetoing("Get", error=LookupError("mapped"), calls=True)
    client = twin.client(proxied.uri(), interceptors=mapping.interceptors, timeout=PATIENCE)
    twin.do(client.kv.put, "k", b"v")
    proxied.proxy.hold(to_client=False)
    asked = mapping.asked.count("Get")
    getting = [twin.spawn(client.kv.get, "k") for _ in range(3)]
    until(lambda: mapping.asked.count("Get") >= asked + 3)
    proxied.proxy.cut()
    proxied.proxy.heal()
    assert all(got.result(PATIENCE).value == b"v" for got in getting)


def test_what_is_kept_up_to_date_goes_on_when_an_interceptor_refuses_no_longer(
    twin: Twin, tenure_uri: str, seen: Seen, caplog: pytest.LogCaptureFixture
) -> None:
    vetoing = Vetoing(error=OSError("not now"))
    client = twin.client(tenure_uri, interceptors=vetoing.interceptors, members_seconds=0.2)
    twin.do(client.kv.put, "p/1", "v")
    cache = twin.do(client.cache, "p/")
    services = twin.do(client.service_list, "web")
    observer = client.observe("e")
    assert twin.next(observer) is None
    following = twin.spawn(next, observer) if twin.name == "sync" else twin.spawn(lambda: observer.__anext__())
    vetoing.names = {"Watch", "Observe", "ListMembers"}
    until(lambda: vetoing.asked.count("ListMembers") > 4)
    vetoing.names = {"Watch", "Observe", "ListInstances"}
    before = {name: vetoing.asked.count(name) for name in vetoing.names}
    _break(client)
    until(lambda: vetoing.asked.count("Watch") >= before["Watch"] + 6)
    until(lambda: vetoing.asked.count("Observe") >= before["Observe"] + 3)
    vetoing.names = {"ListInstances"}
    twin.do(client.register, "web", node="n") if twin.name == "sync" else twin.do(
        lambda: client.register("web", node="n").__aenter__()
    )
    until(lambda: vetoing.asked.count("ListInstances") >= before["ListInstances"] + 3)
    vetoing.names = set()
    until(lambda: services.instances("web"))
    twin.do(client.kv.put, "p/2", "v")
    until(lambda: cache.get("p/2"))
    session = twin.do(client.session)
    twin.do(session.election("e").campaign, "me")
    assert following.result(PATIENCE).value == b"me"
    assert "will continue later: the call failed here: OSError('not now')" in caplog.text


def test_a_ping_that_failed_here_says_nothing_of_the_member() -> None:
    async def run() -> None:
        silent = asyncio.Event()
        answers: list[bool | None] = [None, None, False]
        began = time.monotonic()

        async def ping(seconds: float) -> bool | None:
            return answers.pop(0)

        vigil = Vigil(ping, silent.set)
        vigil.heard()
        vigil.owe()
        await asyncio.wait_for(silent.wait(), PATIENCE)
        assert not answers
        assert time.monotonic() - began >= 3 * LOOK_SECONDS
        vigil.stop()

    asyncio.run(run())


def test_what_an_interceptor_does_about_a_ping_and_a_call_is_no_sign_of_life(tenure_uri: str) -> None:
    vetoing = Vetoing("Get", "Check", error=TimeoutError("took too long"))

    async def use() -> None:
        async with tenure.aio.Client(tenure_uri, interceptors=vetoing.interceptors) as client:
            await client.wait_connected()
            link = client._link
            assert link is not None
            assert link._vigil is not None
            assert await link._ping(PATIENCE) is None
            heard = link._vigil._heard
            with pytest.raises(errors.InternalError, match="took too long"):
                await link.unary(GET, kv_pb2.GetRequest(key="k"), PATIENCE)
            assert link._vigil._heard == heard
            vetoing.names = set()
            assert await link._ping(PATIENCE) is True

    asyncio.run(use())


def test_what_an_interceptor_fails_with_is_told(twin: Twin, tenure_uri: str) -> None:
    class Broken(grpc.aio.UnaryUnaryClientInterceptor):
        async def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
            raise OSError("the vault is sealed")

    client = twin.client(tenure_uri, interceptors=[Broken()], timeout=1.0)
    with pytest.raises(errors.Unavailable, match="the vault is sealed"):
        twin.do(client.kv.get, "k")


class Hand(Clock):
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.at = 0.0

    def now(self) -> float:
        return self.at


def test_a_token_is_read_again_when_it_is_old() -> None:
    clock = Hand()
    texts = ["a"]
    asked: list[str] = []

    def source() -> str:
        asked.append(texts[-1])
        if not texts[-1]:
            raise LookupError("none")
        return texts[-1]

    async def run() -> None:
        token = Token(source, clock)
        assert (await token.get(None), len(asked)) == ("a", 1)
        texts.append("b\n")
        clock.at += TOKEN_SECONDS - 0.001
        assert (await token.get(None), len(asked)) == ("a", 1)
        clock.at += 0.001
        assert (await token.get(None), len(asked)) == ("b", 2)
        texts.append("")  # What there was may be good still.
        clock.at += TOKEN_SECONDS
        assert (await token.get(None), len(asked)) == ("b", 3)
        assert (await token.renew("b", None), len(asked)) == (False, 4)
        texts.append("c")
        assert (await token.renew("b", None), len(asked)) == (True, 5)
        assert (await token.renew("b", None), len(asked)) == (True, 5)
        assert await token.get(None) == "c"

    asyncio.run(run())


def test_calls_do_not_wait_for_a_source_that_fails_and_the_log_says_it_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = Hand()
    asked = threading.Semaphore(0)
    answers = threading.Event()
    fails = False

    def source() -> str:
        asked.release()
        if fails:
            assert answers.wait(PATIENCE)
            raise OSError("vault down")
        return "a" if clock.at == 0.0 else "b"

    async def run() -> None:
        nonlocal fails
        token = Token(source, clock)
        assert await token.get(None) == "a"
        assert asked.acquire(blocking=False)
        fails = True
        answers.set()
        clock.at += TOKEN_SECONDS
        assert await token.get(None) == "a"
        assert asked.acquire(blocking=False)
        answers.clear()  # From now on it takes its time.
        for _ in range(10):
            assert await asyncio.wait_for(token.get(None), PATIENCE) == "a"
        assert not asked.acquire(blocking=False)
        clock.at += FAILED_SECONDS
        for _ in range(10):
            began = time.monotonic()
            assert await token.get(None) == "a"
            assert time.monotonic() - began < OVERDUE_SECONDS / 2
        assert await asyncio.to_thread(asked.acquire, timeout=PATIENCE)
        assert token._asking is not None
        answers.set()
        await asyncio.wait({token._asking})
        fails = False
        clock.at += FAILED_SECONDS
        assert await token.get(None) == "a"  # It is asked in the background.
        await asyncio.wait({token._asking})
        assert await token.get(None) == "b"

    asyncio.run(run())
    assert [record.getMessage() for record in caplog.records] == [
        "no new token, the one before is used while there is one: vault down",
        "there is a new token again",
    ]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, StopIteration])
def test_a_function_that_exits_is_one_that_fails(twin: Twin, gate: Gate, error: type[BaseException]) -> None:
    asked: list[int] = []

    def source() -> str:
        asked.append(1)
        raise error

    client = twin.client(gate.address, token=source, timeout=1.0)
    for _ in range(2):
        with pytest.raises(errors.Unauthenticated, match=error.__name__):
            twin.do(client.kv.get, "k")
    assert len(asked) >= 2


def test_a_coroutine_function_that_exits_does_not_end_the_loop_of_a_sync_client(gate: Gate) -> None:
    async def source() -> str:
        raise SystemExit

    with tenure.Client(gate.address, token=source, timeout=1.0) as client:
        for _ in range(2):
            with pytest.raises(errors.Unauthenticated, match="SystemExit"):
                client.kv.get("k")
