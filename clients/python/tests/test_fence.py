"""FenceGate, and the text that sequencers travel in."""

from __future__ import annotations

from pathlib import Path

import pytest

import tenure
from tenure import FenceGate, Sequencer

SESSION = "6f1c0b0e-4a57-4c39-9d6a-0c0f5d1b2a3e"


def proof(token: int, key: str = "k") -> Sequencer:
    return Sequencer(key, 1, SESSION, token)


def test_a_gate_refuses_a_token_below_the_largest_it_has_seen() -> None:
    gate = FenceGate()
    assert gate.check(proof(5)) == 5
    assert gate.check(proof(5)) == 5
    assert gate.check(proof(7).to_text()) == 7
    with pytest.raises(tenure.StaleToken) as caught:
        gate.check(proof(5))
    assert caught.value.metadata == {"key": "k", "token": "5", "largest": "7"}
    assert gate.check(proof(1, "other")) == 1


def test_a_gate_with_a_file_remembers(tmp_path: Path) -> None:
    path = tmp_path / "tokens.json"
    FenceGate(path).check(proof(7))
    with pytest.raises(tenure.StaleToken):
        FenceGate(path).check(proof(6))
    FenceGate(path).check(proof(8))


def test_a_gate_takes_a_hold_but_not_a_shared_one(tenure_uri: str) -> None:
    gate = FenceGate()
    with tenure.connect(tenure_uri) as client, client.session() as session:
        with session.lock("k") as first:
            assert gate.check(first) == first.token
        with session.lock("k") as second:
            gate.check(second)
        with pytest.raises(tenure.StaleToken):
            gate.check(first)
        with session.rwlock("shared").read as shared, pytest.raises(ValueError, match="EXCLUSIVE"):
            gate.check(shared)
