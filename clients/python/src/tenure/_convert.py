"""Between the messages of the API and the values of this package. Keys lose their namespace here."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import Any, TypeAlias

import grpc
from google.protobuf.any_pb2 import Any as Any_
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from google.rpc import error_details_pb2, status_pb2

from tenure import errors, types
from tenure._core.namespace import Namespace
from tenure.query import Query
from tenure.v1 import catalog_pb2, cluster_pb2, election_pb2, line_pb2, lock_pb2, session_pb2, types_pb2, watch_pb2

ERROR_DOMAIN = "tenure.io"
DURATION_SECONDS_MAX = 315_576_000_000.0  # Of google.protobuf.Duration: some 10 000 years.
_APPLIED = {"yes": True, "no": False, "unknown": None}

# What a status without details means: it was made by gRPC itself, here or on the way.
_BY_CODE: dict[grpc.StatusCode, type[errors.TenureError]] = {
    grpc.StatusCode.UNAVAILABLE: errors.LinkLost,
    grpc.StatusCode.CANCELLED: errors.LinkLost,
    grpc.StatusCode.INTERNAL: errors.LinkLost,
    grpc.StatusCode.UNKNOWN: errors.LinkLost,
    grpc.StatusCode.DEADLINE_EXCEEDED: errors.DeadlineExceeded,
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.TooLarge,
    grpc.StatusCode.UNIMPLEMENTED: errors.FeatureNotEnabled,
    grpc.StatusCode.UNAUTHENTICATED: errors.Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: errors.PermissionDenied,
    grpc.StatusCode.INVALID_ARGUMENT: errors.InvalidArgument,
}


def error(
    code: grpc.StatusCode, message: str, metadata: Iterable[tuple[str, str | bytes]] | None
) -> errors.TenureError:
    """Returns the typed error of a status."""
    details: list[Any_] = []
    for name, value in metadata or ():
        if name == "grpc-status-details-bin" and isinstance(value, bytes):
            details.extend(status_pb2.Status.FromString(value).details)
    return _error(code, message, details)


_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


def line_error(status: line_pb2.LineStatus) -> errors.TenureError:
    """Returns the typed error of a status on a line."""
    return _error(_CODES.get(status.code, grpc.StatusCode.UNKNOWN), status.message, status.details)


def _error(code: grpc.StatusCode, message: str, details: Iterable[Any_]) -> errors.TenureError:
    info: error_details_pb2.ErrorInfo | None = None
    violations: dict[str, str] = {}
    for detail in details:
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo.FromString(detail.value)
        elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
            bad = error_details_pb2.BadRequest.FromString(detail.value)
            violations = {v.field: v.description for v in bad.field_violations}
    if info is None or info.domain != ERROR_DOMAIN:
        return _BY_CODE.get(code, errors.TenureError)(message, applied=None)
    facts = dict(info.metadata)
    return errors.for_reason(info.reason)(
        message,
        reason=info.reason,
        applied=_APPLIED.get(facts.get("applied", "")),
        metadata=facts,
        violations=violations,
    )


def refusal(reason: int, message: str) -> errors.TenureError:
    """Returns the typed error of a verdict on a renewal."""
    name = _name(types_pb2.ErrorReason, reason, "ERROR_REASON_")
    return errors.for_reason(name)(message, reason=name)


def _name(kind: Any, number: int, prefix: str) -> str:
    """Returns the name of an enum's value; UNKNOWN for one of a newer cluster."""
    return kind.Name(number).removeprefix(prefix) if number in kind.values() else "UNKNOWN"


def instance(found: catalog_pb2.ServiceInstance) -> types.Instance:
    """Returns an instance as the catalog has it."""
    service, status = found.service, types.CheckStatus(found.status)
    weight = 1
    if service.HasField("weights"):
        weights = service.weights
        weight = weights.warning if status is types.CheckStatus.WARNING else weights.passing
    return types.Instance(
        service=service.name,
        id=service.service_id,
        node=service.node,
        zone=found.node.zone,
        address=service.address or found.node.address,
        port=service.port,
        tags=tuple(service.tags),
        meta=dict(service.meta),
        weight=weight,
        status=status,
    )


def node_info(m: catalog_pb2.Node) -> types.NodeInfo:
    """Returns a node of the catalog."""
    return types.NodeInfo(m.name, m.node_id, m.address, m.zone, dict(m.meta), m.create_revision, m.mod_revision)


def service_info(m: catalog_pb2.Service) -> types.ServiceInfo:
    """Returns an instance of a service, as it is registered."""
    return types.ServiceInfo(
        name=m.name,
        id=m.service_id,
        node=m.node,
        address=m.address,
        port=m.port,
        tags=tuple(m.tags),
        meta=dict(m.meta),
        create_revision=m.create_revision,
        mod_revision=m.mod_revision,
    )


def check_info(m: catalog_pb2.Check) -> types.CheckInfo:
    """Returns a check of the catalog."""
    return types.CheckInfo(
        id=m.check_id,
        name=m.name,
        node=m.node,
        service_id=m.service_id,
        service=m.service_name,
        status=types.CheckStatus(m.status),
        output=m.output,
        create_revision=m.create_revision,
        mod_revision=m.mod_revision,
    )


Item: TypeAlias = types.NodeInfo | types.ServiceInfo | types.CheckInfo | Query


def items(part: watch_pb2.WatchInitial) -> Iterator[Item]:
    """Yields what a part of the current state has of the catalog."""
    yield from map(node_info, part.nodes)
    yield from map(service_info, part.services)
    yield from map(check_info, part.checks)
    yield from map(Query.from_message, part.queries)


def _item(m: watch_pb2.Event) -> Item | None:
    if m.HasField("node"):
        return node_info(m.node)
    if m.HasField("service"):
        return service_info(m.service)
    if m.HasField("check"):
        return check_info(m.check)
    return Query.from_message(m.query) if m.HasField("query") else None


def to_bytes(value: bytes | str) -> bytes:
    """Returns a value as bytes; text becomes UTF-8. Raises TypeError."""
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"a value is bytes or str, not {type(value).__name__}")
    return bytes(value)


def check_seconds(seconds: float) -> None:
    """Raises TypeError if a time is not a number."""
    if not isinstance(seconds, numbers.Real):
        raise TypeError(f"a time is a number of seconds, not {seconds!r}")


def duration(seconds: float) -> Duration:
    """Returns a Duration. Raises InvalidArgument if it is out of range, and TypeError if it is not a number."""
    check_seconds(seconds)
    if not abs(seconds) <= DURATION_SECONDS_MAX:
        raise errors.InvalidArgument(f"{seconds} s is not a duration")
    d = Duration()
    d.FromNanoseconds(round(seconds * 1e9))
    return d


def seconds(d: Duration) -> float:
    """Returns the seconds of a Duration."""
    return d.seconds + d.nanos / 1e9


def moment(t: Timestamp) -> datetime:
    """Returns the time of a Timestamp, in UTC."""
    return t.ToDatetime(tzinfo=timezone.utc)


def sequencer(s: types_pb2.Sequencer) -> types.Sequencer:
    """Returns a sequencer; its key stays the cluster's."""
    return types.Sequencer(s.key, s.lock_index, s.session_id, s.fencing_token, s.history_id)


def sequencer_message(s: types.Sequencer) -> types_pb2.Sequencer:
    """Returns the message of a sequencer."""
    return types_pb2.Sequencer(
        key=s.key,
        lock_index=s.lock_index,
        session_id=s.session_id,
        fencing_token=s.fencing_token,
        history_id=s.history_id,
    )


class Converter:
    """Converts messages for one namespace."""

    def __init__(self, namespace: Namespace) -> None:
        self.namespace = namespace

    def kv(self, m: types_pb2.KeyValue) -> types.KeyValue:
        """Returns a key."""
        return types.KeyValue(
            key=self.namespace.short(m.key),
            value=m.value,
            flags=m.flags,
            create_revision=m.create_revision,
            mod_revision=m.mod_revision,
            version=m.version,
            lock_index=m.lock_index,
            session_id=m.session_id,
            bound_session_id=m.bound_session_id,
            create_time=moment(m.create_time) if m.HasField("create_time") else None,
            mod_time=moment(m.mod_time) if m.HasField("mod_time") else None,
        )

    def hold(self, m: session_pb2.Hold) -> types.Hold:
        """Returns a hold."""
        return types.Hold(
            sequencer=sequencer(m.sequencer),
            owner=m.owner,
            mode=types.Mode(m.mode or types.Mode.EXCLUSIVE),
            permits=m.permits,
            session_name=m.session_name,
            grant_time=moment(m.grant_time) if m.HasField("grant_time") else None,
            delay_left=seconds(m.delay_left) if m.HasField("delay_left") else None,
            lost_time=moment(m.lost_time) if m.HasField("lost_time") else None,
        )

    def place(self, m: session_pb2.Place) -> types.Place:
        """Returns a place in a queue."""
        return types.Place(
            key=self.namespace.short(m.key),
            place=m.place,
            position=m.position,
            session_id=m.session_id,
            session_name=m.session_name,
            owner=m.owner,
            mode=types.Mode(m.mode or types.Mode.EXCLUSIVE),
            permits=m.permits,
            queue_time=moment(m.queue_time) if m.HasField("queue_time") else None,
        )

    def lock(self, m: lock_pb2.Lock) -> types.LockInfo:
        """Returns a lock."""
        return types.LockInfo(
            key=self.namespace.short(m.key),
            mode=types.Mode(m.mode) if m.mode else None,
            limit=m.limit,
            lock_index=m.lock_index,
            holds=tuple(self.hold(h) for h in m.holds),
            places=tuple(self.place(p) for p in m.places),
            delayed=tuple(self.hold(h) for h in m.delayed),
            holders=m.holders,
            waiters=m.waiters,
            delayed_holds=m.delayed_holds,
        )

    def session(self, m: session_pb2.Session, holds: int = 0) -> types.SessionInfo:
        """Returns a session. How many holds it has is not part of the message."""
        ended = m.HasField("end")
        cause = _name(session_pb2.SessionEndCause, m.end.cause, "SESSION_END_CAUSE_") if ended else ""
        return types.SessionInfo(
            session_id=m.session_id,
            name=m.name,
            node=m.node,
            metadata=dict(m.metadata),
            ttl=seconds(m.ttl),
            lock_delay=seconds(m.lock_delay),
            behavior=types.Behavior(m.behavior or types.Behavior.RELEASE),
            epoch=m.epoch,
            create_revision=m.create_revision,
            objects=m.objects,
            holds=m.end.holds if ended else holds,
            ttl_left=seconds(m.ttl_left) if m.HasField("ttl_left") else None,
            ended=ended,
            end_cause=cause,
            end_reason=m.end.reason,
        )

    def leader(self, m: election_pb2.Leader, gap: bool = False) -> types.LeaderInfo:
        """Returns a leader."""
        return types.LeaderInfo(
            hold=self.hold(m.hold),
            value=m.value,
            since=moment(m.since) if m.HasField("since") else None,
            candidates=m.candidates,
            gap=gap,
        )

    def event(self, m: watch_pb2.Event) -> types.Event:
        """Returns an event."""
        cause = ""
        if m.hold_end_cause:
            cause = _name(lock_pb2.HoldEndCause, m.hold_end_cause, "HOLD_END_CAUSE_")
        elif m.wait_end_cause:
            cause = _name(lock_pb2.WaitEndCause, m.wait_end_cause, "WAIT_END_CAUSE_")
        return types.Event(
            type=types.EventType(_name(watch_pb2.EventType, m.type, "EVENT_TYPE_")),
            revision=m.revision,
            index=m.index,
            key=self.namespace.short(m.key),
            kv=self.kv(m.kv) if m.HasField("kv") else None,
            previous=self.kv(m.previous) if m.HasField("previous") else None,
            hold=self.hold(m.hold) if m.HasField("hold") else None,
            place=self.place(m.place) if m.HasField("place") else None,
            session=self.session(m.session) if m.HasField("session") else None,
            cause=cause,
            reason=m.reason,
            time=moment(m.time) if m.HasField("time") else None,
            item=_item(m),
            previous_status=types.CheckStatus(m.previous_status) if m.previous_status else None,
        )


def member(m: cluster_pb2.Member) -> types.Member:
    """Returns a member."""
    return types.Member(
        id=m.id,
        name=m.name,
        client_address=m.client_address,
        leader=m.leader,
        learner=m.learner,
        zone=m.zone,
        version=m.version,
    )
