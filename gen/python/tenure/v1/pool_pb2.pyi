from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PoolNodeState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POOL_NODE_STATE_UNSPECIFIED: _ClassVar[PoolNodeState]
    POOL_NODE_STATE_ALIVE: _ClassVar[PoolNodeState]
    POOL_NODE_STATE_FAILED: _ClassVar[PoolNodeState]
    POOL_NODE_STATE_LEFT: _ClassVar[PoolNodeState]

class PoolNodeRole(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    POOL_NODE_ROLE_UNSPECIFIED: _ClassVar[PoolNodeRole]
    POOL_NODE_ROLE_MEMBER: _ClassVar[PoolNodeRole]
    POOL_NODE_ROLE_AGENT: _ClassVar[PoolNodeRole]
POOL_NODE_STATE_UNSPECIFIED: PoolNodeState
POOL_NODE_STATE_ALIVE: PoolNodeState
POOL_NODE_STATE_FAILED: PoolNodeState
POOL_NODE_STATE_LEFT: PoolNodeState
POOL_NODE_ROLE_UNSPECIFIED: PoolNodeRole
POOL_NODE_ROLE_MEMBER: PoolNodeRole
POOL_NODE_ROLE_AGENT: PoolNodeRole

class PoolNode(_message.Message):
    __slots__ = ("name", "node_id", "gossip_address", "state", "role", "version", "since")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    GOSSIP_ADDRESS_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    name: str
    node_id: str
    gossip_address: str
    state: PoolNodeState
    role: PoolNodeRole
    version: str
    since: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., node_id: _Optional[str] = ..., gossip_address: _Optional[str] = ..., state: _Optional[_Union[PoolNodeState, str]] = ..., role: _Optional[_Union[PoolNodeRole, str]] = ..., version: _Optional[str] = ..., since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListPoolRequest(_message.Message):
    __slots__ = ("state", "role", "page_size", "page_token")
    STATE_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    state: PoolNodeState
    role: PoolNodeRole
    page_size: int
    page_token: str
    def __init__(self, state: _Optional[_Union[PoolNodeState, str]] = ..., role: _Optional[_Union[PoolNodeRole, str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListPoolResponse(_message.Message):
    __slots__ = ("header", "nodes", "next_page_token", "takes_part")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    NODES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TAKES_PART_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    nodes: _containers.RepeatedCompositeFieldContainer[PoolNode]
    next_page_token: str
    takes_part: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., nodes: _Optional[_Iterable[_Union[PoolNode, _Mapping]]] = ..., next_page_token: _Optional[str] = ..., takes_part: bool = ...) -> None: ...

class ForceLeaveRequest(_message.Message):
    __slots__ = ("node",)
    NODE_FIELD_NUMBER: _ClassVar[int]
    node: str
    def __init__(self, node: _Optional[str] = ...) -> None: ...

class ForceLeaveResponse(_message.Message):
    __slots__ = ("header", "deregistered")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DEREGISTERED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    deregistered: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., deregistered: bool = ...) -> None: ...
