from google.protobuf import duration_pb2 as _duration_pb2
from tenure.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Member(_message.Message):
    __slots__ = ("id", "name", "client_address", "http_address", "peer_address", "learner", "leader", "zone", "version", "reachable", "lag")
    ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    HTTP_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    PEER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    LEARNER_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    REACHABLE_FIELD_NUMBER: _ClassVar[int]
    LAG_FIELD_NUMBER: _ClassVar[int]
    id: int
    name: str
    client_address: str
    http_address: str
    peer_address: str
    learner: bool
    leader: bool
    zone: str
    version: str
    reachable: bool
    lag: int
    def __init__(self, id: _Optional[int] = ..., name: _Optional[str] = ..., client_address: _Optional[str] = ..., http_address: _Optional[str] = ..., peer_address: _Optional[str] = ..., learner: bool = ..., leader: bool = ..., zone: _Optional[str] = ..., version: _Optional[str] = ..., reachable: bool = ..., lag: _Optional[int] = ...) -> None: ...

class GetStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StatusProblem(_message.Message):
    __slots__ = ("name", "message", "runbook")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    RUNBOOK_FIELD_NUMBER: _ClassVar[int]
    name: str
    message: str
    runbook: str
    def __init__(self, name: _Optional[str] = ..., message: _Optional[str] = ..., runbook: _Optional[str] = ...) -> None: ...

class GetStatusResponse(_message.Message):
    __slots__ = ("header", "leader", "members", "member", "version", "problems", "commit_index", "applied_index", "first_index", "last_index", "keys", "sessions", "live_bytes", "disk_bytes", "compacted_revision", "checksum", "uptime", "watches", "cluster_version", "store_bytes", "store_bytes_max", "freeze_left")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    PROBLEMS_FIELD_NUMBER: _ClassVar[int]
    COMMIT_INDEX_FIELD_NUMBER: _ClassVar[int]
    APPLIED_INDEX_FIELD_NUMBER: _ClassVar[int]
    FIRST_INDEX_FIELD_NUMBER: _ClassVar[int]
    LAST_INDEX_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    LIVE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    UPTIME_FIELD_NUMBER: _ClassVar[int]
    WATCHES_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_VERSION_FIELD_NUMBER: _ClassVar[int]
    STORE_BYTES_FIELD_NUMBER: _ClassVar[int]
    STORE_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    FREEZE_LEFT_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    leader: str
    members: _containers.RepeatedCompositeFieldContainer[Member]
    member: str
    version: str
    problems: _containers.RepeatedCompositeFieldContainer[StatusProblem]
    commit_index: int
    applied_index: int
    first_index: int
    last_index: int
    keys: int
    sessions: int
    live_bytes: int
    disk_bytes: int
    compacted_revision: int
    checksum: str
    uptime: _duration_pb2.Duration
    watches: int
    cluster_version: int
    store_bytes: int
    store_bytes_max: int
    freeze_left: _duration_pb2.Duration
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., leader: _Optional[str] = ..., members: _Optional[_Iterable[_Union[Member, _Mapping]]] = ..., member: _Optional[str] = ..., version: _Optional[str] = ..., problems: _Optional[_Iterable[_Union[StatusProblem, _Mapping]]] = ..., commit_index: _Optional[int] = ..., applied_index: _Optional[int] = ..., first_index: _Optional[int] = ..., last_index: _Optional[int] = ..., keys: _Optional[int] = ..., sessions: _Optional[int] = ..., live_bytes: _Optional[int] = ..., disk_bytes: _Optional[int] = ..., compacted_revision: _Optional[int] = ..., checksum: _Optional[str] = ..., uptime: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., watches: _Optional[int] = ..., cluster_version: _Optional[int] = ..., store_bytes: _Optional[int] = ..., store_bytes_max: _Optional[int] = ..., freeze_left: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ListMembersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListMembersResponse(_message.Message):
    __slots__ = ("header", "members")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    members: _containers.RepeatedCompositeFieldContainer[Member]
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., members: _Optional[_Iterable[_Union[Member, _Mapping]]] = ...) -> None: ...

class AddMemberRequest(_message.Message):
    __slots__ = ("name", "peer_address", "stay_learner", "ttl")
    NAME_FIELD_NUMBER: _ClassVar[int]
    PEER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    STAY_LEARNER_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    name: str
    peer_address: str
    stay_learner: bool
    ttl: _duration_pb2.Duration
    def __init__(self, name: _Optional[str] = ..., peer_address: _Optional[str] = ..., stay_learner: bool = ..., ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class AddMemberResponse(_message.Message):
    __slots__ = ("header", "join_token", "ttl", "replaced_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    JOIN_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    REPLACED_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    join_token: str
    ttl: _duration_pb2.Duration
    replaced_token: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., join_token: _Optional[str] = ..., ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., replaced_token: bool = ...) -> None: ...

class PromoteMemberRequest(_message.Message):
    __slots__ = ("member_id", "force")
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    member_id: int
    force: bool
    def __init__(self, member_id: _Optional[int] = ..., force: bool = ...) -> None: ...

class PromoteMemberResponse(_message.Message):
    __slots__ = ("header",)
    HEADER_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ...) -> None: ...

class RemoveMemberRequest(_message.Message):
    __slots__ = ("member_id", "force")
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    member_id: int
    force: bool
    def __init__(self, member_id: _Optional[int] = ..., force: bool = ...) -> None: ...

class RemoveMemberResponse(_message.Message):
    __slots__ = ("header",)
    HEADER_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ...) -> None: ...

class ReplaceMemberRequest(_message.Message):
    __slots__ = ("member_id", "name", "peer_address", "force", "ttl")
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    PEER_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    member_id: int
    name: str
    peer_address: str
    force: bool
    ttl: _duration_pb2.Duration
    def __init__(self, member_id: _Optional[int] = ..., name: _Optional[str] = ..., peer_address: _Optional[str] = ..., force: bool = ..., ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ReplaceMemberResponse(_message.Message):
    __slots__ = ("header", "join_token", "ttl", "replaced_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    JOIN_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    REPLACED_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    join_token: str
    ttl: _duration_pb2.Duration
    replaced_token: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., join_token: _Optional[str] = ..., ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., replaced_token: bool = ...) -> None: ...

class TransferLeadershipRequest(_message.Message):
    __slots__ = ("member_id",)
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    member_id: int
    def __init__(self, member_id: _Optional[int] = ...) -> None: ...

class TransferLeadershipResponse(_message.Message):
    __slots__ = ("header", "leader")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    leader: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., leader: _Optional[str] = ...) -> None: ...

class Limits(_message.Message):
    __slots__ = ("waiters_max", "holders_max", "session_objects_max", "ended_sessions_max", "request_window_max", "request_window_bytes_max", "idempotency_keys_max", "tombstone_bytes_max", "history_revisions", "history_duration", "history_bytes_max", "sessions_max", "store_bytes_max", "idempotency_bytes_max", "command_rows_max", "command_bytes_max")
    WAITERS_MAX_FIELD_NUMBER: _ClassVar[int]
    HOLDERS_MAX_FIELD_NUMBER: _ClassVar[int]
    SESSION_OBJECTS_MAX_FIELD_NUMBER: _ClassVar[int]
    ENDED_SESSIONS_MAX_FIELD_NUMBER: _ClassVar[int]
    REQUEST_WINDOW_MAX_FIELD_NUMBER: _ClassVar[int]
    REQUEST_WINDOW_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_KEYS_MAX_FIELD_NUMBER: _ClassVar[int]
    TOMBSTONE_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    HISTORY_REVISIONS_FIELD_NUMBER: _ClassVar[int]
    HISTORY_DURATION_FIELD_NUMBER: _ClassVar[int]
    HISTORY_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_MAX_FIELD_NUMBER: _ClassVar[int]
    STORE_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    IDEMPOTENCY_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    COMMAND_ROWS_MAX_FIELD_NUMBER: _ClassVar[int]
    COMMAND_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    waiters_max: int
    holders_max: int
    session_objects_max: int
    ended_sessions_max: int
    request_window_max: int
    request_window_bytes_max: int
    idempotency_keys_max: int
    tombstone_bytes_max: int
    history_revisions: int
    history_duration: _duration_pb2.Duration
    history_bytes_max: int
    sessions_max: int
    store_bytes_max: int
    idempotency_bytes_max: int
    command_rows_max: int
    command_bytes_max: int
    def __init__(self, waiters_max: _Optional[int] = ..., holders_max: _Optional[int] = ..., session_objects_max: _Optional[int] = ..., ended_sessions_max: _Optional[int] = ..., request_window_max: _Optional[int] = ..., request_window_bytes_max: _Optional[int] = ..., idempotency_keys_max: _Optional[int] = ..., tombstone_bytes_max: _Optional[int] = ..., history_revisions: _Optional[int] = ..., history_duration: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., history_bytes_max: _Optional[int] = ..., sessions_max: _Optional[int] = ..., store_bytes_max: _Optional[int] = ..., idempotency_bytes_max: _Optional[int] = ..., command_rows_max: _Optional[int] = ..., command_bytes_max: _Optional[int] = ...) -> None: ...

class GetLimitsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetLimitsResponse(_message.Message):
    __slots__ = ("header", "limits")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    limits: Limits
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ...) -> None: ...

class SetLimitsRequest(_message.Message):
    __slots__ = ("limits", "force")
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    FORCE_FIELD_NUMBER: _ClassVar[int]
    limits: Limits
    force: bool
    def __init__(self, limits: _Optional[_Union[Limits, _Mapping]] = ..., force: bool = ...) -> None: ...

class SetLimitsResponse(_message.Message):
    __slots__ = ("header", "limits")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    limits: Limits
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., limits: _Optional[_Union[Limits, _Mapping]] = ...) -> None: ...

class CompactRequest(_message.Message):
    __slots__ = ("revision",)
    REVISION_FIELD_NUMBER: _ClassVar[int]
    revision: int
    def __init__(self, revision: _Optional[int] = ...) -> None: ...

class CompactResponse(_message.Message):
    __slots__ = ("header", "compacted_revision")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    COMPACTED_REVISION_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    compacted_revision: int
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., compacted_revision: _Optional[int] = ...) -> None: ...

class EndFreezeRequest(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class EndFreezeResponse(_message.Message):
    __slots__ = ("header", "ended")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    ended: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., ended: bool = ...) -> None: ...

class BackupRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class BackupResponse(_message.Message):
    __slots__ = ("header", "data")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    data: bytes
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., data: _Optional[bytes] = ...) -> None: ...
