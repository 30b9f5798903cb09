"""The package as it is installed: its type hints serve a user's strict type checker."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from importlib import resources
from pathlib import Path

GOOD = """
from __future__ import annotations

import tenure
from tenure import aio
from tenure.v1 import lock_pb2


def work(uri: str) -> int:
    with tenure.connect(uri) as client, client.session(ttl=15) as session:
        with session.lock("k", timeout=5) as held:
            session.kv.put("k", "v", guards=[held])

        @session.elect("e", "me")
        def lead(leadership: tenure.Leadership) -> None:
            leadership.lost.wait()

        @client.on_key("k")
        def told(kv: tenure.KeyValue | None) -> bool:
            return kv is not None

        for event in client.watch(prefix="", initial=True):
            print(event.type, event.key, event.value)
        lead.close()
        told.close()
        return held.token + len(lock_pb2.GetLockRequest(key="k").key)


async def wait(uri: str) -> bool:
    async with aio.Client(uri) as client, client.session() as session:
        held = await session.lock("k").try_acquire()
        leader = await client.leader("e")
        return held is not None and held.safe and leader is not None and leader.value == b"me"
"""

WRONG = """
import tenure

with tenure.connect("tenure://localhost") as client, client.session() as session:
    session.lock(7)
    for event in client.watch():
        print(event.revision + "")
    with session.lock("k") as held:
        print(held.tokens)
"""


def test_the_package_says_that_it_is_typed_and_brings_the_types_of_the_stubs() -> None:
    package = resources.files("tenure")
    assert package.joinpath("py.typed").is_file()
    stubs = {f.name for f in package.joinpath("v1").iterdir()}
    assert {"lock_pb2.py", "lock_pb2.pyi", "lock_pb2_grpc.py"} <= stubs
    assert {n.removesuffix(".pyi") for n in stubs if n.endswith(".pyi")} == {
        n.removesuffix(".py") for n in stubs if n.endswith("_pb2.py")
    }


def test_an_installation_leaves_nothing_in_the_checkout(tmp_path: Path) -> None:
    folder = Path(__file__).parent.parent
    checkout = tmp_path / "checkout" / "python"
    for source in ("pyproject.toml", "README.md", "backend.py", "MANIFEST.in"):
        checkout.mkdir(parents=True, exist_ok=True)
        shutil.copy(folder / source, checkout / source)
    shutil.copytree(folder / "src", checkout / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    before = {p.relative_to(checkout) for p in checkout.rglob("*")}
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-input", "--disable-pip-version-check"]
    done = subprocess.run(
        [*command, "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path / "wheels"), str(checkout)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    asked = "import backend; backend.get_requires_for_build_wheel()"  # As pip does, unless it builds without isolation.
    subprocess.run([sys.executable, "-c", asked], cwd=checkout, timeout=600, check=True)
    assert {p.relative_to(checkout) for p in checkout.rglob("*")} == before
    (wheel,) = (tmp_path / "wheels").iterdir()
    names = zipfile.ZipFile(wheel).namelist()
    assert {"tenure/py.typed", "tenure/v1/lock_pb2.py", "tenure/v1/lock_pb2.pyi"} <= set(names)
    assert not [n for n in names if "backend" in n or "test_" in n]


def test_a_users_strict_type_checker_knows_the_package(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [*command, "good.py", "wrong.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    told = [line.partition(": error: ")[0] for line in done.stdout.splitlines()]
    assert told == ["wrong.py:5", "wrong.py:7", "wrong.py:9"], done.stdout + done.stderr
