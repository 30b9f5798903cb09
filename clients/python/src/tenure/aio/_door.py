"""How connections are made: with TLS or without, and with a token or without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc
import grpc.aio

from tenure import errors
from tenure._core.security import Security, is_local, read_files
from tenure._core.unreachable import CLEAR
from tenure.aio._token import Token

# A connection of its own for each link, so that one link's trouble is not another's; the library reconnects by itself.
_OPTIONS: list[tuple[str, int | str]] = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.enable_retries", 0),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.max_receive_message_length", 4 << 20),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
]


class InClear(Exception):
    """A call was not made, as it shows a token that others could read. The text says so."""


def _guards(address: str) -> list[grpc.aio.ClientInterceptor]:
    """Returns interceptors for a connection without TLS to another machine: they make no call that shows a token.

    gRPC takes one for each kind of calls.
    """

    async def guard(_: Any, continuation: Any, details: Any, sent: Any) -> Any:
        if any(key.lower() == "authorization" for key, _ in details.metadata or ()):
            raise InClear(
                f"the token of the call is not sent to {address} without TLS: use tenures://, or insecure=true if the"
                " network may read it"
            )
        return await continuation(details, sent)

    kinds = {
        "intercept_unary_unary": grpc.aio.UnaryUnaryClientInterceptor,
        "intercept_unary_stream": grpc.aio.UnaryStreamClientInterceptor,
        "intercept_stream_stream": grpc.aio.StreamStreamClientInterceptor,
        "intercept_stream_unary": grpc.aio.StreamUnaryClientInterceptor,
    }
    return [type("Guard", (kind,), {name: guard})() for name, kind in kinds.items()]


class Door:
    """Makes connections. Files are read for each, so that they can be replaced."""

    def __init__(
        self,
        tls: bool = False,
        security: Security | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        token: Token | None = None,
        interceptors: Sequence[grpc.aio.ClientInterceptor] = (),
    ) -> None:
        self.tls = tls
        self.token = token
        self._security = security or Security()
        self._credentials = credentials
        self._interceptors = list(interceptors)
        self.lines = not self._interceptors  # Whether calls may share a line: interceptors see each call by itself.
        if tls and credentials is None:
            read_files(self._security)  # A mistake is told at once.

    def channel(self, address: str) -> grpc.aio.Channel:
        """Returns a connection of its own, which is made when it is first used.

        Raises TLSFailed if a file is of no use, and PermissionDenied rather than to send the token in clear.
        """
        options = list(_OPTIONS)
        if not self.tls:
            interceptors = self._interceptors
            if is_local(address):  # A proxy of http_proxy may be another machine, and could read the token.
                options.append(("grpc.enable_http_proxy", 0))
            if not self._security.insecure and not is_local(address):
                if self.token is not None:
                    raise errors.PermissionDenied(CLEAR)
                if interceptors:  # They may give a call a token. The guards see it after them.
                    interceptors = [*interceptors, *_guards(address)]
            return grpc.aio.insecure_channel(address, options=options, interceptors=interceptors)
        credentials = self._credentials
        if credentials is None:
            pem = read_files(self._security)
            credentials = grpc.ssl_channel_credentials(pem.ca, pem.key, pem.cert)
        if self._security.server_name:
            options.append(("grpc.ssl_target_name_override", self._security.server_name))
        return grpc.aio.secure_channel(address, credentials, options=options, interceptors=self._interceptors)

    async def close(self) -> None:
        """Stops asking for a token."""
        if self.token is not None:
            await self.token.close()

    @property
    def sends_certificate(self) -> bool:
        """Whether the client has a certificate of its own, as far as is known."""
        return bool(self._security.cert_file) or self._credentials is not None
