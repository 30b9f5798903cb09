"""The operations of the Python conformance agent on services and checks."""

from __future__ import annotations

from typing import Any

from conformance_agent import Agent, Json, milliseconds
from conformance_ops import CALL_SECONDS, only, op

import tenure


@op("machine.open")
async def _machine_open(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "address")
    if a.asyncio:
        machine: Any = tenure.aio.Agent(args["address"], timeout=CALL_SECONDS)
        await machine.__aenter__()
    else:
        machine = await a.do(tenure.Agent, args["address"], timeout=CALL_SECONDS)
    a.objects[name] = machine
    a.clients.append(machine)
    return {}


@op("machine.close")
async def _machine_close(a: Agent, on: Any, name: str, args: Json) -> Json:
    await a.do(on.close)
    a.clients.remove(on)
    return {}


@op("service.register")
async def _service_register(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "name", "id", "node", "port", "ttl_ms", "wait_ms")
    options: Json = {k: args[k] for k in ("id", "node", "port") if k in args}
    if "ttl_ms" in args:
        options["ttl"] = args["ttl_ms"] / 1000
    registration = await a.do(on.register, args["name"], timeout=milliseconds(args, "wait_ms"), **options)
    a.objects[name] = registration
    return {"id": registration.id, "node": registration.node, "check": registration.check_id}


@op("service.set")
async def _service_set(a: Agent, on: Any, name: str, args: Json) -> Json:
    await a.do(on.set, tenure.CheckStatus[args["status"].upper()], args.get("output", ""))
    return {}


@op("service.close")
async def _service_close(a: Agent, on: Any, name: str, args: Json) -> Json:
    await a.do(on.close)
    return {}


@op("services.open")
async def _services_open(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "services", "wait_ms")
    services = await a.do(on.service_list, *args["services"], timeout=milliseconds(args, "wait_ms"))
    a.objects[name] = services
    changes = services.changes()

    async def follow() -> None:
        while True:
            more, found = await a.next_of(changes)
            if not more:
                return
            shown = {service: [f"{i.node}/{i.id}" for i in instances] for service, instances in found.items()}
            a.event("services.changed", name, shown)

    a.follow(services, follow())
    return {}


@op("services.get")
async def _services_get(a: Agent, on: Any, name: str, args: Json) -> Json:
    found = on.instances(args["name"])
    return {"instances": [{"id": i.id, "node": i.node, "address": i.address, "port": i.port} for i in found]}
