"""Connection strings: tenure://h1:7400,h2:7400/namespace?ttl=15s."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

SCHEME = "tenure://"
SCHEME_TLS = "tenures://"
DEFAULT_PORT = 7400
DEFAULT_TTL_SECONDS = 15.0

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_HOST_PORT = re.compile(r"^(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:\[\]/?#\s]+)(?::(?P<port>\d{1,5}))?$")


@dataclass(frozen=True)
class Address:
    """What a connection string says."""

    endpoints: tuple[str, ...]  # host:port each, in the order given
    namespace: str = ""
    ttl: float = DEFAULT_TTL_SECONDS
    lock_delay: float | None = None  # None: the cluster's default
    name: str = ""
    tls: bool = False


def parse_duration(text: str) -> float:
    """Returns the seconds of a duration such as 15s, 500ms or 1m30s; a bare number is seconds."""
    try:
        seconds = float(text)
    except ValueError:
        parts = _DURATION.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            raise ValueError(f"{text!r} is not a duration such as 15s, 500ms or 1m30s") from None
        return sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"{text!r} is not a duration such as 15s, 500ms or 1m30s")
    return seconds


_PARAMETERS: dict[str, Callable[[str], Any]] = {
    "ttl": parse_duration,
    "lock_delay": parse_duration,
    "name": str,
}


def parse_address(text: str) -> Address:
    """Reads a connection string, or just `h1:7400,h2:7400`. Raises a ValueError that names the mistake."""
    if not isinstance(text, str):
        raise TypeError(f"a connection string is a str such as tenure://h1:7400,h2:7400/namespace, not {text!r}")
    tls = text.startswith(SCHEME_TLS)
    rest = text.removeprefix(SCHEME_TLS if tls else SCHEME)
    if "://" in rest:
        raise ValueError(f"connection string {text!r} does not start with {SCHEME} or {SCHEME_TLS}")
    rest, _, query = rest.partition("?")
    hosts, _, path = rest.partition("/")
    endpoints = tuple(_parse_endpoint(part.strip(), text) for part in hosts.split(","))
    if len(set(endpoints)) != len(endpoints):
        raise ValueError(f"connection string {text!r} names an address twice")
    values: dict[str, Any] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        parse = _PARAMETERS.get(name)
        if parse is None:
            raise ValueError(f"connection string {text!r} has the unknown parameter {name!r}; known: {_known()}")
        if name in values:
            raise ValueError(f"connection string {text!r} has {name!r} twice")
        try:
            values[name] = parse(value)
        except ValueError as error:
            raise ValueError(f"connection string {text!r}: {name}: {error}") from None
    return Address(endpoints=endpoints, namespace=unquote(path).strip("/"), tls=tls, **values)


def _known() -> str:
    return ", ".join(sorted(_PARAMETERS))


def _parse_endpoint(part: str, text: str) -> str:
    match = _HOST_PORT.match(part)
    if match is None:
        raise ValueError(f"connection string {text!r}: {part!r} is not host:port")
    port = int(match["port"] or DEFAULT_PORT)
    if not 0 < port < 65536:
        raise ValueError(f"connection string {text!r}: {part!r} has no port from 1 to 65535")
    return f"{match['host']}:{port}"
