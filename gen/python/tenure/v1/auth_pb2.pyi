from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from tenure.v1 import types_pb2 as _types_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class AuthMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    AUTH_MODE_UNSPECIFIED: _ClassVar[AuthMode]
    AUTH_MODE_OFF: _ClassVar[AuthMode]
    AUTH_MODE_WARN: _ClassVar[AuthMode]
    AUTH_MODE_ENFORCE: _ClassVar[AuthMode]

class BindingKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BINDING_KIND_UNSPECIFIED: _ClassVar[BindingKind]
    BINDING_KIND_ANONYMOUS: _ClassVar[BindingKind]
    BINDING_KIND_CERTIFICATE: _ClassVar[BindingKind]
    BINDING_KIND_JWT: _ClassVar[BindingKind]
AUTH_MODE_UNSPECIFIED: AuthMode
AUTH_MODE_OFF: AuthMode
AUTH_MODE_WARN: AuthMode
AUTH_MODE_ENFORCE: AuthMode
BINDING_KIND_UNSPECIFIED: BindingKind
BINDING_KIND_ANONYMOUS: BindingKind
BINDING_KIND_CERTIFICATE: BindingKind
BINDING_KIND_JWT: BindingKind

class Policy(_message.Message):
    __slots__ = ("name", "rules")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    name: str
    rules: str
    def __init__(self, name: _Optional[str] = ..., rules: _Optional[str] = ...) -> None: ...

class Token(_message.Message):
    __slots__ = ("accessor", "name", "policies", "node", "expire_time", "created_by", "create_time", "parent", "last_used_time")
    ACCESSOR_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    CREATED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    LAST_USED_TIME_FIELD_NUMBER: _ClassVar[int]
    accessor: str
    name: str
    policies: _containers.RepeatedScalarFieldContainer[str]
    node: str
    expire_time: _timestamp_pb2.Timestamp
    created_by: str
    create_time: _timestamp_pb2.Timestamp
    parent: str
    last_used_time: _timestamp_pb2.Timestamp
    def __init__(self, accessor: _Optional[str] = ..., name: _Optional[str] = ..., policies: _Optional[_Iterable[str]] = ..., node: _Optional[str] = ..., expire_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., created_by: _Optional[str] = ..., create_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., parent: _Optional[str] = ..., last_used_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Binding(_message.Message):
    __slots__ = ("name", "kind", "principal", "policies", "node", "issued_after")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    ISSUED_AFTER_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: BindingKind
    principal: str
    policies: _containers.RepeatedScalarFieldContainer[str]
    node: str
    issued_after: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[BindingKind, str]] = ..., principal: _Optional[str] = ..., policies: _Optional[_Iterable[str]] = ..., node: _Optional[str] = ..., issued_after: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Provider(_message.Message):
    __slots__ = ("name", "issuer", "audiences", "jwks", "jwks_url", "ca_certificates", "algorithms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ISSUER_FIELD_NUMBER: _ClassVar[int]
    AUDIENCES_FIELD_NUMBER: _ClassVar[int]
    JWKS_FIELD_NUMBER: _ClassVar[int]
    JWKS_URL_FIELD_NUMBER: _ClassVar[int]
    CA_CERTIFICATES_FIELD_NUMBER: _ClassVar[int]
    ALGORITHMS_FIELD_NUMBER: _ClassVar[int]
    name: str
    issuer: str
    audiences: _containers.RepeatedScalarFieldContainer[str]
    jwks: str
    jwks_url: str
    ca_certificates: str
    algorithms: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., issuer: _Optional[str] = ..., audiences: _Optional[_Iterable[str]] = ..., jwks: _Optional[str] = ..., jwks_url: _Optional[str] = ..., ca_certificates: _Optional[str] = ..., algorithms: _Optional[_Iterable[str]] = ...) -> None: ...

class ProviderKeys(_message.Message):
    __slots__ = ("provider", "keys", "fetch_time", "failure")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    FETCH_TIME_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    provider: str
    keys: int
    fetch_time: _timestamp_pb2.Timestamp
    failure: str
    def __init__(self, provider: _Optional[str] = ..., keys: _Optional[int] = ..., fetch_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., failure: _Optional[str] = ...) -> None: ...

class BootstrapAuthRequest(_message.Message):
    __slots__ = ("token", "mode", "nonce")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    token: str
    mode: AuthMode
    nonce: str
    def __init__(self, token: _Optional[str] = ..., mode: _Optional[_Union[AuthMode, str]] = ..., nonce: _Optional[str] = ...) -> None: ...

class ResetAuthRequest(_message.Message):
    __slots__ = ("token", "nonce")
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    token: str
    nonce: str
    def __init__(self, token: _Optional[str] = ..., nonce: _Optional[str] = ...) -> None: ...

class ResetAuthResponse(_message.Message):
    __slots__ = ("header", "accessor", "mode")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ACCESSOR_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    accessor: str
    mode: AuthMode
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., accessor: _Optional[str] = ..., mode: _Optional[_Union[AuthMode, str]] = ...) -> None: ...

class BootstrapAuthResponse(_message.Message):
    __slots__ = ("header", "accessor", "mode")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ACCESSOR_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    accessor: str
    mode: AuthMode
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., accessor: _Optional[str] = ..., mode: _Optional[_Union[AuthMode, str]] = ...) -> None: ...

class GetAuthStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetAuthStatusResponse(_message.Message):
    __slots__ = ("header", "mode", "bootstrapped", "tokens", "policies", "bindings", "deny_revision", "providers")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    BOOTSTRAPPED_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    DENY_REVISION_FIELD_NUMBER: _ClassVar[int]
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    mode: AuthMode
    bootstrapped: bool
    tokens: int
    policies: int
    bindings: int
    deny_revision: int
    providers: int
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., mode: _Optional[_Union[AuthMode, str]] = ..., bootstrapped: bool = ..., tokens: _Optional[int] = ..., policies: _Optional[int] = ..., bindings: _Optional[int] = ..., deny_revision: _Optional[int] = ..., providers: _Optional[int] = ...) -> None: ...

class SetAuthModeRequest(_message.Message):
    __slots__ = ("mode",)
    MODE_FIELD_NUMBER: _ClassVar[int]
    mode: AuthMode
    def __init__(self, mode: _Optional[_Union[AuthMode, str]] = ...) -> None: ...

class SetAuthModeResponse(_message.Message):
    __slots__ = ("header",)
    HEADER_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ...) -> None: ...

class PutPolicyRequest(_message.Message):
    __slots__ = ("name", "rules")
    NAME_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    name: str
    rules: str
    def __init__(self, name: _Optional[str] = ..., rules: _Optional[str] = ...) -> None: ...

class PutPolicyResponse(_message.Message):
    __slots__ = ("header",)
    HEADER_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ...) -> None: ...

class GetPolicyRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class GetPolicyResponse(_message.Message):
    __slots__ = ("header", "policy")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    POLICY_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    policy: Policy
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., policy: _Optional[_Union[Policy, _Mapping]] = ...) -> None: ...

class ListPoliciesRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListPoliciesResponse(_message.Message):
    __slots__ = ("header", "policies", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    policies: _containers.RepeatedCompositeFieldContainer[Policy]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., policies: _Optional[_Iterable[_Union[Policy, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeletePolicyRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DeletePolicyResponse(_message.Message):
    __slots__ = ("header", "deleted")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    deleted: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., deleted: bool = ...) -> None: ...

class CreateTokenRequest(_message.Message):
    __slots__ = ("name", "policies", "node", "ttl", "no_expiry", "parent")
    NAME_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    NO_EXPIRY_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    name: str
    policies: _containers.RepeatedScalarFieldContainer[str]
    node: str
    ttl: _duration_pb2.Duration
    no_expiry: bool
    parent: str
    def __init__(self, name: _Optional[str] = ..., policies: _Optional[_Iterable[str]] = ..., node: _Optional[str] = ..., ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., no_expiry: bool = ..., parent: _Optional[str] = ...) -> None: ...

class CreateTokenResponse(_message.Message):
    __slots__ = ("header", "token", "text")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    token: Token
    text: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., token: _Optional[_Union[Token, _Mapping]] = ..., text: _Optional[str] = ...) -> None: ...

class GetTokenRequest(_message.Message):
    __slots__ = ("accessor",)
    ACCESSOR_FIELD_NUMBER: _ClassVar[int]
    accessor: str
    def __init__(self, accessor: _Optional[str] = ...) -> None: ...

class GetTokenResponse(_message.Message):
    __slots__ = ("header", "token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    token: Token
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., token: _Optional[_Union[Token, _Mapping]] = ...) -> None: ...

class ListTokensRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTokensResponse(_message.Message):
    __slots__ = ("header", "tokens", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    TOKENS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    tokens: _containers.RepeatedCompositeFieldContainer[Token]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., tokens: _Optional[_Iterable[_Union[Token, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class RotateTokenRequest(_message.Message):
    __slots__ = ("accessor",)
    ACCESSOR_FIELD_NUMBER: _ClassVar[int]
    accessor: str
    def __init__(self, accessor: _Optional[str] = ...) -> None: ...

class RotateTokenResponse(_message.Message):
    __slots__ = ("header", "token", "text")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    TOKEN_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    token: Token
    text: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., token: _Optional[_Union[Token, _Mapping]] = ..., text: _Optional[str] = ...) -> None: ...

class RevokeTokenRequest(_message.Message):
    __slots__ = ("accessor",)
    ACCESSOR_FIELD_NUMBER: _ClassVar[int]
    accessor: str
    def __init__(self, accessor: _Optional[str] = ...) -> None: ...

class RevokeTokenResponse(_message.Message):
    __slots__ = ("header", "revoked", "accessors")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    REVOKED_FIELD_NUMBER: _ClassVar[int]
    ACCESSORS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    revoked: bool
    accessors: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., revoked: bool = ..., accessors: _Optional[_Iterable[str]] = ...) -> None: ...

class PutBindingRequest(_message.Message):
    __slots__ = ("name", "kind", "principal", "policies", "node", "issued_after")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    ISSUED_AFTER_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: BindingKind
    principal: str
    policies: _containers.RepeatedScalarFieldContainer[str]
    node: str
    issued_after: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[_Union[BindingKind, str]] = ..., principal: _Optional[str] = ..., policies: _Optional[_Iterable[str]] = ..., node: _Optional[str] = ..., issued_after: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PutBindingResponse(_message.Message):
    __slots__ = ("header",)
    HEADER_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ...) -> None: ...

class ListBindingsRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListBindingsResponse(_message.Message):
    __slots__ = ("header", "bindings", "next_page_token")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    BINDINGS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    bindings: _containers.RepeatedCompositeFieldContainer[Binding]
    next_page_token: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., bindings: _Optional[_Iterable[_Union[Binding, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class DeleteBindingRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DeleteBindingResponse(_message.Message):
    __slots__ = ("header", "deleted")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    deleted: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., deleted: bool = ...) -> None: ...

class PutProviderRequest(_message.Message):
    __slots__ = ("name", "issuer", "audiences", "jwks", "jwks_url", "ca_certificates", "algorithms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ISSUER_FIELD_NUMBER: _ClassVar[int]
    AUDIENCES_FIELD_NUMBER: _ClassVar[int]
    JWKS_FIELD_NUMBER: _ClassVar[int]
    JWKS_URL_FIELD_NUMBER: _ClassVar[int]
    CA_CERTIFICATES_FIELD_NUMBER: _ClassVar[int]
    ALGORITHMS_FIELD_NUMBER: _ClassVar[int]
    name: str
    issuer: str
    audiences: _containers.RepeatedScalarFieldContainer[str]
    jwks: str
    jwks_url: str
    ca_certificates: str
    algorithms: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, name: _Optional[str] = ..., issuer: _Optional[str] = ..., audiences: _Optional[_Iterable[str]] = ..., jwks: _Optional[str] = ..., jwks_url: _Optional[str] = ..., ca_certificates: _Optional[str] = ..., algorithms: _Optional[_Iterable[str]] = ...) -> None: ...

class PutProviderResponse(_message.Message):
    __slots__ = ("header",)
    HEADER_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ...) -> None: ...

class ListProvidersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ListProvidersResponse(_message.Message):
    __slots__ = ("header", "providers", "keys")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    PROVIDERS_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    providers: _containers.RepeatedCompositeFieldContainer[Provider]
    keys: _containers.RepeatedCompositeFieldContainer[ProviderKeys]
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., providers: _Optional[_Iterable[_Union[Provider, _Mapping]]] = ..., keys: _Optional[_Iterable[_Union[ProviderKeys, _Mapping]]] = ...) -> None: ...

class DeleteProviderRequest(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: str
    def __init__(self, name: _Optional[str] = ...) -> None: ...

class DeleteProviderResponse(_message.Message):
    __slots__ = ("header", "deleted")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    DELETED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    deleted: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., deleted: bool = ...) -> None: ...

class WhoAmIRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class WhoAmIResponse(_message.Message):
    __slots__ = ("header", "principal", "credential", "cause", "policies", "expire_time", "mode", "parent")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    CREDENTIAL_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    POLICIES_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    principal: str
    credential: str
    cause: str
    policies: _containers.RepeatedScalarFieldContainer[str]
    expire_time: _timestamp_pb2.Timestamp
    mode: AuthMode
    parent: str
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., principal: _Optional[str] = ..., credential: _Optional[str] = ..., cause: _Optional[str] = ..., policies: _Optional[_Iterable[str]] = ..., expire_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., mode: _Optional[_Union[AuthMode, str]] = ..., parent: _Optional[str] = ...) -> None: ...

class CheckAccessRequest(_message.Message):
    __slots__ = ("rule",)
    RULE_FIELD_NUMBER: _ClassVar[int]
    rule: str
    def __init__(self, rule: _Optional[str] = ...) -> None: ...

class CheckAccessResponse(_message.Message):
    __slots__ = ("header", "allowed")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ALLOWED_FIELD_NUMBER: _ClassVar[int]
    header: _types_pb2.ResponseHeader
    allowed: bool
    def __init__(self, header: _Optional[_Union[_types_pb2.ResponseHeader, _Mapping]] = ..., allowed: bool = ...) -> None: ...
