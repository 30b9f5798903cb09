"""Connection strings: tenure://h1:7400,h2:7400/namespace?ttl=15s."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, unquote_plus

from tenure._core.security import Security

SCHEME = "tenure://"
SCHEME_TLS = "tenures://"
DEFAULT_PORT = 7400
DEFAULT_TTL_SECONDS = 15.0

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_UNIT_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_HOST_PORT = re.compile(r"^(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:\[\]/?#\s]+)(?::(?P<port>\d{1,5}))?$")


@dataclass(frozen=True)
class Address:
    """What a connection string says."""

    endpoints: tuple[str, ...]  # host:port each, in the order given
    namespace: str = ""
    ttl: float = DEFAULT_TTL_SECONDS
    lock_delay: float | None = None  # None: the cluster's default
    name: str = ""
    scheme: str = ""  # "tenure" or "tenures"; empty if none was given
    security: Security = field(default_factory=Security)

    @property
    def tls(self) -> bool:
        """Whether TLS is spelled out."""
        return self.scheme == "tenures"


def parse_duration(text: str) -> float:
    """Returns the seconds of a duration such as 15s, 500ms or 1m30s. Of bare numbers only 0 is one."""
    if text == "0":
        return 0.0
    parts = _DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is not a duration such as 15s, 500ms or 1m30s")
    return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)


def _parse_text(text: str) -> str:
    if not text:
        raise ValueError("it is empty")
    return text


def _parse_bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} must be true or false")
    return text == "true"


_PARAMETERS: dict[str, Callable[[str], Any]] = {
    "ttl": parse_duration,
    "lock_delay": parse_duration,
    "name": str,
}

_SECURITY_PARAMETERS: dict[str, Callable[[str], Any]] = {
    "ca_file": _parse_text,
    "cert_file": _parse_text,
    "key_file": _parse_text,
    "server_name": _parse_text,
    "token_file": _parse_text,
    "insecure": _parse_bool,
}


def parse_address(text: str) -> Address:
    """Reads a connection string, or just `h1:7400,h2:7400`. Raises a ValueError that names the mistake."""
    if not isinstance(text, str):
        raise TypeError(f"a connection string is a str such as tenure://h1:7400,h2:7400/namespace, not {text!r}")
    if any(unquote_plus(pair.partition("=")[0]) == "token" for pair in text.partition("?")[2].split("&")):
        raise ValueError(  # It does not repeat the string.
            "token= is refused in a connection string, which ends up in logs: use token_file=, the argument token, or "
            "TENURE_TOKEN"
        )
    scheme, found, rest = text.partition("://")
    if not found or "/" in scheme:
        scheme, rest = "", text
    elif found and scheme not in ("tenure", "tenures"):
        raise ValueError(f"connection string {text!r} does not start with {SCHEME} or {SCHEME_TLS}")
    rest, _, query = rest.partition("?")
    hosts, _, path = rest.partition("/")
    endpoints = tuple(_parse_endpoint(part.strip(), text) for part in hosts.split(","))
    if len(set(endpoints)) != len(endpoints):
        raise ValueError(f"connection string {text!r} names an address twice")
    values: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        parse = _PARAMETERS.get(name) or _SECURITY_PARAMETERS.get(name)
        if parse is None:
            raise ValueError(f"connection string {text!r} has the unknown parameter {name!r}; known: {_known()}")
        if name in values:
            raise ValueError(f"connection string {text!r} has {name!r} twice")
        try:
            values[name] = parse(value)
        except ValueError as error:
            raise ValueError(f"connection string {text!r}: {name}: {error}") from None
    security = Security(**{name: values.pop(name) for name in _SECURITY_PARAMETERS if name in values})
    namespace = unquote(path).strip("/")
    return Address(endpoints=endpoints, namespace=namespace, scheme=scheme, security=security, **values)


def _known() -> str:
    return ", ".join(sorted({**_PARAMETERS, **_SECURITY_PARAMETERS}))


def _parse_endpoint(part: str, text: str) -> str:
    match = _HOST_PORT.match(part)
    if match is None:
        raise ValueError(f"connection string {text!r}: {part!r} is not host:port")
    port = int(match["port"] or DEFAULT_PORT)
    if not 0 < port < 65536:
        raise ValueError(f"connection string {text!r}: {part!r} has no port from 1 to 65535")
    return f"{match['host']}:{port}"
