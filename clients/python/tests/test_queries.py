"""Prepared queries: with a real member."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from conftest import Twin, until

import tenure
from tenure import CheckStatus, Query, QueryFallback, QueryResult, errors
from tenure.testing import Member


@pytest.fixture(scope="module")
def cataloged() -> Iterator[Member]:
    """A member whose catalog is used."""
    with Member() as member, tenure.Client(member.uri) as client:

        def used() -> bool:
            try:
                client.queries.create(Query("first", "web"))
            except errors.FeatureNotEnabled:
                return False
            return True

        until(used)
        yield member


def found(result: QueryResult) -> list[tuple[str, CheckStatus, int]]:
    return [(i.id, i.status, i.weight) for i in result.instances]


def test_a_query_is_created_read_changed_and_deleted(twin: Twin, cataloged: Member) -> None:
    queries, name = twin.client(cataloged.uri).queries, "life-" + twin.name
    query = Query(
        name,
        "${match(1)}",
        tags=("!old", "${match(2)}"),
        only_passing=True,
        ignore_checks=("disk",),
        node_meta={"rack": "1"},
        service_meta={"version": "2"},
        near="_agent",
        fallbacks=(QueryFallback("spare", ("a",), "eu-2"), QueryFallback(zone="eu-3")),
        prefix=True,
        regexp=name + "-(.*)$",
        remove_empty_tags=True,
        meta={"team": "shop"},
    )
    id = twin.do(queries.create, query)
    stored = twin.do(queries.get, name)
    assert stored == dataclasses.replace(
        query, id=id, create_revision=stored.create_revision, mod_revision=stored.mod_revision
    )
    assert 0 < stored.create_revision == stored.mod_revision
    assert twin.do(queries.get, id) == stored
    assert twin.do(queries.get, "none") is None
    explained = twin.do(queries.explain, name + "-web")
    assert (explained.id, explained.service, explained.tags) == (id, "web", ("!old",))
    with pytest.raises(errors.CompareFailed):
        twin.do(queries.update, stored, if_revision=10**9)
    revision = twin.do(queries.update, Query(name, "web", id=id), if_revision=stored.mod_revision)
    assert revision > stored.mod_revision
    assert twin.all(queries.list(name)) == [
        Query(name, "web", id=id, create_revision=stored.create_revision, mod_revision=revision)
    ]
    assert [twin.do(queries.delete, id), twin.do(queries.delete, id)] == [True, False]
    assert twin.all(queries.list(name)) == []


def test_a_run_finds_what_is_healthy(twin: Twin, cataloged: Member) -> None:
    client, name, node = twin.client(cataloged.uri), "found-" + twin.name, "q1-" + twin.name
    first = twin.do(client.register, name, id="w1", node=node)
    twin.do(client.register, name, id="w2", node="q2-" + twin.name)
    id = twin.do(client.queries.create, Query(name, name, meta={"team": "shop"}))
    execute = client.queries.execute
    result = twin.do(execute, name, near=node)
    assert found(result) == [("w1", CheckStatus.PASSING, 1), ("w2", CheckStatus.PASSING, 1)]
    assert (result.query_id, result.service, result.fallback, result.meta) == (id, name, 0, {"team": "shop"})
    assert found(twin.do(execute, id, near="_agent", caller_node=node, limit=1)) == [("w1", CheckStatus.PASSING, 1)]
    twin.do(first.set, CheckStatus.WARNING)
    assert found(twin.do(execute, name, near=node))[0] == ("w1", CheckStatus.WARNING, 1)
    assert [i.id for i in twin.do(execute, name, only_passing=True).instances] == ["w2"]
    twin.do(first.set, CheckStatus.CRITICAL)
    assert [i.id for i in twin.do(execute, name).instances] == ["w2"]
    until(lambda: [i.id for i in twin.do(execute, name, stale=True).instances] == ["w2"])


def test_a_query_of_a_session_is_deleted_with_it(twin: Twin, cataloged: Member) -> None:
    client, name = twin.client(cataloged.uri), "bound-" + twin.name
    session = twin.do(client.session)
    held = twin.do(session.lock(name).acquire)
    id = twin.do(session.queries.create, Query(name, "web"), guards=[held])
    (stored,) = twin.all(session.queries.list())
    assert (stored.id, stored.session_id) == (id, session.id)
    twin.do(session.queries.update, dataclasses.replace(stored, service="db", session_id=""))
    assert twin.do(client.queries.get, name).session_id == session.id
    with pytest.raises(errors.PermissionDenied) as denied:  # No session of the caller's is over.
        twin.do(client.queries.update, stored)
    assert (denied.value.reason, denied.value.applied) == ("SESSION_SECRET_WRONG", False)
    twin.do(session.close)
    with pytest.raises(errors.QueryNotFound):
        twin.do(client.queries.execute, name)
    with pytest.raises(errors.SessionClosed):
        twin.do(session.queries.create, Query(name, "web"))


def test_a_query_that_is_wrong_is_refused(twin: Twin, cataloged: Member) -> None:
    queries = twin.client(cataloged.uri).queries
    with pytest.raises(errors.QueryNameTaken) as taken:
        twin.do(queries.create, Query("first", "web"))
    assert taken.value.applied is False
    with pytest.raises(errors.InvalidArgument) as invalid:
        twin.do(queries.create, Query("bad"))
    assert list(invalid.value.violations) == ["query.service"]
    with pytest.raises(errors.QueryNotFound):
        twin.do(queries.explain, "none")
    with pytest.raises(errors.QueryNotFound):
        twin.do(queries.update, Query("none", "web", id="00000000-0000-4000-8000-000000000000"))
    assert twin.do(queries.get, "bad") is None
