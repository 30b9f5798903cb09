"""Services that a program registers, lists of what passes, sessions with checks: with real members and agents."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import PATIENCE, Seen, Twin, until
from tls_proxy import CERTS

import tenure
from tenure import CheckStatus, Health, aio, errors
from tenure.testing import Member
from tenure.testing._member import find_binary


@pytest.fixture(scope="module")
def cataloged() -> Iterator[Member]:
    """A member whose catalog is used."""
    with Member() as member, tenure.Client(member.uri) as client:

        def used() -> bool:
            try:
                client.register("first", node="first").close()
            except errors.FeatureNotEnabled:
                return False
            return True

        until(used)
        yield member


def shown(services: Any, name: str) -> list[str]:
    return [f"{i.node}/{i.id}" for i in services.instances(name)]


def test_a_session_ends_when_its_check_turns_critical(twin: Twin, cataloged: Member) -> None:
    client = twin.client(cataloged.uri)
    registration = twin.do(client.register, "bound", node="bound-" + twin.name)
    bound = {"node": registration.node, "checks": [registration.check_id]}
    session = twin.do(client.session, ttl=6, **bound)
    free = twin.do(client.session, node=registration.node)
    default = twin.do(client.session, node=registration.node, default_check=True)
    twin.do(registration.set, CheckStatus.WARNING, "slow")
    assert not twin.do(client.session_info, session.id).ended
    twin.do(registration.set, CheckStatus.CRITICAL, "down")
    info = twin.do(client.session_info, session.id)
    assert info.ended
    assert info.end_cause == "CHECK_CRITICAL"
    until(lambda: session.state is tenure.State.CLOSED)
    assert not twin.do(client.session_info, free.id).ended
    assert not twin.do(client.session_info, default.id).ended
    with pytest.raises(errors.CheckCritical):
        twin.do(client.session, **bound)
    with pytest.raises(errors.CheckNotFound):
        twin.do(client.session, node=registration.node, checks=["none"])
    with pytest.raises(errors.NodeNotFound):
        twin.do(client.session, node="none", checks=["none"])
    with pytest.raises(ValueError, match="exclude"):
        twin.do(client.session, checks=["none"], default_check=True)


def test_a_service_list_sees_instances_come_and_go(twin: Twin, cataloged: Member, seen: Seen) -> None:
    client, name = twin.client(cataloged.uri), "follows-" + twin.name
    services = twin.do(client.service_list, name, "other")
    twin.do(services.on_change, seen)
    changes = services.changes()
    assert twin.next(changes) == {name: (), "other": ()}
    one = twin.do(client.register, name, id="f1", node="f-n1", address="10.0.0.1", port=80, tags=["b", "a"])
    assert [i.id for i in twin.next(changes)[name]] == ["f1"]
    (instance,) = services.instances(name)
    assert (instance.address, instance.port, instance.tags, instance.weight) == ("10.0.0.1", 80, ("a", "b"), 1)
    two = twin.do(client.register, name, id="f2", node="F-n2")
    until(lambda: shown(services, name) == ["f-n1/f1", "F-n2/f2"])
    move = ["catalog", "register", "f-n2", "--address", "10.0.0.2", "--endpoints", cataloged.address]
    subprocess.run([find_binary(), *move], check=True, capture_output=True)
    until(lambda: services.instances(name)[1].address == "10.0.0.2")
    twin.do(two.set, CheckStatus.CRITICAL)
    until(lambda: shown(services, name) == ["f-n1/f1"])
    twin.do(two.set, CheckStatus.PASSING)
    until(lambda: shown(services, name) == ["f-n1/f1", "F-n2/f2"])
    twin.do(one.close)
    until(lambda: shown(services, name) == ["F-n2/f2"])
    with pytest.raises(errors.ClientClosed):
        twin.do(one.set, CheckStatus.PASSING)
    seen.wait(lambda items: [len(i[name]) for i in items][-1:] == [1])
    twin.do(services.close)
    assert shown(services, name) == ["F-n2/f2"]
    twin.all(changes)


def test_a_service_list_knows_the_checks_of_the_node_of_a_newcomer(twin: Twin, cataloged: Member) -> None:
    client, name = twin.client(cataloged.uri), "newcomer-" + twin.name
    services = twin.do(client.service_list, name)

    def disk(status: str) -> None:
        arguments = [
            "catalog",
            "register",
            name,
            "--check",
            "disk",
            "--status",
            status,
            "--endpoints",
            cataloged.address,
        ]
        subprocess.run([find_binary(), *arguments], check=True, capture_output=True)

    disk("critical")
    twin.do(client.register, name, id="n1", node=name)
    twin.do(client.register, name, id="n2", node=name + "-2")
    until(lambda: shown(services, name) == [f"{name}-2/n2"])
    disk("passing")
    until(lambda: shown(services, name) == [f"{name}/n1", f"{name}-2/n2"])


def test_the_program_says_how_its_instance_is(twin: Twin, cataloged: Member) -> None:
    client, name = twin.client(cataloged.uri), "health-" + twin.name
    services = twin.do(client.service_list, name)
    says: list[Any] = [Health(CheckStatus.PASSING)]
    hangs, free = threading.Event(), threading.Event()

    def health() -> Health:
        if hangs.is_set():
            free.wait()
        if isinstance(says[0], BaseException):
            raise says[0]
        return says[0]  # type: ignore[no-any-return]

    async def later() -> Health:
        if hangs.is_set():
            await twin_hangs.wait()
        return health()

    twin_hangs = asyncio.Event()
    function: Any = health if twin.name == "sync" else later
    registration = twin.do(client.register, name, node=name, ttl=1, health=function)
    until(lambda: shown(services, name))
    for said in (Health(CheckStatus.WARNING), RuntimeError("no"), SystemExit("no"), Health(7), "passing"):  # type: ignore[arg-type]
        says[0] = said
        until(lambda: not shown(services, name))
        says[0] = Health(CheckStatus.PASSING)
        until(lambda: shown(services, name))
    with pytest.raises(ValueError, match="health function"):
        twin.do(registration.set, CheckStatus.PASSING)
    hangs.set()
    until(lambda: not shown(services, name))
    twin.do(registration.close)  # It does not wait for the function.
    free.set()


def test_a_closed_client_deregisters_its_services(twin: Twin, cataloged: Member) -> None:
    client, name = twin.client(cataloged.uri), "leaves-" + twin.name
    services = twin.do(client.service_list, name)
    other = twin.client(cataloged.uri)
    twin.do(other.register, name, node=name)
    until(lambda: shown(services, name))
    twin.do(other.close)
    until(lambda: not shown(services, name))


@pytest.mark.parametrize("mistake", [{"name": ""}, {"ttl": 0.5}, {"port": 65_536}, {"node": "a b"}])
def test_what_cannot_be_registered_is_refused(twin: Twin, cataloged: Member, mistake: dict[str, Any]) -> None:
    client = twin.client(cataloged.uri)
    with pytest.raises((ValueError, errors.InvalidArgument)):
        twin.do(client.register, **{"name": "a", **mistake})


class AgentProcess:
    """One process of `tenure agent`."""

    def __init__(self, member: Member, directory: Path, *more: str) -> None:
        self._arguments = ["--node", "m1", "--data-dir", str(directory), "--http", "", "--gossip", "off"]
        self._arguments += ["--endpoints", member.address, *more]
        self._environment = dict(os.environ)
        self.address = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [find_binary(), "agent", "--listen", self.address, *self._arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self._environment,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.match(r"tenure: agent node=\S+ grpc=(\S+)", line):
                self.address = found[1]
                return
        raise AssertionError("the agent did not serve")

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def agent_process(cataloged: Member, tmp_path: Path) -> Iterator[AgentProcess]:
    process = AgentProcess(cataloged, tmp_path / "agent")
    yield process
    process.kill()


def test_an_agent_keeps_the_check_of_a_registration(
    twin: Twin, cataloged: Member, agent_process: AgentProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, name = twin.client(cataloged.uri), "kept-" + twin.name
    services = twin.do(client.service_list, name)
    monkeypatch.setenv("TENURE_AGENT", agent_process.address)
    monkeypatch.setenv("TENURE_CA_FILE", "not/there")  # It is of the members.
    monkeypatch.setenv("TENURE_TOKEN", "secret")
    agent: Any = twin.do(tenure.Agent if twin.name == "sync" else aio.Agent)
    kept = twin.do(agent.register, name, id="k1", port=80, ttl=60)
    session = twin.do(client.session, node=kept.node, checks=[kept.check_id])  # The catalog has it by now.
    until(lambda: shown(services, name) == ["m1/k1"])
    agent_process.kill()
    agent_process.start()
    twin.do(kept.set, CheckStatus.PASSING, "again")
    assert kept.error is None
    assert not twin.do(client.session_info, session.id).ended
    twin.do(agent.close)
    until(lambda: not shown(services, name))
    assert twin.do(client.session_info, session.id).ended


@pytest.mark.parametrize("address", ["a,b", "a/b", "a?ttl=1s", "a:b"])
def test_an_address_that_is_none_of_an_agent_is_refused(twin: Twin, address: str) -> None:
    with pytest.raises(ValueError, match=r"address of an agent|a:b"):
        twin.do(tenure.Agent if twin.name == "sync" else aio.Agent, address)


def test_an_agent_with_tls(twin: Twin, cataloged: Member, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"ca_file": "ca.crt", "cert_file": "client.crt", "key_file": "client.key"}
    own = {name: str(CERTS / "one" / file) for name, file in files.items()}
    flags = {"--listen-cert-file": "member.crt", "--listen-key-file": "member.key", "--client-ca-file": "ca.crt"}
    more = [f"{flag}={CERTS}/one/{file}" for flag, file in flags.items()]
    process = AgentProcess(cataloged, tmp_path / "agent", *more, "--client-auth=require")
    opened: Any = tenure.Agent if twin.name == "sync" else aio.Agent

    def register(address: str, **options: Any) -> None:
        agent: Any = twin.do(opened, address, timeout=PATIENCE, **options)
        try:
            twin.do(agent.register, "tls-" + twin.name)
        finally:
            twin.do(agent.close)

    try:
        register(process.address, **own)
        register(f"tenures://{process.address}", **own)
        for options in ({}, {"ca_file": own["ca_file"]}):  # The system's CAs, and no certificate.
            with pytest.raises(errors.TLSFailed):
                register(f"tenures://{process.address}", **options)
        for address, options in (
            (f"tenure://{process.address}", own),
            (f"tenures://{process.address}/app", own),
            (process.address, {**own, "token": "secret"}),
            (process.address, {**own, "key_file": ""}),
        ):
            with pytest.raises(ValueError, match=r"."):
                register(address, **options)

        # The environment says the rest once the address asks for TLS. A token there is for members.
        for name, path in own.items():
            monkeypatch.setenv(f"TENURE_{name.upper()}", path)
        monkeypatch.setenv("TENURE_TOKEN_FILE", "not/there")
        monkeypatch.setenv("TENURE_AGENT", f"tenures://{process.address}")
        register("")
    finally:
        process.kill()
