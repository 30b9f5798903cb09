"""The operations of the Python conformance agent on prepared queries."""

from __future__ import annotations

from typing import Any

from conformance_agent import Agent, Json, KindError
from conformance_ops import _guards, only, op

import tenure

_OF_QUERY = ("id", "name", "service", "tags", "passing", "near", "by_prefix", "regexp", "fallbacks", "metadata")


def _query(args: Json) -> tenure.Query:
    return tenure.Query(
        id=args.get("id", ""),
        name=args.get("name", ""),
        service=args.get("service", ""),
        tags=args.get("tags", ()),
        only_passing=args.get("passing", False),
        near=args.get("near", ""),
        prefix=args.get("by_prefix", False),
        regexp=args.get("regexp", ""),
        fallbacks=[tenure.QueryFallback(**f) for f in args.get("fallbacks", ())],
        meta=args.get("metadata", {}),
    )


def _value(query: tenure.Query) -> Json:
    return {
        "id": query.id,
        "name": query.name,
        "session": query.session_id,
        "by_prefix": query.prefix,
        "regexp": query.regexp,
        "service": query.service,
        "tags": list(query.tags),
        "passing": query.only_passing,
        "near": query.near,
        "metadata": dict(query.meta),
        "fallbacks": [{"service": f.service, "tags": list(f.tags), "zone": f.zone} for f in query.fallbacks],
        "revision": query.mod_revision,
    }


@op("query.create")
async def _query_create(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "guard", *_OF_QUERY)
    return {"id": await a.do(on.queries.create, _query(args), guards=_guards(a, args))}


@op("query.update")
async def _query_update(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "if_revision", "guard", *_OF_QUERY)
    revision = args.get("if_revision")
    return {"revision": await a.do(on.queries.update, _query(args), if_revision=revision, guards=_guards(a, args))}


@op("query.get")
async def _query_get(a: Agent, on: Any, name: str, args: Json) -> Json:
    query = await a.do(on.queries.get, args["name"])
    if query is None:
        raise KindError("query_not_found")
    return _value(query)


@op("query.list")
async def _query_list(a: Agent, on: Any, name: str, args: Json) -> Json:
    return {"queries": [_value(q) for q in await a.collect(lambda: on.queries.list(args["prefix"]))]}


@op("query.delete")
async def _query_delete(a: Agent, on: Any, name: str, args: Json) -> Json:
    return {"deleted": await a.do(on.queries.delete, args["id"], guards=_guards(a, args))}


@op("query.execute")
async def _query_execute(a: Agent, on: Any, name: str, args: Json) -> Json:
    only(args, "name", "near", "caller_node", "limit", "passing", "stale", "min_revision")
    options = {k: args[k] for k in ("near", "caller_node", "limit", "stale", "min_revision") if k in args}
    result = await a.do(on.queries.execute, args["name"], only_passing=args.get("passing", False), **options)
    return {
        "id": result.query_id,
        "service": result.service,
        "fallback": result.fallback,
        "metadata": dict(result.meta),
        "instances": [{"id": i.id, "node": i.node, "status": i.status.name.lower()} for i in result.instances],
    }


@op("query.explain")
async def _query_explain(a: Agent, on: Any, name: str, args: Json) -> Json:
    return _value(await a.do(on.queries.explain, args["name"]))
