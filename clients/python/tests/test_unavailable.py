"""What a program is told when no member can be reached: why, for each address."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

import tenure
from tenure import errors
from tenure.testing import Member

SHORT_SECONDS = 0.3
PATIENCE = 300.0


def tells(uri: str, what: str) -> None:
    """Connects and calls until both errors say this: on a slow machine it may be late at first."""
    deadline = time.monotonic() + PATIENCE
    with tenure.Client(uri, timeout=SHORT_SECONDS) as client:
        while True:
            with pytest.raises(errors.Unavailable) as connecting:
                client.wait_connected(SHORT_SECONDS)
            with pytest.raises(errors.Unavailable) as calling:
                client.kv.get("k")
            told = str(connecting.value), str(calling.value)
            if all(what in text for text in told):
                return
            assert time.monotonic() < deadline, told


def test_that_nobody_listens() -> None:
    tells("tenure://127.0.0.1:1,127.0.0.1:2", "127.0.0.1:1 (connection refused)")
    tells("tenure://127.0.0.1:1,127.0.0.1:2", "127.0.0.1:2 (connection refused)")


def test_that_the_port_is_for_http(tenure_member: Member) -> None:
    address = tenure_member.http_address
    tells(f"tenure://{address}", f"{address} (it speaks HTTP/1: is this an HTTP port?")


def test_that_the_port_is_for_peers(tenure_member: Member) -> None:
    address = tenure_member._addresses["peer"]
    tells(f"tenure://{address}", f"{address} (it does not serve Tenure's API: is this a peer port?)")


def test_that_the_member_has_no_tls(tenure_member: Member) -> None:
    address = tenure_member.address
    tells(f"tenures://{address}", f"{address} (it has no TLS: use tenure://)")


def test_that_the_member_may_demand_tls() -> None:
    with demanding_tls() as address:
        tells(f"tenure://{address}", f"{address} (it closed the connection: if it demands TLS, use tenures://)")


@contextlib.contextmanager
def demanding_tls() -> Iterator[str]:
    """Answers whoever connects with a fatal alert, and closes the connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return  # The test is over.
            with connection, contextlib.suppress(OSError):
                connection.recv(1)
                connection.sendall(bytes([0x15, 3, 3, 0, 2, 2, 40]))
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1024):
                    pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield "{}:{}".format(*listener.getsockname())
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
