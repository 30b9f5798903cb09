"""Changes go straight to the leader, and through the client's own member where that cannot be reached."""

from __future__ import annotations

import asyncio
import concurrent.futures
import re
import threading
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import PATIENCE, Twin, until
from fake import Dice, FakeLink, FakeMember

from tenure import _rpc, aio, errors
from tenure.aio import _connection, _leader
from tenure.testing import Cluster, Member
from tenure.v1 import cluster_pb2, kv_pb2, types_pb2

OWN, FIRST, SECOND = ADDRESSES = ("fake:1", "fake:2", "fake:3")


class FakeCluster:
    """Three members in memory; clients connect to the first."""

    def __init__(self) -> None:
        self.members = {address: FakeMember() for address in ADDRESSES}
        self.leader = ""  # Empty: nobody leads.
        self.unreachable: set[str] = set()
        self.connected: list[str] = []  # Where connections were made, or tried.
        self.puts: list[tuple[str, bytes]] = []  # Where puts arrived, and what makes each of them happen once.
        for number, address in enumerate(ADDRESSES, 1):
            self._equip(address, number)

    def _equip(self, address: str, number: int) -> None:
        member = self.members[address]

        def put(request: Any) -> kv_pb2.PutResponse:
            id = request.options.request_id
            self.puts.append((address, request.options.idempotency_key or b"%d" % id.sequence))
            return kv_pb2.PutResponse()

        def members(request: Any) -> cluster_pb2.ListMembersResponse:
            if address in self.unreachable:
                raise errors.LinkLost("refused", applied=False)
            answer = cluster_pb2.ListMembersResponse(header=types_pb2.ResponseHeader(member_id=number))
            for id, other in enumerate(ADDRESSES, 1):
                answer.members.add(id=id, client_address=other, leader=other == self.leader)
            return answer

        member.calls[_rpc.PUT.path] = put
        member.calls[_rpc.GET.path] = lambda r: kv_pb2.GetResponse()
        member.calls[_rpc.LIST_MEMBERS.path] = members

    def connect(self, address: str, door: object) -> FakeLink:
        """Makes a connection."""
        self.connected.append(address)
        link = FakeLink(self.members[address], address)
        self.members[address].links.append(link)
        return link

    def open_links(self, address: str) -> int:
        """Returns how many connections to a member there are."""
        return sum(not link.broken for link in self.members[address].links)

    async def until_puts_go_to(self, address: str, put: Callable[[], Any]) -> None:
        """Puts until that arrives at a member."""
        for _ in range(int(PATIENCE / 0.01)):
            await put()
            if self.puts[-1][0] == address:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"no put arrived at {address}; the last at {self.puts[-1][0]}")

    async def until_closed(self, address: str) -> None:
        """Waits until there is no connection to a member."""
        for _ in range(int(PATIENCE / 0.01)):
            if not self.open_links(address):
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"a connection to {address} is left")


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """Makes clients connect to members in memory, and look at them often."""
    made = FakeCluster()
    monkeypatch.setattr(_connection, "Link", made.connect)
    monkeypatch.setattr(_leader, "LOOK_SECONDS", 0.02)
    return made


def run(
    fakes: FakeCluster, work: Callable[[Any, Any], Any], *, timeout: float = 10.0, members_seconds: float = 0.02
) -> None:
    """Runs a test with a client and a session."""

    async def whole() -> None:
        client = aio.Client(f"tenure://{OWN}", rng=Dice(), timeout=timeout, members_seconds=members_seconds)
        async with client, client.session() as session:
            await asyncio.wait_for(work(client, session), PATIENCE)

    asyncio.run(whole())
    assert not any(fakes.open_links(address) for address in ADDRESSES)


def test_changes_go_to_the_leader_and_all_else_to_the_own_member(
    fakes: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(client: Any, session: Any) -> None:
        async def put() -> None:
            await session.kv.put("k", "v")
            await client.kv.put("k", "v")

        await put()
        assert {at for at, _ in fakes.puts} == {OWN}
        assert fakes.connected == [OWN]  # Nobody leads.
        for leader, before in ((FIRST, ""), (SECOND, FIRST)):
            fakes.leader = leader
            await fakes.until_puts_go_to(leader, put)
            fakes.puts.clear()
            await put()
            assert [at for at, _ in fakes.puts] == [leader, leader]
            if before:
                await fakes.until_closed(before)
        await client.kv.get("k")
        renewals = len(fakes.members[OWN].requests(_rpc.KEEP_ALIVE))
        await session.close()
        async with client.session() as another:
            await fakes.members[OWN].asked_for(_rpc.KEEP_ALIVE, renewals + 1)
            await another.kv.put("k", "v")
        assert client.connected_to == OWN
        for address in (FIRST, SECOND):
            assert {path for path, _ in fakes.members[address].asked} == {_rpc.LIST_MEMBERS.path, _rpc.PUT.path}
        # A connection that is not used is closed.
        monkeypatch.setattr(_leader, "IDLE_SECONDS", 0.05)
        await fakes.until_closed(SECOND)
        await fakes.until_puts_go_to(SECOND, lambda: client.kv.put("k", "v"))
        # The own member is the leader: there is no other connection.
        fakes.leader = OWN
        await fakes.until_closed(SECOND)
        await fakes.until_puts_go_to(OWN, lambda: client.kv.put("k", "v"))
        assert fakes.open_links(OWN) == 1

    run(fakes, work)


async def never(request: Any) -> Any:
    await asyncio.Event().wait()


def dead(fakes: FakeCluster) -> None:
    fakes.unreachable.add(FIRST)
    fakes.members[FIRST].cut()


def answer_lost(fakes: FakeCluster) -> None:
    put = fakes.members[FIRST].calls[_rpc.PUT.path]

    def lose(request: Any) -> Any:
        put(request)
        fakes.members[FIRST].calls[_rpc.PUT.path] = put
        raise errors.LinkLost("lost", applied=None)

    fakes.members[FIRST].calls[_rpc.PUT.path] = lose


def refusing(error: type[errors.TenureError], applied: bool | None = False) -> Callable[[FakeCluster], None]:
    def begin(fakes: FakeCluster) -> None:
        def refuse(request: Any) -> Any:
            raise error("refused", applied=applied)

        fakes.members[FIRST].calls[_rpc.PUT.path] = refuse

    return begin


def silent(next_leader: str) -> Callable[[FakeCluster], None]:
    def silence(fakes: FakeCluster) -> None:
        fakes.leader = next_leader
        fakes.members[FIRST].calls[_rpc.PUT.path] = never

    return silence


@pytest.mark.parametrize("kind", ["client", "session"])
@pytest.mark.parametrize(
    ("fail", "arrivals", "left"),
    [
        (dead, [OWN], True),
        (answer_lost, [FIRST, OWN], True),
        (refusing(errors.NotLeader), [OWN], True),
        (refusing(errors.NoLeader), [OWN], True),
        (refusing(errors.Stopping), [OWN], True),
        (refusing(errors.TooManyRequests), [OWN], False),
        (refusing(errors.OutcomeUnknown, None), [OWN], False),
        (silent(""), [OWN], True),
        (silent(SECOND), [OWN], True),
    ],
    ids=[
        "dead",
        "answer lost",
        "not leader",
        "no leader",
        "stopping",
        "too many requests",
        "outcome unknown",
        "silent",
        "silent and replaced",
    ],
)
def test_a_change_that_fails_at_the_leader_is_made_once_by_the_own_member(
    fakes: FakeCluster,
    monkeypatch: pytest.MonkeyPatch,
    fail: Callable[[FakeCluster], None],
    arrivals: list[str],
    left: bool,
    kind: str,
) -> None:
    fakes.leader = FIRST
    monkeypatch.setattr(_leader, "PAUSE_SECONDS_MIN", 6 * PATIENCE)

    async def work(client: Any, session: Any) -> None:
        kv = (session if kind == "session" else client).kv
        await fakes.until_puts_go_to(FIRST, lambda: kv.put("k", "v"))
        fakes.puts.clear()
        fail(fakes)
        await kv.put("k", "v")
        assert [at for at, _ in fakes.puts] == arrivals
        assert len({id for _, id in fakes.puts}) == 1
        assert client.connected_to == OWN
        asked = len(fakes.members[FIRST].requests(_rpc.PUT))
        await kv.put("k", "v")  # The next one knows.
        assert len(fakes.members[FIRST].requests(_rpc.PUT)) == asked + (not left)

    # Attempts have far longer than the test, and the list of members is asked for only in doubt.
    run(fakes, work, timeout=6 * PATIENCE, members_seconds=6 * PATIENCE)


def test_a_leader_that_is_slow_is_not_left(fakes: FakeCluster) -> None:
    fakes.leader = FIRST

    async def work(client: Any, session: Any) -> None:
        await fakes.until_puts_go_to(FIRST, lambda: client.kv.put("k", "v"))
        first, own = fakes.members[FIRST], fakes.members[OWN]
        put, slow = first.calls[_rpc.PUT.path], asyncio.Event()

        async def wait(request: Any) -> Any:
            await slow.wait()
            return put(request)

        first.calls[_rpc.PUT.path] = wait
        fakes.puts.clear()
        putting = asyncio.ensure_future(client.kv.put("k", "v"))
        await own.asked_for(_rpc.LIST_MEMBERS, len(own.requests(_rpc.LIST_MEMBERS)) + 5)  # Each time it says the same.
        slow.set()
        await putting
        assert [at for at, _ in fakes.puts] == [FIRST]

    run(fakes, work, timeout=6 * PATIENCE, members_seconds=6 * PATIENCE)


def test_a_leader_that_cannot_be_reached_is_seldom_tried(fakes: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    fakes.leader = FIRST
    fakes.unreachable.add(FIRST)
    monkeypatch.setattr(_leader, "PAUSE_SECONDS_MIN", 0.05)

    async def work(client: Any, session: Any) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        while fakes.connected.count(FIRST) < 4:
            await client.kv.put("k", "v")
            await session.kv.put("k", "v")
            await asyncio.sleep(0.001)
        assert loop.time() - began >= 0.05 + 0.1 + 0.2
        assert {at for at, _ in fakes.puts} == {OWN}
        assert len(fakes.puts) == len({id for _, id in fakes.puts})
        fakes.unreachable.clear()  # And another leader is tried at once.
        fakes.leader = SECOND
        monkeypatch.setattr(_leader, "PAUSE_SECONDS_MIN", 6 * PATIENCE)
        await fakes.until_puts_go_to(SECOND, lambda: client.kv.put("k", "v"))

    run(fakes, work)


def test_changes_go_on_at_the_leader_while_the_client_has_no_member(fakes: FakeCluster) -> None:
    fakes.leader = FIRST

    async def work(client: Any, session: Any) -> None:
        await fakes.until_puts_go_to(FIRST, lambda: client.kv.put("k", "v"))
        fakes.unreachable.update({OWN, SECOND})
        fakes.members[OWN].cut()
        fakes.puts.clear()
        await client.kv.put("k", "v")
        assert [at for at, _ in fakes.puts] == [FIRST]
        fakes.unreachable.clear()

    run(fakes, work)


def test_a_client_that_is_closed_ends_what_is_under_way_at_the_leader(fakes: FakeCluster) -> None:
    fakes.leader = FIRST

    async def work(client: Any, session: Any) -> None:
        await fakes.until_puts_go_to(FIRST, lambda: client.kv.put("k", "v"))
        fakes.members[FIRST].calls[_rpc.PUT.path] = never
        asked = len(fakes.members[FIRST].requests(_rpc.PUT))
        putting = asyncio.ensure_future(client.kv.put("k", "v"))
        await fakes.members[FIRST].asked_for(_rpc.PUT, asked + 1)
        await client.close()
        with pytest.raises(errors.ClientClosed) as raised:
            await putting
        assert raised.value.applied is None

    run(fakes, work, timeout=6 * PATIENCE)


# Members that are processes, and both clients.


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster(3) as made:
        yield made


def leaders(client: Any, twin: Twin, cluster: Cluster) -> list[Member]:
    """Returns the member that leads, if one does."""
    addresses = [m.client_address for m in twin.do(client.members) if m.leader]
    return [m for m in cluster.members if m.address in addresses]


def puts(member: Member) -> int:
    """Returns how many puts of clients a member has answered, by its own count."""
    with urllib.request.urlopen(f"http://{member.http_address}/metrics", timeout=PATIENCE) as answer:
        metrics = answer.read().decode()
    counts = re.findall(r"^tenure_server_requests_total\{.*KVService/Put.*\} (\d+)$", metrics, re.MULTILINE)
    return sum(int(n) for n in counts)


@pytest.mark.parametrize("failure", ["kill", "pause", "stop"])
def test_no_change_is_lost_or_made_twice_while_leaders_fail(cluster: Cluster, twin: Twin, failure: str) -> None:
    first = twin.client(cluster.uri)
    leader = until(lambda: leaders(first, twin, cluster))[0]
    follower = next(m for m in cluster.members if m is not leader)
    client = twin.client(f"{follower.uri}/leader", timeout=PATIENCE)
    session = twin.do(client.session)
    keys = [f"{kind}-{n}" for kind in ("client", "session") for n in range(4)]
    done = dict.fromkeys(keys, 0)
    over = threading.Event()

    def write(key: str) -> None:
        kv = (client if key.startswith("client") else session).kv
        while not over.is_set():
            assert twin.do(kv.put, key, "v").version == done[key] + 1
            done[key] += 1

    with concurrent.futures.ThreadPoolExecutor(max_workers=len(keys)) as threads:
        writers = [threads.submit(write, key) for key in keys]

        def until_each_has_written() -> None:
            wanted = {key: n + 5 for key, n in done.items()}
            until(lambda: any(w.done() for w in writers) or all(done[key] >= n for key, n in wanted.items()))

        try:
            until(lambda: any(w.done() for w in writers) or puts(leader) > 0)  # They go to the leader itself.
            getattr(leader, failure)()
            until_each_has_written()
            if failure == "pause":
                leader.resume()
            else:
                leader.start()
            until_each_has_written()
        finally:
            over.set()
        for writer in writers:
            writer.result(PATIENCE)
    for key in keys:
        assert twin.do(client.kv.get, key).version == done[key]
