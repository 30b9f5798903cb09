"""A forked child cannot use what its parent opened, and does it no harm."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tenure
from tenure import aio, errors


def in_child(function: Callable[[], object]) -> str:
    """Runs a function in a forked child and returns what came of it: the name of its error, or its result."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            told = str(function())
        except BaseException as error:
            told = type(error).__name__
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return told


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_the_sync_client_is_refused_and_the_parent_goes_on(tenure_uri: str) -> None:
    with tenure.connect(tenure_uri) as client, client.session() as session, session.lock("k") as held:
        assert in_child(lambda: session.kv.put("k", "child")) == "ForkedError"
        assert in_child(lambda: client.kv.get("k")) == "ForkedError"
        assert in_child(lambda: session.lock("other").acquire()) == "ForkedError"
        assert in_child(held.check) == "ForkedError"
        assert in_child(lambda: (held.safe, str(held.cause), str(session.state))) == "(False, 'forked', 'CLOSED')"
        assert in_child(held.release) == "False"
        assert in_child(session.close) == "None"
        assert in_child(client.close) == "None"
        assert in_child(lambda: tenure.connect(tenure_uri)) == "ForkedError"
        assert held.safe
        session.kv.put("k", "parent", guards=[held])
        assert client.session_info(session.id).holds == 1
    assert in_child(lambda: tenure.connect(tenure_uri)) == "ForkedError"  # gRPC was used: it would hang.


def test_a_child_that_was_forked_before_may_open_a_client(tenure_uri: str) -> None:
    program = """
import os, sys
import tenure

pid = os.fork()  # Nothing has been opened yet.
with tenure.connect(sys.argv[1]) as client:
    client.kv.put("child" if pid == 0 else "parent", "1")
if pid == 0:
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, tenure_uri], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "0", done.stderr
    with tenure.connect(tenure_uri) as client:
        assert [kv.key for kv in client.kv.list()] == ["child", "parent"]


ADVISED = """
import multiprocessing, sys
import tenure

def work(uri):
    with tenure.connect(uri) as client, client.session() as session, session.lock("child", timeout=60):
        client.kv.put("child", "1")

if __name__ == "__main__":
    uri = sys.argv[1]
    with tenure.connect(uri) as client, client.session() as session, session.lock("parent") as held:
        for method in ("spawn", "forkserver"):
            child = multiprocessing.get_context(method).Process(target=work, args=(uri,))
            child.start()
            child.join()
            print(method, child.exitcode, held.safe)
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_a_forked_child_is_advised_to_do_works(tenure_uri: str, tmp_path: Path) -> None:
    advice = "start the child with multiprocessing's spawn or forkserver, or fork before a client is opened"

    def told(function: Callable[[], object]) -> str:
        try:
            return str(function())
        except errors.ForkedError as error:
            return str(error)

    with tenure.connect(tenure_uri) as client, client.session() as session, session.lock("k") as held:
        for refused in (lambda: client.kv.get("k"), held.check, lambda: tenure.connect(tenure_uri)):
            text = in_child(lambda refused=refused: told(refused))  # type: ignore[misc]
            assert text.endswith(advice), text
    (tmp_path / "advised.py").write_text(ADVISED)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "advised.py"), tenure_uri],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stdout.split() == ["spawn", "0", "True", "forkserver", "0", "True"], done.stderr


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_the_asyncio_client_is_refused_and_the_parent_goes_on(tenure_uri: str) -> None:
    async def use() -> None:
        async with aio.Client(tenure_uri) as client, client.session() as session, session.lock("k") as held:

            def put() -> None:
                session.kv.put("k", "child").send(None)

            assert in_child(put) == "ForkedError"
            assert in_child(lambda: aio.Client(tenure_uri)) == "ForkedError"
            assert in_child(lambda: held.safe) == "False"
            await session.kv.put("k", "parent", guards=[held])
            with pytest.raises(errors.CompareFailed):
                await session.kv.put("k", "again", if_revision=0)

    asyncio.run(use())
