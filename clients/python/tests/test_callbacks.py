"""Callbacks of users: what delays them, and that none is lost."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from types import FrameType
from typing import Any

import pytest
from conftest import PATIENCE, Seen, Twin, until

import tenure
from tenure.aio._dispatch import Line
from tenure.sync import _threads
from tenure.sync._threads import ThreadDispatcher


class Gate:
    """A callback that does not return before it is opened, in the form that a client wants."""

    def __init__(self, twin: Twin) -> None:
        self.entered = threading.Event()
        self._opened = threading.Event()
        self.callback: Any = self._wait if twin.name == "sync" else self._await

    def open(self) -> None:
        self._opened.set()

    def _wait(self, told: Any) -> None:
        self.entered.set()
        assert self._opened.wait(PATIENCE)

    async def _await(self, told: Any) -> None:
        self.entered.set()
        assert await asyncio.to_thread(self._opened.wait, PATIENCE)


def test_a_slow_callback_delays_only_those_of_the_same_cache_session_or_client(
    twin: Twin, tenure_uri: str, seen: Seen
) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session().__aenter__) if twin.name == "asyncio" else client.session()
    other = twin.do(client.session().__aenter__) if twin.name == "asyncio" else client.session()
    cache = twin.do(client.cache, "slow/")
    gate = Gate(twin)
    twin.do(client.kv.put, "slow/1", "")
    twin.do(lambda: cache.on_change(gate.callback))
    twin.do(client.kv.put, "slow/2", "")
    assert gate.entered.wait(PATIENCE)
    held = twin.do(session.lock("k").acquire)
    twin.do(lambda: held.on_lost(lambda cause: seen("lost")))
    twin.do(held.release)
    seen.wait(lambda items: "lost" in items)
    slow = Gate(twin)
    twin.do(lambda: session.on_state(slow.callback))
    assert slow.entered.wait(PATIENCE)
    twin.do(lambda: session.on_state(lambda change: seen("after the slow one")))
    twin.do(lambda: other.on_state(lambda change: seen("other session")))
    twin.do(lambda: client.on_state(lambda change: seen("client")))
    seen.wait(lambda items: {"other session", "client"} <= set(items))
    assert "after the slow one" not in seen.items
    slow.open()
    seen.wait(lambda items: "after the slow one" in items)
    gate.open()


def test_callbacks_of_a_line_keep_their_order_and_threads_end(seen: Seen) -> None:
    dispatcher = ThreadDispatcher(threads_max=3)
    lines = [dispatcher.line() for _ in range(20)]
    running = threading.Semaphore(3)

    def callback(line: int, number: int) -> None:
        assert running.acquire(blocking=False), "more at a time than there may be threads"
        seen((line, number))
        running.release()

    for number, (index, line) in itertools.product(range(50), enumerate(lines)):
        line.call(callback, index, number)
    seen.wait_count(1000)
    for index in range(20):
        assert [n for i, n in seen.items if i == index] == list(range(50))
    until(lambda: not any(t.is_alive() for t in dispatcher._threads))


def test_without_a_free_thread_callbacks_wait_and_without_any_who_closes_calls_them(
    seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    dispatcher = ThreadDispatcher()
    line, other = dispatcher.line(), dispatcher.line()
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    line.call(seen, 1)
    other.call(seen, 2)
    monkeypatch.setattr(threading.Thread, "start", start)
    line.call(seen, 3)
    seen.wait_count(3)
    until(lambda: not any(t.is_alive() for t in dispatcher._threads))
    monkeypatch.setattr(threading.Thread, "start", refuse)
    line.call(seen, 4)
    asyncio.run(dispatcher.close())
    line.call(seen, "too late")
    dispatcher.join()
    assert sorted(seen.items) == [1, 2, 3, 4]


class Stop:
    """Stops the first thread of a name before the nth line that it runs in the dispatcher, until it may go on."""

    def __init__(self, name: str, nth: int) -> None:
        self.stopped = threading.Event()
        self.go_on = threading.Event()
        self._name = name
        self._thread: threading.Thread | None = None
        self._nth = nth
        self._lines = 0

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Is told each call of the threads that begin from now on, by threading.settrace."""
        thread = threading.current_thread()
        if thread.name != self._name or frame.f_code.co_filename != _threads.__file__:
            return None
        self._thread = self._thread or thread
        if thread is not self._thread:
            return None
        if event == "line":
            self._lines += 1
            if self._lines == self._nth:
                self.stopped.set()
                assert self.go_on.wait(PATIENCE)
        return self.trace


def await_stop_or_end(stop: Stop, thread: threading.Thread) -> None:
    until(lambda: stop.stopped.is_set() or not thread.is_alive())


@pytest.fixture
def tracing() -> Any:
    yield
    threading.settrace(None)


@pytest.mark.parametrize("threads_max", [1, 2])
@pytest.mark.usefixtures("tracing")
def test_no_callback_is_lost_that_comes_while_a_thread_is_at_any_line(threads_max: int) -> None:
    for nth in itertools.count(1):
        seen = Seen()
        dispatcher = ThreadDispatcher(threads_max)
        first, second = dispatcher.line(), dispatcher.line()
        stop = Stop("tenure-callbacks", nth)
        threading.settrace(stop.trace)
        first.call(seen, 1)
        (thread,) = dispatcher._threads
        await_stop_or_end(stop, thread)

        def call(first: Line = first, second: Line = second, seen: Seen = seen) -> None:
            first.call(seen, 2)
            second.call(seen, 3)

        caller = threading.Thread(target=call)
        caller.start()
        if not (stop.stopped.is_set() and dispatcher._lock.locked()):  # Else it waits for the thread that stands still.
            caller.join(PATIENCE)
        stop.go_on.set()
        caller.join(PATIENCE)
        seen.wait_count(3)
        first.call(seen, 4)
        seen.wait_count(4)
        assert sorted(seen.items) == [1, 2, 3, 4]
        if not stop.stopped.is_set():
            assert nth > 20
            return


@pytest.mark.parametrize("threads_max", [1, 2])
@pytest.mark.usefixtures("tracing")
def test_no_callback_is_lost_whose_caller_is_at_any_line_while_the_thread_falls_idle(threads_max: int) -> None:
    for nth in itertools.count(1):
        seen = Seen()
        dispatcher = ThreadDispatcher(threads_max)
        line = dispatcher.line()
        stop = Stop("caller", nth)
        threading.settrace(stop.trace)
        end = threading.Event()
        line.call(end.wait, PATIENCE)
        (thread,) = dispatcher._threads
        caller = threading.Thread(name="caller", target=line.call, args=(seen, 1))
        caller.start()
        await_stop_or_end(stop, caller)
        locked = dispatcher._lock.locked()
        end.set()
        if not locked:  # Else it waits for the caller that stands still.
            thread.join(PATIENCE)
        stop.go_on.set()
        caller.join(PATIENCE)
        seen.wait_count(1)
        line.call(seen, 2)
        seen.wait_count(2)
        assert seen.items == [1, 2]
        if not stop.stopped.is_set():
            assert nth > 5
            return


def test_callbacks_of_a_session_that_is_opened_are_told_in_order(twin: Twin, tenure_uri: str, seen: Seen) -> None:
    client = twin.client(tenure_uri)

    async def opened() -> Any:
        return await client.session(on_state=seen)

    session = client.session(on_state=seen) if twin.name == "sync" else twin.do(opened)
    seen.wait_state(tenure.State.CONNECTED)
    twin.do(session.close)
    seen.wait_state(tenure.State.CLOSED)
    assert seen.states() == ["CONNECTING", "CONNECTED", "CLOSED"]


def test_close_does_not_wait_for_a_callback_that_waits_for_whoever_closes(
    twin: Twin, tenure_uri: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = twin.client(tenure_uri)
    held = twin.do(twin.do(client.session).lock("k").acquire)
    began, told = threading.Event(), threading.Event()
    lock: Any = threading.Lock() if twin.name == "sync" else twin.do(asyncio.Lock)

    def lost(cause: Any) -> None:
        began.set()
        with lock:
            told.set()

    async def alost(cause: Any) -> None:
        began.set()
        async with lock:
            told.set()

    def close() -> None:
        with lock:
            client.close()
            assert began.is_set()
            assert not told.is_set()

    async def aclose() -> None:
        async with lock:
            await client.close()
            assert began.is_set()
            assert not told.is_set()

    twin.do(lambda: held.on_lost(lost if twin.name == "sync" else alost))
    twin.do(close if twin.name == "sync" else aclose)
    assert told.wait(PATIENCE)
    assert "callbacks have not returned yet" in caplog.text


def test_quick_callbacks_have_been_called_when_a_client_is_closed(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    told: list[Any] = []
    for session in [twin.do(client.session) for _ in range(5)]:
        twin.do(lambda session=session: session.on_state(told.append))
    twin.do(client.close)
    assert [change.new for change in told].count(tenure.State.CLOSED) == 5


def test_who_closes_without_a_thread_for_callbacks_can_be_interrupted_and_does_not_call_for_ever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", refuse)
    dispatcher = ThreadDispatcher()
    dispatcher.line().call(interrupted)
    asyncio.run(dispatcher.close())
    with pytest.raises(KeyboardInterrupt):
        dispatcher.join()
    dispatcher.join()

    monkeypatch.setattr(_threads, "CALLBACKS_SECONDS", 0.05)
    dispatcher = ThreadDispatcher()
    line = dispatcher.line()
    told: list[int] = []

    def slow() -> None:
        told.append(1)
        time.sleep(0.1)

    for _ in range(3):
        line.call(slow)
    asyncio.run(dispatcher.close())
    dispatcher.join()
    assert told == [1]
    assert "callbacks have not returned yet" in caplog.text
