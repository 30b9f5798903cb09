from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SessionBehavior(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_BEHAVIOR_UNSPECIFIED: _ClassVar[SessionBehavior]
    SESSION_BEHAVIOR_RELEASE: _ClassVar[SessionBehavior]
    SESSION_BEHAVIOR_DELETE: _ClassVar[SessionBehavior]

class SessionEndCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_END_CAUSE_UNSPECIFIED: _ClassVar[SessionEndCause]
    SESSION_END_CAUSE_EXPIRED: _ClassVar[SessionEndCause]
    SESSION_END_CAUSE_DESTROYED: _ClassVar[SessionEndCause]
    SESSION_END_CAUSE_FORCED: _ClassVar[SessionEndCause]
    SESSION_END_CAUSE_NODE_DEREGISTERED: _ClassVar[SessionEndCause]
    SESSION_END_CAUSE_CHECK_DEREGISTERED: _ClassVar[SessionEndCause]
    SESSION_END_CAUSE_CHECK_CRITICAL: _ClassVar[SessionEndCause]
    SESSION_END_CAUSE_RESTORED: _ClassVar[SessionEndCause]
SESSION_BEHAVIOR_UNSPECIFIED: SessionBehavior
SESSION_BEHAVIOR_RELEASE: SessionBehavior
SESSION_BEHAVIOR_DELETE: SessionBehavior
SESSION_END_CAUSE_UNSPECIFIED: SessionEndCause
SESSION_END_CAUSE_EXPIRED: SessionEndCause
SESSION_END_CAUSE_DESTROYED: SessionEndCause
SESSION_END_CAUSE_FORCED: SessionEndCause
SESSION_END_CAUSE_NODE_DEREGISTERED: SessionEndCause
SESSION_END_CAUSE_CHECK_DEREGISTERED: SessionEndCause
SESSION_END_CAUSE_CHECK_CRITICAL: SessionEndCause
SESSION_END_CAUSE_RESTORED: SessionEndCause

class SessionChecks(_message.Message):
    __slots__ = ("node_checks", "service_checks")
    NODE_CHECKS_FIELD_NUMBER: _ClassVar[int]
    SERVICE_CHECKS_FIELD_NUMBER: _ClassVar[int]
    node_checks: _containers.RepeatedScalarFieldContainer[str]
    service_checks: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, node_checks: _Optional[_Iterable[str]] = ..., service_checks: _Optional[_Iterable[str]] = ...) -> None: ...

class CreateSessionRequest(_message.Message):
    __slots__ = ("name", "node", "metadata", "ttl", "lock_delay", "behavior", "secret", "want_secret", "checks", "instance_id", "options")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    LOCK_DELAY_FIELD_NUMBER: _ClassVar[int]
    BEHAVIOR_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    WANT_SECRET_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    node: str
    metadata: _containers.ScalarMap[str, str]
    ttl: _duration_pb2.Duration
    lock_delay: _duration_pb2.Duration
    behavior: SessionBehavior
    secret: bytes
    want_secret: bool
    checks: SessionChecks
    instance_id: bytes
    options: _types_pb2.CallOptions
    def __init__(self, name: _Optional[str] = ..., node: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ..., ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., lock_delay: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., behavior: _Optional[_Union[SessionBehavior, str]] = ..., secret: _Optional[bytes] = ..., want_secret: bool = ..., checks: _Optional[_Union[SessionChecks, _Mapping]] = ..., instance_id: _Optional[bytes] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class CreateSessionResponse(_message.Message):
    __slots__ = ("header", "session_id", "ttl", "lock_delay", "secret", "epoch", "create_revision", "keepalive_interval", "node_id", "checks")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    LOCK_DELAY_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    CREATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    KEEPALIVE_INTERVAL_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    session_id: str
    ttl: _duration_pb2.Duration
    lock_delay: _duration_pb2.Duration
    secret: bytes
    epoch: int
    create_revision: int
    keepalive_interval: _duration_pb2.Duration
    node_id: str
    checks: SessionChecks
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., session_id: _Optional[str] = ..., ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., lock_delay: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., secret: _Optional[bytes] = ..., epoch: _Optional[int] = ..., create_revision: _Optional[int] = ..., keepalive_interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., node_id: _Optional[str] = ..., checks: _Optional[_Union[SessionChecks, _Mapping]] = ...) -> None: ...

class RenewSessionRequest(_message.Message):
    __slots__ = ("session_id", "options")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    options: _types_pb2.CallOptions
    def __init__(self, session_id: _Optional[str] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class RenewSessionResponse(_message.Message):
    __slots__ = ("header", "session")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    session: Session
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class SessionRenewal(_message.Message):
    __slots__ = ("session_id", "epoch", "number", "secret")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    epoch: int
    number: int
    secret: bytes
    def __init__(self, session_id: _Optional[str] = ..., epoch: _Optional[int] = ..., number: _Optional[int] = ..., secret: _Optional[bytes] = ...) -> None: ...

class KeepAliveRequest(_message.Message):
    __slots__ = ("renewals",)
    RENEWALS_FIELD_NUMBER: _ClassVar[int]
    renewals: _containers.RepeatedCompositeFieldContainer[SessionRenewal]
    def __init__(self, renewals: _Optional[_Iterable[_Union[SessionRenewal, _Mapping]]] = ...) -> None: ...

class RenewalVerdict(_message.Message):
    __slots__ = ("session_id", "number", "ttl", "refused")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    number: int
    ttl: _duration_pb2.Duration
    refused: _types_pb2.ErrorReason
    def __init__(self, session_id: _Optional[str] = ..., number: _Optional[int] = ..., ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., refused: _Optional[_Union[_types_pb2.ErrorReason, str]] = ...) -> None: ...

class KeepAliveResponse(_message.Message):
    __slots__ = ("header", "verdicts", "hints")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    HINTS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    verdicts: _containers.RepeatedCompositeFieldContainer[RenewalVerdict]
    hints: _containers.RepeatedCompositeFieldContainer[SessionHint]
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., verdicts: _Optional[_Iterable[_Union[RenewalVerdict, _Mapping]]] = ..., hints: _Optional[_Iterable[_Union[SessionHint, _Mapping]]] = ...) -> None: ...

class SessionHint(_message.Message):
    __slots__ = ("session_id", "granted", "lost", "contended")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    GRANTED_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    CONTENDED_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    granted: Hold
    lost: Hold
    contended: Hold
    def __init__(self, session_id: _Optional[str] = ..., granted: _Optional[_Union[Hold, _Mapping]] = ..., lost: _Optional[_Union[Hold, _Mapping]] = ..., contended: _Optional[_Union[Hold, _Mapping]] = ...) -> None: ...

class AttachSessionRequest(_message.Message):
    __slots__ = ("session_id", "instance_id", "attempt", "take_over", "options", "page_token")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TAKE_OVER_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    instance_id: bytes
    attempt: int
    take_over: bool
    options: _types_pb2.CallOptions
    page_token: str
    def __init__(self, session_id: _Optional[str] = ..., instance_id: _Optional[bytes] = ..., attempt: _Optional[int] = ..., take_over: bool = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ..., page_token: _Optional[str] = ...) -> None: ...

class AttachSessionResponse(_message.Message):
    __slots__ = ("header", "session", "holds", "places", "max_sequence", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    MAX_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    session: Session
    holds: _containers.RepeatedCompositeFieldContainer[Hold]
    places: _containers.RepeatedCompositeFieldContainer[Place]
    max_sequence: int
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., session: _Optional[_Union[Session, _Mapping]] = ..., holds: _Optional[_Iterable[_Union[Hold, _Mapping]]] = ..., places: _Optional[_Iterable[_Union[Place, _Mapping]]] = ..., max_sequence: _Optional[int] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DestroySessionRequest(_message.Message):
    __slots__ = ("session_id", "clean", "options", "force", "reason")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CLEAN_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    clean: bool
    options: _types_pb2.CallOptions
    force: bool
    reason: str
    def __init__(self, session_id: _Optional[str] = ..., clean: bool = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ..., force: bool = ..., reason: _Optional[str] = ...) -> None: ...

class DestroySessionResponse(_message.Message):
    __slots__ = ("header", "destroyed", "holds")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DESTROYED_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    destroyed: bool
    holds: int
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., destroyed: bool = ..., holds: _Optional[int] = ...) -> None: ...

class GetSessionRequest(_message.Message):
    __slots__ = ("session_id", "read", "page_token")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    read: _types_pb2.ReadOptions
    page_token: str
    def __init__(self, session_id: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ..., page_token: _Optional[str] = ...) -> None: ...

class GetSessionResponse(_message.Message):
    __slots__ = ("header", "session", "holds", "places", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SESSION_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    session: Session
    holds: _containers.RepeatedCompositeFieldContainer[Hold]
    places: _containers.RepeatedCompositeFieldContainer[Place]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., session: _Optional[_Union[Session, _Mapping]] = ..., holds: _Optional[_Iterable[_Union[Hold, _Mapping]]] = ..., places: _Optional[_Iterable[_Union[Place, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListSessionsRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "name_prefix", "node", "no_ttl", "older_than", "read", "principals", "visible_only")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    NO_TTL_FIELD_NUMBER: _ClassVar[int]
    OLDER_THAN_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    PRINCIPALS_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_ONLY_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    name_prefix: str
    node: str
    no_ttl: bool
    older_than: _duration_pb2.Duration
    read: _types_pb2.ReadOptions
    principals: _containers.RepeatedScalarFieldContainer[str]
    visible_only: bool
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., name_prefix: _Optional[str] = ..., node: _Optional[str] = ..., no_ttl: bool = ..., older_than: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ..., principals: _Optional[_Iterable[str]] = ..., visible_only: bool = ...) -> None: ...

class ListSessionsResponse(_message.Message):
    __slots__ = ("header", "sessions", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class Session(_message.Message):
    __slots__ = ("session_id", "name", "node", "metadata", "ttl", "lock_delay", "behavior", "has_secret", "peer_address", "epoch", "create_revision", "create_time", "objects", "ttl_left", "last_renewal_time", "end", "node_id", "checks")
    class MetadataEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    LOCK_DELAY_FIELD_NUMBER: _ClassVar[int]
    BEHAVIOR_FIELD_NUMBER: _ClassVar[int]
    HAS_SECRET_FIELD_NUMBER: _ClassVar[int]
    PEER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    CREATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    TTL_LEFT_FIELD_NUMBER: _ClassVar[int]
    LAST_RENEWAL_TIME_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    name: str
    node: str
    metadata: _containers.ScalarMap[str, str]
    ttl: _duration_pb2.Duration
    lock_delay: _duration_pb2.Duration
    behavior: SessionBehavior
    has_secret: bool
    peer_address: str
    epoch: int
    create_revision: int
    create_time: _timestamp_pb2.Timestamp
    objects: int
    ttl_left: _duration_pb2.Duration
    last_renewal_time: _timestamp_pb2.Timestamp
    end: SessionEnd
    node_id: str
    checks: SessionChecks
    def __init__(self, session_id: _Optional[str] = ..., name: _Optional[str] = ..., node: _Optional[str] = ..., metadata: _Optional[_Mapping[str, str]] = ..., ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., lock_delay: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., behavior: _Optional[_Union[SessionBehavior, str]] = ..., has_secret: bool = ..., peer_address: _Optional[str] = ..., epoch: _Optional[int] = ..., create_revision: _Optional[int] = ..., create_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., objects: _Optional[int] = ..., ttl_left: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., last_renewal_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., end: _Optional[_Union[SessionEnd, _Mapping]] = ..., node_id: _Optional[str] = ..., checks: _Optional[_Union[SessionChecks, _Mapping]] = ...) -> None: ...

class SessionEnd(_message.Message):
    __slots__ = ("cause", "reason", "by", "revision", "time", "holds", "places", "ephemeral_keys", "held_keys", "clean")
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    EPHEMERAL_KEYS_FIELD_NUMBER: _ClassVar[int]
    HELD_KEYS_FIELD_NUMBER: _ClassVar[int]
    CLEAN_FIELD_NUMBER: _ClassVar[int]
    cause: SessionEndCause
    reason: str
    by: str
    revision: int
    time: _timestamp_pb2.Timestamp
    holds: int
    places: int
    ephemeral_keys: int
    held_keys: _containers.RepeatedScalarFieldContainer[str]
    clean: bool
    def __init__(self, cause: _Optional[_Union[SessionEndCause, str]] = ..., reason: _Optional[str] = ..., by: _Optional[str] = ..., revision: _Optional[int] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., holds: _Optional[int] = ..., places: _Optional[int] = ..., ephemeral_keys: _Optional[int] = ..., held_keys: _Optional[_Iterable[str]] = ..., clean: bool = ...) -> None: ...

class Hold(_message.Message):
    __slots__ = ("sequencer", "owner", "mode", "permits", "grant_time", "session_name", "delay_left", "lost_time")
    SEQUENCER_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    GRANT_TIME_FIELD_NUMBER: _ClassVar[int]
    SESSION_NAME_FIELD_NUMBER: _ClassVar[int]
    DELAY_LEFT_FIELD_NUMBER: _ClassVar[int]
    LOST_TIME_FIELD_NUMBER: _ClassVar[int]
    sequencer: _types_pb2.Sequencer
    owner: str
    mode: _types_pb2.LockMode
    permits: int
    grant_time: _timestamp_pb2.Timestamp
    session_name: str
    delay_left: _duration_pb2.Duration
    lost_time: _timestamp_pb2.Timestamp
    def __init__(self, sequencer: _Optional[_Union[_types_pb2.Sequencer, _Mapping]] = ..., owner: _Optional[str] = ..., mode: _Optional[_Union[_types_pb2.LockMode, str]] = ..., permits: _Optional[int] = ..., grant_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., session_name: _Optional[str] = ..., delay_left: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., lost_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Place(_message.Message):
    __slots__ = ("key", "place", "position", "session_id", "session_name", "owner", "mode", "permits", "queue_time")
    KEY_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_NAME_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    QUEUE_TIME_FIELD_NUMBER: _ClassVar[int]
    key: str
    place: int
    position: int
    session_id: str
    session_name: str
    owner: str
    mode: _types_pb2.LockMode
    permits: int
    queue_time: _timestamp_pb2.Timestamp
    def __init__(self, key: _Optional[str] = ..., place: _Optional[int] = ..., position: _Optional[int] = ..., session_id: _Optional[str] = ..., session_name: _Optional[str] = ..., owner: _Optional[str] = ..., mode: _Optional[_Union[_types_pb2.LockMode, str]] = ..., permits: _Optional[int] = ..., queue_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
