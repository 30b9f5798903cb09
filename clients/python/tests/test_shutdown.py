"""What becomes of the locks and places of a process that is asked to end, as the page has it."""

from __future__ import annotations

import concurrent.futures
import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from conftest import until
from test_docs import PAGE, asked_to_end, examples

import tenure

SOON_SECONDS = 300.0
KEY = "jobs/nightly"
NAMES = ("at once", "after a step", "asyncio")
RECIPES = dict(zip(NAMES, (code for code in examples(PAGE) if asked_to_end(code)), strict=True))


@contextlib.contextmanager
def program(code: str, uri: str) -> Iterator[subprocess.Popen[bytes]]:
    code = code.replace("tenure://localhost:7400/app", uri)
    assert uri in code
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def uri(tenure_uri: str) -> str:
    """A connection string by which nothing ends of itself while a test waits."""
    return f"{tenure_uri}?ttl=1h&lock_delay=60s"


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_next_has_the_lock_of_a_process_that_was_asked_to_end(recipe: str, uri: str) -> None:
    with (
        program(RECIPES[recipe], uri) as process,
        tenure.connect(uri) as client,
        client.session() as session,
        concurrent.futures.ThreadPoolExecutor() as threads,
    ):
        holder = until(lambda: client.lock_info(KEY).holds)[0].session_id
        with client.watch(locks=[KEY]) as watch:
            wait = threads.submit(session.lock(KEY).acquire, SOON_SECONDS)
            until(lambda: client.lock_info(KEY).waiters)
            asked_at = time.perf_counter()
            process.send_signal(signal.SIGTERM)
            next_held = wait.result()
            print(f"{recipe}: the next has the lock {time.perf_counter() - asked_at:.3f} s after SIGTERM")
            next_held.release()
            happened = []
            for event in watch:
                happened.append(event.type)
                if event.type is tenure.EventType.LOCK_GRANTED:
                    break
        assert tenure.EventType.LOCK_DELAY_BEGUN not in happened
        assert process.wait(SOON_SECONDS) == 0
        assert client.session_info(holder).end_cause == "DESTROYED"
        assert (client.kv.get("stopped") is not None) == (recipe == "after a step")


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_process_that_was_asked_to_end_leaves_its_place_in_the_queue(recipe: str, uri: str) -> None:
    with tenure.connect(uri) as client, client.session() as session, session.lock(KEY) as held:
        with program(RECIPES[recipe], uri) as process:
            until(lambda: client.lock_info(KEY).waiters)
            process.send_signal(signal.SIGTERM)
            assert process.wait(SOON_SECONDS) == 0
        assert client.lock_info(KEY).waiters == 0
        assert held.safe
