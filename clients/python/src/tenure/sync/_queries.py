"""Prepared queries."""

from __future__ import annotations

from collections.abc import Iterator

from tenure import aio
from tenure.aio._calls import Guards
from tenure.query import Query, QueryResult
from tenure.sync._portal import Portal


class Queries:
    """Prepared queries: `client.queries`, or `session.queries` for those that are deleted when the session ends.

    A query that those of a session create or update is bound to it, and deleted in the revision in which it ends. To
    free one, update it with `client.queries` and an empty `session_id`. `timeout` and `guards` are as for KV.
    """

    def __init__(self, portal: Portal, queries: aio.Queries) -> None:
        self._portal = portal
        self._aio = queries

    def create(self, query: Query, *, guards: Guards = (), timeout: float | None = None) -> str:
        """Stores a new query, and returns its id. Raises QueryNameTaken if another one has its name."""
        return self._portal.run(self._aio.create(query, guards=guards, timeout=timeout))

    def update(
        self, query: Query, *, if_revision: int | None = None, guards: Guards = (), timeout: float | None = None
    ) -> int:
        """Replaces the query with the `id` of this one, and returns its mod_revision.

        `if_revision` is the mod_revision that it must have; otherwise CompareFailed is raised. A query that is already
        so does not change. Raises QueryNotFound, or PermissionDenied if `client.queries` would leave it bound to a
        session.
        """
        return self._portal.run(self._aio.update(query, if_revision=if_revision, guards=guards, timeout=timeout))

    def delete(self, id: str, *, guards: Guards = (), timeout: float | None = None) -> bool:
        """Deletes a query by its id. Returns whether it existed."""
        return self._portal.run(self._aio.delete(id, guards=guards, timeout=timeout))

    def get(
        self, id_or_name: str, *, stale: bool = False, min_revision: int = 0, timeout: float | None = None
    ) -> Query | None:
        """Returns a query as it is stored, by its id or exact name, or None. `stale` is as for KV.get."""
        return self._portal.run(self._aio.get(id_or_name, stale=stale, min_revision=min_revision, timeout=timeout))

    def list(self, name_prefix: str = "", *, stale: bool = False, timeout: float | None = None) -> Iterator[Query]:
        """Iterates over the queries whose name has a prefix, ordered by id: those of the session only, if it has one.

        It reads page by page, all of one revision; `timeout` is for one page.
        """
        token = ""
        while True:
            page, token = self._portal.run(self._aio.page(name_prefix, token, stale=stale, timeout=timeout))
            yield from page
            if not token:
                return

    def execute(
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
        return self._portal.run(
            self._aio.execute(
                id_or_name,
                near=near,
                caller_node=caller_node,
                limit=limit,
                only_passing=only_passing,
                stale=stale,
                min_revision=min_revision,
                timeout=timeout,
            )
        )

    def explain(self, id_or_name: str, *, timeout: float | None = None) -> Query:
        """Returns the query that `execute` would run, with all texts filled in. Raises QueryNotFound."""
        return self._portal.run(self._aio.explain(id_or_name, timeout=timeout))
