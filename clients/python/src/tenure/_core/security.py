"""What a client is told about TLS and its token: by options, the connection string and the environment."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from tenure import errors

TokenSource = Callable[[], "str | Awaitable[str]"]


@dataclass(frozen=True)
class Security:
    """What one place says. What is empty it leaves to the next."""

    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    server_name: str = ""
    token: str | TokenSource = ""
    token_file: str = ""
    insecure: bool = False  # Whether a token may be sent without TLS.

    @property
    def tls(self) -> str:
        """Names what asks for TLS; empty if nothing does."""
        if self.ca_file:
            return "a CA (ca_file, TENURE_CA_FILE)"
        if self.cert_file or self.key_file:
            return "a certificate (cert_file, TENURE_CERT_FILE)"
        return "a server name (server_name, TENURE_SERVER_NAME)" if self.server_name else ""

    @property
    def has_token(self) -> bool:
        """Whether there is a token, in whichever form."""
        return bool(self.token or self.token_file)

    def otherwise(self, following: Security) -> Security:
        """Returns this, and where it says nothing what the next place says.

        A certificate with its key, and a token, come from one place.
        """
        pair = self if self.cert_file or self.key_file else following
        bearer = self if self.has_token else following
        return Security(
            ca_file=self.ca_file or following.ca_file,
            cert_file=pair.cert_file,
            key_file=pair.key_file,
            server_name=self.server_name or following.server_name,
            token=bearer.token,
            token_file=bearer.token_file,
            insecure=self.insecure or following.insecure,
        )

    def without_files(self) -> Security:
        """Returns what it says about the token alone."""
        return replace(self, ca_file="", cert_file="", key_file="", server_name="")


def from_environment(environment: Mapping[str, str]) -> Security:
    """Returns what the environment says."""

    def value(name: str) -> str:
        return environment.get(f"TENURE_{name}", "")

    return Security(
        ca_file=value("CA_FILE"),
        cert_file=value("CERT_FILE"),
        key_file=value("KEY_FILE"),
        server_name=value("SERVER_NAME"),
        token=value("TOKEN"),
        token_file=value("TOKEN_FILE"),
    )


def decide(scheme: str, endpoints: tuple[str, ...], security: Security, own: bool) -> bool:
    """Returns whether connections use TLS. Raises a ValueError for what does not go together.

    `own` says that the program gave channel credentials of its own.
    """
    asked = "credentials" if own else security.tls
    tls = bool(asked) or scheme == "tenures"
    if scheme == "tenure" and tls:
        raise ValueError(
            f"the connection string starts with tenure://, which means no TLS, but {asked} is given: use tenures://"
        )
    if bool(security.cert_file) != bool(security.key_file):
        raise ValueError(
            "a certificate needs its key: cert_file and key_file (TENURE_CERT_FILE and TENURE_KEY_FILE) go together"
        )
    if security.token and security.token_file:
        raise ValueError("there is more than one token: give it by text or function, or by file (TENURE_TOKEN_FILE)")
    if tls and security.insecure:
        raise ValueError("insecure=true is for connections without TLS; with TLS nothing skips verification")
    for endpoint in endpoints:
        if security.has_token and not tls and not security.insecure and not is_local(endpoint):
            raise ValueError(
                f"the token is not sent to {endpoint} without TLS: use tenures://, or insecure=true if the network may"
                " read it"
            )
    return tls


def is_local(endpoint: str) -> bool:
    """Whether host:port is surely on this machine."""
    host = endpoint.rpartition(":")[0].strip("[]")
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Pem:
    """The contents of the files; None is without."""

    ca: bytes | None = None
    cert: bytes | None = None
    key: bytes | None = None


def read_files(security: Security) -> Pem:
    """Reads the files of TLS. Raises TLSFailed, which names the file that is of no use."""
    ca = _read("ca_file", security.ca_file)
    cert, key = _read("cert_file", security.cert_file), _read("key_file", security.key_file)
    check = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca is not None:
        try:
            check.load_verify_locations(cadata=ca.decode())
        except (ssl.SSLError, ValueError):
            raise errors.TLSFailed(f"ca_file {security.ca_file} has no certificate in PEM form") from None
    if cert is not None:
        try:
            check.load_cert_chain(security.cert_file, security.key_file, password="")
        except (ssl.SSLError, OSError, ValueError) as error:
            raise errors.TLSFailed(
                f"cert_file {security.cert_file} and key_file {security.key_file} are not a pair: {error}"
            ) from None
    return Pem(ca, cert, key)


def _read(name: str, path: str) -> bytes | None:
    if not path:
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise errors.TLSFailed(f"{name} {path}: {error.strerror}") from None
