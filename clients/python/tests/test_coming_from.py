"""The examples of docs/coming-from.md in Python run as they stand there."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_docs import examples, run

from tenure.testing import Member

PAGE = Path(__file__).resolve().parents[3] / "docs" / "coming-from.md"


@pytest.mark.parametrize("number", range(len(examples(PAGE))))
def test_the_code_for_those_who_come_from_elsewhere_runs(number: int, tenure_member: Member) -> None:
    assert run(examples(PAGE)[number], tenure_member).startswith("worked with token")


def test_the_page_has_code_in_python() -> None:
    assert examples(PAGE)
