"""Prepared queries: questions to the catalog that are stored under a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tenure._core.several import texts
from tenure.types import Instance
from tenure.v1 import query_pb2


@dataclass(frozen=True)
class QueryFallback:
    """Where a query looks if it has found nothing so far.

    An empty `service` is that of the query, and an empty `zone` any zone. `tags` replace those of the query.
    """

    service: str = ""
    tags: Sequence[str] = ()
    zone: str = ""

    def message(self) -> query_pb2.QueryFallback:
        """Returns it as the API has it."""
        return query_pb2.QueryFallback(
            service=self.service, tags=texts("tags", () if self.tags is None else self.tags), zone=self.zone
        )


@dataclass(frozen=True)
class Query:
    """A prepared query. As a whole it has at most 16 KiB.

    `name` is unique, at most 256 bytes, and not a UUID; no namespace is added to it. A query without one is run by its
    `id` or, with `prefix`, by every name for which there is no other query. `service` is required.

    `tags` are those that an instance must have or, with "!" before them, must not have. `only_passing` leaves out
    instances in warning; critical ones are always left out. Checks with ids in `ignore_checks` do not count.
    `node_meta` and `service_meta` are facts that the node and the instance must have. `near` is a node near which
    instances are preferred: first those on it, then those in its zone, then the rest; "_agent" means the node of
    the caller. If nothing is found, `fallbacks` are tried in order, at most 8. `meta` are facts about the query, which
    `execute` returns. Each of the other lists and mappings has at most 64 entries.

    With `prefix`, every name that starts with `name` runs the query, unless another query has that name, or more of its
    start. Texts may then contain ${name.full}, ${name.prefix}, ${name.suffix} and, of what `regexp` (RE2, at most 1 024
    bytes) finds in the name, ${match(1)}. `remove_empty_tags` leaves out tags that are empty once they are filled in.

    The cluster sets `id`, a UUID, and the revisions. `session_id` is the session with which the query is deleted;
    session.queries sets it.
    """

    name: str = ""
    service: str = ""
    tags: Sequence[str] = ()
    only_passing: bool = False
    ignore_checks: Sequence[str] = ()
    node_meta: Mapping[str, str] = field(default_factory=dict)
    service_meta: Mapping[str, str] = field(default_factory=dict)
    near: str = ""
    fallbacks: Sequence[QueryFallback] = ()
    prefix: bool = False
    regexp: str = ""
    remove_empty_tags: bool = False
    meta: Mapping[str, str] = field(default_factory=dict)
    id: str = ""
    session_id: str = ""
    create_revision: int = 0
    mod_revision: int = 0

    def message(self, session_id: str) -> query_pb2.Query:
        """Returns it as the API has it."""
        return query_pb2.Query(
            name=self.name,
            session_id=session_id,
            match=query_pb2.QUERY_MATCH_PREFIX if self.prefix else query_pb2.QUERY_MATCH_NAME,
            regexp=self.regexp,
            service=self.service,
            tags=texts("tags", () if self.tags is None else self.tags),
            only_passing=self.only_passing,
            ignore_checks=texts("ignore_checks", () if self.ignore_checks is None else self.ignore_checks),
            node_meta=self.node_meta,
            service_meta=self.service_meta,
            near=self.near,
            fallbacks=[f.message() for f in self.fallbacks],
            remove_empty_tags=self.remove_empty_tags,
            meta=self.meta,
        )

    @classmethod
    def from_message(cls, m: query_pb2.Query) -> Query:
        """Returns what the API has."""
        return cls(
            name=m.name,
            service=m.service,
            tags=tuple(m.tags),
            only_passing=m.only_passing,
            ignore_checks=tuple(m.ignore_checks),
            node_meta=dict(m.node_meta),
            service_meta=dict(m.service_meta),
            near=m.near,
            fallbacks=tuple(QueryFallback(f.service, tuple(f.tags), f.zone) for f in m.fallbacks),
            prefix=m.match == query_pb2.QUERY_MATCH_PREFIX,
            regexp=m.regexp,
            remove_empty_tags=m.remove_empty_tags,
            meta=dict(m.meta),
            id=m.query_id,
            session_id=m.session_id,
            create_revision=m.create_revision,
            mod_revision=m.mod_revision,
        )


@dataclass(frozen=True)
class QueryResult:
    """What a prepared query found.

    `service` is where: fallback number `fallback`, or the query itself if that is 0; if nothing was found, where it
    looked last. `instances` are in random order or, with a near node, in random order within each distance. `meta` are
    the facts about the query.
    """

    query_id: str
    service: str
    fallback: int = 0
    instances: tuple[Instance, ...] = ()
    meta: Mapping[str, str] = field(default_factory=dict)
