"""Starts the real program once for all tests: one member on a temporary store, on ports the system chooses."""

import json
import os
import pathlib
import subprocess
import sys

import grpc
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
START_SECONDS = 60
STOP_SECONDS = 30

sys.path.insert(0, str(ROOT / "gen" / "python"))


def wait_for_addresses(process, data_dir):
    """Returns what the member wrote to addresses.json, or fails when it ends or takes too long."""
    path = data_dir / "addresses.json"
    for _ in range(START_SECONDS * 20):
        try:
            return json.loads(path.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            pass
        try:
            code = process.wait(timeout=0.05)
        except subprocess.TimeoutExpired:
            continue
        raise RuntimeError(f"tenure serve ended with {code} before it had addresses")
    raise RuntimeError(f"tenure serve wrote no {path} within {START_SECONDS} s")


@pytest.fixture(scope="session")
def addresses(tmp_path_factory):
    binary = os.environ.get("TENURE_BINARY")
    if not binary:
        pytest.fail("TENURE_BINARY must name the tenure program; make test-python sets it")
    data_dir = tmp_path_factory.mktemp("member")
    log = (data_dir.parent / "serve.log").open("w+")
    process = subprocess.Popen(
        [binary, "serve", "--dev", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--peer", "127.0.0.1:0",
         "--data-dir", str(data_dir)],
        stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    try:
        yield wait_for_addresses(process, data_dir)
    finally:
        process.terminate()
        try:
            code = process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = "no end within %d s" % STOP_SECONDS
        log.seek(0)
        print(log.read())
        log.close()
    assert code == 0, f"tenure serve ended with {code} after SIGTERM, want 0"


@pytest.fixture
def channel(addresses):
    with grpc.insecure_channel(addresses["grpc"]) as channel:
        grpc.channel_ready_future(channel).result(timeout=START_SECONDS)
        yield channel
