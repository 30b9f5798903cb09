"""Recipes that are used again, by sessions that end meanwhile, against a real member."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from conftest import Twin, until

import tenure
from tenure import FenceGate, Op, Sequencer


def test_a_double_barrier_is_ready_anew_in_each_round(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    barriers = [twin.do(client.session).double_barrier("d", 2) for _ in range(2)]
    revisions = []
    for _ in range(3):
        entering = twin.spawn(barriers[0].enter)
        until(lambda: len(twin.all(client.kv.list("d/members/"))) == 1)
        assert twin.do(client.kv.get, "d/ready") is None
        assert not entering.done()
        twin.do(barriers[1].enter)
        entering.result(60)
        revisions.append(twin.do(client.kv.get, "d/ready").mod_revision)
        leaving = twin.spawn(barriers[0].leave)
        twin.do(barriers[1].leave)
        leaving.result(60)
        assert twin.all(client.kv.list("d/")) == []
    assert revisions == sorted(set(revisions))


def test_a_session_that_ends_ends_the_wait_in_a_double_barrier(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)
    entering = twin.spawn(session.double_barrier("d", 2).enter)
    until(lambda: twin.all(client.kv.list("d/members/")))
    twin.do(session.close)
    with pytest.raises(tenure.SessionClosed):
        entering.result(60)


def test_a_barrier_is_its_key_and_no_other(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    twin.do(client.kv.put, "b/more", "1")
    twin.do(client.barrier("b").wait, 60)


def test_a_transaction_returns_what_it_put(twin: Twin, tenure_uri: str) -> None:
    client = twin.client(tenure_uri)
    session = twin.do(client.session)
    result = twin.do(session.kv.txn, [], [Op.put("a", "1"), Op.get("a"), Op.put("b", b"2", ephemeral=True)])
    a, again, b = result.results
    assert (a.value, again.value, b.value) == (b"1", b"1", b"2")
    assert (a.bound_session_id, b.bound_session_id) == ("", session.id)
    twin.do(session.close)
    assert [kv.key for kv in twin.all(client.kv.list())] == ["a"]


def test_a_gate_sees_to_it_that_its_file_survives_a_crash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bool] = []
    fsync = os.fsync

    def note(fd: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(fd).st_mode))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note)
    FenceGate(tmp_path / "tokens.json").check(Sequencer("k", 1, "s", 7))
    assert synced == [False, True]
