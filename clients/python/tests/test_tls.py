"""TLS: whom a client trusts, what it says when that fails, and files that are replaced while it runs."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from conftest import PATIENCE, Seen, Twin
from tls_proxy import CERTS, TLSProxy, context

import tenure
from tenure import errors
from tenure.testing import Member

ONE_CA = f"ca_file={CERTS}/one/ca.crt"
CLIENT = f"cert_file={CERTS}/one/client.crt&key_file={CERTS}/one/client.key"
OF_TWO = f"cert_file={CERTS}/two/client.crt&key_file={CERTS}/two/client.key"


class Secured:
    """A member that is reached through a proxy with TLS only."""

    def __init__(self) -> None:
        self.proxy = TLSProxy(context("one"))
        self.member = Member(flags=["--advertise", self.proxy.address])
        self.member.start()
        self.proxy.target = self.member.address
        self.address = self.proxy.address

    def close(self) -> None:
        self.proxy.close()
        self.member.close()


@pytest.fixture(scope="module")
def secured_member() -> Iterator[Secured]:
    with contextlib.closing(Secured()) as made:
        yield made


@pytest.fixture
def secured(secured_member: Secured) -> Iterator[Secured]:
    yield secured_member
    secured_member.proxy.secure(context("one"))


def put(twin: Twin, uri: str, **options: Any) -> None:
    twin.do(twin.client(uri, timeout=PATIENCE, **options).kv.put, "k", b"v")


def fails(twin: Twin, uri: str, why: str, **options: Any) -> None:
    """Makes sure that TLS fails at the first call, and that the error says why."""
    with pytest.raises(errors.TLSFailed) as failed:
        put(twin, uri, **options)
    assert why in str(failed.value)
    assert failed.value.applied is False


def test_a_ca_by_argument(twin: Twin, secured: Secured) -> None:
    put(twin, secured.address, ca_file=f"{CERTS}/one/ca.crt")


def test_a_ca_by_connection_string(twin: Twin, secured: Secured) -> None:
    put(twin, f"tenures://{secured.address}/app?{ONE_CA}")


def test_a_ca_by_environment(twin: Twin, secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_CA_FILE", f"{CERTS}/one/ca.crt")
    put(twin, secured.address)


def test_credentials_of_the_programs_own(twin: Twin, secured: Secured) -> None:
    put(twin, secured.address, credentials=grpc.ssl_channel_credentials((CERTS / "one" / "ca.crt").read_bytes()))


def test_a_server_name(twin: Twin, secured: Secured) -> None:
    secured.proxy.secure(context("one", "elsewhere"))
    put(twin, f"{secured.address}?{ONE_CA}&server_name=elsewhere.test")
    fails(twin, f"{secured.address}?{ONE_CA}", "is for another name: connect by a name that it has, or set server_name")


def test_an_authority_that_is_not_trusted(twin: Twin, secured: Secured) -> None:
    fails(twin, f"tenures://{secured.address}", "is not signed by a trusted authority: set ca_file")
    fails(twin, f"{secured.address}?ca_file={CERTS}/two/ca.crt", "is not signed by a trusted authority: set ca_file")


def test_a_certificate_that_has_expired(twin: Twin, secured: Secured) -> None:
    secured.proxy.secure(context("one", "expired"))
    client = twin.client(f"{secured.address}?{ONE_CA}", timeout=PATIENCE)
    for call in (client.wait_connected, client.session, lambda: client.kv.get("k"), lambda: client.cache("k")):
        with pytest.raises(errors.TLSFailed, match="has expired or is not valid yet"):
            twin.do(call)
    secured.proxy.secure(context("one"))
    twin.do(client.kv.put, "k", b"v")  # It was renewed.


def test_a_member_that_demands_a_certificate(twin: Twin, secured: Secured) -> None:
    secured.proxy.secure(context("one", demand=True))
    put(twin, f"{secured.address}?{ONE_CA}&{CLIENT}")
    fails(twin, f"{secured.address}?{ONE_CA}", "demands a client certificate: set cert_file and key_file")
    fails(twin, f"{secured.address}?{ONE_CA}&{OF_TWO}", "refuses the client certificate")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("ca_file=/none", "ca_file /none: No such file"),
        (f"ca_file={CERTS}/one/member.key", "has no certificate in PEM form"),
        (f"cert_file={CERTS}/one/client.crt&key_file={CERTS}/two/client.key", "are not a pair"),
    ],
)
def test_files_of_no_use(query: str, why: str) -> None:
    with pytest.raises(errors.TLSFailed) as failed:
        tenure.Client(f"h1?{query}")
    assert why in str(failed.value)


def copy(folder: str, to: Path) -> None:
    """Replaces each file at once, as programs do that issue certificates."""
    for name in ("ca.crt", "client.crt", "client.key"):
        shutil.copy(CERTS / folder / name, to / f"{name}.new")
        (to / f"{name}.new").rename(to / name)


def test_files_are_read_for_each_connection(twin: Twin, secured: Secured, seen: Seen, tmp_path: Path) -> None:
    copy("one", tmp_path)
    secured.proxy.secure(context("one", demand=True))
    files = f"ca_file={tmp_path}/ca.crt&cert_file={tmp_path}/client.crt&key_file={tmp_path}/client.key"
    client = twin.client(f"{secured.address}?ttl=10m&{files}", timeout=PATIENCE)
    session = twin.do(client.session, on_state=seen)
    for folder in ("two", "one"):
        copy(folder, tmp_path)
        secured.proxy.secure(context(folder, demand=True))
        twin.do(session.kv.put, "k", folder)
    seen.wait(lambda items: items[-1].new is tenure.State.CONNECTED)
    before = len(seen.items)
    (tmp_path / "client.key").unlink()
    secured.proxy.cut()
    seen.wait_state(tenure.State.SUSPENDED, before)  # What fails later is a link that is down.
    with pytest.raises(errors.DeadlineExceeded):
        twin.do(session.kv.get, "k", timeout=0.1)
    copy("one", tmp_path)
    assert twin.do(session.kv.get, "k").value == b"one"
