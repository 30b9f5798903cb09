from google.protobuf import duration_pb2 as _duration_pb2
from tenure.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CheckStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHECK_STATUS_UNSPECIFIED: _ClassVar[CheckStatus]
    CHECK_STATUS_PASSING: _ClassVar[CheckStatus]
    CHECK_STATUS_WARNING: _ClassVar[CheckStatus]
    CHECK_STATUS_CRITICAL: _ClassVar[CheckStatus]

class CatalogOrigin(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CATALOG_ORIGIN_UNSPECIFIED: _ClassVar[CatalogOrigin]
    CATALOG_ORIGIN_AGENT: _ClassVar[CatalogOrigin]
    CATALOG_ORIGIN_POOL: _ClassVar[CatalogOrigin]
    CATALOG_ORIGIN_DIRECT: _ClassVar[CatalogOrigin]
CHECK_STATUS_UNSPECIFIED: CheckStatus
CHECK_STATUS_PASSING: CheckStatus
CHECK_STATUS_WARNING: CheckStatus
CHECK_STATUS_CRITICAL: CheckStatus
CATALOG_ORIGIN_UNSPECIFIED: CatalogOrigin
CATALOG_ORIGIN_AGENT: CatalogOrigin
CATALOG_ORIGIN_POOL: CatalogOrigin
CATALOG_ORIGIN_DIRECT: CatalogOrigin

class Node(_message.Message):
    __slots__ = ("name", "node_id", "address", "gossip_address", "tagged_addresses", "zone", "meta", "create_revision", "mod_revision", "origin", "last_sync")
    class TaggedAddressesEntry(_message.Message):
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
    NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    GOSSIP_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    TAGGED_ADDRESSES_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    CREATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    MOD_REVISION_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    LAST_SYNC_FIELD_NUMBER: _ClassVar[int]
    name: str
    node_id: str
    address: str
    gossip_address: str
    tagged_addresses: _containers.ScalarMap[str, str]
    zone: str
    meta: _containers.ScalarMap[str, str]
    create_revision: int
    mod_revision: int
    origin: CatalogOrigin
    last_sync: SyncNumber
    def __init__(self, name: _Optional[str] = ..., node_id: _Optional[str] = ..., address: _Optional[str] = ..., gossip_address: _Optional[str] = ..., tagged_addresses: _Optional[_Mapping[str, str]] = ..., zone: _Optional[str] = ..., meta: _Optional[_Mapping[str, str]] = ..., create_revision: _Optional[int] = ..., mod_revision: _Optional[int] = ..., origin: _Optional[_Union[CatalogOrigin, str]] = ..., last_sync: _Optional[_Union[SyncNumber, _Mapping]] = ...) -> None: ...

class SyncNumber(_message.Message):
    __slots__ = ("boot", "number")
    BOOT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    boot: int
    number: int
    def __init__(self, boot: _Optional[int] = ..., number: _Optional[int] = ...) -> None: ...

class ServiceWeights(_message.Message):
    __slots__ = ("passing", "warning")
    PASSING_FIELD_NUMBER: _ClassVar[int]
    WARNING_FIELD_NUMBER: _ClassVar[int]
    passing: int
    warning: int
    def __init__(self, passing: _Optional[int] = ..., warning: _Optional[int] = ...) -> None: ...

class Service(_message.Message):
    __slots__ = ("node", "service_id", "name", "tags", "address", "port", "meta", "weights", "tag_override", "create_revision", "mod_revision", "origin")
    class MetaEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NODE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    WEIGHTS_FIELD_NUMBER: _ClassVar[int]
    TAG_OVERRIDE_FIELD_NUMBER: _ClassVar[int]
    CREATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    MOD_REVISION_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    node: str
    service_id: str
    name: str
    tags: _containers.RepeatedScalarFieldContainer[str]
    address: str
    port: int
    meta: _containers.ScalarMap[str, str]
    weights: ServiceWeights
    tag_override: bool
    create_revision: int
    mod_revision: int
    origin: CatalogOrigin
    def __init__(self, node: _Optional[str] = ..., service_id: _Optional[str] = ..., name: _Optional[str] = ..., tags: _Optional[_Iterable[str]] = ..., address: _Optional[str] = ..., port: _Optional[int] = ..., meta: _Optional[_Mapping[str, str]] = ..., weights: _Optional[_Union[ServiceWeights, _Mapping]] = ..., tag_override: bool = ..., create_revision: _Optional[int] = ..., mod_revision: _Optional[int] = ..., origin: _Optional[_Union[CatalogOrigin, str]] = ...) -> None: ...

class Check(_message.Message):
    __slots__ = ("node", "check_id", "name", "service_id", "service_name", "status", "output", "notes", "kind", "definition", "create_revision", "mod_revision", "origin")
    NODE_FIELD_NUMBER: _ClassVar[int]
    CHECK_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    SERVICE_NAME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DEFINITION_FIELD_NUMBER: _ClassVar[int]
    CREATE_REVISION_FIELD_NUMBER: _ClassVar[int]
    MOD_REVISION_FIELD_NUMBER: _ClassVar[int]
    ORIGIN_FIELD_NUMBER: _ClassVar[int]
    node: str
    check_id: str
    name: str
    service_id: str
    service_name: str
    status: CheckStatus
    output: str
    notes: str
    kind: str
    definition: CheckDefinition
    create_revision: int
    mod_revision: int
    origin: CatalogOrigin
    def __init__(self, node: _Optional[str] = ..., check_id: _Optional[str] = ..., name: _Optional[str] = ..., service_id: _Optional[str] = ..., service_name: _Optional[str] = ..., status: _Optional[_Union[CheckStatus, str]] = ..., output: _Optional[str] = ..., notes: _Optional[str] = ..., kind: _Optional[str] = ..., definition: _Optional[_Union[CheckDefinition, _Mapping]] = ..., create_revision: _Optional[int] = ..., mod_revision: _Optional[int] = ..., origin: _Optional[_Union[CatalogOrigin, str]] = ...) -> None: ...

class CheckDefinition(_message.Message):
    __slots__ = ("ttl", "http", "tcp", "grpc", "exec", "alias", "interval", "timeout", "success_before_passing", "failures_before_warning", "failures_before_critical", "deregister_critical_after")
    TTL_FIELD_NUMBER: _ClassVar[int]
    HTTP_FIELD_NUMBER: _ClassVar[int]
    TCP_FIELD_NUMBER: _ClassVar[int]
    GRPC_FIELD_NUMBER: _ClassVar[int]
    EXEC_FIELD_NUMBER: _ClassVar[int]
    ALIAS_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    SUCCESS_BEFORE_PASSING_FIELD_NUMBER: _ClassVar[int]
    FAILURES_BEFORE_WARNING_FIELD_NUMBER: _ClassVar[int]
    FAILURES_BEFORE_CRITICAL_FIELD_NUMBER: _ClassVar[int]
    DEREGISTER_CRITICAL_AFTER_FIELD_NUMBER: _ClassVar[int]
    ttl: TtlCheck
    http: HttpCheck
    tcp: TcpCheck
    grpc: GrpcCheck
    exec: ExecCheck
    alias: AliasCheck
    interval: _duration_pb2.Duration
    timeout: _duration_pb2.Duration
    success_before_passing: int
    failures_before_warning: int
    failures_before_critical: int
    deregister_critical_after: _duration_pb2.Duration
    def __init__(self, ttl: _Optional[_Union[TtlCheck, _Mapping]] = ..., http: _Optional[_Union[HttpCheck, _Mapping]] = ..., tcp: _Optional[_Union[TcpCheck, _Mapping]] = ..., grpc: _Optional[_Union[GrpcCheck, _Mapping]] = ..., exec: _Optional[_Union[ExecCheck, _Mapping]] = ..., alias: _Optional[_Union[AliasCheck, _Mapping]] = ..., interval: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., timeout: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., success_before_passing: _Optional[int] = ..., failures_before_warning: _Optional[int] = ..., failures_before_critical: _Optional[int] = ..., deregister_critical_after: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class TtlCheck(_message.Message):
    __slots__ = ("ttl",)
    TTL_FIELD_NUMBER: _ClassVar[int]
    ttl: _duration_pb2.Duration
    def __init__(self, ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class HttpCheck(_message.Message):
    __slots__ = ("url", "method", "headers", "body", "tls_server_name", "tls_skip_verify", "follow_redirects", "tls_ca_file")
    URL_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    TLS_SERVER_NAME_FIELD_NUMBER: _ClassVar[int]
    TLS_SKIP_VERIFY_FIELD_NUMBER: _ClassVar[int]
    FOLLOW_REDIRECTS_FIELD_NUMBER: _ClassVar[int]
    TLS_CA_FILE_FIELD_NUMBER: _ClassVar[int]
    url: str
    method: str
    headers: _containers.RepeatedCompositeFieldContainer[HttpHeader]
    body: str
    tls_server_name: str
    tls_skip_verify: bool
    follow_redirects: bool
    tls_ca_file: str
    def __init__(self, url: _Optional[str] = ..., method: _Optional[str] = ..., headers: _Optional[_Iterable[_Union[HttpHeader, _Mapping]]] = ..., body: _Optional[str] = ..., tls_server_name: _Optional[str] = ..., tls_skip_verify: bool = ..., follow_redirects: bool = ..., tls_ca_file: _Optional[str] = ...) -> None: ...

class HttpHeader(_message.Message):
    __slots__ = ("name", "values")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    name: str
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., values: _Optional[_Iterable[str]] = ...) -> None: ...

class TcpCheck(_message.Message):
    __slots__ = ("address",)
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    address: str
    def __init__(self, address: _Optional[str] = ...) -> None: ...

class GrpcCheck(_message.Message):
    __slots__ = ("address", "service", "tls", "tls_server_name", "tls_skip_verify", "tls_ca_file")
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    TLS_FIELD_NUMBER: _ClassVar[int]
    TLS_SERVER_NAME_FIELD_NUMBER: _ClassVar[int]
    TLS_SKIP_VERIFY_FIELD_NUMBER: _ClassVar[int]
    TLS_CA_FILE_FIELD_NUMBER: _ClassVar[int]
    address: str
    service: str
    tls: bool
    tls_server_name: str
    tls_skip_verify: bool
    tls_ca_file: str
    def __init__(self, address: _Optional[str] = ..., service: _Optional[str] = ..., tls: bool = ..., tls_server_name: _Optional[str] = ..., tls_skip_verify: bool = ..., tls_ca_file: _Optional[str] = ...) -> None: ...

class ExecCheck(_message.Message):
    __slots__ = ("command",)
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    command: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, command: _Optional[_Iterable[str]] = ...) -> None: ...

class AliasCheck(_message.Message):
    __slots__ = ("node", "service_id")
    NODE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    node: str
    service_id: str
    def __init__(self, node: _Optional[str] = ..., service_id: _Optional[str] = ...) -> None: ...

class RegisterNodeRequest(_message.Message):
    __slots__ = ("node", "skip_node_update", "services", "checks", "options")
    NODE_FIELD_NUMBER: _ClassVar[int]
    SKIP_NODE_UPDATE_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    node: Node
    skip_node_update: bool
    services: _containers.RepeatedCompositeFieldContainer[Service]
    checks: _containers.RepeatedCompositeFieldContainer[Check]
    options: _types_pb2.CallOptions
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ..., skip_node_update: bool = ..., services: _Optional[_Iterable[_Union[Service, _Mapping]]] = ..., checks: _Optional[_Iterable[_Union[Check, _Mapping]]] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class RegisterNodeResponse(_message.Message):
    __slots__ = ("header", "node_id", "sessions_ended")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_ENDED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    node_id: str
    sessions_ended: int
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., node_id: _Optional[str] = ..., sessions_ended: _Optional[int] = ...) -> None: ...

class SyncNodeRequest(_message.Message):
    __slots__ = ("node_id", "sync", "node", "services", "checks", "delete_services", "delete_checks")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    SYNC_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    DELETE_SERVICES_FIELD_NUMBER: _ClassVar[int]
    DELETE_CHECKS_FIELD_NUMBER: _ClassVar[int]
    node_id: str
    sync: SyncNumber
    node: Node
    services: _containers.RepeatedCompositeFieldContainer[Service]
    checks: _containers.RepeatedCompositeFieldContainer[Check]
    delete_services: _containers.RepeatedScalarFieldContainer[str]
    delete_checks: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, node_id: _Optional[str] = ..., sync: _Optional[_Union[SyncNumber, _Mapping]] = ..., node: _Optional[_Union[Node, _Mapping]] = ..., services: _Optional[_Iterable[_Union[Service, _Mapping]]] = ..., checks: _Optional[_Iterable[_Union[Check, _Mapping]]] = ..., delete_services: _Optional[_Iterable[str]] = ..., delete_checks: _Optional[_Iterable[str]] = ...) -> None: ...

class SyncNodeResponse(_message.Message):
    __slots__ = ("header", "sessions_ended")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_ENDED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    sessions_ended: int
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., sessions_ended: _Optional[int] = ...) -> None: ...

class UpdateCheckRequest(_message.Message):
    __slots__ = ("node", "check_id", "status", "output", "options")
    NODE_FIELD_NUMBER: _ClassVar[int]
    CHECK_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    node: str
    check_id: str
    status: CheckStatus
    output: str
    options: _types_pb2.CallOptions
    def __init__(self, node: _Optional[str] = ..., check_id: _Optional[str] = ..., status: _Optional[_Union[CheckStatus, str]] = ..., output: _Optional[str] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class UpdateCheckResponse(_message.Message):
    __slots__ = ("header", "previous", "sessions_ended")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_ENDED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    previous: CheckStatus
    sessions_ended: int
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., previous: _Optional[_Union[CheckStatus, str]] = ..., sessions_ended: _Optional[int] = ...) -> None: ...

class DeregisterNodeRequest(_message.Message):
    __slots__ = ("node", "if_node_id", "options")
    NODE_FIELD_NUMBER: _ClassVar[int]
    IF_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    node: str
    if_node_id: str
    options: _types_pb2.CallOptions
    def __init__(self, node: _Optional[str] = ..., if_node_id: _Optional[str] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class DeregisterNodeResponse(_message.Message):
    __slots__ = ("header", "deregistered", "sessions_ended")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DEREGISTERED_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_ENDED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    deregistered: bool
    sessions_ended: int
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., deregistered: bool = ..., sessions_ended: _Optional[int] = ...) -> None: ...

class DeregisterServiceRequest(_message.Message):
    __slots__ = ("node", "service_id", "if_node_id", "options")
    NODE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    IF_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    node: str
    service_id: str
    if_node_id: str
    options: _types_pb2.CallOptions
    def __init__(self, node: _Optional[str] = ..., service_id: _Optional[str] = ..., if_node_id: _Optional[str] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class DeregisterServiceResponse(_message.Message):
    __slots__ = ("header", "deregistered", "sessions_ended")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DEREGISTERED_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_ENDED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    deregistered: bool
    sessions_ended: int
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., deregistered: bool = ..., sessions_ended: _Optional[int] = ...) -> None: ...

class DeregisterCheckRequest(_message.Message):
    __slots__ = ("node", "check_id", "if_node_id", "options")
    NODE_FIELD_NUMBER: _ClassVar[int]
    CHECK_ID_FIELD_NUMBER: _ClassVar[int]
    IF_NODE_ID_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    node: str
    check_id: str
    if_node_id: str
    options: _types_pb2.CallOptions
    def __init__(self, node: _Optional[str] = ..., check_id: _Optional[str] = ..., if_node_id: _Optional[str] = ..., options: _Optional[_Union[_types_pb2.CallOptions, _Mapping]] = ...) -> None: ...

class DeregisterCheckResponse(_message.Message):
    __slots__ = ("header", "deregistered", "sessions_ended")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DEREGISTERED_FIELD_NUMBER: _ClassVar[int]
    SESSIONS_ENDED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    deregistered: bool
    sessions_ended: int
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., deregistered: bool = ..., sessions_ended: _Optional[int] = ...) -> None: ...

class GetNodeRequest(_message.Message):
    __slots__ = ("node", "page_token", "read", "visible_only")
    NODE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_ONLY_FIELD_NUMBER: _ClassVar[int]
    node: str
    page_token: str
    read: _types_pb2.ReadOptions
    visible_only: bool
    def __init__(self, node: _Optional[str] = ..., page_token: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ..., visible_only: bool = ...) -> None: ...

class GetNodeResponse(_message.Message):
    __slots__ = ("header", "node", "services", "checks", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    node: Node
    services: _containers.RepeatedCompositeFieldContainer[Service]
    checks: _containers.RepeatedCompositeFieldContainer[Check]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., node: _Optional[_Union[Node, _Mapping]] = ..., services: _Optional[_Iterable[_Union[Service, _Mapping]]] = ..., checks: _Optional[_Iterable[_Union[Check, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListNodesRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "name_prefix", "zone", "read", "visible_only")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_ONLY_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    name_prefix: str
    zone: str
    read: _types_pb2.ReadOptions
    visible_only: bool
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., name_prefix: _Optional[str] = ..., zone: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ..., visible_only: bool = ...) -> None: ...

class ListNodesResponse(_message.Message):
    __slots__ = ("header", "nodes", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    nodes: _containers.RepeatedCompositeFieldContainer[Node]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., nodes: _Optional[_Iterable[_Union[Node, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListServicesRequest(_message.Message):
    __slots__ = ("page_size", "page_token", "name_prefix", "read", "visible_only")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_ONLY_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    name_prefix: str
    read: _types_pb2.ReadOptions
    visible_only: bool
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., name_prefix: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ..., visible_only: bool = ...) -> None: ...

class ServiceSummary(_message.Message):
    __slots__ = ("name", "instances", "tags")
    NAME_FIELD_NUMBER: _ClassVar[int]
    INSTANCES_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    name: str
    instances: int
    tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., instances: _Optional[int] = ..., tags: _Optional[_Iterable[str]] = ...) -> None: ...

class ListServicesResponse(_message.Message):
    __slots__ = ("header", "services", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    services: _containers.RepeatedCompositeFieldContainer[ServiceSummary]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., services: _Optional[_Iterable[_Union[ServiceSummary, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListInstancesRequest(_message.Message):
    __slots__ = ("service", "node", "passing", "tag", "zone", "page_size", "page_token", "read", "visible_only")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    PASSING_FIELD_NUMBER: _ClassVar[int]
    TAG_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_ONLY_FIELD_NUMBER: _ClassVar[int]
    service: str
    node: str
    passing: bool
    tag: str
    zone: str
    page_size: int
    page_token: str
    read: _types_pb2.ReadOptions
    visible_only: bool
    def __init__(self, service: _Optional[str] = ..., node: _Optional[str] = ..., passing: bool = ..., tag: _Optional[str] = ..., zone: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ..., visible_only: bool = ...) -> None: ...

class ServiceInstance(_message.Message):
    __slots__ = ("service", "node", "checks", "status")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    service: Service
    node: Node
    checks: _containers.RepeatedCompositeFieldContainer[Check]
    status: CheckStatus
    def __init__(self, service: _Optional[_Union[Service, _Mapping]] = ..., node: _Optional[_Union[Node, _Mapping]] = ..., checks: _Optional[_Iterable[_Union[Check, _Mapping]]] = ..., status: _Optional[_Union[CheckStatus, str]] = ...) -> None: ...

class ListInstancesResponse(_message.Message):
    __slots__ = ("header", "instances", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    INSTANCES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    instances: _containers.RepeatedCompositeFieldContainer[ServiceInstance]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., instances: _Optional[_Iterable[_Union[ServiceInstance, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListChecksRequest(_message.Message):
    __slots__ = ("status", "node", "service", "page_size", "page_token", "read", "visible_only")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    READ_FIELD_NUMBER: _ClassVar[int]
    VISIBLE_ONLY_FIELD_NUMBER: _ClassVar[int]
    status: CheckStatus
    node: str
    service: str
    page_size: int
    page_token: str
    read: _types_pb2.ReadOptions
    visible_only: bool
    def __init__(self, status: _Optional[_Union[CheckStatus, str]] = ..., node: _Optional[str] = ..., service: _Optional[str] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ..., read: _Optional[_Union[_types_pb2.ReadOptions, _Mapping]] = ..., visible_only: bool = ...) -> None: ...

class ListChecksResponse(_message.Message):
    __slots__ = ("header", "checks", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    checks: _containers.RepeatedCompositeFieldContainer[Check]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., checks: _Optional[_Iterable[_Union[Check, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class CatalogOp(_message.Message):
    __slots__ = ("put_node", "put_service", "put_check", "get", "delete", "if_revision")
    PUT_NODE_FIELD_NUMBER: _ClassVar[int]
    PUT_SERVICE_FIELD_NUMBER: _ClassVar[int]
    PUT_CHECK_FIELD_NUMBER: _ClassVar[int]
    GET_FIELD_NUMBER: _ClassVar[int]
    DELETE_FIELD_NUMBER: _ClassVar[int]
    IF_REVISION_FIELD_NUMBER: _ClassVar[int]
    put_node: Node
    put_service: Service
    put_check: Check
    get: CatalogName
    delete: CatalogName
    if_revision: int
    def __init__(self, put_node: _Optional[_Union[Node, _Mapping]] = ..., put_service: _Optional[_Union[Service, _Mapping]] = ..., put_check: _Optional[_Union[Check, _Mapping]] = ..., get: _Optional[_Union[CatalogName, _Mapping]] = ..., delete: _Optional[_Union[CatalogName, _Mapping]] = ..., if_revision: _Optional[int] = ...) -> None: ...

class CatalogName(_message.Message):
    __slots__ = ("node", "service_id", "check_id")
    NODE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    CHECK_ID_FIELD_NUMBER: _ClassVar[int]
    node: str
    service_id: str
    check_id: str
    def __init__(self, node: _Optional[str] = ..., service_id: _Optional[str] = ..., check_id: _Optional[str] = ...) -> None: ...

class CatalogOpResponse(_message.Message):
    __slots__ = ("node", "service", "check", "deleted")
    NODE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    CHECK_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    node: Node
    service: Service
    check: Check
    deleted: bool
    def __init__(self, node: _Optional[_Union[Node, _Mapping]] = ..., service: _Optional[_Union[Service, _Mapping]] = ..., check: _Optional[_Union[Check, _Mapping]] = ..., deleted: bool = ...) -> None: ...
