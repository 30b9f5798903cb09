from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import catalog_pb2 as _catalog_pb2
from tenure.v1 import lock_pb2 as _lock_pb2
from tenure.v1 import query_pb2 as _query_pb2
from tenure.v1 import session_pb2 as _session_pb2
from tenure.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EVENT_TYPE_UNSPECIFIED: _ClassVar[EventType]
    EVENT_TYPE_PUT: _ClassVar[EventType]
    EVENT_TYPE_DELETED: _ClassVar[EventType]
    EVENT_TYPE_HOLDER_GRANTED: _ClassVar[EventType]
    EVENT_TYPE_HOLDER_RELEASED: _ClassVar[EventType]
    EVENT_TYPE_HOLDER_LOST: _ClassVar[EventType]
    EVENT_TYPE_LOCK_QUEUED: _ClassVar[EventType]
    EVENT_TYPE_LOCK_LEFT: _ClassVar[EventType]
    EVENT_TYPE_LOCK_GRANTED: _ClassVar[EventType]
    EVENT_TYPE_LOCK_RELEASED: _ClassVar[EventType]
    EVENT_TYPE_LOCK_LOST: _ClassVar[EventType]
    EVENT_TYPE_LOCK_DELAY_BEGUN: _ClassVar[EventType]
    EVENT_TYPE_LOCK_DELAY_ENDED: _ClassVar[EventType]
    EVENT_TYPE_SESSION_BEGUN: _ClassVar[EventType]
    EVENT_TYPE_SESSION_TAKEN_OVER: _ClassVar[EventType]
    EVENT_TYPE_SESSION_ENDED: _ClassVar[EventType]
    EVENT_TYPE_NODE_PUT: _ClassVar[EventType]
    EVENT_TYPE_NODE_DELETED: _ClassVar[EventType]
    EVENT_TYPE_SERVICE_PUT: _ClassVar[EventType]
    EVENT_TYPE_SERVICE_DELETED: _ClassVar[EventType]
    EVENT_TYPE_CHECK_PUT: _ClassVar[EventType]
    EVENT_TYPE_CHECK_STATUS: _ClassVar[EventType]
    EVENT_TYPE_CHECK_DELETED: _ClassVar[EventType]
    EVENT_TYPE_QUERY_PUT: _ClassVar[EventType]
    EVENT_TYPE_QUERY_DELETED: _ClassVar[EventType]
EVENT_TYPE_UNSPECIFIED: EventType
EVENT_TYPE_PUT: EventType
EVENT_TYPE_DELETED: EventType
EVENT_TYPE_HOLDER_GRANTED: EventType
EVENT_TYPE_HOLDER_RELEASED: EventType
EVENT_TYPE_HOLDER_LOST: EventType
EVENT_TYPE_LOCK_QUEUED: EventType
EVENT_TYPE_LOCK_LEFT: EventType
EVENT_TYPE_LOCK_GRANTED: EventType
EVENT_TYPE_LOCK_RELEASED: EventType
EVENT_TYPE_LOCK_LOST: EventType
EVENT_TYPE_LOCK_DELAY_BEGUN: EventType
EVENT_TYPE_LOCK_DELAY_ENDED: EventType
EVENT_TYPE_SESSION_BEGUN: EventType
EVENT_TYPE_SESSION_TAKEN_OVER: EventType
EVENT_TYPE_SESSION_ENDED: EventType
EVENT_TYPE_NODE_PUT: EventType
EVENT_TYPE_NODE_DELETED: EventType
EVENT_TYPE_SERVICE_PUT: EventType
EVENT_TYPE_SERVICE_DELETED: EventType
EVENT_TYPE_CHECK_PUT: EventType
EVENT_TYPE_CHECK_STATUS: EventType
EVENT_TYPE_CHECK_DELETED: EventType
EVENT_TYPE_QUERY_PUT: EventType
EVENT_TYPE_QUERY_DELETED: EventType

class WatchRequest(_message.Message):
    __slots__ = ("keys", "prefixes", "range_start", "range_end", "locks", "lock_prefixes", "session_ids", "all_sessions", "filter", "after_revision", "history_id", "resume_token", "initial", "previous", "keys_only", "limit", "wait", "progress_interval", "nodes", "services", "all_nodes", "all_services", "all_queries", "visible_only")
    KEYS_FIELD_NUMBER: _ClassVar[int]
    PREFIXES_FIELD_NUMBER: _ClassVar[int]
    RANGE_START_FIELD_NUMBER: _ClassVar[int]
    RANGE_END_FIELD_NUMBER: _ClassVar[int]
    LOCKS_FIELD_NUMBER: _ClassVar[int]
    LOCK_PREFIXES_FIELD_NUMBER: _ClassVar[int]
    SESSION_IDS_FIELD_NUMBER: _ClassVar[int]
    ALL_SESSIONS_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    AFTER_REVISION_FIELD_NUMBER: _ClassVar[int]
    HISTORY_ID_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    INITIAL_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    KEYS_ONLY_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    ALL_NODES_FIELD_NUMBER: _ClassVar[int]
    ALL_SERVICES_FIELD_NUMBER: _ClassVar[int]
    ALL_QUERIES_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_ONLY_FIELD_NUMBER: _ClassVar[int]
    keys: _containers.RepeatedScalarFieldContainer[str]
    prefixes: _containers.RepeatedScalarFieldContainer[str]
    range_start: str
    range_end: str
    locks: _containers.RepeatedScalarFieldContainer[str]
    lock_prefixes: _containers.RepeatedScalarFieldContainer[str]
    session_ids: _containers.RepeatedScalarFieldContainer[str]
    all_sessions: bool
    filter: WatchFilter
    after_revision: int
    history_id: str
    resume_token: str
    initial: bool
    previous: bool
    keys_only: bool
    limit: int
    wait: _duration_pb2.Duration
    progress_interval: _duration_pb2.Duration
    nodes: _containers.RepeatedScalarFieldContainer[str]
    services: _containers.RepeatedScalarFieldContainer[str]
    all_nodes: bool
    all_services: bool
    all_queries: bool
    visible_only: bool
    def __init__(self, keys: _Optional[_Iterable[str]] = ..., prefixes: _Optional[_Iterable[str]] = ..., range_start: _Optional[str] = ..., range_end: _Optional[str] = ..., locks: _Optional[_Iterable[str]] = ..., lock_prefixes: _Optional[_Iterable[str]] = ..., session_ids: _Optional[_Iterable[str]] = ..., all_sessions: bool = ..., filter: _Optional[_Union[WatchFilter, _Mapping]] = ..., after_revision: _Optional[int] = ..., history_id: _Optional[str] = ..., resume_token: _Optional[str] = ..., initial: bool = ..., previous: bool = ..., keys_only: bool = ..., limit: _Optional[int] = ..., wait: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., progress_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., nodes: _Optional[_Iterable[str]] = ..., services: _Optional[_Iterable[str]] = ..., all_nodes: bool = ..., all_services: bool = ..., all_queries: bool = ..., visible_only: bool = ...) -> None: ...

class WatchFilter(_message.Message):
    __slots__ = ("no_puts", "no_deletes", "no_holder_changes", "no_queue")
    NO_PUTS_FIELD_NUMBER: _ClassVar[int]
    NO_DELETES_FIELD_NUMBER: _ClassVar[int]
    NO_HOLDER_CHANGES_FIELD_NUMBER: _ClassVar[int]
    NO_QUEUE_FIELD_NUMBER: _ClassVar[int]
    no_puts: bool
    no_deletes: bool
    no_holder_changes: bool
    no_queue: bool
    def __init__(self, no_puts: bool = ..., no_deletes: bool = ..., no_holder_changes: bool = ..., no_queue: bool = ...) -> None: ...

class WatchResponse(_message.Message):
    __slots__ = ("header", "resume_token", "started", "initial", "events", "progress")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    RESUME_TOKEN_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    INITIAL_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    resume_token: str
    started: WatchStarted
    initial: WatchInitial
    events: WatchEvents
    progress: WatchProgress
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., resume_token: _Optional[str] = ..., started: _Optional[_Union[WatchStarted, _Mapping]] = ..., initial: _Optional[_Union[WatchInitial, _Mapping]] = ..., events: _Optional[_Union[WatchEvents, _Mapping]] = ..., progress: _Optional[_Union[WatchProgress, _Mapping]] = ...) -> None: ...

class WatchStarted(_message.Message):
    __slots__ = ("after_revision",)
    AFTER_REVISION_FIELD_NUMBER: _ClassVar[int]
    after_revision: int
    def __init__(self, after_revision: _Optional[int] = ...) -> None: ...

class WatchInitial(_message.Message):
    __slots__ = ("kvs", "locks", "sessions", "complete", "nodes", "services", "checks", "queries")
    KVS_FIELD_NUMBER: _ClassVar[int]
    LOCKS_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    kvs: _containers.RepeatedCompositeFieldContainer[_types_pb2.KeyValue]
    locks: _containers.RepeatedCompositeFieldContainer[_lock_pb2.Lock]
    sessions: _containers.RepeatedCompositeFieldContainer[_session_pb2.Session]
    complete: bool
    nodes: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.Node]
    services: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.Service]
    checks: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.Check]
    queries: _containers.RepeatedCompositeFieldContainer[_query_pb2.Query]
    def __init__(self, kvs: _Optional[_Iterable[_Union[_types_pb2.KeyValue, _Mapping]]] = ..., locks: _Optional[_Iterable[_Union[_lock_pb2.Lock, _Mapping]]] = ..., sessions: _Optional[_Iterable[_Union[_session_pb2.Session, _Mapping]]] = ..., complete: bool = ..., nodes: _Optional[_Iterable[_Union[_catalog_pb2.Node, _Mapping]]] = ..., services: _Optional[_Iterable[_Union[_catalog_pb2.Service, _Mapping]]] = ..., checks: _Optional[_Iterable[_Union[_catalog_pb2.Check, _Mapping]]] = ..., queries: _Optional[_Iterable[_Union[_query_pb2.Query, _Mapping]]] = ...) -> None: ...

class WatchEvents(_message.Message):
    __slots__ = ("events", "more")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedCompositeFieldContainer[Event]
    more: bool
    def __init__(self, events: _Optional[_Iterable[_Union[Event, _Mapping]]] = ..., more: bool = ...) -> None: ...

class WatchProgress(_message.Message):
    __slots__ = ("proved_after",)
    PROVED_AFTER_FIELD_NUMBER: _ClassVar[int]
    proved_after: _duration_pb2.Duration
    def __init__(self, proved_after: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("type", "revision", "index", "time", "key", "kv", "previous", "hold", "place", "hold_end_cause", "wait_end_cause", "session", "reason", "unused", "node", "service", "check", "previous_status", "query")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    KV_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    HOLD_END_CAUSE_FIELD_NUMBER: _ClassVar[int]
    WAIT_END_CAUSE_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    UNUSED_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_STATUS_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    type: EventType
    revision: int
    index: int
    time: _timestamp_pb2.Timestamp
    key: str
    kv: _types_pb2.KeyValue
    previous: _types_pb2.KeyValue
    hold: _session_pb2.Hold
    place: _session_pb2.Place
    hold_end_cause: _lock_pb2.HoldEndCause
    wait_end_cause: _lock_pb2.WaitEndCause
    session: _session_pb2.Session
    reason: str
    unused: bool
    node: _catalog_pb2.Node
    service: _catalog_pb2.Service
    check: _catalog_pb2.Check
    previous_status: _catalog_pb2.CheckStatus
    query: _query_pb2.Query
    def __init__(self, type: _Optional[_Union[EventType, str]] = ..., revision: _Optional[int] = ..., index: _Optional[int] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., key: _Optional[str] = ..., kv: _Optional[_Union[_types_pb2.KeyValue, _Mapping]] = ..., previous: _Optional[_Union[_types_pb2.KeyValue, _Mapping]] = ..., hold: _Optional[_Union[_session_pb2.Hold, _Mapping]] = ..., place: _Optional[_Union[_session_pb2.Place, _Mapping]] = ..., hold_end_cause: _Optional[_Union[_lock_pb2.HoldEndCause, str]] = ..., wait_end_cause: _Optional[_Union[_lock_pb2.WaitEndCause, str]] = ..., session: _Optional[_Union[_session_pb2.Session, _Mapping]] = ..., reason: _Optional[str] = ..., unused: bool = ..., node: _Optional[_Union[_catalog_pb2.Node, _Mapping]] = ..., service: _Optional[_Union[_catalog_pb2.Service, _Mapping]] = ..., check: _Optional[_Union[_catalog_pb2.Check, _Mapping]] = ..., previous_status: _Optional[_Union[_catalog_pb2.CheckStatus, str]] = ..., query: _Optional[_Union[_query_pb2.Query, _Mapping]] = ...) -> None: ...
