"""What a program is told that passes a value of the wrong kind: its name, and what to pass instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Twin

import tenure
from tenure.testing import Member, MemberFailed


def watching(name: str) -> Callable[[Any, Any], Any]:
    """Returns what watches with one text where there may be several."""
    return lambda client, _: client.watch(**{name: "abc"})


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
    "a timeout of text for a call": (
        lambda client, _: client.kv.get("k", timeout="3"),
        "a time is a number of seconds, not '3'",
    ),
    "a timeout of text for a cache": (
        lambda client, _: client.cache("k", timeout="3"),
        "a time is a number of seconds, not '3'",
    ),
    "a TTL of text for a check": (
        lambda client, _: client.register("web", ttl="15s"),
        "a time is a number of seconds, not '15s'",
    ),
    "text as guards": (lambda client, _: client.kv.put("k", "v", guards="held"), "as in guards=[held]"),
    "one check": (lambda client, _: client.session(checks="abc"), "checks is several str, as in ['abc'], not one str"),
    "one tag": (
        lambda client, _: client.register("web", tags="abc"),
        "tags is several str, as in ['abc'], not one str",
    ),
    "bytes as tags": (lambda client, _: client.register("web", tags=b"abc"), "tags is several str, as in [b'abc']"),
    "one tag of a query": (
        lambda client, _: client.queries.create(tenure.Query(service="web", tags="abc")),
        "tags is several str",
    ),
    "one check of a query": (
        lambda client, _: client.queries.create(tenure.Query(service="web", ignore_checks="abc")),
        "ignore_checks is several str",
    ),
    "one tag of a fallback": (
        lambda client, _: client.queries.create(
            tenure.Query(service="web", fallbacks=[tenure.QueryFallback(tags="abc")])
        ),
        "tags is several str",
    ),
    "one text as a range": (lambda client, _: client.watch(key_range="ab"), "key_range is several str"),
    "three keys as a range": (lambda client, _: client.watch(key_range=("a", "b", "c")), "a first key and an end"),
    **{
        f"one text as {name}": (
            watching(name),
            f"{name} is several str, as in ['abc'], not one str",
        )
        for name in ("keys", "prefixes", "locks", "lock_prefixes", "session_ids", "nodes", "services")
    },
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


def test_no_tags_of_a_query_are_none() -> None:
    none: Any = None
    fallback = tenure.QueryFallback(tags=none)
    query = tenure.Query(service="web", tags=none, ignore_checks=none, fallbacks=[fallback])
    assert query.message("") == tenure.Query(service="web", fallbacks=[tenure.QueryFallback()]).message("")


def test_bytes_of_any_kind_are_values(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    for value in (b"v", bytearray(b"v"), memoryview(b"v"), "v"):
        twin.do(client.kv.put, "k", value)
        assert twin.do(client.kv.get, "k").value == b"v"


@pytest.mark.parametrize("timeout", [None, "3"])
@pytest.mark.parametrize("make", [tenure.Client, tenure.connect, tenure.Agent, tenure.aio.Client, tenure.aio.Agent])
def test_a_timeout_of_a_client_is_a_number(make: Any, timeout: Any) -> None:
    with pytest.raises(TypeError, match="a time is a number of seconds"):
        make("localhost", timeout=timeout)


def test_one_flag_is_not_several() -> None:
    with pytest.raises(TypeError, match="flags is several str"):
        Member(flags="--http")


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
