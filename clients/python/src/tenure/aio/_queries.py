"""Prepared queries."""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator

from tenure import _convert, errors
from tenure._rpc import CREATE_QUERY, DELETE_QUERY, EXECUTE_QUERY, EXPLAIN_QUERY, GET_QUERY, LIST_QUERIES, UPDATE_QUERY
from tenure.aio._calls import Calls, Guards, read_options
from tenure.query import Query, QueryResult
from tenure.v1 import query_pb2


class Queries(Calls):
    """Prepared queries: `client.queries`, or `session.queries` for those that are deleted when the session ends.

    A query that those of a session create or update is bound to it, and deleted in the revision in which it ends. To
    free one, update it with `client.queries` and an empty `session_id`. `timeout` and `guards` are as for KV.
    """

    def _message(self, query: Query) -> query_pb2.Query:
        return query.message(query.session_id if self._session is None else self._session.id)

    async def create(self, query: Query, *, guards: Guards = (), timeout: float | None = None) -> str:
        """Stores a new query, and returns its id. Raises QueryNameTaken if another one has its name."""
        request = query_pb2.CreateQueryRequest(query=self._message(query))
        return (await self._change(CREATE_QUERY, request, guards, timeout)).query_id

    async def update(
        self, query: Query, *, if_revision: int | None = None, guards: Guards = (), timeout: float | None = None
    ) -> int:
        """Replaces the query with the `id` of this one, and returns its mod_revision.

        `if_revision` is the mod_revision that it must have; otherwise CompareFailed is raised. A query that is already
        so does not change. Raises QueryNotFound, or PermissionDenied if `client.queries` would leave it bound to a
        session.
        """
        request = query_pb2.UpdateQueryRequest(query_id=query.id, query=self._message(query), if_revision=if_revision)
        return (await self._change(UPDATE_QUERY, request, guards, timeout)).mod_revision

    async def delete(self, id: str, *, guards: Guards = (), timeout: float | None = None) -> bool:
        """Deletes a query by its id. Returns whether it existed."""
        request = query_pb2.DeleteQueryRequest(query_id=id)
        return (await self._change(DELETE_QUERY, request, guards, timeout)).deleted

    async def get(
        self, id_or_name: str, *, stale: bool = False, min_revision: int = 0, timeout: float | None = None
    ) -> Query | None:
        """Returns a query as it is stored, by its id or exact name, or None. `stale` is as for KV.get."""
        request = query_pb2.GetQueryRequest(id_or_name=id_or_name, read=read_options(stale, min_revision))
        try:
            answer = await self._read(GET_QUERY, request, timeout)
        except errors.QueryNotFound:
            return None
        return Query.from_message(answer.query)

    async def list(
        self, name_prefix: str = "", *, stale: bool = False, timeout: float | None = None
    ) -> AsyncIterator[Query]:
        """Iterates over the queries whose name has a prefix, ordered by id: those of the session only, if it has one.

        It reads page by page, all of one revision; `timeout` is for one page.
        """
        token = ""
        while True:
            page, token = await self.page(name_prefix, token, stale=stale, timeout=timeout)
            for query in page:
                yield query
            if not token:
                return

    async def page(
        self, name_prefix: str = "", page_token: str = "", *, stale: bool = False, timeout: float | None = None
    ) -> tuple[builtins.list[Query], str]:
        """Returns one page of `list`, and the token of the next page; it is empty after the last."""
        request = query_pb2.ListQueriesRequest(
            name_prefix=name_prefix,
            session_id="" if self._session is None else self._session.id,
            page_token=page_token,
            read=read_options(stale, 0),
        )
        answer = await self._read(LIST_QUERIES, request, timeout)
        return [Query.from_message(m) for m in answer.queries], answer.next_page_token

    async def execute(
        self,
        id_or_name: str,
        *,
        near: str = "",
        caller_node: str = "",
        limit: int = 0,
        only_passing: bool = False,
        stale: bool = False,
        min_revision: int = 0,
        timeout: float | None = None,
    ) -> QueryResult:
        """Runs a query, and returns the instances that it finds, which may be none. Raises QueryNotFound.

        The query is found by its id or name, or else it is the one with `prefix` whose name is the longest with which
        this name starts. `near` is a node, in place of that of the query; "_agent" means `caller_node`. At most
        `limit` instances are returned, 1 to 1 000; 0 is 1 000. `only_passing` leaves out instances in warning, even if
        the query includes them. `stale` is as for KV.get; a member answers such a run even while it knows no leader.
        """
        request = query_pb2.ExecuteQueryRequest(
            id_or_name=id_or_name,
            near=near,
            caller_node=caller_node,
            limit=limit,
            passing=only_passing,
            read=read_options(stale, min_revision),
        )
        answer = await self._read(EXECUTE_QUERY, request, timeout)
        return QueryResult(
            query_id=answer.query_id,
            service=answer.service,
            fallback=answer.fallback,
            instances=tuple(_convert.instance(m) for m in answer.instances),
            meta=dict(answer.meta),
        )

    async def explain(self, id_or_name: str, *, timeout: float | None = None) -> Query:
        """Returns the query that `execute` would run, with all texts filled in. Raises QueryNotFound."""
        request = query_pb2.ExplainQueryRequest(id_or_name=id_or_name)
        return Query.from_message((await self._read(EXPLAIN_QUERY, request, timeout)).query)
