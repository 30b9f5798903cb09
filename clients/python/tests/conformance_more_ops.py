"""The operations of the Python conformance agent on watches, elections and recipes."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from conformance_agent import Agent, Json, kind_of, milliseconds
from conformance_ops import OPS, acquire, keep, kv_value, ms, only, op

import tenure
from tenure import EventType, errors

# Watches.


@op("watch.open")
async def _watch_open(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "keys", "prefixes", "locks", "session_ids", "all_sessions", "nodes", "services", "all_queries",
         "initial", "after_revision", "resume_token")  # fmt: skip
    watch = await a.do(on.watch, **args)
    await a.do(watch.start)
    a.objects[name] = watch
    a.follow(watch, _follow_watch(a, watch, name))
    return {}


async def _follow_watch(a: Agent, watch: Any, name: str) -> None:
    present: list[tenure.KeyValue] = []
    items: list[Json] = []
    kind = ""
    try:
        while events := await a.do(watch.batch):
            changes = 0
            for event in events:
                if event.type is EventType.RESET:
                    present, items = [], []
                elif event.type is EventType.PRESENT:
                    present += [event.kv] if event.kv is not None else []
                    items += [_item(event.item)] if event.item is not None else []
                elif event.type is EventType.SYNCED:
                    kvs = [kv_value(kv) for kv in present]
                    a.event("watch.initial", name, {"kvs": kvs, "items": items, "revision": event.revision})
                else:
                    changes += 1
                    a.event("watch.event", name, _event(event))
            if changes:
                a.event("watch.token", name, {"resume_token": watch.resume_token})
    except Exception as error:
        kind = kind_of(error)
    a.event("watch.ended", name, {"kind": kind})


def _item(item: Any) -> Json:
    if isinstance(item, tenure.NodeInfo):
        return {"node": item.name, "address": item.address}
    if isinstance(item, tenure.ServiceInfo):
        return {"service": item.name, "id": item.id, "node": item.node, "port": item.port}
    if isinstance(item, tenure.CheckInfo):
        return {"check": item.id, "node": item.node, "status": item.status.name.lower()}
    return {"query": item.name, "id": item.id, "session": item.session_id}


def _event(event: tenure.Event) -> Json:
    value: Json = {"type": str(event.type).lower(), "revision": event.revision, "index": event.index}
    if event.item is not None:
        value["item"] = _item(event.item)
    if event.previous_status is not None:
        value["previous_status"] = event.previous_status.name.lower()
    session = ""
    if event.hold is not None:
        session = event.hold.session_id
    elif event.place is not None:
        session = event.place.session_id
    elif event.session is not None:
        session = event.session.session_id
    elif event.kv is not None:
        session = event.kv.session_id
    cause = event.cause or (event.session.end_cause if event.session is not None else "")
    for field, what in (("key", event.key), ("session", session), ("cause", cause)):
        if what:
            value[field] = what.lower() if field == "cause" else what
    if event.type is EventType.PUT and event.kv is not None:
        value["value"] = event.kv.text
    return value


async def _close(a: Agent, on: Any, name: str, args: Json) -> Json:
    await a.do(on.close)
    follower = a.followers.pop(id(on), None)
    if follower is not None:
        await asyncio.wait({follower})
    return {}


OPS["watch.close"] = OPS["x.close"] = _close


# Elections.


@op("election.campaign")
async def _election_campaign(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "key", "value", "owner", "wait_ms")
    held = await a.do(
        on.election(args["key"]).campaign,
        args.get("value", ""),
        owner=args.get("owner"),
        timeout=milliseconds(args, "wait_ms"),
        on_queued=lambda place: a.event("held.queued", name, {"position": place.position}),
    )
    return await keep(a, name, held)


@op("election.proclaim")
async def _election_proclaim(a: Agent, on: Any, name: str, args: Json) -> Json:
    await a.do(on.proclaim, args["value"])
    return {}


@op("election.resign")
async def _election_resign(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "to_session", "to_owner")
    resigned = await a.do(on.resign, to_session=args.get("to_session", ""), to_owner=args.get("to_owner", ""))
    return {"resigned": resigned}


def _leader(leader: tenure.LeaderInfo | None) -> Json | None:
    if leader is None:
        return None
    return {"value": leader.value.decode(), "session": leader.session_id, "token": leader.token}


@op("election.leader")
async def _election_leader(a: Agent, on: Any, name: str, args: Json) -> Json:
    return {"leader": _leader(await a.do(on.leader, args["key"]))}


@op("election.observe")
async def _election_observe(a: Agent, on: Any, name: str, args: Json) -> Json:
    observer = on.observe(args["key"])
    a.objects[name] = observer

    async def follow() -> None:
        with contextlib.suppress(errors.TenureError):
            while True:
                found, leader = await a.next_of(observer)
                if not found:
                    return
                a.event("observe.leader", name, {"leader": _leader(leader), "gap": observer.gap})

    a.follow(observer, follow())
    return {}


@op("election.run")
async def _election_run(a: Agent, on: Any, name: str, args: Json) -> Json:
    async def lead(leadership: Any) -> None:
        a.event("run.begun", name, {"token": leadership.token})
        try:
            await leadership.lost.wait()
        finally:
            a.event("run.ended", name, {"token": leadership.token})

    def lead_in_thread(leadership: Any) -> None:
        a.event("run.begun", name, {"token": leadership.token})
        leadership.lost.wait()
        a.event("run.ended", name, {"token": leadership.token})

    decorate = on.elect(args["key"], args.get("value", ""))
    a.objects[name] = await a.do(decorate, lead if a.asyncio else lead_in_thread)
    return {}


# Recipes.


@op("rwlock.read")
async def _rwlock_read(a: Agent, on: Any, name: str, args: Json) -> Json:
    return await acquire(a, on.rwlock(args["key"]).read, name, args)


@op("rwlock.write")
async def _rwlock_write(a: Agent, on: Any, name: str, args: Json) -> Json:
    return await acquire(a, on.rwlock(args["key"]).write, name, args)


@op("semaphore.acquire")
async def _semaphore_acquire(a: Agent, on: Any, name: str, args: Json) -> Json:
    semaphore = on.semaphore(args["key"], args["limit"], permits=args.get("permits", 1))
    return await acquire(a, semaphore, name, args)


@op("barrier.set")
async def _barrier_set(a: Agent, on: Any, name: str, args: Json) -> Json:
    await a.do(on.barrier(args["key"]).set)
    return {}


@op("barrier.remove")
async def _barrier_remove(a: Agent, on: Any, name: str, args: Json) -> Json:
    await a.do(on.barrier(args["key"]).remove)
    return {}


@op("barrier.wait")
async def _barrier_wait(a: Agent, on: Any, name: str, args: Json) -> Json:
    await a.do(on.barrier(args["key"]).wait, milliseconds(args, "wait_ms"))
    return {}


@op("double_barrier.enter")
async def _double_barrier_enter(a: Agent, on: Any, name: str, args: Json) -> Json:
    barrier = on.double_barrier(args["key"], args["count"], name=args.get("name"))
    await a.do(barrier.enter, milliseconds(args, "wait_ms"))
    a.objects[name] = barrier
    return {}


@op("double_barrier.leave")
async def _double_barrier_leave(a: Agent, on: Any, name: str, args: Json) -> Json:
    await a.do(on.leave, milliseconds(args, "wait_ms"))
    return {}


@op("presence.join")
async def _presence_join(a: Agent, on: Any, name: str, args: Json) -> Json:
    a.objects[name] = await a.do(on.presence(args["group"]).join, args.get("name"), args.get("value", ""))
    return {}


@op("presence.leave")
async def _presence_leave(a: Agent, on: Any, name: str, args: Json) -> Json:
    await a.do(on.leave)
    return {}


@op("presence.members")
async def _presence_members(a: Agent, on: Any, name: str, args: Json) -> Json:
    members = await a.do(on.presence(args["group"]).members)
    return {"members": {k: v.decode() for k, v in members.items()}}


@op("cache.open")
async def _cache_open(a: Agent, on: Any, name: str, args: Json) -> Json:
    a.objects[name] = await a.do(on.cache, args["prefix"], timeout=milliseconds(args, "wait_ms"))
    return {}


@op("cache.get")
async def _cache_get(a: Agent, on: Any, name: str, args: Json) -> Json:
    kv = on.get(args["key"])
    stale = max(1, ms(on.stale))
    if kv is None:
        return {"found": False, "stale_ms": stale}
    return {"found": True, "value": kv.text, "revision": kv.mod_revision, "stale_ms": stale}


@op("cache.keys")
async def _cache_keys(a: Agent, on: Any, name: str, args: Json) -> Json:
    return {"keys": on.keys()}
