"""Threads, interrupts, callbacks and event loops: what users do to a client."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest
from conftest import PATIENCE, Seen, until
from fake import ADDRESS, Dice, FakeMember, in_queue

import tenure
from tenure import _rpc, aio, errors
from tenure.sync import _portal
from tenure.sync._portal import Portal
from tenure.v1 import session_pb2

# Callbacks.


def test_callbacks_go_on_after_one_that_fails_exits_or_was_cancelled(tenure_uri: str, seen: Seen) -> None:
    def fail(change: Any) -> None:
        raise ValueError("on purpose")

    def leave(change: Any) -> None:
        sys.exit(1)

    with tenure.connect(tenure_uri) as client:
        for callback in (fail, leave, seen):
            client.on_state(callback)
        seen.wait_count(1)

    async def use() -> None:
        told = asyncio.Event()

        async def cancelled(change: Any) -> None:
            raise asyncio.CancelledError

        async def tell(change: Any) -> None:
            told.set()

        async with aio.Client(tenure_uri) as client:
            for callback in (fail, cancelled, tell):
                client.on_state(callback)
            await asyncio.wait_for(told.wait(), PATIENCE)

    asyncio.run(use())


def test_a_callback_may_close_the_client(tenure_uri: str) -> None:
    client = tenure.connect(tenure_uri)
    client.on_state(lambda change: client.close())
    until(lambda: client.closed and client._portal.closed)

    async def use() -> None:
        client = await aio.connect(tenure_uri)
        closed = asyncio.Event()

        async def close(change: tenure.StateChange) -> None:
            if change.new is tenure.State.CLOSED:
                closed.set()
            await client.close()

        client.on_state(close)
        await closed.wait()

    asyncio.run(asyncio.wait_for(use(), PATIENCE))


def test_callbacks_run_neither_in_the_callers_thread_nor_in_the_librarys(tenure_uri: str, seen: Seen) -> None:
    with tenure.connect(tenure_uri) as client, client.session() as session:
        session.on_state(lambda change: seen(threading.current_thread().name))
        held = session.lock("k").acquire(on_queued=lambda place: seen(threading.current_thread().name))
        held.on_lost(lambda cause: seen((threading.current_thread().name, session.lock("k").acquire().release())))
        held.release()
        seen.wait(lambda items: ("tenure-callbacks", True) in items)
        assert {i for i in seen.items if isinstance(i, str)} == {"tenure-callbacks"}


# Elections.


def test_what_stands_for_election_stands_again_after_an_operator_broke_its_wait(tenure_uri: str) -> None:
    with tenure.connect(tenure_uri) as client, client.session() as first, client.session() as second:
        held = first.lock("e").acquire()
        led = threading.Event()

        @second.elect("e")
        def lead(leadership: tenure.Leadership) -> None:
            led.set()
            leadership.lost.wait()

        (place,) = until(lambda: client.lock_info("e").places)
        client.break_lock("e", "a test", session_id=second.id, owner=place.owner)
        (again,) = until(lambda: [p for p in client.lock_info("e").places if p.owner != place.owner])
        assert again.session_id == second.id
        held.release()
        assert led.wait(PATIENCE)
        lead.close()


# Interrupts.


def test_ctrl_c_ends_a_wait_and_leaves_no_place(tenure_uri: str) -> None:
    program = """
import os, signal, sys, threading
import tenure

signal.signal(signal.SIGINT, signal.default_int_handler)  # Who runs the tests may ignore it.
client = tenure.connect(sys.argv[1])
session, other = client.session(), client.session()
held = session.lock("k").acquire()
queued = lambda place: os.kill(os.getpid(), signal.SIGINT)
try:
    other.lock("k").acquire(on_queued=queued)
except KeyboardInterrupt:
    pass
else:
    raise SystemExit("not interrupted")
event = threading.Event()
while client.lock_info("k").waiters:
    event.wait(0.01)
held.release()
assert other.lock("k").acquire(timeout=30).release()
client.close()
print("ok")
"""
    done = subprocess.run(
        [sys.executable, "-c", program, tenure_uri], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("ok", "")


def test_an_interrupt_at_any_moment_of_a_call_leaves_the_client_usable() -> None:
    program = """
import asyncio, random, signal
from tenure.sync import _portal
from tenure.sync._portal import Portal

portal = Portal()
interrupts = 0
signal.signal(signal.SIGALRM, signal.default_int_handler)
for _ in range(3000):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 6e-4))
        portal.run(asyncio.sleep(0.0002))
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupts += 1
assert portal.call(lambda: 7) == 7
portal.close()
print("ok" if interrupts > 100 else interrupts)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.strip() == "ok"


def test_a_grant_that_comes_with_an_interrupt_is_undone() -> None:
    """The result is there, and the thread that waits for it is interrupted before it gets it."""
    portal = Portal()
    undone: list[str] = []
    interrupted = portal.call(asyncio.Event)

    def interrupt(number: int, frame: Any) -> None:
        portal._loop.call_soon_threadsafe(interrupted.set)
        raise KeyboardInterrupt

    async def acquire() -> str:
        os.kill(os.getpid(), signal.SIGUSR1)
        await interrupted.wait()  # The caller hears of it while this goes on and cannot be stopped any more.
        return "held"

    async def stubborn() -> str:
        task = asyncio.ensure_future(acquire())
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                continue
        return task.result()

    async def undo(result: str) -> None:
        undone.append(result)

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            portal.run(stubborn(), undo=undo)
        until(lambda: undone == ["held"])
    finally:
        signal.signal(signal.SIGUSR1, before)
        portal.close()


def test_a_resume_that_is_interrupted_just_after_it_succeeded_can_be_tried_again(
    tenure_uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = _portal._await

    def interrupted(done: Any) -> None:
        monkeypatch.setattr(_portal, "_await", wait)
        wait(done)
        raise KeyboardInterrupt

    with tenure.connect(tenure_uri) as before, tenure.connect(tenure_uri) as client:
        session = before.session()
        session.lock("k").acquire()
        text = session.export()
        monkeypatch.setattr(_portal, "_await", interrupted)
        with pytest.raises(KeyboardInterrupt):
            client.resume(text)
        until(lambda: not client._aio._sessions)  # Nobody renews it.
        resumed = client.resume(text)
        assert (resumed.id, resumed.epoch) == (session.id, 2)
        (held,) = resumed.holds()
        assert held.safe


def test_a_program_that_closes_nothing_ends_all_the_same(tenure_uri: str) -> None:
    program = """
import sys
import tenure

client = tenure.connect(sys.argv[1])
session = client.session()
held = session.lock("k").acquire()
client.on_key("k")(lambda kv: None)
watch = client.watch(prefix="")
watch.start()
print("ok")
"""
    done = subprocess.run(
        [sys.executable, "-c", program, tenure_uri], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "ok", "")


# Closing.


def test_calls_of_a_closed_client_say_so_and_those_that_wait_end(tenure_uri: str) -> None:
    client = tenure.connect(tenure_uri)
    session, other = client.session(), client.session()
    held = session.lock("k").acquire()
    failed: list[BaseException] = []
    queued = threading.Event()

    def wait() -> None:
        try:
            other.lock("k").acquire(on_queued=lambda place: queued.set())
        except Exception as error:
            failed.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert queued.wait(PATIENCE)
    client.close()
    waiting.join(PATIENCE)
    assert isinstance(failed[0], (errors.SessionClosed, errors.ClientClosed))
    for call in (
        lambda: client.kv.get("k"),
        client.session,
        lambda: session.kv.put("k", "1"),
        lambda: session.lock("k").acquire(),
        lambda: next(client.watch(prefix="")),
    ):
        with pytest.raises((errors.ClientClosed, errors.SessionClosed)):
            call()
    assert not held.safe
    assert not held.release()
    client.close()


def test_calls_that_race_with_the_end_of_the_client_end_too(tenure_uri: str) -> None:
    for _ in range(5):
        client = tenure.connect(tenure_uri)
        begun = threading.Semaphore(0)
        ended: list[BaseException] = []

        def call(client: tenure.Client = client, begun: Any = begun, ended: Any = ended) -> None:
            try:
                while True:
                    client.kv.get("k")
                    begun.release()
            except Exception as error:
                ended.append(error)

        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for _ in range(16):
            assert begun.acquire(timeout=PATIENCE)
        client.close()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert {type(e) for e in ended} == {errors.ClientClosed}


# Event loops.


def test_an_asyncio_client_says_when_it_is_used_in_another_loop(tenure_uri: str) -> None:
    client = aio.Client(tenure_uri)

    async def put() -> None:
        await client.kv.put("k", "1")

    async def close() -> None:
        await client.close()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(put())
    with pytest.raises(RuntimeError, match="event loop"):
        asyncio.run(put())
    loop.run_until_complete(close())
    loop.close()


@pytest.mark.parametrize("how", ["timeout", "cancel", "group"])
def test_asyncio_ways_to_give_up_leave_no_place(member: FakeMember, how: str) -> None:
    async def work() -> None:
        member.streams[_rpc.ACQUIRE_LOCK.path] = in_queue(member)
        async with member.client() as client, client.session() as session:
            acquiring = session.lock("k").acquire()
            if how == "timeout":
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(acquiring, 0.05)
            elif how == "cancel":
                task = asyncio.ensure_future(acquiring)
                await member.asked_for(_rpc.ACQUIRE_LOCK)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            else:
                both = asyncio.gather(acquiring, session.lock("other").acquire())
                await member.asked_for(_rpc.ACQUIRE_LOCK, 2)
                both.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await both
            count = 2 if how == "group" else 1
            await member.asked_for(_rpc.CANCEL_WAIT, count)

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_threads_that_close_a_client_at_once_all_wait_for_its_end(member: FakeMember) -> None:
    """The second one does not take the loop away from the first, whose sessions are not destroyed yet."""
    gate = threading.Event()

    async def destroy(request: Any) -> Any:
        await asyncio.to_thread(gate.wait)
        return session_pb2.DestroySessionResponse()

    member.calls[_rpc.DESTROY_SESSION.path] = destroy
    client = tenure.Client(f"tenure://{ADDRESS}", rng=Dice())
    client.session()
    failed: list[BaseException] = []

    def close() -> None:
        try:
            client.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=close) for _ in range(2)]
    threads[0].start()
    until(lambda: member.requests(_rpc.DESTROY_SESSION))
    threads[1].start()
    threads[1].join(2.0)
    waits = threads[1].is_alive()
    gate.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert (waits, failed, client._portal.closed) == (True, [], True)
