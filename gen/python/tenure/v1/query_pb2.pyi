from tenure.v1 import catalog_pb2 as _catalog_pb2
from tenure.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class QueryMatch(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    QUERY_MATCH_UNSPECIFIED: _ClassVar[QueryMatch]
    QUERY_MATCH_NAME: _ClassVar[QueryMatch]
    QUERY_MATCH_PREFIX: _ClassVar[QueryMatch]
QUERY_MATCH_UNSPECIFIED: QueryMatch
QUERY_MATCH_NAME: QueryMatch
QUERY_MATCH_PREFIX: QueryMatch

class QueryFallback(_message.Message):
    __slots__ = ("service", "tags", "zone")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    service: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    zone: str
    def __init__(self, service: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., zone: _Optional[str] = ...) -> None: ...

class Query(_message.Message):
    __slots__ = ("query_id", "name", "session_id", "match", "regexp", "service", "tags", "only_passing", "ignore_checks", "node_meta", "service_meta", "near", "fallbacks", "remove_empty_tags", "meta", "create_revision", "mod_revision")
    class NodeMetaEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ServiceMetaEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class MetaEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MATCH_FIELD_NUMBER: _ClassVar[int]
    REGEXP_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ONLY_PASSING_FIELD_NUMBER: _ClassVar[int]
    IGNORE_CHECKS_FIELD_NUMBER: _ClassVar[int]
    NODE_META_FIELD_NUMBER: _ClassVar[int]
    SERVICE_META_FIELD_NUMBER: _ClassVar[int]
    NEAR_FIELD_NUMBER: _ClassVar[int]
    FALLBACKS_FIELD_NUMBER: _ClassVar[int]
    REMOVE_EMPTY_TAGS_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    CREATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    MOD_REVISION_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    name: str
    session_id: str
    match: QueryMatch
    regexp: str
    service: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    only_passing: bool
    ignore_checks: _containers.RepeatedScalarFieldContainer[str]
    node_meta: _containers.ScalarMap[str, str]
    service_meta: _containers.ScalarMap[str, str]
    near: str
    fallbacks: _containers.RepeatedCompositeFieldContainer[QueryFallback]
    remove_empty_tags: bool
    meta: _containers.ScalarMap[str, str]
    create_revision: int
    mod_revision: int
    def __init__(self, query_id: _Optional[str] = ..., name: _Optional[str] = ..., session_id: _Optional[str] = ..., match: _Optional[_Union[QueryMatch, str]] = ..., regexp: _Optional[str] = ..., service: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., only_passing: bool = ..., ignore_checks: _Optional[_Iterable[str]] = ..., node_meta: _Optional[_Mapping[str, str]] = ..., service_meta: _Optional[_Mapping[str, str]] = ..., near: _Optional[str] = ..., fallbacks: _Optional[_Iterable[_Union[QueryFallback, _Mapping]]] = ..., remove_empty_tags: bool = ..., meta: _Optional[_Mapping[str, str]] = ..., create_revision: _Optional[int] = ..., mod_revision: _Optional[int] = ...) -> None: ...

class CreateQueryRequest(_message.Message):
    __slots__ = ("query", "options")
    QUERY_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    query: Query
    options: _types_pb2.CallOptions
    def __init__(self, query: _Optional[_Union[Query, _Mapping]] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class CreateQueryResponse(_message.Message):
    __slots__ = ("header", "query_id")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    query_id: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., query_id: _Optional[str] = ...) -> None: ...

class UpdateQueryRequest(_message.Message):
    __slots__ = ("query_id", "query", "if_revision", "options")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    IF_REVISION_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    query: Query
    if_revision: int
    options: _types_pb2.CallOptions
    def __init__(self, query_id: _Optional[str] = ..., query: _Optional[_Union[Query, _Mapping]] = ..., if_revision: _Optional[int] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class UpdateQueryResponse(_message.Message):
    __slots__ = ("header", "mod_revision")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    MOD_REVISION_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    mod_revision: int
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., mod_revision: _Optional[int] = ...) -> None: ...

class GetQueryRequest(_message.Message):
    __slots__ = ("id_or_name", "read")
    ID_OR_NAME_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    id_or_name: str
    read: _types_pb2.ReadOptions
    def __init__(self, id_or_name: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ...) -> None: ...

class GetQueryResponse(_message.Message):
    __slots__ = ("header", "query")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    query: Query
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., query: _Optional[_Union[Query, _Mapping]] = ...) -> None: ...

class ListQueriesRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "name_prefix", "session_id", "read", "visible_only")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_ONLY_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    name_prefix: str
    session_id: str
    read: _types_pb2.ReadOptions
    visible_only: bool
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., name_prefix: _Optional[str] = ..., session_id: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ..., visible_only: bool = ...) -> None: ...

class ListQueriesResponse(_message.Message):
    __slots__ = ("header", "queries", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    queries: _containers.RepeatedCompositeFieldContainer[Query]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., queries: _Optional[_Iterable[_Union[Query, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteQueryRequest(_message.Message):
    __slots__ = ("query_id", "options")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    options: _types_pb2.CallOptions
    def __init__(self, query_id: _Optional[str] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class DeleteQueryResponse(_message.Message):
    __slots__ = ("header", "deleted")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    deleted: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., deleted: bool = ...) -> None: ...

class ExecuteQueryRequest(_message.Message):
    __slots__ = ("id_or_name", "near", "limit", "passing", "caller_node", "read")
    ID_OR_NAME_FIELD_NUMBER: _ClassVar[int]
    NEAR_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    PASSING_FIELD_NUMBER: _ClassVar[int]
    CALLER_NODE_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    id_or_name: str
    near: str
    limit: int
    passing: bool
    caller_node: str
    read: _types_pb2.ReadOptions
    def __init__(self, id_or_name: _Optional[str] = ..., near: _Optional[str] = ..., limit: _Optional[int] = ..., passing: bool = ..., caller_node: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ...) -> None: ...

class ExecuteQueryResponse(_message.Message):
    __slots__ = ("header", "query_id", "service", "instances", "fallback", "meta")
    class MetaEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    HEADER_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    INSTANCES_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    query_id: str
    service: str
    instances: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.ServiceInstance]
    fallback: int
    meta: _containers.ScalarMap[str, str]
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., query_id: _Optional[str] = ..., service: _Optional[str] = ..., instances: _Optional[_Iterable[_Union[_catalog_pb2.ServiceInstance, _Mapping]]] = ..., fallback: _Optional[int] = ..., meta: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ExplainQueryRequest(_message.Message):
    __slots__ = ("id_or_name", "read")
    ID_OR_NAME_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    id_or_name: str
    read: _types_pb2.ReadOptions
    def __init__(self, id_or_name: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ...) -> None: ...

class ExplainQueryResponse(_message.Message):
    __slots__ = ("header", "query")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    query: Query
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., query: _Optional[_Union[Query, _Mapping]] = ...) -> None: ...
