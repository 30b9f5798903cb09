from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import lock_pb2 as _lock_pb2
from tenure.v1 import session_pb2 as _session_pb2
from tenure.v1 import types_pb2 as _types_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CampaignRequest(_message.Message):
    __slots__ = ("key", "session_id", "value", "text", "wait", "leave_on_disconnect", "options")
    KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    LEAVE_ON_DISCONNECT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    key: str
    session_id: str
    value: bytes
    text: str
    wait: _duration_pb2.Duration
    leave_on_disconnect: bool
    options: _types_pb2.CallOptions
    def __init__(self, key: _Optional[str] = ..., session_id: _Optional[str] = ..., value: _Optional[bytes] = ..., text: _Optional[str] = ..., wait: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., leave_on_disconnect: bool = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class CampaignResponse(_message.Message):
    __slots__ = ("header", "queued", "moved", "elected", "rejected")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    ELECTED_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    queued: _lock_pb2.LockQueuedStep
    moved: _lock_pb2.LockMovedStep
    elected: _session_pb2.Hold
    rejected: _lock_pb2.LockRejectedStep
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., queued: _Optional[_Union[_lock_pb2.LockQueuedStep, _Mapping]] = ..., moved: _Optional[_Union[_lock_pb2.LockMovedStep, _Mapping]] = ..., elected: _Optional[_Union[_session_pb2.Hold, _Mapping]] = ..., rejected: _Optional[_Union[_lock_pb2.LockRejectedStep, _Mapping]] = ...) -> None: ...

class ProclaimRequest(_message.Message):
    __slots__ = ("key", "sequencer", "value", "text", "options")
    KEY_FIELD_NUMBER: _ClassVar[int]
    SEQUENCER_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    key: str
    sequencer: _types_pb2.Sequencer
    value: bytes
    text: str
    options: _types_pb2.CallOptions
    def __init__(self, key: _Optional[str] = ..., sequencer: _Optional[_Union[_types_pb2.Sequencer, _Mapping]] = ..., value: _Optional[bytes] = ..., text: _Optional[str] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class ProclaimResponse(_message.Message):
    __slots__ = ("header",)
    HEADER_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ...) -> None: ...

class ResignRequest(_message.Message):
    __slots__ = ("key", "session_id", "lock_index", "to_session_id", "to_owner", "options")
    KEY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    LOCK_INDEX_FIELD_NUMBER: _ClassVar[int]
    TO_SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TO_OWNER_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    key: str
    session_id: str
    lock_index: int
    to_session_id: str
    to_owner: str
    options: _types_pb2.CallOptions
    def __init__(self, key: _Optional[str] = ..., session_id: _Optional[str] = ..., lock_index: _Optional[int] = ..., to_session_id: _Optional[str] = ..., to_owner: _Optional[str] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class ResignResponse(_message.Message):
    __slots__ = ("header", "resigned")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    RESIGNED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    resigned: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., resigned: bool = ...) -> None: ...

class GetLeaderRequest(_message.Message):
    __slots__ = ("key", "read")
    KEY_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    key: str
    read: _types_pb2.ReadOptions
    def __init__(self, key: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ...) -> None: ...

class Leader(_message.Message):
    __slots__ = ("hold", "value", "since", "candidates")
    HOLD_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    CANDIDATES_FIELD_NUMBER: _ClassVar[int]
    hold: _session_pb2.Hold
    value: bytes
    since: _timestamp_pb2.Timestamp
    candidates: int
    def __init__(self, hold: _Optional[_Union[_session_pb2.Hold, _Mapping]] = ..., value: _Optional[bytes] = ..., since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., candidates: _Optional[int] = ...) -> None: ...

class GetLeaderResponse(_message.Message):
    __slots__ = ("header", "leader")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    leader: Leader
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., leader: _Optional[_Union[Leader, _Mapping]] = ...) -> None: ...

class ObserveRequest(_message.Message):
    __slots__ = ("key",)
    KEY_FIELD_NUMBER: _ClassVar[int]
    key: str
    def __init__(self, key: _Optional[str] = ...) -> None: ...

class ObserveResponse(_message.Message):
    __slots__ = ("header", "leader", "gap")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    leader: Leader
    gap: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., leader: _Optional[_Union[Leader, _Mapping]] = ..., gap: bool = ...) -> None: ...
