"""The examples of docs/clients/python.md run as they stand there, against a member of the test's own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tenure.testing import Member

PAGE = Path(__file__).resolve().parents[3] / "docs" / "clients" / "python.md"
README = Path(__file__).resolve().parents[1] / "README.md"
SECONDS = 120


def examples(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


def asked_to_end(code: str) -> bool:
    """Whether an example runs until it is sent SIGTERM; test_shutdown runs those."""
    return "SIGTERM" in code


def short(page: Path) -> list[str]:
    return [code for code in examples(page) if not asked_to_end(code)]


def run(code: str, member: Member, *arguments: str, python: str = sys.executable) -> str:
    code = re.sub(r"(localhost|127\.0\.0\.1):7400", member.address, code)
    done = subprocess.run(
        [python, *arguments, "-"], input=code, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, f"{code}\nended with {done.returncode}:\n{done.stderr}"
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize("number", range(len(short(PAGE))))
def test_an_example_of_the_page_runs(number: int, tenure_member: Member) -> None:
    told = run(short(PAGE)[number], tenure_member)
    wants = [
        "with token",
        "",
        "is stale",
        "10.0.0.1:8080 on web1\nCHECK_CRITICAL",
        "10.0.0.9:80 by fallback 2\n",
        "leader: http",
        "SYNCED",
        "still mine: disk True",
        "1",
    ]
    assert wants[number] in told


def test_the_readme_runs(tenure_member: Member) -> None:
    (code,) = examples(README)
    assert "it is my turn" in run(code, tenure_member)


def test_the_page_begins_with_ten_lines_that_work() -> None:
    first = examples(PAGE)[0]
    assert PAGE.read_text().index(first) < 100
    assert len(first.splitlines()) <= 10


def test_the_users_path_of_the_page_leads_to_a_held_lock(tenure_member: Member, tmp_path: Path) -> None:
    """Runs what the page's shell commands write; that the wheel installs is shown by how the tests run."""
    (script,) = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    program = re.search(r"<<'PY'\n(.*?)^PY$", script, re.DOTALL | re.MULTILINE)
    assert program is not None
    assert "held with token" in run(textwrap.dedent(program[1]), tenure_member)


# What pip says when it cannot reach the index, or is cut off.
NO_INDEX = re.compile(
    r"Connection|[Tt]imed out|Temporary failure|name resolution|HTTP error|IncompleteRead|SSLError|from versions: none"
)

PATH_SECONDS = 300.0
PATH_TRIES = 4


@pytest.mark.skipif(
    "1" not in (os.environ.get("TENURE_SOAK"), os.environ.get("TENURE_CI")),
    reason="installs from a package index; the long form and CI do it",
)
def test_the_users_path_takes_at_most_five_minutes(tenure_member: Member, tmp_path: Path) -> None:
    """Runs the page's shell commands from an empty folder, once more if the network fails, in five minutes in all."""
    (script,) = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    script = script.replace("localhost:7400", tenure_member.address)
    environment = {**os.environ, "TENURE": str(PAGE.parents[2])}
    environment.pop("PYTHONPATH", None)
    begun = time.monotonic()
    for number in range(PATH_TRIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        code, told = run_script(script, folder, environment, begun + PATH_SECONDS)
        if code == 0 or not NO_INDEX.search(told):
            break
    assert code == 0, told
    assert "held with token" in told
    assert time.monotonic() - begun <= PATH_SECONDS


def run_script(script: str, folder: Path, environment: dict[str, str], deadline: float) -> tuple[int, str]:
    """Runs shell commands, and kills at the deadline all that they began. Returns the exit code and what was said."""
    log = folder / "said"
    with log.open("wb") as said:
        shell = subprocess.Popen(
            ["bash", "-eu", "-c", script],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
    try:
        code = shell.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
        raise AssertionError(f"not within {PATH_SECONDS} s:\n{log.read_text(errors='replace')}") from None
    return code, log.read_text(errors="replace")
