"""Fixtures for pytest: `tenure_member`, one member for all tests, and `tenure_uri`, a namespace for each test."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

import pytest

from tenure.testing._member import Member


@pytest.fixture(scope="session")
def tenure_member() -> Iterator[Member]:
    """A member that runs until all tests have ended."""
    with Member() as member:
        yield member


@pytest.fixture
def tenure_uri(tenure_member: Member) -> str:
    """A connection string for one test, with its own namespace."""
    return f"{tenure_member.uri}/test-{secrets.token_hex(6)}"
