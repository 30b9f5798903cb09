from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import session_pb2 as _session_pb2
from tenure.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HoldEndCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HOLD_END_CAUSE_UNSPECIFIED: _ClassVar[HoldEndCause]
    HOLD_END_CAUSE_RELEASED: _ClassVar[HoldEndCause]
    HOLD_END_CAUSE_SESSION_EXPIRED: _ClassVar[HoldEndCause]
    HOLD_END_CAUSE_SESSION_DESTROYED: _ClassVar[HoldEndCause]
    HOLD_END_CAUSE_SESSION_FORCED: _ClassVar[HoldEndCause]
    HOLD_END_CAUSE_BROKEN: _ClassVar[HoldEndCause]
    HOLD_END_CAUSE_CHECK_FAILED: _ClassVar[HoldEndCause]
    HOLD_END_CAUSE_RESTORED: _ClassVar[HoldEndCause]
    HOLD_END_CAUSE_RESIGNED: _ClassVar[HoldEndCause]
    HOLD_END_CAUSE_FORCE_RELEASED: _ClassVar[HoldEndCause]
    HOLD_END_CAUSE_SESSION_CLOSED: _ClassVar[HoldEndCause]
    HOLD_END_CAUSE_TAKEN_OVER: _ClassVar[HoldEndCause]

class WaitEndCause(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WAIT_END_CAUSE_UNSPECIFIED: _ClassVar[WaitEndCause]
    WAIT_END_CAUSE_CANCELLED: _ClassVar[WaitEndCause]
    WAIT_END_CAUSE_TIMED_OUT: _ClassVar[WaitEndCause]
    WAIT_END_CAUSE_SESSION_ENDED: _ClassVar[WaitEndCause]
    WAIT_END_CAUSE_BROKEN: _ClassVar[WaitEndCause]
HOLD_END_CAUSE_UNSPECIFIED: HoldEndCause
HOLD_END_CAUSE_RELEASED: HoldEndCause
HOLD_END_CAUSE_SESSION_EXPIRED: HoldEndCause
HOLD_END_CAUSE_SESSION_DESTROYED: HoldEndCause
HOLD_END_CAUSE_SESSION_FORCED: HoldEndCause
HOLD_END_CAUSE_BROKEN: HoldEndCause
HOLD_END_CAUSE_CHECK_FAILED: HoldEndCause
HOLD_END_CAUSE_RESTORED: HoldEndCause
HOLD_END_CAUSE_RESIGNED: HoldEndCause
HOLD_END_CAUSE_FORCE_RELEASED: HoldEndCause
HOLD_END_CAUSE_SESSION_CLOSED: HoldEndCause
HOLD_END_CAUSE_TAKEN_OVER: HoldEndCause
WAIT_END_CAUSE_UNSPECIFIED: WaitEndCause
WAIT_END_CAUSE_CANCELLED: WaitEndCause
WAIT_END_CAUSE_TIMED_OUT: WaitEndCause
WAIT_END_CAUSE_SESSION_ENDED: WaitEndCause
WAIT_END_CAUSE_BROKEN: WaitEndCause

class Lock(_message.Message):
    __slots__ = ("key", "mode", "limit", "lock_index", "holds", "places", "delayed", "holders", "waiters", "delayed_holds", "past", "frozen")
    KEY_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    LOCK_INDEX_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    DELAYED_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_FIELD_NUMBER: _ClassVar[int]
    WAITERS_FIELD_NUMBER: _ClassVar[int]
    DELAYED_HOLDS_FIELD_NUMBER: _ClassVar[int]
    PAST_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    key: str
    mode: _types_pb2.LockMode
    limit: int
    lock_index: int
    holds: _containers.RepeatedCompositeFieldContainer[_session_pb2.Hold]
    places: _containers.RepeatedCompositeFieldContainer[_session_pb2.Place]
    delayed: _containers.RepeatedCompositeFieldContainer[_session_pb2.Hold]
    holders: int
    waiters: int
    delayed_holds: int
    past: _containers.RepeatedCompositeFieldContainer[PastHold]
    frozen: bool
    def __init__(self, key: _Optional[str] = ..., mode: _Optional[_Union[_types_pb2.LockMode, str]] = ..., limit: _Optional[int] = ..., lock_index: _Optional[int] = ..., holds: _Optional[_Iterable[_Union[_session_pb2.Hold, _Mapping]]] = ..., places: _Optional[_Iterable[_Union[_session_pb2.Place, _Mapping]]] = ..., delayed: _Optional[_Iterable[_Union[_session_pb2.Hold, _Mapping]]] = ..., holders: _Optional[int] = ..., waiters: _Optional[int] = ..., delayed_holds: _Optional[int] = ..., past: _Optional[_Iterable[_Union[PastHold, _Mapping]]] = ..., frozen: bool = ...) -> None: ...

class PastHold(_message.Message):
    __slots__ = ("session_id", "session_name", "owner", "lock_index", "fencing_token", "cause", "reason", "grant_time", "end_time")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_NAME_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    LOCK_INDEX_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    GRANT_TIME_FIELD_NUMBER: _ClassVar[int]
    END_TIME_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    session_name: str
    owner: str
    lock_index: int
    fencing_token: int
    cause: HoldEndCause
    reason: str
    grant_time: _timestamp_pb2.Timestamp
    end_time: _timestamp_pb2.Timestamp
    def __init__(self, session_id: _Optional[str] = ..., session_name: _Optional[str] = ..., owner: _Optional[str] = ..., lock_index: _Optional[int] = ..., fencing_token: _Optional[int] = ..., cause: _Optional[_Union[HoldEndCause, str]] = ..., reason: _Optional[str] = ..., grant_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., end_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class AcquireLockRequest(_message.Message):
    __slots__ = ("key", "session_id", "mode", "permits", "limit", "value", "wait", "leave_on_disconnect", "options")
    KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    LEAVE_ON_DISCONNECT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    key: str
    session_id: str
    mode: _types_pb2.LockMode
    permits: int
    limit: int
    value: bytes
    wait: _duration_pb2.Duration
    leave_on_disconnect: bool
    options: _types_pb2.CallOptions
    def __init__(self, key: _Optional[str] = ..., session_id: _Optional[str] = ..., mode: _Optional[_Union[_types_pb2.LockMode, str]] = ..., permits: _Optional[int] = ..., limit: _Optional[int] = ..., value: _Optional[bytes] = ..., wait: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., leave_on_disconnect: bool = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class AcquireLockResponse(_message.Message):
    __slots__ = ("header", "queued", "moved", "granted", "rejected")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    GRANTED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    queued: LockQueuedStep
    moved: LockMovedStep
    granted: _session_pb2.Hold
    rejected: LockRejectedStep
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., queued: _Optional[_Union[LockQueuedStep, _Mapping]] = ..., moved: _Optional[_Union[LockMovedStep, _Mapping]] = ..., granted: _Optional[_Union[_session_pb2.Hold, _Mapping]] = ..., rejected: _Optional[_Union[LockRejectedStep, _Mapping]] = ...) -> None: ...

class LockQueuedStep(_message.Message):
    __slots__ = ("place", "lock")
    PLACE_FIELD_NUMBER: _ClassVar[int]
    LOCK_FIELD_NUMBER: _ClassVar[int]
    place: _session_pb2.Place
    lock: Lock
    def __init__(self, place: _Optional[_Union[_session_pb2.Place, _Mapping]] = ..., lock: _Optional[_Union[Lock, _Mapping]] = ...) -> None: ...

class LockMovedStep(_message.Message):
    __slots__ = ("position",)
    POSITION_FIELD_NUMBER: _ClassVar[int]
    position: int
    def __init__(self, position: _Optional[int] = ...) -> None: ...

class LockRejectedStep(_message.Message):
    __slots__ = ("cause", "reason", "lock")
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LOCK_FIELD_NUMBER: _ClassVar[int]
    cause: WaitEndCause
    reason: str
    lock: Lock
    def __init__(self, cause: _Optional[_Union[WaitEndCause, str]] = ..., reason: _Optional[str] = ..., lock: _Optional[_Union[Lock, _Mapping]] = ...) -> None: ...

class TryAcquireLockRequest(_message.Message):
    __slots__ = ("key", "session_id", "mode", "permits", "limit", "value", "wait", "options")
    KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PERMITS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    key: str
    session_id: str
    mode: _types_pb2.LockMode
    permits: int
    limit: int
    value: bytes
    wait: _duration_pb2.Duration
    options: _types_pb2.CallOptions
    def __init__(self, key: _Optional[str] = ..., session_id: _Optional[str] = ..., mode: _Optional[_Union[_types_pb2.LockMode, str]] = ..., permits: _Optional[int] = ..., limit: _Optional[int] = ..., value: _Optional[bytes] = ..., wait: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class TryAcquireLockResponse(_message.Message):
    __slots__ = ("header", "acquired", "hold", "lock")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ACQUIRED_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    LOCK_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    acquired: bool
    hold: _session_pb2.Hold
    lock: Lock
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., acquired: bool = ..., hold: _Optional[_Union[_session_pb2.Hold, _Mapping]] = ..., lock: _Optional[_Union[Lock, _Mapping]] = ...) -> None: ...

class CancelWaitRequest(_message.Message):
    __slots__ = ("key", "session_id", "options")
    KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    key: str
    session_id: str
    options: _types_pb2.CallOptions
    def __init__(self, key: _Optional[str] = ..., session_id: _Optional[str] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class CancelWaitResponse(_message.Message):
    __slots__ = ("header", "cancelled", "hold")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    HOLD_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    cancelled: bool
    hold: _session_pb2.Hold
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., cancelled: bool = ..., hold: _Optional[_Union[_session_pb2.Hold, _Mapping]] = ...) -> None: ...

class ReleaseLockRequest(_message.Message):
    __slots__ = ("key", "session_id", "lock_index", "put", "delete", "options")
    KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    LOCK_INDEX_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    key: str
    session_id: str
    lock_index: int
    put: bytes
    delete: bool
    options: _types_pb2.CallOptions
    def __init__(self, key: _Optional[str] = ..., session_id: _Optional[str] = ..., lock_index: _Optional[int] = ..., put: _Optional[bytes] = ..., delete: bool = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class ReleaseLockResponse(_message.Message):
    __slots__ = ("header", "released", "granted", "lock")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    GRANTED_FIELD_NUMBER: _ClassVar[int]
    LOCK_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    released: bool
    granted: int
    lock: Lock
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., released: bool = ..., granted: _Optional[int] = ..., lock: _Optional[_Union[Lock, _Mapping]] = ...) -> None: ...

class GetLockRequest(_message.Message):
    __slots__ = ("key", "read")
    KEY_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    key: str
    read: _types_pb2.ReadOptions
    def __init__(self, key: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ...) -> None: ...

class GetLockResponse(_message.Message):
    __slots__ = ("header", "lock", "sessions")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    LOCK_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    lock: Lock
    sessions: _containers.RepeatedCompositeFieldContainer[_session_pb2.Session]
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., lock: _Optional[_Union[Lock, _Mapping]] = ..., sessions: _Optional[_Iterable[_Union[_session_pb2.Session, _Mapping]]] = ...) -> None: ...

class ListLocksRequest(_message.Message):
    __slots__ = ("prefix", "session_id", "held_by", "waiting", "older_than", "page_size", "page_token", "read")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    HELD_BY_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    OLDER_THAN_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    session_id: str
    held_by: str
    waiting: bool
    older_than: _duration_pb2.Duration
    page_size: int
    page_token: str
    read: _types_pb2.ReadOptions
    def __init__(self, prefix: _Optional[str] = ..., session_id: _Optional[str] = ..., held_by: _Optional[str] = ..., waiting: bool = ..., older_than: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ...) -> None: ...

class ListLocksResponse(_message.Message):
    __slots__ = ("header", "locks", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    LOCKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    locks: _containers.RepeatedCompositeFieldContainer[Lock]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., locks: _Optional[_Iterable[_Union[Lock, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class BreakLockRequest(_message.Message):
    __slots__ = ("key", "session_id", "owner", "reason", "options", "break_token")
    KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    BREAK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    key: str
    session_id: str
    owner: str
    reason: str
    options: _types_pb2.CallOptions
    break_token: str
    def __init__(self, key: _Optional[str] = ..., session_id: _Optional[str] = ..., owner: _Optional[str] = ..., reason: _Optional[str] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ..., break_token: _Optional[str] = ...) -> None: ...

class BreakLockResponse(_message.Message):
    __slots__ = ("header", "holds", "places", "remaining", "break_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    PLACES_FIELD_NUMBER: _ClassVar[int]
    REMAINING_FIELD_NUMBER: _ClassVar[int]
    BREAK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    holds: int
    places: int
    remaining: int
    break_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., holds: _Optional[int] = ..., places: _Optional[int] = ..., remaining: _Optional[int] = ..., break_token: _Optional[str] = ...) -> None: ...

class CheckSequencerRequest(_message.Message):
    __slots__ = ("sequencer", "text")
    SEQUENCER_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    sequencer: _types_pb2.Sequencer
    text: str
    def __init__(self, sequencer: _Optional[_Union[_types_pb2.Sequencer, _Mapping]] = ..., text: _Optional[str] = ...) -> None: ...

class CheckSequencerResponse(_message.Message):
    __slots__ = ("header", "holds", "lock")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    HOLDS_FIELD_NUMBER: _ClassVar[int]
    LOCK_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    holds: bool
    lock: Lock
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., holds: bool = ..., lock: _Optional[_Union[Lock, _Mapping]] = ...) -> None: ...
