"""A forked child cannot use what its parent opened, and does it no harm."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

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
    with tenure.connect(tenure_uri) as client, client.session(ttl=2) as session, session.lock("k") as held:
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
    # Nothing is open now: a child may open a client of its own.
    assert in_child(lambda: _value(tenure_uri)) == "parent"


def _value(uri: str) -> str:
    with tenure.connect(uri) as client:
        kv = client.kv.get("k")
        assert kv is not None
        return kv.text


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_of_the_asyncio_client_is_refused_and_the_parent_goes_on(tenure_uri: str) -> None:
    async def use() -> None:
        async with aio.Client(tenure_uri) as client, client.session(ttl=2) as session, session.lock("k") as held:

            def put() -> None:
                session.kv.put("k", "child").send(None)

            assert in_child(put) == "ForkedError"
            assert in_child(lambda: aio.Client(tenure_uri)) == "ForkedError"
            assert in_child(lambda: held.safe) == "False"
            await session.kv.put("k", "parent", guards=[held])
            with pytest.raises(errors.CompareFailed):
                await session.kv.put("k", "again", if_revision=0)

    asyncio.run(use())
