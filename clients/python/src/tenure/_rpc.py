"""The calls of the public API, typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from tenure.v1 import (
    agent_pb2,
    catalog_pb2,
    cluster_pb2,
    election_pb2,
    kv_pb2,
    lock_pb2,
    query_pb2,
    session_pb2,
    watch_pb2,
)

Req = TypeVar("Req", bound=Message)
Res = TypeVar("Res", bound=Message)


@dataclass(frozen=True)
class Unary(Generic[Req, Res]):
    """A call with one answer."""

    path: str
    request: type[Req]
    response: type[Res]


@dataclass(frozen=True)
class ServerStream(Generic[Req, Res]):
    """A call with a stream of answers."""

    path: str
    request: type[Req]
    response: type[Res]


@dataclass(frozen=True)
class BidiStream(Generic[Req, Res]):
    """A call with streams both ways."""

    path: str
    request: type[Req]
    response: type[Res]


def _path(service: str, method: str) -> str:
    return f"/tenure.v1.{service}Service/{method}"


def _unary(service: str, method: str, request: type[Req], response: type[Res]) -> Unary[Req, Res]:
    return Unary(_path(service, method), request, response)


def _stream(service: str, method: str, request: type[Req], response: type[Res]) -> ServerStream[Req, Res]:
    return ServerStream(_path(service, method), request, response)


CREATE_SESSION = _unary("Session", "CreateSession", session_pb2.CreateSessionRequest, session_pb2.CreateSessionResponse)
KEEP_ALIVE: BidiStream[session_pb2.KeepAliveRequest, session_pb2.KeepAliveResponse] = BidiStream(
    _path("Session", "KeepAlive"), session_pb2.KeepAliveRequest, session_pb2.KeepAliveResponse
)
RENEW_SESSION = _unary("Session", "RenewSession", session_pb2.RenewSessionRequest, session_pb2.RenewSessionResponse)
ATTACH_SESSION = _unary("Session", "AttachSession", session_pb2.AttachSessionRequest, session_pb2.AttachSessionResponse)
DESTROY_SESSION = _unary(
    "Session", "DestroySession", session_pb2.DestroySessionRequest, session_pb2.DestroySessionResponse
)
GET_SESSION = _unary("Session", "GetSession", session_pb2.GetSessionRequest, session_pb2.GetSessionResponse)
LIST_SESSIONS = _unary("Session", "ListSessions", session_pb2.ListSessionsRequest, session_pb2.ListSessionsResponse)

GET = _unary("KV", "Get", kv_pb2.GetRequest, kv_pb2.GetResponse)
LIST = _unary("KV", "List", kv_pb2.ListRequest, kv_pb2.ListResponse)
PUT = _unary("KV", "Put", kv_pb2.PutRequest, kv_pb2.PutResponse)
DELETE = _unary("KV", "Delete", kv_pb2.DeleteRequest, kv_pb2.DeleteResponse)
DELETE_PREFIX = _unary("KV", "DeletePrefix", kv_pb2.DeletePrefixRequest, kv_pb2.DeletePrefixResponse)
TXN = _unary("KV", "Txn", kv_pb2.TxnRequest, kv_pb2.TxnResponse)

ACQUIRE_LOCK = _stream("Lock", "AcquireLock", lock_pb2.AcquireLockRequest, lock_pb2.AcquireLockResponse)
TRY_ACQUIRE_LOCK = _unary("Lock", "TryAcquireLock", lock_pb2.TryAcquireLockRequest, lock_pb2.TryAcquireLockResponse)
CANCEL_WAIT = _unary("Lock", "CancelWait", lock_pb2.CancelWaitRequest, lock_pb2.CancelWaitResponse)
RELEASE_LOCK = _unary("Lock", "ReleaseLock", lock_pb2.ReleaseLockRequest, lock_pb2.ReleaseLockResponse)
GET_LOCK = _unary("Lock", "GetLock", lock_pb2.GetLockRequest, lock_pb2.GetLockResponse)
BREAK_LOCK = _unary("Lock", "BreakLock", lock_pb2.BreakLockRequest, lock_pb2.BreakLockResponse)
CHECK_SEQUENCER = _unary("Lock", "CheckSequencer", lock_pb2.CheckSequencerRequest, lock_pb2.CheckSequencerResponse)

WATCH = _stream("Watch", "Watch", watch_pb2.WatchRequest, watch_pb2.WatchResponse)

PROCLAIM = _unary("Election", "Proclaim", election_pb2.ProclaimRequest, election_pb2.ProclaimResponse)
RESIGN = _unary("Election", "Resign", election_pb2.ResignRequest, election_pb2.ResignResponse)
GET_LEADER = _unary("Election", "GetLeader", election_pb2.GetLeaderRequest, election_pb2.GetLeaderResponse)
OBSERVE = _stream("Election", "Observe", election_pb2.ObserveRequest, election_pb2.ObserveResponse)

LIST_MEMBERS = _unary("Cluster", "ListMembers", cluster_pb2.ListMembersRequest, cluster_pb2.ListMembersResponse)

REGISTER_NODE = _unary("Catalog", "RegisterNode", catalog_pb2.RegisterNodeRequest, catalog_pb2.RegisterNodeResponse)
DEREGISTER_SERVICE = _unary(
    "Catalog", "DeregisterService", catalog_pb2.DeregisterServiceRequest, catalog_pb2.DeregisterServiceResponse
)
LIST_INSTANCES = _unary("Catalog", "ListInstances", catalog_pb2.ListInstancesRequest, catalog_pb2.ListInstancesResponse)

CREATE_QUERY = _unary("Query", "CreateQuery", query_pb2.CreateQueryRequest, query_pb2.CreateQueryResponse)
UPDATE_QUERY = _unary("Query", "UpdateQuery", query_pb2.UpdateQueryRequest, query_pb2.UpdateQueryResponse)
GET_QUERY = _unary("Query", "GetQuery", query_pb2.GetQueryRequest, query_pb2.GetQueryResponse)
LIST_QUERIES = _unary("Query", "ListQueries", query_pb2.ListQueriesRequest, query_pb2.ListQueriesResponse)
DELETE_QUERY = _unary("Query", "DeleteQuery", query_pb2.DeleteQueryRequest, query_pb2.DeleteQueryResponse)
EXECUTE_QUERY = _unary("Query", "ExecuteQuery", query_pb2.ExecuteQueryRequest, query_pb2.ExecuteQueryResponse)
EXPLAIN_QUERY = _unary("Query", "ExplainQuery", query_pb2.ExplainQueryRequest, query_pb2.ExplainQueryResponse)

GET_AGENT = _unary("Agent", "GetAgent", agent_pb2.GetAgentRequest, agent_pb2.GetAgentResponse)
ADD_AGENT_SERVICE = _unary(
    "Agent", "AddAgentService", agent_pb2.AddAgentServiceRequest, agent_pb2.AddAgentServiceResponse
)
REMOVE_AGENT_SERVICE = _unary(
    "Agent", "RemoveAgentService", agent_pb2.RemoveAgentServiceRequest, agent_pb2.RemoveAgentServiceResponse
)
LIST_AGENT_CHECKS = _unary(
    "Agent", "ListAgentChecks", agent_pb2.ListAgentChecksRequest, agent_pb2.ListAgentChecksResponse
)
REPORT_CHECK = _unary("Agent", "ReportCheck", agent_pb2.ReportCheckRequest, agent_pb2.ReportCheckResponse)
