from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LockMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LOCK_MODE_UNSPECIFIED: _ClassVar[LockMode]
    LOCK_MODE_EXCLUSIVE: _ClassVar[LockMode]
    LOCK_MODE_SHARED: _ClassVar[LockMode]
    LOCK_MODE_SEMAPHORE: _ClassVar[LockMode]

class ErrorReason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ERROR_REASON_UNSPECIFIED: _ClassVar[ErrorReason]
    ERROR_REASON_INVALID_ARGUMENT: _ClassVar[ErrorReason]
    ERROR_REASON_KEY_EMPTY: _ClassVar[ErrorReason]
    ERROR_REASON_KEY_TOO_LONG: _ClassVar[ErrorReason]
    ERROR_REASON_MALFORMED_REQUEST: _ClassVar[ErrorReason]
    ERROR_REASON_UNKNOWN_FIELD: _ClassVar[ErrorReason]
    ERROR_REASON_PAGE_TOKEN_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_RESUME_TOKEN_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_SEQUENCER_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_TTL_OUT_OF_RANGE: _ClassVar[ErrorReason]
    ERROR_REASON_LOCK_DELAY_OUT_OF_RANGE: _ClassVar[ErrorReason]
    ERROR_REASON_SESSION_ID_INVALID: _ClassVar[ErrorReason]
    ERROR_REASON_KEY_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_SESSION_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_LOCK_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_MEMBER_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_SESSION_EXPIRED: _ClassVar[ErrorReason]
    ERROR_REASON_SESSION_SUPERSEDED: _ClassVar[ErrorReason]
    ERROR_REASON_SESSION_SECRET_WRONG: _ClassVar[ErrorReason]
    ERROR_REASON_COMPARE_FAILED: _ClassVar[ErrorReason]
    ERROR_REASON_LOCK_HELD: _ClassVar[ErrorReason]
    ERROR_REASON_LOCK_DELAYED: _ClassVar[ErrorReason]
    ERROR_REASON_LOCK_NOT_HELD: _ClassVar[ErrorReason]
    ERROR_REASON_FENCING_TOKEN_STALE: _ClassVar[ErrorReason]
    ERROR_REASON_LOCK_MODE_MISMATCH: _ClassVar[ErrorReason]
    ERROR_REASON_REQUEST_ID_REUSED: _ClassVar[ErrorReason]
    ERROR_REASON_REQUEST_ID_DONE: _ClassVar[ErrorReason]
    ERROR_REASON_REQUEST_WINDOW_FULL: _ClassVar[ErrorReason]
    ERROR_REASON_REVISION_COMPACTED: _ClassVar[ErrorReason]
    ERROR_REASON_REVISION_FUTURE: _ClassVar[ErrorReason]
    ERROR_REASON_HISTORY_CHANGED: _ClassVar[ErrorReason]
    ERROR_REASON_NO_LEADER: _ClassVar[ErrorReason]
    ERROR_REASON_NOT_LEADER: _ClassVar[ErrorReason]
    ERROR_REASON_STOPPING: _ClassVar[ErrorReason]
    ERROR_REASON_OUTCOME_UNKNOWN: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_MANY_REQUESTS: _ClassVar[ErrorReason]
    ERROR_REASON_LIMIT_EXCEEDED: _ClassVar[ErrorReason]
    ERROR_REASON_QUOTA_EXCEEDED: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_LARGE: _ClassVar[ErrorReason]
    ERROR_REASON_FEATURE_NOT_ENABLED: _ClassVar[ErrorReason]
    ERROR_REASON_PERMISSION_DENIED: _ClassVar[ErrorReason]
    ERROR_REASON_UNAUTHENTICATED: _ClassVar[ErrorReason]
    ERROR_REASON_CANCELLED: _ClassVar[ErrorReason]
    ERROR_REASON_DEADLINE_EXCEEDED: _ClassVar[ErrorReason]
    ERROR_REASON_INTERNAL: _ClassVar[ErrorReason]
    ERROR_REASON_FROZEN: _ClassVar[ErrorReason]
    ERROR_REASON_EPOCH_MISMATCH: _ClassVar[ErrorReason]
    ERROR_REASON_CANDIDATE_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_METHOD_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_TOO_MANY_KEYS: _ClassVar[ErrorReason]
    ERROR_REASON_MEMBERSHIP_REFUSED: _ClassVar[ErrorReason]
    ERROR_REASON_WATCHER_TOO_SLOW: _ClassVar[ErrorReason]
    ERROR_REASON_ATTEMPT_OUTDATED: _ClassVar[ErrorReason]
    ERROR_REASON_RIGHTS_CHANGED: _ClassVar[ErrorReason]
    ERROR_REASON_POLICY_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_TOKEN_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_AUTH_NOT_BOOTSTRAPPED: _ClassVar[ErrorReason]
    ERROR_REASON_LIMIT_IN_USE: _ClassVar[ErrorReason]
    ERROR_REASON_AUTH_BOOTSTRAPPED: _ClassVar[ErrorReason]
    ERROR_REASON_AUTH_UNSAFE: _ClassVar[ErrorReason]
    ERROR_REASON_AUDIT_UNAVAILABLE: _ClassVar[ErrorReason]
    ERROR_REASON_NODE_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_SERVICE_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_CHECK_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_QUERY_NOT_FOUND: _ClassVar[ErrorReason]
    ERROR_REASON_CHECK_CRITICAL: _ClassVar[ErrorReason]
    ERROR_REASON_NODE_ID_CONFLICT: _ClassVar[ErrorReason]
    ERROR_REASON_SYNC_OUTDATED: _ClassVar[ErrorReason]
    ERROR_REASON_QUERY_NAME_TAKEN: _ClassVar[ErrorReason]
LOCK_MODE_UNSPECIFIED: LockMode
LOCK_MODE_EXCLUSIVE: LockMode
LOCK_MODE_SHARED: LockMode
LOCK_MODE_SEMAPHORE: LockMode
ERROR_REASON_UNSPECIFIED: ErrorReason
ERROR_REASON_INVALID_ARGUMENT: ErrorReason
ERROR_REASON_KEY_EMPTY: ErrorReason
ERROR_REASON_KEY_TOO_LONG: ErrorReason
ERROR_REASON_MALFORMED_REQUEST: ErrorReason
ERROR_REASON_UNKNOWN_FIELD: ErrorReason
ERROR_REASON_PAGE_TOKEN_INVALID: ErrorReason
ERROR_REASON_RESUME_TOKEN_INVALID: ErrorReason
ERROR_REASON_SEQUENCER_INVALID: ErrorReason
ERROR_REASON_TTL_OUT_OF_RANGE: ErrorReason
ERROR_REASON_LOCK_DELAY_OUT_OF_RANGE: ErrorReason
ERROR_REASON_SESSION_ID_INVALID: ErrorReason
ERROR_REASON_KEY_NOT_FOUND: ErrorReason
ERROR_REASON_SESSION_NOT_FOUND: ErrorReason
ERROR_REASON_LOCK_NOT_FOUND: ErrorReason
ERROR_REASON_MEMBER_NOT_FOUND: ErrorReason
ERROR_REASON_SESSION_EXPIRED: ErrorReason
ERROR_REASON_SESSION_SUPERSEDED: ErrorReason
ERROR_REASON_SESSION_SECRET_WRONG: ErrorReason
ERROR_REASON_COMPARE_FAILED: ErrorReason
ERROR_REASON_LOCK_HELD: ErrorReason
ERROR_REASON_LOCK_DELAYED: ErrorReason
ERROR_REASON_LOCK_NOT_HELD: ErrorReason
ERROR_REASON_FENCING_TOKEN_STALE: ErrorReason
ERROR_REASON_LOCK_MODE_MISMATCH: ErrorReason
ERROR_REASON_REQUEST_ID_REUSED: ErrorReason
ERROR_REASON_REQUEST_ID_DONE: ErrorReason
ERROR_REASON_REQUEST_WINDOW_FULL: ErrorReason
ERROR_REASON_REVISION_COMPACTED: ErrorReason
ERROR_REASON_REVISION_FUTURE: ErrorReason
ERROR_REASON_HISTORY_CHANGED: ErrorReason
ERROR_REASON_NO_LEADER: ErrorReason
ERROR_REASON_NOT_LEADER: ErrorReason
ERROR_REASON_STOPPING: ErrorReason
ERROR_REASON_OUTCOME_UNKNOWN: ErrorReason
ERROR_REASON_TOO_MANY_REQUESTS: ErrorReason
ERROR_REASON_LIMIT_EXCEEDED: ErrorReason
ERROR_REASON_QUOTA_EXCEEDED: ErrorReason
ERROR_REASON_TOO_LARGE: ErrorReason
ERROR_REASON_FEATURE_NOT_ENABLED: ErrorReason
ERROR_REASON_PERMISSION_DENIED: ErrorReason
ERROR_REASON_UNAUTHENTICATED: ErrorReason
ERROR_REASON_CANCELLED: ErrorReason
ERROR_REASON_DEADLINE_EXCEEDED: ErrorReason
ERROR_REASON_INTERNAL: ErrorReason
ERROR_REASON_FROZEN: ErrorReason
ERROR_REASON_EPOCH_MISMATCH: ErrorReason
ERROR_REASON_CANDIDATE_NOT_FOUND: ErrorReason
ERROR_REASON_METHOD_NOT_FOUND: ErrorReason
ERROR_REASON_TOO_MANY_KEYS: ErrorReason
ERROR_REASON_MEMBERSHIP_REFUSED: ErrorReason
ERROR_REASON_WATCHER_TOO_SLOW: ErrorReason
ERROR_REASON_ATTEMPT_OUTDATED: ErrorReason
ERROR_REASON_RIGHTS_CHANGED: ErrorReason
ERROR_REASON_POLICY_NOT_FOUND: ErrorReason
ERROR_REASON_TOKEN_NOT_FOUND: ErrorReason
ERROR_REASON_AUTH_NOT_BOOTSTRAPPED: ErrorReason
ERROR_REASON_LIMIT_IN_USE: ErrorReason
ERROR_REASON_AUTH_BOOTSTRAPPED: ErrorReason
ERROR_REASON_AUTH_UNSAFE: ErrorReason
ERROR_REASON_AUDIT_UNAVAILABLE: ErrorReason
ERROR_REASON_NODE_NOT_FOUND: ErrorReason
ERROR_REASON_SERVICE_NOT_FOUND: ErrorReason
ERROR_REASON_CHECK_NOT_FOUND: ErrorReason
ERROR_REASON_QUERY_NOT_FOUND: ErrorReason
ERROR_REASON_CHECK_CRITICAL: ErrorReason
ERROR_REASON_NODE_ID_CONFLICT: ErrorReason
ERROR_REASON_SYNC_OUTDATED: ErrorReason
ERROR_REASON_QUERY_NAME_TAKEN: ErrorReason

class ResponseHeader(_message.Message):
    __slots__ = ("cluster_id", "history_id", "member_id", "revision", "term", "hidden", "filtered")
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    HISTORY_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    HIDDEN_FIELD_NUMBER: _ClassVar[int]
    FILTERED_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    history_id: str
    member_id: int
    revision: int
    term: int
    hidden: int
    filtered: bool
    def __init__(self, cluster_id: _Optional[str] = ..., history_id: _Optional[str] = ..., member_id: _Optional[int] = ..., revision: _Optional[int] = ..., term: _Optional[int] = ..., hidden: _Optional[int] = ..., filtered: bool = ...) -> None: ...

class RequestID(_message.Message):
    __slots__ = ("session_id", "sequence", "done_below")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    DONE_BELOW_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    sequence: int
    done_below: int
    def __init__(self, session_id: _Optional[str] = ..., sequence: _Optional[int] = ..., done_below: _Optional[int] = ...) -> None: ...

class Sequencer(_message.Message):
    __slots__ = ("key", "lock_index", "session_id", "fencing_token", "history_id")
    KEY_FIELD_NUMBER: _ClassVar[int]
    LOCK_INDEX_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    HISTORY_ID_FIELD_NUMBER: _ClassVar[int]
    key: str
    lock_index: int
    session_id: str
    fencing_token: int
    history_id: str
    def __init__(self, key: _Optional[str] = ..., lock_index: _Optional[int] = ..., session_id: _Optional[str] = ..., fencing_token: _Optional[int] = ..., history_id: _Optional[str] = ...) -> None: ...

class KeyCondition(_message.Message):
    __slots__ = ("key", "exists", "mod_revision", "create_revision", "version", "held_by")
    KEY_FIELD_NUMBER: _ClassVar[int]
    EXISTS_FIELD_NUMBER: _ClassVar[int]
    MOD_REVISION_FIELD_NUMBER: _ClassVar[int]
    CREATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    HELD_BY_FIELD_NUMBER: _ClassVar[int]
    key: str
    exists: bool
    mod_revision: int
    create_revision: int
    version: int
    held_by: str
    def __init__(self, key: _Optional[str] = ..., exists: bool = ..., mod_revision: _Optional[int] = ..., create_revision: _Optional[int] = ..., version: _Optional[int] = ..., held_by: _Optional[str] = ...) -> None: ...

class Guard(_message.Message):
    __slots__ = ("held", "session_alive", "key")
    HELD_FIELD_NUMBER: _ClassVar[int]
    SESSION_ALIVE_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    held: Sequencer
    session_alive: str
    key: KeyCondition
    def __init__(self, held: _Optional[_Union[Sequencer, _Mapping]] = ..., session_alive: _Optional[str] = ..., key: _Optional[_Union[KeyCondition, _Mapping]] = ...) -> None: ...

class CallOptions(_message.Message):
    __slots__ = ("session_secret", "epoch", "request_id", "idempotency_key", "guards", "owner", "force", "reason")
    SESSION_SECRET_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEY_FIELD_NUMBER: _ClassVar[int]
    GUARDS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    session_secret: bytes
    epoch: int
    request_id: RequestID
    idempotency_key: bytes
    guards: _containers.RepeatedCompositeFieldContainer[Guard]
    owner: str
    force: bool
    reason: str
    def __init__(self, session_secret: _Optional[bytes] = ..., epoch: _Optional[int] = ..., request_id: _Optional[_Union[RequestID, _Mapping]] = ..., idempotency_key: _Optional[bytes] = ..., guards: _Optional[_Iterable[_Union[Guard, _Mapping]]] = ..., owner: _Optional[str] = ..., force: bool = ..., reason: _Optional[str] = ...) -> None: ...

class ReadOptions(_message.Message):
    __slots__ = ("stale", "min_revision", "history_id")
    STALE_FIELD_NUMBER: _ClassVar[int]
    MIN_REVISION_FIELD_NUMBER: _ClassVar[int]
    HISTORY_ID_FIELD_NUMBER: _ClassVar[int]
    stale: bool
    min_revision: int
    history_id: str
    def __init__(self, stale: bool = ..., min_revision: _Optional[int] = ..., history_id: _Optional[str] = ...) -> None: ...

class KeyValue(_message.Message):
    __slots__ = ("key", "value", "flags", "create_revision", "mod_revision", "version", "lock_index", "session_id", "bound_session_id", "create_time", "mod_time")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    CREATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    MOD_REVISION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LOCK_INDEX_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    BOUND_SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    MOD_TIME_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: bytes
    flags: int
    create_revision: int
    mod_revision: int
    version: int
    lock_index: int
    session_id: str
    bound_session_id: str
    create_time: _timestamp_pb2.Timestamp
    mod_time: _timestamp_pb2.Timestamp
    def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ..., flags: _Optional[int] = ..., create_revision: _Optional[int] = ..., mod_revision: _Optional[int] = ..., version: _Optional[int] = ..., lock_index: _Optional[int] = ..., session_id: _Optional[str] = ..., bound_session_id: _Optional[str] = ..., create_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., mod_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
