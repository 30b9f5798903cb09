"""The operations of the Python conformance agent. Each is written once, for the sync and the asyncio client."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from conformance_agent import Agent, Json, KindError, ProtocolError, kind_of, milliseconds

import tenure
from tenure import Compare, Mode, Op, errors
from tenure._core.address import parse_address

Operation = Callable[[Agent, Any, str, Json], Awaitable[Json]]

OPS: dict[str, Operation] = {}

# A call without `wait_ms` may wait without end: for longer than the driver has patience.
CALL_SECONDS = 600.0

_MODES = {"exclusive": Mode.EXCLUSIVE, "shared": Mode.SHARED, "semaphore": Mode.SEMAPHORE}


def op(name: str) -> Callable[[Operation], Operation]:
    """Registers an operation."""

    def register(function: Operation) -> Operation:
        OPS[name] = function
        return function

    return register


def only(args: Json, *names: str) -> None:
    """Refuses arguments that are not known."""
    unknown = set(args) - set(names)
    if unknown:
        raise ProtocolError(f"unknown arguments {sorted(unknown)}")


# The agent itself.


@op("agent.close")
async def _agent_close(a: Agent, on: Any, name: str, args: Json) -> Json:
    for client in reversed(a.clients):
        await a.do(client.close)
    a.clients.clear()
    return {}


@op("agent.leaks")
async def _agent_leaks(a: Agent, on: Any, name: str, args: Json) -> Json:
    left = await a.leaks()
    return {"left": len(left), "what": left}


@op("agent.cancel")
async def _agent_cancel(a: Agent, on: Any, name: str, args: Json) -> Json:
    if not a.asyncio:
        raise ProtocolError("the sync client cannot cancel")
    task = a.requests.get(args["request"])
    if task is not None:
        task.cancel()
    return {}


@op("agent.fork")
async def _agent_fork(a: Agent, on: Any, name: str, args: Json) -> Json:
    target = a.objects[args["on"]] if "on" in args else on
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            kind = "ok"
            try:
                got = target.kv.get("fork")
                if isinstance(got, Coroutine):
                    got.send(None)  # It must be refused before it waits for anything.
            except StopIteration:
                pass
            except BaseException as error:
                kind = kind_of(error)
            os.write(writer, json.dumps({"kind": kind}).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        told = await asyncio.to_thread(pipe.read)
    _, status = await asyncio.to_thread(os.waitpid, pid, 0)
    if not told:
        raise RuntimeError(f"the child told nothing and ended with {os.waitstatus_to_exitcode(status)}")
    return dict(json.loads(told))


# Clients and sessions.


@op("client.open")
async def _client_open(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "uri")
    if a.asyncio:
        client: Any = tenure.aio.Client(args["uri"], timeout=CALL_SECONDS)
        await client.__aenter__()
    else:
        client = await a.do(tenure.Client, args["uri"], timeout=CALL_SECONDS)
    a.objects[name] = client
    a.clients.append(client)
    address = parse_address(args["uri"])
    return {"namespace": address.namespace}


@op("client.close")
async def _client_close(a: Agent, on: Any, name: str, args: Json) -> Json:
    await a.do(on.close)
    if on in a.clients:
        a.clients.remove(on)
    return {}


@op("client.info")
async def _client_info(a: Agent, on: Any, name: str, args: Json) -> Json:
    members = list(on.member_addresses)
    return {"members": members, "count": len(members), "connected_to": on.connected_to}


def _on_state(a: Agent, name: str, listener: str = "") -> Callable[[tenure.StateChange], Any]:
    def told(change: tenure.StateChange) -> None:
        cause = str(change.cause) if change.cause is not None else ""
        a.event("session.state", name, {"state": str(change.new), "cause": cause})

    def blocks(change: tenure.StateChange) -> None:
        told(change)
        threading.Event().wait()

    async def waits(change: tenure.StateChange) -> None:
        told(change)
        await asyncio.Event().wait()

    if listener != "blocks":
        return told
    return waits if a.asyncio else blocks


def _session(session: Any) -> Json:
    return {"id": session.id, "ttl_ms": round(session.ttl * 1000), "epoch": session.epoch}


@op("session.open")
async def _session_open(a: Agent, on: Any, name: str, args: Json) -> Json:
    known = ("ttl_ms", "lock_delay_ms", "behavior", "name", "metadata", "listener", "wait_ms")
    only(args, *known, "node", "checks", "default_check")
    behavior = tenure.Behavior[args.get("behavior", "release").upper()]
    session = await a.do(
        on.session,
        ttl=milliseconds(args, "ttl_ms"),
        lock_delay=milliseconds(args, "lock_delay_ms"),
        behavior=behavior,
        name=args.get("name", ""),
        metadata=args.get("metadata"),
        node=args.get("node", ""),
        checks=args.get("checks", ()),
        default_check=args.get("default_check", False),
        timeout=milliseconds(args, "wait_ms"),
        on_state=_on_state(a, name, args.get("listener", "")),
    )
    a.objects[name] = session
    return _session(session)


@op("session.export")
async def _session_export(a: Agent, on: Any, name: str, args: Json) -> Json:
    return {"token": await a.do(on.export)}


@op("session.token")
async def _session_token(a: Agent, on: Any, name: str, args: Json) -> Json:
    return {"token": on.credentials().to_text()}


@op("session.resume")
async def _session_resume(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "token", "wait_ms")
    session = await a.do(on.resume, args["token"], timeout=milliseconds(args, "wait_ms"), on_state=_on_state(a, name))
    a.objects[name] = session
    return _session(session)


@op("session.holds")
async def _session_holds(a: Agent, on: Any, name: str, args: Json) -> Json:
    holds = await a.do(on.holds, milliseconds(args, "wait_ms"))
    for held in holds:
        await keep(a, f"{name}.{held.key}", held)
    return {"holds": [{"key": h.key, "owner": h.owner, "token": h.token} for h in holds]}


@op("session.info")
async def _session_info(a: Agent, on: Any, name: str, args: Json) -> Json:
    cause = str(on.cause) if on.cause is not None else ""
    return {
        **_session(on),
        "state": str(on.state),
        "cause": cause,
        "safe": on.safe,
        "safe_for_ms": ms(on.safe_for),
    }


@op("session.close")
async def _session_close(a: Agent, on: Any, name: str, args: Json) -> Json:
    await a.do(on.close)
    return {}


@op("session.lookup")
async def _session_lookup(a: Agent, on: Any, name: str, args: Json) -> Json:
    try:
        info = await a.do(on.session_info, args["id"])
    except errors.SessionNotFound:
        raise KindError("session_not_found") from None
    return {
        "id": info.session_id,
        "live": not info.ended,
        "name": info.name,
        "epoch": info.epoch,
        "holds": info.holds,
        "end_cause": info.end_cause,
    }


# Locks.


def ms(seconds: float) -> int:
    return round(min(seconds, 1e9) * 1000)


def _held(held: Any) -> Json:
    return {
        "key": held.key,
        "token": held.token,
        "lock_index": held.sequencer.lock_index,
        "sequencer": held.sequencer.to_text(),
    }


async def keep(a: Agent, name: str, held: Any) -> Json:
    a.objects[name] = held
    await a.do(held.on_lost, lambda cause: a.event("held.ended", name, {"cause": str(cause)}))
    return _held(held)


def _lock(on: Any, args: Json) -> Any:
    mode = _MODES[args.get("mode", "exclusive")]
    if mode is Mode.SEMAPHORE:
        return on.semaphore(args["key"], args["limit"], permits=args.get("permits", 1), owner=args.get("owner"))
    return on.lock(args["key"], mode=mode, owner=args.get("owner"))


async def acquire(a: Agent, lock: Any, name: str, args: Json) -> Json:
    held = await a.do(
        lock.acquire,
        milliseconds(args, "wait_ms"),
        value=args.get("value"),
        on_queued=lambda place: a.event("held.queued", name, {"position": place.position}),
    )
    return await keep(a, name, held)


@op("lock.acquire")
async def _lock_acquire(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "key", "mode", "permits", "limit", "owner", "value", "wait_ms")
    return await acquire(a, _lock(on, args), name, args)


@op("lock.try")
async def _lock_try(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "key", "mode", "permits", "limit", "owner", "value")
    result = await a.do(_lock(on, args).attempt, value=args.get("value"))
    if isinstance(result, tenure.LockInfo):
        return {
            "acquired": False,
            "holders": result.holders,
            "waiters": result.waiters,
            "delayed": result.delayed_holds,
        }
    return {"acquired": True, **await keep(a, name, result)}


@op("lock.info")
async def _lock_info(a: Agent, on: Any, name: str, args: Json) -> Json:
    info = await a.do(on.lock_info, args["key"])
    holders = [{"session": h.session_id, "owner": h.owner, "token": h.sequencer.token} for h in info.holds]
    return {"holders": holders, "waiters": info.waiters, "delayed": info.delayed_holds}


@op("lock.break")
async def _lock_break(a: Agent, on: Any, name: str, args: Json) -> Json:
    return {"holds": await a.do(on.break_lock, args["key"], args["reason"])}


@op("held.info")
async def _held_info(a: Agent, on: Any, name: str, args: Json) -> Json:
    cause = str(on.cause) if on.cause is not None else ""
    return {**_held(on), "safe": on.safe, "safe_for_ms": ms(on.safe_for), "ended": on.ended, "cause": cause}


@op("held.release")
async def _held_release(a: Agent, on: Any, name: str, args: Json) -> Json:
    return {"released": await a.do(on.release)}


@op("sequencer.check")
async def _sequencer_check(a: Agent, on: Any, name: str, args: Json) -> Json:
    return {"holds": await a.do(on.check_sequencer, args["sequencer"])}


@op("fence.check")
async def _fence_check(a: Agent, on: Any, name: str, args: Json) -> Json:
    a.gates.setdefault(args["gate"], tenure.FenceGate()).check(args["sequencer"])
    return {}


# Keys.


def kv_value(kv: tenure.KeyValue) -> Json:
    return {
        "key": kv.key,
        "value": kv.text,
        "revision": kv.mod_revision,
        "create_revision": kv.create_revision,
        "version": kv.version,
        "lock_index": kv.lock_index,
        "flags": kv.flags,
        "session": kv.session_id,
        "bound_session": kv.bound_session_id,
    }


def _guards(a: Agent, args: Json) -> list[Any]:
    return [a.objects[args["guard"]]] if args.get("guard") else []


@op("kv.get")
async def _kv_get(a: Agent, on: Any, name: str, args: Json) -> Json:
    kv = await a.do(on.kv.get, args["key"])
    if kv is None:
        raise KindError("key_not_found")
    return kv_value(kv)


@op("kv.put")
async def _kv_put(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "key", "value", "flags", "if_revision", "bind", "sequential", "guard")
    kv = await a.do(
        on.kv.put,
        args["key"],
        args.get("value", ""),
        flags=args.get("flags", 0),
        if_revision=args.get("if_revision"),
        ephemeral=args.get("bind", False),
        sequential=args.get("sequential", False),
        guards=_guards(a, args),
    )
    return {"key": kv.key, "revision": kv.mod_revision}


@op("kv.delete")
async def _kv_delete(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "key", "if_revision", "guard")
    deleted = await a.do(on.kv.delete, args["key"], if_revision=args.get("if_revision"), guards=_guards(a, args))
    return {"deleted": deleted}


@op("kv.list")
async def _kv_list(a: Agent, on: Any, name: str, args: Json) -> Json:
    return {"kvs": [kv_value(kv) for kv in await a.collect(lambda: on.kv.list(args.get("prefix", "")))]}


@op("kv.delete_prefix")
async def _kv_delete_prefix(a: Agent, on: Any, name: str, args: Json) -> Json:
    return {"deleted": await a.do(on.kv.delete_prefix, args["prefix"])}


def _compare(c: Json) -> Compare:
    what = next(w for w in ("revision", "version", "value") if w in c)
    made: Compare = getattr(Compare, what)(c["key"], c[what])
    return made


def _op(o: Json) -> Op:
    kind, args = next(iter(o.items()))
    if kind == "put":
        return Op.put(args["key"], args.get("value", ""))
    return Op.get(args["key"]) if kind == "get" else Op.delete(args["key"])


@op("kv.txn")
async def _kv_txn(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "compares", "then", "otherwise", "guard")
    then, otherwise = args.get("then", []), args.get("otherwise", [])
    result = await a.do(
        on.kv.txn,
        [_compare(c) for c in args.get("compares", [])],
        [_op(o) for o in then],
        [_op(o) for o in otherwise],
        guards=_guards(a, args),
    )
    ran = then if result.succeeded else otherwise
    gets = [
        None if r is None else {"key": r.key, "value": r.text}
        for o, r in zip(ran, result.results, strict=True)
        if "get" in o
    ]
    return {"succeeded": result.succeeded, "gets": gets}


@op("kv.loop")
async def _kv_loop(a: Agent, on: Any, name: str, args: Json) -> Json:
    done = 0
    while done < args["count"]:
        kv = await a.do(on.kv.get, args["key"])
        number, revision = (int(kv.text), kv.mod_revision) if kv is not None else (0, 0)
        with contextlib.suppress(errors.CompareFailed):
            await a.do(on.kv.put, args["key"], str(number + 1), if_revision=revision)
            done += 1
    return {"done": done}
