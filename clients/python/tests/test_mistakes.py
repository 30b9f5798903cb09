"""What a program is told that passes a value of the wrong kind: its name, and what to pass instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Twin

import tenure
from tenure.testing import Member, MemberFailed

MISTAKES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a number as a value": (lambda client, _: client.kv.put("k", 5), "a value is bytes or str, not int"),
    "None as a value": (lambda client, _: client.kv.put("k", None), "a value is bytes or str, not NoneType"),
    "None as a value in a transaction": (
        lambda client, _: client.kv.txn(then=[tenure.Op.put("k", None)]),  # type: ignore[arg-type]
        "a value is bytes or str, not NoneType",
    ),
    "bytes as a key": (lambda client, _: client.kv.get(b"k"), "a key is a str, not bytes"),
    "one guard": (lambda client, _: client.kv.put("k", "v", guards=5), "as in guards=[held]"),
    "a TTL of text": (lambda client, _: client.session(ttl="15s"), "a time is a number of seconds, not '15s'"),
    "a timeout of text": (
        lambda _, session: session.lock("k").acquire("5s"),
        "a time is a number of seconds, not '5s'",
    ),
    "a value of a lock": (
        lambda _, session: session.lock("k").acquire(value=5),
        "a value is bytes or str, not int",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_value_of_the_wrong_kind_is_named(twin: Twin, tenure_uri: str, name: str) -> None:
    call, want = MISTAKES[name]
    client = twin.client(tenure_uri)
    session = twin.do(client.session)
    with pytest.raises(TypeError) as told:
        twin.do(call, client, session)
    assert want in str(told.value)
    assert twin.do(client.kv.get, "k") is None


@pytest.mark.parametrize(("value", "error"), [(5, TypeError), ("\ud800", UnicodeEncodeError)])
def test_a_release_with_a_value_of_the_wrong_kind_changes_nothing(
    twin: Twin, tenure_uri: str, value: Any, error: type[Exception]
) -> None:
    session = twin.do(twin.client(tenure_uri).session)
    held = twin.do(session.lock("k").acquire)
    with pytest.raises(error):
        twin.do(held.release, put=value)
    assert held.safe
    assert twin.do(held.release, put="v")


def test_bytes_of_any_kind_are_values(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    for value in (b"v", bytearray(b"v"), memoryview(b"v"), "v"):
        twin.do(client.kv.put, "k", value)
        assert twin.do(client.kv.get, "k").value == b"v"


def test_a_list_is_not_a_connection_string() -> None:
    with pytest.raises(TypeError, match="a connection string is a str"):
        tenure.Client(["h1:7400", "h2:7400"])  # type: ignore[arg-type]


def test_a_wait_names_the_key_as_its_program_does(twin: Twin, tenure_uri: str) -> None:
    session = twin.do(twin.client(tenure_uri).session, name="me")
    twin.do(session.lock("k").acquire)
    full = twin.do(session.lock("k").attempt).holds[0].sequencer.key
    assert full.endswith("/k")
    for timeout, what in (0, "is not free"), (0.5, "was not granted within 0.5 s"):
        with pytest.raises(tenure.WaitTimeout) as told:
            twin.do(session.lock("k").acquire, timeout)
        assert str(told.value) == f"'k' (in the cluster {full!r}) {what}: held by 'me' (session {session.id})"


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    member = Member(binary=str(tmp_path / "missing"))
    why = r"cannot run .*missing: No such file or directory; see TENURE_BINARY"
    with pytest.raises(MemberFailed, match=why), member:
        pass
    assert not member.directory.exists()
