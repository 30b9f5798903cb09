from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import catalog_pb2 as _catalog_pb2
from tenure.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AgentSource(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AGENT_SOURCE_UNSPECIFIED: _ClassVar[AgentSource]
    AGENT_SOURCE_FILE: _ClassVar[AgentSource]
    AGENT_SOURCE_API: _ClassVar[AgentSource]
    AGENT_SOURCE_AGENT: _ClassVar[AgentSource]
AGENT_SOURCE_UNSPECIFIED: AgentSource
AGENT_SOURCE_FILE: AgentSource
AGENT_SOURCE_API: AgentSource
AGENT_SOURCE_AGENT: AgentSource

class GetAgentRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetAgentResponse(_message.Message):
    __slots__ = ("header", "node", "node_id", "version", "boot", "start_time", "gossip_address", "services", "checks", "out_of_sync", "last_sync_time", "last_sync_error", "maintenance")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    BOOT_FIELD_NUMBER: _ClassVar[int]
    START_TIME_FIELD_NUMBER: _ClassVar[int]
    GOSSIP_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    OUT_OF_SYNC_FIELD_NUMBER: _ClassVar[int]
    LAST_SYNC_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_SYNC_ERROR_FIELD_NUMBER: _ClassVar[int]
    MAINTENANCE_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    node: str
    node_id: str
    version: str
    boot: int
    start_time: _timestamp_pb2.Timestamp
    gossip_address: str
    services: int
    checks: int
    out_of_sync: int
    last_sync_time: _timestamp_pb2.Timestamp
    last_sync_error: str
    maintenance: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., node: _Optional[str] = ..., node_id: _Optional[str] = ..., version: _Optional[str] = ..., boot: _Optional[int] = ..., start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., gossip_address: _Optional[str] = ..., services: _Optional[int] = ..., checks: _Optional[int] = ..., out_of_sync: _Optional[int] = ..., last_sync_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_sync_error: _Optional[str] = ..., maintenance: bool = ...) -> None: ...

class AgentCheck(_message.Message):
    __slots__ = ("check", "source", "last_run_time", "last_run_duration", "in_sync")
    CHECK_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    LAST_RUN_TIME_FIELD_NUMBER: _ClassVar[int]
    LAST_RUN_DURATION_FIELD_NUMBER: _ClassVar[int]
    IN_SYNC_FIELD_NUMBER: _ClassVar[int]
    check: _catalog_pb2.Check
    source: AgentSource
    last_run_time: _timestamp_pb2.Timestamp
    last_run_duration: _duration_pb2.Duration
    in_sync: bool
    def __init__(self, check: _Optional[_Union[_catalog_pb2.Check, _Mapping]] = ..., source: _Optional[_Union[AgentSource, str]] = ..., last_run_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_run_duration: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., in_sync: bool = ...) -> None: ...

class AgentServiceInstance(_message.Message):
    __slots__ = ("service", "source", "in_sync", "status")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    IN_SYNC_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    service: _catalog_pb2.Service
    source: AgentSource
    in_sync: bool
    status: _catalog_pb2.CheckStatus
    def __init__(self, service: _Optional[_Union[_catalog_pb2.Service, _Mapping]] = ..., source: _Optional[_Union[AgentSource, str]] = ..., in_sync: bool = ..., status: _Optional[_Union[_catalog_pb2.CheckStatus, str]] = ...) -> None: ...

class AddAgentServiceRequest(_message.Message):
    __slots__ = ("service", "checks", "replace_checks")
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    REPLACE_CHECKS_FIELD_NUMBER: _ClassVar[int]
    service: _catalog_pb2.Service
    checks: _containers.RepeatedCompositeFieldContainer[_catalog_pb2.Check]
    replace_checks: bool
    def __init__(self, service: _Optional[_Union[_catalog_pb2.Service, _Mapping]] = ..., checks: _Optional[_Iterable[_Union[_catalog_pb2.Check, _Mapping]]] = ..., replace_checks: bool = ...) -> None: ...

class AddAgentServiceResponse(_message.Message):
    __slots__ = ("header", "service_id")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    service_id: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., service_id: _Optional[str] = ...) -> None: ...

class RemoveAgentServiceRequest(_message.Message):
    __slots__ = ("service_id",)
    SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    service_id: str
    def __init__(self, service_id: _Optional[str] = ...) -> None: ...

class RemoveAgentServiceResponse(_message.Message):
    __slots__ = ("header", "removed")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    removed: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., removed: bool = ...) -> None: ...

class AddAgentCheckRequest(_message.Message):
    __slots__ = ("check",)
    CHECK_FIELD_NUMBER: _ClassVar[int]
    check: _catalog_pb2.Check
    def __init__(self, check: _Optional[_Union[_catalog_pb2.Check, _Mapping]] = ...) -> None: ...

class AddAgentCheckResponse(_message.Message):
    __slots__ = ("header", "check_id")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHECK_ID_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    check_id: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., check_id: _Optional[str] = ...) -> None: ...

class RemoveAgentCheckRequest(_message.Message):
    __slots__ = ("check_id",)
    CHECK_ID_FIELD_NUMBER: _ClassVar[int]
    check_id: str
    def __init__(self, check_id: _Optional[str] = ...) -> None: ...

class RemoveAgentCheckResponse(_message.Message):
    __slots__ = ("header", "removed")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    REMOVED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    removed: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., removed: bool = ...) -> None: ...

class ListAgentServicesRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListAgentServicesResponse(_message.Message):
    __slots__ = ("header", "services")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    services: _containers.RepeatedCompositeFieldContainer[AgentServiceInstance]
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., services: _Optional[_Iterable[_Union[AgentServiceInstance, _Mapping]]] = ...) -> None: ...

class ListAgentChecksRequest(_message.Message):
    __slots__ = ("status", "service_id")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    status: _catalog_pb2.CheckStatus
    service_id: str
    def __init__(self, status: _Optional[_Union[_catalog_pb2.CheckStatus, str]] = ..., service_id: _Optional[str] = ...) -> None: ...

class ListAgentChecksResponse(_message.Message):
    __slots__ = ("header", "checks")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    checks: _containers.RepeatedCompositeFieldContainer[AgentCheck]
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., checks: _Optional[_Iterable[_Union[AgentCheck, _Mapping]]] = ...) -> None: ...

class ReportCheckRequest(_message.Message):
    __slots__ = ("check_id", "status", "output")
    CHECK_ID_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    check_id: str
    status: _catalog_pb2.CheckStatus
    output: str
    def __init__(self, check_id: _Optional[str] = ..., status: _Optional[_Union[_catalog_pb2.CheckStatus, str]] = ..., output: _Optional[str] = ...) -> None: ...

class ReportCheckResponse(_message.Message):
    __slots__ = ("header",)
    HEADER_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ...) -> None: ...

class SetMaintenanceRequest(_message.Message):
    __slots__ = ("service_id", "enabled", "reason")
    SERVICE_ID_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    service_id: str
    enabled: bool
    reason: str
    def __init__(self, service_id: _Optional[str] = ..., enabled: bool = ..., reason: _Optional[str] = ...) -> None: ...

class SetMaintenanceResponse(_message.Message):
    __slots__ = ("header", "check_id")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHECK_ID_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    check_id: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., check_id: _Optional[str] = ...) -> None: ...

class ReloadAgentRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReloadAgentResponse(_message.Message):
    __slots__ = ("header", "services", "checks")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    SERVICES_FIELD_NUMBER: _ClassVar[int]
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    services: int
    checks: int
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., services: _Optional[int] = ..., checks: _Optional[int] = ...) -> None: ...

class LeaveAgentRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class LeaveAgentResponse(_message.Message):
    __slots__ = ("header",)
    HEADER_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ...) -> None: ...
