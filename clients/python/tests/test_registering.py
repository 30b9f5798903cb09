"""Registrations whose callers give up, against a member or an agent in memory: nothing of them stays."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import Any

import pytest
from conftest import Twin
from fake import PATIENCE, FakeLink, FakeMember, cancelled, lost, refuse

import tenure
from tenure import _rpc, aio, errors
from tenure.aio import _register
from tenure.v1 import agent_pb2, catalog_pb2


class Late:
    """An answer that comes when it is let through."""

    def __init__(self, answer: Any) -> None:
        self.comes = asyncio.Event()
        self._answer = answer

    async def __call__(self, request: Any) -> Any:
        await self.comes.wait()
        return self._answer


@pytest.mark.parametrize("how", ["cancelled", "timed out"])
def test_a_registration_whose_caller_gave_up_is_taken_back(member: FakeMember, how: str) -> None:
    async def work() -> None:
        answer = member.calls[_rpc.REGISTER_NODE.path] = Late(catalog_pb2.RegisterNodeResponse())
        member.calls[_rpc.DEREGISTER_SERVICE.path] = lambda r: catalog_pb2.DeregisterServiceResponse()
        member.deadlines = True
        async with member.client() as client:
            opening = client.register("web", node="n", timeout=0.05 if how == "timed out" else None)
            registering = asyncio.ensure_future(opening.__aenter__())
            await member.asked_for(_rpc.REGISTER_NODE)
            if how == "cancelled":
                await cancelled(registering)
            else:
                with pytest.raises(errors.DeadlineExceeded):
                    await registering
            again = asyncio.ensure_future(client.register("web", node="n").__aenter__())
            await member.asked_for(_rpc.REGISTER_NODE, 2)
            answer.comes.set()
            await asyncio.wait_for(again, PATIENCE)
            changes = [(p, r) for p, r in member.asked if p in (_rpc.REGISTER_NODE.path, _rpc.DEREGISTER_SERVICE.path)]
            at = [p for p, _ in changes].index(_rpc.DEREGISTER_SERVICE.path)
            assert (changes[at][1].node, changes[at][1].service_id) == ("n", "web")
            # Before it is taken back, it is certain that the first was applied, and the next comes after that.
            keys = [r.options.idempotency_key for _, r in changes]
            assert len(set(keys[:at])) == 1
            assert len(keys[at + 1 :]) == 1
            assert keys[-1] != keys[0]

    asyncio.run(asyncio.wait_for(work(), 2 * PATIENCE))


def test_a_registration_that_is_refused_after_an_answer_was_lost_is_taken_back(member: FakeMember) -> None:
    async def work() -> None:
        def denied(request: Any) -> Any:
            raise errors.PermissionDenied("the right is gone", applied=False)

        member.calls[_rpc.REGISTER_NODE.path] = refuse(1, lost, denied)
        member.calls[_rpc.DEREGISTER_SERVICE.path] = lambda r: catalog_pb2.DeregisterServiceResponse()
        async with member.client() as client:
            with pytest.raises(errors.PermissionDenied) as refusal:
                await client.register("web", node="n").__aenter__()
            assert refusal.value.applied is None
            assert (await member.asked_for(_rpc.DEREGISTER_SERVICE)).service_id == "web"

    asyncio.run(asyncio.wait_for(work(), 2 * PATIENCE))


def test_a_registration_that_an_agent_has_is_taken_back(member: FakeMember, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_register, "Link", lambda address, door: FakeLink(member, address))

    async def work() -> None:
        member.calls[_rpc.GET_AGENT.path] = lambda r: agent_pb2.GetAgentResponse(node="n")
        member.calls[_rpc.ADD_AGENT_SERVICE.path] = lambda r: agent_pb2.AddAgentServiceResponse()
        member.calls[_rpc.REPORT_CHECK.path] = Late(agent_pb2.ReportCheckResponse())
        member.calls[_rpc.REMOVE_AGENT_SERVICE.path] = lambda r: agent_pb2.RemoveAgentServiceResponse()
        async with aio.Agent("fake:1") as agent:
            registering = asyncio.ensure_future(agent.register("web").__aenter__())
            await member.asked_for(_rpc.REPORT_CHECK)
            await cancelled(registering)
            assert (await member.asked_for(_rpc.REMOVE_AGENT_SERVICE)).service_id == "web"

    asyncio.run(asyncio.wait_for(work(), 2 * PATIENCE))


def test_an_agent_that_two_threads_close_deregisters_all_the_same(
    member: FakeMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_register, "Link", lambda address, door: FakeLink(member, address))
    begun, goes_on = threading.Event(), threading.Event()
    removed: list[str] = []

    async def remove(request: Any) -> Any:
        begun.set()
        await asyncio.to_thread(goes_on.wait, PATIENCE)
        removed.append(request.service_id)
        return agent_pb2.RemoveAgentServiceResponse()

    in_sync = agent_pb2.AgentCheck(check=catalog_pb2.Check(check_id="service:web"), in_sync=True)
    member.calls[_rpc.GET_AGENT.path] = lambda r: agent_pb2.GetAgentResponse(node="n")
    member.calls[_rpc.ADD_AGENT_SERVICE.path] = lambda r: agent_pb2.AddAgentServiceResponse()
    member.calls[_rpc.REPORT_CHECK.path] = lambda r: agent_pb2.ReportCheckResponse()
    member.calls[_rpc.LIST_AGENT_CHECKS.path] = lambda r: agent_pb2.ListAgentChecksResponse(checks=[in_sync])
    member.calls[_rpc.REMOVE_AGENT_SERVICE.path] = remove
    agent = tenure.Agent("fake:1")
    agent.register("web")
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        first = threads.submit(agent.close)
        assert begun.wait(PATIENCE)
        second = threads.submit(agent.close)
        with pytest.raises(concurrent.futures.TimeoutError):
            second.result(0.2)
        goes_on.set()
        first.result(PATIENCE)
        second.result(PATIENCE)
    assert removed == ["web"]


def deregistered(member: FakeMember) -> int:
    return len(member.requests(_rpc.DEREGISTER_SERVICE))


def test_what_is_taken_back_is_not_what_somebody_has(member: FakeMember) -> None:
    async def work() -> None:
        member.calls[_rpc.REGISTER_NODE.path] = lambda r: catalog_pb2.RegisterNodeResponse()
        member.calls[_rpc.DEREGISTER_SERVICE.path] = lambda r: catalog_pb2.DeregisterServiceResponse()
        async with member.client() as client:
            async with client.register("web", node="n"):
                answer = member.calls[_rpc.REGISTER_NODE.path] = Late(catalog_pb2.RegisterNodeResponse())
                again = asyncio.ensure_future(client.register("web", node="n").__aenter__())
                await member.asked_for(_rpc.REGISTER_NODE, 2)
                await cancelled(again)
                answer.comes.set()
                async with client.register("other", node="n"):
                    assert deregistered(member) == 0
            assert deregistered(member) == 2

    asyncio.run(asyncio.wait_for(work(), 2 * PATIENCE))


def test_a_registration_waits_until_one_that_began_before_is_settled(member: FakeMember) -> None:
    async def work() -> None:
        answer = member.calls[_rpc.REGISTER_NODE.path] = Late(catalog_pb2.RegisterNodeResponse())
        member.calls[_rpc.DEREGISTER_SERVICE.path] = lambda r: catalog_pb2.DeregisterServiceResponse()
        async with member.client() as client:
            first = asyncio.ensure_future(client.register("web", node="n").__aenter__())
            await member.asked_for(_rpc.REGISTER_NODE)
            second = asyncio.ensure_future(client.register("web", node="n").__aenter__())
            await asyncio.sleep(0.05)
            await cancelled(first)
            answer.comes.set()
            await asyncio.wait_for(second, PATIENCE)
            changes = [p for p, _ in member.asked if p in (_rpc.REGISTER_NODE.path, _rpc.DEREGISTER_SERVICE.path)]
            assert changes[-2:] == [_rpc.DEREGISTER_SERVICE.path, _rpc.REGISTER_NODE.path]

    asyncio.run(asyncio.wait_for(work(), 2 * PATIENCE))


def test_a_registration_in_doubt_when_its_client_closes_is_taken_back(member: FakeMember) -> None:
    async def work() -> None:
        answer = member.calls[_rpc.REGISTER_NODE.path] = Late(catalog_pb2.RegisterNodeResponse())
        member.calls[_rpc.DEREGISTER_SERVICE.path] = lambda r: catalog_pb2.DeregisterServiceResponse()
        async with member.client() as client:
            registering = asyncio.ensure_future(client.register("web", node="n").__aenter__())
            await member.asked_for(_rpc.REGISTER_NODE)
            closing = asyncio.ensure_future(client.close())
            with pytest.raises(errors.ClientClosed) as raised:
                await asyncio.wait_for(registering, PATIENCE)
            assert raised.value.applied is None
            answer.comes.set()
            await closing
            assert deregistered(member) == 1

    asyncio.run(asyncio.wait_for(work(), 2 * PATIENCE))


@pytest.mark.parametrize("steps", range(8))
def test_a_close_that_is_cancelled_goes_on_and_another_waits_for_it(member: FakeMember, steps: int) -> None:
    async def work() -> None:
        member.calls[_rpc.REGISTER_NODE.path] = lambda r: catalog_pb2.RegisterNodeResponse()
        answer = member.calls[_rpc.DEREGISTER_SERVICE.path] = Late(catalog_pb2.DeregisterServiceResponse())
        async with member.client() as client:
            registration = await client.register("web", node="n")
            closing = asyncio.ensure_future(registration.close())
            for _ in range(steps):
                await asyncio.sleep(0)
            closing.cancel()
            again = asyncio.ensure_future(registration.close())
            await member.asked_for(_rpc.DEREGISTER_SERVICE)
            await asyncio.sleep(0.05)
            assert not again.done()
            registering = asyncio.ensure_future(client.register("web", node="n").__aenter__())
            await asyncio.sleep(0.05)
            assert len(member.requests(_rpc.REGISTER_NODE)) == 1  # It must not be what the close deregisters.
            answer.comes.set()
            await asyncio.wait({closing, again}, timeout=PATIENCE)
            assert closing.cancelled()
            assert again.done()
            assert deregistered(member) == 1
            await asyncio.wait_for(registering, PATIENCE)

    asyncio.run(asyncio.wait_for(work(), 2 * PATIENCE))


def test_a_function_that_is_asked_how_its_instance_is_may_close_it(member: FakeMember) -> None:
    async def work() -> None:
        member.calls[_rpc.REGISTER_NODE.path] = lambda r: catalog_pb2.RegisterNodeResponse()
        member.calls[_rpc.DEREGISTER_SERVICE.path] = lambda r: catalog_pb2.DeregisterServiceResponse()
        made: list[aio.Registration] = []

        async def health() -> tenure.Health:
            for registration in made:
                await registration.close()
            return tenure.Health(tenure.CheckStatus.PASSING)

        async with member.client() as client:
            made.append(await client.register("web", node="n", ttl=1, health=health))
            await member.asked_for(_rpc.DEREGISTER_SERVICE)

    asyncio.run(asyncio.wait_for(work(), 2 * PATIENCE))


def test_a_close_leaves_what_was_registered_again_under_the_same_id(member: FakeMember) -> None:
    async def work() -> None:
        member.calls[_rpc.REGISTER_NODE.path] = lambda r: catalog_pb2.RegisterNodeResponse()
        member.calls[_rpc.DEREGISTER_SERVICE.path] = lambda r: catalog_pb2.DeregisterServiceResponse()
        async with member.client() as client:
            first, second = [await client.register("web", node="n") for _ in range(2)]
            await first.close()
            assert deregistered(member) == 0
            answer = member.calls[_rpc.REGISTER_NODE.path] = Late(catalog_pb2.RegisterNodeResponse())
            third = asyncio.ensure_future(client.register("web", node="n").__aenter__())
            await member.asked_for(_rpc.REGISTER_NODE, 3)
            closing = asyncio.ensure_future(second.close())  # It does not know yet whether there is another.
            await asyncio.sleep(0.05)
            answer.comes.set()
            await asyncio.wait_for(closing, PATIENCE)
            assert deregistered(member) == 0
            await (await third).close()
            assert deregistered(member) == 1

    asyncio.run(asyncio.wait_for(work(), 2 * PATIENCE))


def test_a_function_that_does_not_say_in_time_how_its_instance_is_is_named(twin: Twin, tenure_uri: str) -> None:
    ends = threading.Event()

    def health() -> tenure.Health:
        ends.wait(PATIENCE)
        return tenure.Health(tenure.CheckStatus.PASSING)

    async def later() -> tenure.Health:
        return await asyncio.to_thread(health)

    client = twin.client(tenure_uri)
    with pytest.raises(errors.WaitTimeout, match="the health function of 'web' said nothing: not within 1 s") as told:
        twin.do(client.register, "web", node="n", ttl=1, health=health if twin.name == "sync" else later)
    assert told.value.applied is False
    ends.set()


@pytest.mark.parametrize("how", ["closed", "given up"])
def test_a_registration_of_the_same_id_with_another_check_leaves_its_check_to_nobody(
    member: FakeMember, how: str
) -> None:
    async def work() -> None:
        member.calls[_rpc.REGISTER_NODE.path] = lambda r: catalog_pb2.RegisterNodeResponse()
        member.calls[_rpc.DEREGISTER_SERVICE.path] = lambda r: catalog_pb2.DeregisterServiceResponse()
        async with member.client() as client:
            stays = await client.register("web", node="n", check_id="a")
            if how == "closed":
                goes = await client.register("web", node="n", check_id="b")
                await goes.close()
            else:
                answer = member.calls[_rpc.REGISTER_NODE.path] = Late(catalog_pb2.RegisterNodeResponse())
                going = asyncio.ensure_future(client.register("web", node="n", check_id="b").__aenter__())
                await member.asked_for(_rpc.REGISTER_NODE, 2)
                await cancelled(going)
                answer.comes.set()
            await member.asked_for(_rpc.DEREGISTER_SERVICE)
            changes = (_rpc.REGISTER_NODE.path, _rpc.DEREGISTER_SERVICE.path)

            def again() -> bool:
                after = [(p, r) for p, r in member.asked if p in changes][-2:]
                return [p for p, _ in after] == [changes[1], changes[0]] and after[1][1].checks[0].check_id == "a"

            assert again() or how == "given up"
            await member.until(again)
            await stays.close()
            assert deregistered(member) == 2

    asyncio.run(asyncio.wait_for(work(), 2 * PATIENCE))
