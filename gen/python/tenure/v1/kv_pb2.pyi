from tenure.v1 import catalog_pb2 as _catalog_pb2
from tenure.v1 import lock_pb2 as _lock_pb2
from tenure.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CompareOperator(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    COMPARE_OPERATOR_UNSPECIFIED: _ClassVar[CompareOperator]
    COMPARE_OPERATOR_EQUAL: _ClassVar[CompareOperator]
    COMPARE_OPERATOR_NOT_EQUAL: _ClassVar[CompareOperator]
    COMPARE_OPERATOR_LESS: _ClassVar[CompareOperator]
    COMPARE_OPERATOR_GREATER: _ClassVar[CompareOperator]
COMPARE_OPERATOR_UNSPECIFIED: CompareOperator
COMPARE_OPERATOR_EQUAL: CompareOperator
COMPARE_OPERATOR_NOT_EQUAL: CompareOperator
COMPARE_OPERATOR_LESS: CompareOperator
COMPARE_OPERATOR_GREATER: CompareOperator

class GetRequest(_message.Message):
    __slots__ = ("key", "read", "must_exist")
    KEY_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    MUST_EXIST_FIELD_NUMBER: _ClassVar[int]
    key: str
    read: _types_pb2.ReadOptions
    must_exist: bool
    def __init__(self, key: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ..., must_exist: bool = ...) -> None: ...

class GetResponse(_message.Message):
    __slots__ = ("header", "kv")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    KV_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    kv: _types_pb2.KeyValue
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., kv: _Optional[_Union[_types_pb2.KeyValue, _Mapping]] = ...) -> None: ...

class ListRequest(_message.Message):
    __slots__ = ("prefix", "keys_only", "page_size", "page_token", "read", "visible_only")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    KEYS_ONLY_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_ONLY_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    keys_only: bool
    page_size: int
    page_token: str
    read: _types_pb2.ReadOptions
    visible_only: bool
    def __init__(self, prefix: _Optional[str] = ..., keys_only: bool = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ..., visible_only: bool = ...) -> None: ...

class ListResponse(_message.Message):
    __slots__ = ("header", "kvs", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    KVS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    kvs: _containers.RepeatedCompositeFieldContainer[_types_pb2.KeyValue]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., kvs: _Optional[_Iterable[_Union[_types_pb2.KeyValue, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class PutRequest(_message.Message):
    __slots__ = ("key", "value", "text", "flags", "if_revision", "acquire", "release", "bind_session", "sequential", "options")
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    IF_REVISION_FIELD_NUMBER: _ClassVar[int]
    ACQUIRE_FIELD_NUMBER: _ClassVar[int]
    RELEASE_FIELD_NUMBER: _ClassVar[int]
    BIND_SESSION_FIELD_NUMBER: _ClassVar[int]
    SEQUENTIAL_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    key: str
    value: bytes
    text: str
    flags: int
    if_revision: int
    acquire: str
    release: str
    bind_session: str
    sequential: bool
    options: _types_pb2.CallOptions
    def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ..., text: _Optional[str] = ..., flags: _Optional[int] = ..., if_revision: _Optional[int] = ..., acquire: _Optional[str] = ..., release: _Optional[str] = ..., bind_session: _Optional[str] = ..., sequential: bool = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class PutResponse(_message.Message):
    __slots__ = ("header", "acquired", "released", "kv", "sequencer", "lock")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ACQUIRED_FIELD_NUMBER: _ClassVar[int]
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    KV_FIELD_NUMBER: _ClassVar[int]
    SEQUENCER_FIELD_NUMBER: _ClassVar[int]
    LOCK_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    acquired: bool
    released: bool
    kv: _types_pb2.KeyValue
    sequencer: _types_pb2.Sequencer
    lock: _lock_pb2.Lock
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., acquired: bool = ..., released: bool = ..., kv: _Optional[_Union[_types_pb2.KeyValue, _Mapping]] = ..., sequencer: _Optional[_Union[_types_pb2.Sequencer, _Mapping]] = ..., lock: _Optional[_Union[_lock_pb2.Lock, _Mapping]] = ...) -> None: ...

class DeleteRequest(_message.Message):
    __slots__ = ("key", "if_revision", "options", "drop_holds")
    KEY_FIELD_NUMBER: _ClassVar[int]
    IF_REVISION_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    DROP_HOLDS_FIELD_NUMBER: _ClassVar[int]
    key: str
    if_revision: int
    options: _types_pb2.CallOptions
    drop_holds: bool
    def __init__(self, key: _Optional[str] = ..., if_revision: _Optional[int] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ..., drop_holds: bool = ...) -> None: ...

class DeleteResponse(_message.Message):
    __slots__ = ("header", "deleted")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    deleted: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., deleted: bool = ...) -> None: ...

class DeletePrefixRequest(_message.Message):
    __slots__ = ("prefix", "all", "options", "drop_holds", "keys_max")
    PREFIX_FIELD_NUMBER: _ClassVar[int]
    ALL_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    DROP_HOLDS_FIELD_NUMBER: _ClassVar[int]
    KEYS_MAX_FIELD_NUMBER: _ClassVar[int]
    prefix: str
    all: bool
    options: _types_pb2.CallOptions
    drop_holds: bool
    keys_max: int
    def __init__(self, prefix: _Optional[str] = ..., all: bool = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ..., drop_holds: bool = ..., keys_max: _Optional[int] = ...) -> None: ...

class DeletePrefixResponse(_message.Message):
    __slots__ = ("header", "deleted")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    deleted: int
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., deleted: _Optional[int] = ...) -> None: ...

class Compare(_message.Message):
    __slots__ = ("key", "operator", "value", "text", "mod_revision", "create_revision", "version", "flags", "held_by", "guard")
    KEY_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MOD_REVISION_FIELD_NUMBER: _ClassVar[int]
    CREATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    FLAGS_FIELD_NUMBER: _ClassVar[int]
    HELD_BY_FIELD_NUMBER: _ClassVar[int]
    GUARD_FIELD_NUMBER: _ClassVar[int]
    key: str
    operator: CompareOperator
    value: bytes
    text: str
    mod_revision: int
    create_revision: int
    version: int
    flags: int
    held_by: str
    guard: _types_pb2.Guard
    def __init__(self, key: _Optional[str] = ..., operator: _Optional[_Union[CompareOperator, str]] = ..., value: _Optional[bytes] = ..., text: _Optional[str] = ..., mod_revision: _Optional[int] = ..., create_revision: _Optional[int] = ..., version: _Optional[int] = ..., flags: _Optional[int] = ..., held_by: _Optional[str] = ..., guard: _Optional[_Union[_types_pb2.Guard, _Mapping]] = ...) -> None: ...

class Op(_message.Message):
    __slots__ = ("get", "list", "put", "delete", "delete_prefix", "acquire_lock", "release_lock", "check", "catalog")
    GET_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    DELETE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    ACQUIRE_LOCK_FIELD_NUMBER: _ClassVar[int]
    RELEASE_LOCK_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    get: GetRequest
    list: ListRequest
    put: PutRequest
    delete: DeleteRequest
    delete_prefix: DeletePrefixRequest
    acquire_lock: _lock_pb2.TryAcquireLockRequest
    release_lock: _lock_pb2.ReleaseLockRequest
    check: _types_pb2.Guard
    catalog: _catalog_pb2.CatalogOp
    def __init__(self, get: _Optional[_Union[GetRequest, _Mapping]] = ..., list: _Optional[_Union[ListRequest, _Mapping]] = ..., put: _Optional[_Union[PutRequest, _Mapping]] = ..., delete: _Optional[_Union[DeleteRequest, _Mapping]] = ..., delete_prefix: _Optional[_Union[DeletePrefixRequest, _Mapping]] = ..., acquire_lock: _Optional[_Union[_lock_pb2.TryAcquireLockRequest, _Mapping]] = ..., release_lock: _Optional[_Union[_lock_pb2.ReleaseLockRequest, _Mapping]] = ..., check: _Optional[_Union[_types_pb2.Guard, _Mapping]] = ..., catalog: _Optional[_Union[_catalog_pb2.CatalogOp, _Mapping]] = ...) -> None: ...

class TxnRequest(_message.Message):
    __slots__ = ("compares", "then", "otherwise", "options")
    COMPARES_FIELD_NUMBER: _ClassVar[int]
    THEN_FIELD_NUMBER: _ClassVar[int]
    OTHERWISE_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    compares: _containers.RepeatedCompositeFieldContainer[Compare]
    then: _containers.RepeatedCompositeFieldContainer[Op]
    otherwise: _containers.RepeatedCompositeFieldContainer[Op]
    options: _types_pb2.CallOptions
    def __init__(self, compares: _Optional[_Iterable[_Union[Compare, _Mapping]]] = ..., then: _Optional[_Iterable[_Union[Op, _Mapping]]] = ..., otherwise: _Optional[_Iterable[_Union[Op, _Mapping]]] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class TxnResponse(_message.Message):
    __slots__ = ("header", "succeeded", "responses")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    RESPONSES_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    succeeded: bool
    responses: _containers.RepeatedCompositeFieldContainer[OpResponse]
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., succeeded: bool = ..., responses: _Optional[_Iterable[_Union[OpResponse, _Mapping]]] = ...) -> None: ...

class OpResponse(_message.Message):
    __slots__ = ("get", "list", "put", "delete", "delete_prefix", "acquire_lock", "release_lock", "catalog")
    GET_FIELD_NUMBER: _ClassVar[int]
    LIST_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    DELETE_PREFIX_FIELD_NUMBER: _ClassVar[int]
    ACQUIRE_LOCK_FIELD_NUMBER: _ClassVar[int]
    RELEASE_LOCK_FIELD_NUMBER: _ClassVar[int]
    CATALOG_FIELD_NUMBER: _ClassVar[int]
    get: GetResponse
    list: ListResponse
    put: PutResponse
    delete: DeleteResponse
    delete_prefix: DeletePrefixResponse
    acquire_lock: _lock_pb2.TryAcquireLockResponse
    release_lock: _lock_pb2.ReleaseLockResponse
    catalog: _catalog_pb2.CatalogOpResponse
    def __init__(self, get: _Optional[_Union[GetResponse, _Mapping]] = ..., list: _Optional[_Union[ListResponse, _Mapping]] = ..., put: _Optional[_Union[PutResponse, _Mapping]] = ..., delete: _Optional[_Union[DeleteResponse, _Mapping]] = ..., delete_prefix: _Optional[_Union[DeletePrefixResponse, _Mapping]] = ..., acquire_lock: _Optional[_Union[_lock_pb2.TryAcquireLockResponse, _Mapping]] = ..., release_lock: _Optional[_Union[_lock_pb2.ReleaseLockResponse, _Mapping]] = ..., catalog: _Optional[_Union[_catalog_pb2.CatalogOpResponse, _Mapping]] = ...) -> None: ...
