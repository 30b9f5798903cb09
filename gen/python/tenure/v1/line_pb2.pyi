from google.protobuf import any_pb2 as _any_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from tenure.v1 import election_pb2 as _election_pb2
from tenure.v1 import kv_pb2 as _kv_pb2
from tenure.v1 import lock_pb2 as _lock_pb2
from tenure.v1 import session_pb2 as _session_pb2
from tenure.v1 import watch_pb2 as _watch_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class LineRequest(_message.Message):
    __slots__ = ("credentials", "calls", "cancels", "credits")
    CREDENTIALS_FIELD_NUMBER: _ClassVar[int]
    CALLS_FIELD_NUMBER: _ClassVar[int]
    CANCELS_FIELD_NUMBER: _ClassVar[int]
    CREDITS_FIELD_NUMBER: _ClassVar[int]
    credentials: _containers.RepeatedCompositeFieldContainer[LineCredential]
    calls: _containers.RepeatedCompositeFieldContainer[LineCall]
    cancels: _containers.RepeatedScalarFieldContainer[int]
    credits: _containers.RepeatedCompositeFieldContainer[LineCredit]
    def __init__(self, credentials: _Optional[_Iterable[_Union[LineCredential, _Mapping]]] = ..., calls: _Optional[_Iterable[_Union[LineCall, _Mapping]]] = ..., cancels: _Optional[_Iterable[int]] = ..., credits: _Optional[_Iterable[_Union[LineCredit, _Mapping]]] = ...) -> None: ...

class LineCredit(_message.Message):
    __slots__ = ("number", "messages", "bytes")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    number: int
    messages: int
    bytes: int
    def __init__(self, number: _Optional[int] = ..., messages: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class LineCredential(_message.Message):
    __slots__ = ("number", "token")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    number: int
    token: str
    def __init__(self, number: _Optional[int] = ..., token: _Optional[str] = ...) -> None: ...

class LineCall(_message.Message):
    __slots__ = ("number", "remaining_time", "credential", "credit_messages", "credit_bytes", "get", "put", "delete", "delete_prefix", "txn", "try_acquire_lock", "cancel_wait", "release_lock", "get_lock", "break_lock", "check_sequencer", "create_session", "renew_session", "destroy_session", "proclaim", "resign", "get_leader", "acquire_lock", "campaign", "observe", "watch")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    REMAINING_TIME_FIELD_NUMBER: _ClassVar[int]
    CREDENTIAL_FIELD_NUMBER: _ClassVar[int]
    CREDIT_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    CREDIT_BYTES_FIELD_NUMBER: _ClassVar[int]
    GET_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    DELETE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    TXN_FIELD_NUMBER: _ClassVar[int]
    TRY_ACQUIRE_LOCK_FIELD_NUMBER: _ClassVar[int]
    CANCEL_WAIT_FIELD_NUMBER: _ClassVar[int]
    RELEASE_LOCK_FIELD_NUMBER: _ClassVar[int]
    GET_LOCK_FIELD_NUMBER: _ClassVar[int]
    BREAK_LOCK_FIELD_NUMBER: _ClassVar[int]
    CHECK_SEQUENCER_FIELD_NUMBER: _ClassVar[int]
    CREATE_SESSION_FIELD_NUMBER: _ClassVar[int]
    RENEW_SESSION_FIELD_NUMBER: _ClassVar[int]
    DESTROY_SESSION_FIELD_NUMBER: _ClassVar[int]
    PROCLAIM_FIELD_NUMBER: _ClassVar[int]
    RESIGN_FIELD_NUMBER: _ClassVar[int]
    GET_LEADER_FIELD_NUMBER: _ClassVar[int]
    ACQUIRE_LOCK_FIELD_NUMBER: _ClassVar[int]
    CAMPAIGN_FIELD_NUMBER: _ClassVar[int]
    OBSERVE_FIELD_NUMBER: _ClassVar[int]
    WATCH_FIELD_NUMBER: _ClassVar[int]
    number: int
    remaining_time: _duration_pb2.Duration
    credential: int
    credit_messages: int
    credit_bytes: int
    get: _kv_pb2.GetRequest
    put: _kv_pb2.PutRequest
    delete: _kv_pb2.DeleteRequest
    delete_prefix: _kv_pb2.DeletePrefixRequest
    txn: _kv_pb2.TxnRequest
    try_acquire_lock: _lock_pb2.TryAcquireLockRequest
    cancel_wait: _lock_pb2.CancelWaitRequest
    release_lock: _lock_pb2.ReleaseLockRequest
    get_lock: _lock_pb2.GetLockRequest
    break_lock: _lock_pb2.BreakLockRequest
    check_sequencer: _lock_pb2.CheckSequencerRequest
    create_session: _session_pb2.CreateSessionRequest
    renew_session: _session_pb2.RenewSessionRequest
    destroy_session: _session_pb2.DestroySessionRequest
    proclaim: _election_pb2.ProclaimRequest
    resign: _election_pb2.ResignRequest
    get_leader: _election_pb2.GetLeaderRequest
    acquire_lock: _lock_pb2.AcquireLockRequest
    campaign: _election_pb2.CampaignRequest
    observe: _election_pb2.ObserveRequest
    watch: _watch_pb2.WatchRequest
    def __init__(self, number: _Optional[int] = ..., remaining_time: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., credential: _Optional[int] = ..., credit_messages: _Optional[int] = ..., credit_bytes: _Optional[int] = ..., get: _Optional[_Union[_kv_pb2.GetRequest, _Mapping]] = ..., put: _Optional[_Union[_kv_pb2.PutRequest, _Mapping]] = ..., delete: _Optional[_Union[_kv_pb2.DeleteRequest, _Mapping]] = ..., delete_prefix: _Optional[_Union[_kv_pb2.DeletePrefixRequest, _Mapping]] = ..., txn: _Optional[_Union[_kv_pb2.TxnRequest, _Mapping]] = ..., try_acquire_lock: _Optional[_Union[_lock_pb2.TryAcquireLockRequest, _Mapping]] = ..., cancel_wait: _Optional[_Union[_lock_pb2.CancelWaitRequest, _Mapping]] = ..., release_lock: _Optional[_Union[_lock_pb2.ReleaseLockRequest, _Mapping]] = ..., get_lock: _Optional[_Union[_lock_pb2.GetLockRequest, _Mapping]] = ..., break_lock: _Optional[_Union[_lock_pb2.BreakLockRequest, _Mapping]] = ..., check_sequencer: _Optional[_Union[_lock_pb2.CheckSequencerRequest, _Mapping]] = ..., create_session: _Optional[_Union[_session_pb2.CreateSessionRequest, _Mapping]] = ..., renew_session: _Optional[_Union[_session_pb2.RenewSessionRequest, _Mapping]] = ..., destroy_session: _Optional[_Union[_session_pb2.DestroySessionRequest, _Mapping]] = ..., proclaim: _Optional[_Union[_election_pb2.ProclaimRequest, _Mapping]] = ..., resign: _Optional[_Union[_election_pb2.ResignRequest, _Mapping]] = ..., get_leader: _Optional[_Union[_election_pb2.GetLeaderRequest, _Mapping]] = ..., acquire_lock: _Optional[_Union[_lock_pb2.AcquireLockRequest, _Mapping]] = ..., campaign: _Optional[_Union[_election_pb2.CampaignRequest, _Mapping]] = ..., observe: _Optional[_Union[_election_pb2.ObserveRequest, _Mapping]] = ..., watch: _Optional[_Union[_watch_pb2.WatchRequest, _Mapping]] = ...) -> None: ...

class LineResponse(_message.Message):
    __slots__ = ("limits", "answers", "drain", "parts")
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    DRAIN_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    limits: LineLimits
    answers: _containers.RepeatedCompositeFieldContainer[LineAnswer]
    drain: LineDrain
    parts: _containers.RepeatedCompositeFieldContainer[LinePart]
    def __init__(self, limits: _Optional[_Union[LineLimits, _Mapping]] = ..., answers: _Optional[_Iterable[_Union[LineAnswer, _Mapping]]] = ..., drain: _Optional[_Union[LineDrain, _Mapping]] = ..., parts: _Optional[_Iterable[_Union[LinePart, _Mapping]]] = ...) -> None: ...

class LinePart(_message.Message):
    __slots__ = ("numbers", "acquire_lock", "campaign", "observe", "watch")
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    ACQUIRE_LOCK_FIELD_NUMBER: _ClassVar[int]
    CAMPAIGN_FIELD_NUMBER: _ClassVar[int]
    OBSERVE_FIELD_NUMBER: _ClassVar[int]
    WATCH_FIELD_NUMBER: _ClassVar[int]
    numbers: _containers.RepeatedScalarFieldContainer[int]
    acquire_lock: _lock_pb2.AcquireLockResponse
    campaign: _election_pb2.CampaignResponse
    observe: _election_pb2.ObserveResponse
    watch: _watch_pb2.WatchResponse
    def __init__(self, numbers: _Optional[_Iterable[int]] = ..., acquire_lock: _Optional[_Union[_lock_pb2.AcquireLockResponse, _Mapping]] = ..., campaign: _Optional[_Union[_election_pb2.CampaignResponse, _Mapping]] = ..., observe: _Optional[_Union[_election_pb2.ObserveResponse, _Mapping]] = ..., watch: _Optional[_Union[_watch_pb2.WatchResponse, _Mapping]] = ...) -> None: ...

class LineLimits(_message.Message):
    __slots__ = ("calls_max", "request_bytes_max", "waits_max")
    CALLS_MAX_FIELD_NUMBER: _ClassVar[int]
    REQUEST_BYTES_MAX_FIELD_NUMBER: _ClassVar[int]
    WAITS_MAX_FIELD_NUMBER: _ClassVar[int]
    calls_max: int
    request_bytes_max: int
    waits_max: int
    def __init__(self, calls_max: _Optional[int] = ..., request_bytes_max: _Optional[int] = ..., waits_max: _Optional[int] = ...) -> None: ...

class LineDrain(_message.Message):
    __slots__ = ("up_to", "status")
    UP_TO_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    up_to: int
    status: LineStatus
    def __init__(self, up_to: _Optional[int] = ..., status: _Optional[_Union[LineStatus, _Mapping]] = ...) -> None: ...

class LineStatus(_message.Message):
    __slots__ = ("code", "message", "details")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    DETAILS_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    details: _containers.RepeatedCompositeFieldContainer[_any_pb2.Any]
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., details: _Optional[_Iterable[_Union[_any_pb2.Any, _Mapping]]] = ...) -> None: ...

class LineAnswer(_message.Message):
    __slots__ = ("number", "status", "get", "put", "delete", "delete_prefix", "txn", "try_acquire_lock", "cancel_wait", "release_lock", "get_lock", "break_lock", "check_sequencer", "create_session", "renew_session", "destroy_session", "proclaim", "resign", "get_leader")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    GET_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    DELETE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    TXN_FIELD_NUMBER: _ClassVar[int]
    TRY_ACQUIRE_LOCK_FIELD_NUMBER: _ClassVar[int]
    CANCEL_WAIT_FIELD_NUMBER: _ClassVar[int]
    RELEASE_LOCK_FIELD_NUMBER: _ClassVar[int]
    GET_LOCK_FIELD_NUMBER: _ClassVar[int]
    BREAK_LOCK_FIELD_NUMBER: _ClassVar[int]
    CHECK_SEQUENCER_FIELD_NUMBER: _ClassVar[int]
    CREATE_SESSION_FIELD_NUMBER: _ClassVar[int]
    RENEW_SESSION_FIELD_NUMBER: _ClassVar[int]
    DESTROY_SESSION_FIELD_NUMBER: _ClassVar[int]
    PROCLAIM_FIELD_NUMBER: _ClassVar[int]
    RESIGN_FIELD_NUMBER: _ClassVar[int]
    GET_LEADER_FIELD_NUMBER: _ClassVar[int]
    number: int
    status: LineStatus
    get: _kv_pb2.GetResponse
    put: _kv_pb2.PutResponse
    delete: _kv_pb2.DeleteResponse
    delete_prefix: _kv_pb2.DeletePrefixResponse
    txn: _kv_pb2.TxnResponse
    try_acquire_lock: _lock_pb2.TryAcquireLockResponse
    cancel_wait: _lock_pb2.CancelWaitResponse
    release_lock: _lock_pb2.ReleaseLockResponse
    get_lock: _lock_pb2.GetLockResponse
    break_lock: _lock_pb2.BreakLockResponse
    check_sequencer: _lock_pb2.CheckSequencerResponse
    create_session: _session_pb2.CreateSessionResponse
    renew_session: _session_pb2.RenewSessionResponse
    destroy_session: _session_pb2.DestroySessionResponse
    proclaim: _election_pb2.ProclaimResponse
    resign: _election_pb2.ResignResponse
    get_leader: _election_pb2.GetLeaderResponse
    def __init__(self, number: _Optional[int] = ..., status: _Optional[_Union[LineStatus, _Mapping]] = ..., get: _Optional[_Union[_kv_pb2.GetResponse, _Mapping]] = ..., put: _Optional[_Union[_kv_pb2.PutResponse, _Mapping]] = ..., delete: _Optional[_Union[_kv_pb2.DeleteResponse, _Mapping]] = ..., delete_prefix: _Optional[_Union[_kv_pb2.DeletePrefixResponse, _Mapping]] = ..., txn: _Optional[_Union[_kv_pb2.TxnResponse, _Mapping]] = ..., try_acquire_lock: _Optional[_Union[_lock_pb2.TryAcquireLockResponse, _Mapping]] = ..., cancel_wait: _Optional[_Union[_lock_pb2.CancelWaitResponse, _Mapping]] = ..., release_lock: _Optional[_Union[_lock_pb2.ReleaseLockResponse, _Mapping]] = ..., get_lock: _Optional[_Union[_lock_pb2.GetLockResponse, _Mapping]] = ..., break_lock: _Optional[_Union[_lock_pb2.BreakLockResponse, _Mapping]] = ..., check_sequencer: _Optional[_Union[_lock_pb2.CheckSequencerResponse, _Mapping]] = ..., create_session: _Optional[_Union[_session_pb2.CreateSessionResponse, _Mapping]] = ..., renew_session: _Optional[_Union[_session_pb2.RenewSessionResponse, _Mapping]] = ..., destroy_session: _Optional[_Union[_session_pb2.DestroySessionResponse, _Mapping]] = ..., proclaim: _Optional[_Union[_election_pb2.ProclaimResponse, _Mapping]] = ..., resign: _Optional[_Union[_election_pb2.ResignResponse, _Mapping]] = ..., get_leader: _Optional[_Union[_election_pb2.GetLeaderResponse, _Mapping]] = ...) -> None: ...
